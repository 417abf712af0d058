"""Write messages in Anthropic's form: roles take turns, and every call is answered once, right behind it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from coldpress.lab.importers.counts import Tally
from coldpress.lab.jsontext import compact_json

Role = Literal["user", "assistant"]

LOST_RESULT = "The recording holds no result for this call."
"""Said, as a failed result, in the place of a result that is missing in the middle of a recording."""

_ID_CHARACTERS = re.compile(r"[^a-zA-Z0-9_-]")
_ID_LENGTH = 64


@dataclass(frozen=True, slots=True)
class Block:
    """One content block. `call_id` is the id of a tool call, or of the call that a tool result answers."""

    type: str
    json: str
    call_id: str | None = None
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What one line of a recording adds to a conversation."""

    role: Role
    blocks: tuple[Block, ...]


class CallIds:
    """Makes the ids of calls fit Anthropic's alphabet and differ from each other within one recording."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def take(self, recorded: str) -> str:
        """Give the id to write for one call; the recorded one where it fits and is new."""
        plain = _ID_CHARACTERS.sub("_", recorded)[:_ID_LENGTH] or "call"
        found, number = plain, 1
        while found in self._used:
            number += 1
            suffix = f"-{number}"
            found = plain[: _ID_LENGTH - len(suffix)] + suffix
        self._used.add(found)
        return found

    def copy(self) -> CallIds:
        """Give one that knows the same ids and goes on by itself."""
        found = CallIds()
        found._used = set(self._used)
        return found


def text_block(text: str) -> Block:
    """Write a text block."""
    return Block("text", compact_json({"type": "text", "text": text}))


def call_block(call_id: str, tool: str, arguments: object) -> Block:
    """Write a tool call."""
    block = {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}
    return Block("tool_use", compact_json(block), call_id, tool)


def result_block(call_id: str, content: object, *, failed: bool) -> Block:
    """Write a tool result."""
    block = {"tool_use_id": call_id, "type": "tool_result", "content": content, "is_error": failed}
    return Block("tool_result", compact_json(block), call_id)


def message(role: Role, blocks: Iterable[Block]) -> str:
    """Write one message."""
    return f'{{"role":"{role}","content":[{",".join(block.json for block in blocks)}]}}'


def calls_of(blocks: Iterable[Block]) -> tuple[str, ...]:
    """Give the ids of the calls among the blocks, in order."""
    return tuple(block.call_id for block in blocks if block.type == "tool_use" and block.call_id)


def tools_of(blocks: Iterable[Block]) -> tuple[str, ...]:
    """Give the names of the tools called, in order."""
    return tuple(block.tool for block in blocks if block.tool is not None)


def says_something(blocks: Iterable[Block]) -> bool:
    """Whether a reply can stand in a history: no provider takes one that only thought."""
    return any(block.type not in ("thinking", "redacted_thinking") for block in blocks)


def messages(parts: Iterable[Part], *, open_calls: Sequence[str], tally: Tally) -> tuple[str, ...]:
    """Write what a client added between two replies as messages.

    Parts of one role become one message, its results first. A call of `open_calls` (those of the reply before),
    or of a part in the assistant's name, that gets no result gets a failed one; a result that answers no such call is
    left out. Both are counted.
    """
    written: list[tuple[Role, list[Block]]] = []
    for role, said in _by_role(parts, open_calls):
        blocks = _answered(said, open_calls, tally) if role == "user" else said
        open_calls = calls_of(blocks)
        if written and written[-1][0] == role:
            written[-1][1].extend(blocks)
        elif blocks:
            written.append((role, blocks))
    return tuple(message(role, blocks) for role, blocks in written)


def _by_role(parts: Iterable[Part], open_calls: Sequence[str]) -> list[tuple[Role, list[Block]]]:
    """Join neighbours of one role; begin with the user where calls wait for results."""
    joined: list[tuple[Role, list[Block]]] = [("user", [])] if open_calls else []
    for part in parts:
        if not part.blocks:
            continue
        if not joined or joined[-1][0] != part.role:
            joined.append((part.role, []))
        joined[-1][1].extend(part.blocks)
    return joined


def _answered(blocks: list[Block], open_calls: Sequence[str], tally: Tally) -> list[Block]:
    results: dict[str, Block] = {}
    for block in blocks:
        if block.type != "tool_result" or block.call_id is None:
            continue
        if block.call_id not in open_calls:
            tally.skipped["tool results without their call"] += 1
        elif block.call_id in results:
            tally.skipped["second results of one call"] += 1
        else:
            results[block.call_id] = block
    lost = [call for call in open_calls if call not in results]
    tally.skipped["calls without a result (a failed one stands in)"] += len(lost)
    answers = [*results.values(), *(result_block(call, LOST_RESULT, failed=True) for call in lost)]
    return answers + [block for block in blocks if block.type != "tool_result"]
