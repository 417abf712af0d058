"""Rebuild the request bodies of a recorded run, as a client of the Messages API would have sent them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from coldpress.lab.jsontext import compact_json
from coldpress.model.trajectory import Trajectory

SYSTEM = "You are a coding agent. Use the tools to do what the user asks, and say what you did."
MAX_TOKENS = 32_000
MARK = b',"cache_control":{"type":"ephemeral"}'
MARK_ONE_HOUR = b',"cache_control":{"type":"ephemeral","ttl":"1h"}'


@dataclass(frozen=True, slots=True)
class RequestHead:
    """What stands outside the messages: the same in every request of a run.

    `tools` holds the JSON text of each tool's definition.
    """

    system: str
    tools: tuple[str, ...]
    max_tokens: int = MAX_TOKENS


def made_up_head(trajectory: Trajectory) -> RequestHead:
    """Make a head for a run whose recording has none: a short system prompt and the tools that its messages call.

    It is small and fixed, so sizes and costs of the head are not those of the original run.
    """
    tools = (
        {"name": name, "description": f"The tool {name}.", "input_schema": {"type": "object"}}
        for name in sorted({*trajectory.tools, *_called_before(trajectory)})
    )
    return RequestHead(SYSTEM, tuple(compact_json(tool) for tool in tools))


def _called_before(trajectory: Trajectory) -> Iterator[str]:
    """Find the tools called in replies that the client said again, as it does with those a compaction kept."""
    for turn in trajectory.turns:
        for message in turn.added:
            if message.startswith('{"role":"assistant"'):
                for block in json.loads(message)["content"]:
                    if block["type"] == "tool_use":
                        yield block["name"]


def requests(trajectory: Trajectory, head: RequestHead | None = None) -> Iterator[bytes]:
    """Yield the body of every request that the trajectory made itself, in order.

    Each body is a valid streaming request of the Anthropic Messages format, in the order of keys that Claude Code
    uses: `model` and `messages`, then `system` and `tools`. Two cache marks are set, on the system prompt and on
    the last block of the last message. But for the mark on the last message, what stands up to the end of a request's
    messages is a prefix of the next request, as long as the model stays the same. Marks last an hour where
    the provider reported writes of that kind in this run, else five minutes.

    Without a `head`, one is made up.
    """
    mark = MARK_ONE_HOUR if any(turn.usage.write_long for turn in trajectory.turns) else MARK
    tail = b"]" + _tail(head or made_up_head(trajectory), trajectory.session, mark)
    history: list[bytes] = []
    for index, turn in enumerate(trajectory.turns):
        history += [message.encode() for message in turn.added]
        if index >= trajectory.shared_turns:
            front = b'{"model":' + compact_json(turn.model).encode() + b',"messages":['
            yield front + b",".join((*history[:-1], _marked(history[-1], mark))) + tail
        history.append(turn.reply.encode())


def _marked(message: bytes, mark: bytes) -> bytes:
    """Set a cache mark on the last block: a message ends with the three brackets of block, content and message."""
    return message[:-3] + mark + message[-3:]


def _tail(head: RequestHead, session: str, mark: bytes) -> bytes:
    """Write what follows the messages."""
    system = b'[{"type":"text","text":' + compact_json(head.system).encode() + mark + b"}]"
    user = compact_json({"user_id": compact_json({"session_id": session})})
    rest = f',"tools":[{",".join(head.tools)}],"metadata":{user},"max_tokens":{head.max_tokens},"stream":true}}'
    return b',"system":' + system + rest.encode()
