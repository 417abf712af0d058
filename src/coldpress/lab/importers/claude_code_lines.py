"""Read the lines of a Claude Code session file into records that name their parent.

A session file is JSON Lines, one line per content block: lines of one assistant message repeat `message.id`
and `usage`. Tool output stands twice, as the block that was sent and again in `toolUseResult`, which is left
alone here. A writer that was interrupted may leave two objects on one line. Sub-agents appear either as
lines with `isSidechain`, or inside `progress` lines of kind `agent_progress`, which name no parent and follow
each other in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.dialogue import Block
from coldpress.lab.importers.jsonvalues import JsonObject, count_in, object_in, text_in, time_in
from coldpress.lab.importers.linefiles import line_objects
from coldpress.lab.importers.sound_blocks import sound
from coldpress.lab.jsontext import compact_json
from coldpress.model.usage import Usage

UNNAMED_SIDE = "side"
"""The side of a sub-agent whose lines name no agent: several of them share it."""

COMMAND = "<command-message>"
"""What the text of a slash command that stands for a prompt begins with."""

UNSENT = {
    "attachment": "attachment lines (sent to the model in a form that is not recorded)",
    "file-history-snapshot": "file-history-snapshot lines (never sent)",
    "last-prompt": "last-prompt lines (never sent)",
    "pr-link": "pr-link lines (never sent)",
    "progress": "progress lines (never sent)",
    "queue-operation": "queue-operation lines (what the user typed ahead; what became of it is not always recorded)",
    "summary": "summary lines (never sent)",
    "system": "system lines (never sent)",
}
"""Known kinds of line that carry no message, with the words they are counted under."""


@dataclass(frozen=True, slots=True)
class Line:
    """One object of the file that has a place in a conversation.

    `number` is what the tally knows its object by. `role` is `None` where the line only links others together.
    `message` groups the lines of one model reply; it is `None` for what the client wrote itself, be it in the
    assistant's name. `side` names a sub-agent, empty for the main agent. `boundary` is true where a compaction
    ended the conversation before. `thinking` is whether the user's text asked for thinking; `None` where the line
    does not tell.
    """

    number: int
    uuid: str
    parent: str | None
    session: str
    side: str
    at: float | None
    role: Literal["user", "assistant"] | None = None
    blocks: tuple[Block, ...] = ()
    message: str | None = None
    model: str = ""
    request_id: str | None = None
    usage: Usage = field(default_factory=Usage)
    boundary: bool = False
    thinking: bool | None = None


def read(lines: Iterable[str], tally: Tally) -> Iterator[Line]:
    """Read records in file order, counting every object and every one that is left out."""
    last_of_agent: dict[str, str] = {}
    for found in line_objects(lines, tally):
        number = tally.take(_kind(found))
        said = _agent_progress(found, number, last_of_agent, tally)
        record = _record(found, number, tally) if said is None else _link(found, number, tally)
        yield from (line for line in (said, record) if line is not None)


def _kind(found: JsonObject) -> str:
    kind = text_in(found, "type") or "(no type)"
    detail = text_in(found, "subtype") or text_in(object_in(found, "data"), "type")
    return f"{kind}:{detail}" if detail else kind


def _record(found: JsonObject, number: int, tally: Tally) -> Line | None:
    """Read one line of the session itself; `None` where it has no place in the tree."""
    kind = text_in(found, "type")
    if kind == "user" or (kind == "system" and found.get("subtype") == "local_command"):
        return _user(found, number, tally)
    if kind == "assistant":
        return _assistant(found, number, tally)
    if kind in UNSENT:
        tally.set_aside(UNSENT[kind], number)
    else:
        tally.not_known(f"lines of an unknown kind: {kind}", number)
    return _link(found, number, tally)


def _link(found: JsonObject, number: int, tally: Tally) -> Line | None:
    """Keep a line that carries no message for the sake of those that name it as parent."""
    uuid = text_in(found, "uuid")
    if uuid is None:
        return None
    return Line(
        number, uuid, text_in(found, "parentUuid"), text_in(found, "sessionId") or "", _side(found),
        time_in(found, "timestamp", tally.skipped), boundary=found.get("subtype") == "compact_boundary",
    )  # fmt: skip


def _user(found: JsonObject, number: int, tally: Tally) -> Line | None:
    link = _link(found, number, tally)
    if link is None:
        tally.set_aside("user lines without a uuid", number)
        return None
    # A local command's output is recorded as a system line and sent as the user's text.
    content = object_in(found, "message").get("content", found.get("content"))
    return Line(
        number, link.uuid, link.parent, link.session, link.side, link.at, "user", _blocks(content, tally),
        thinking=_thinking(found, content),
    )  # fmt: skip


def _thinking(found: JsonObject, content: object) -> bool | None:
    """Tell whether thinking was asked for with what the user typed.

    Versions from 2.0.76 on write `thinkingMetadata` beside typed text. A slash command that stands for a prompt has
    none and is sent without thinking, and so is a plan that was accepted into an empty conversation. What comes from an
    editor, and summaries, have none either and change nothing.
    """
    asked = object_in(found, "thinkingMetadata")
    if asked:
        return (
            asked.get("disabled") is not True and asked.get("level") != "none" and asked.get("maxThinkingTokens") != 0
        )
    return False if isinstance(content, str) and content.startswith(COMMAND) else None


def _assistant(found: JsonObject, number: int, tally: Tally) -> Line | None:
    link = _link(found, number, tally)
    if link is None:
        tally.set_aside("assistant lines without a uuid", number)
        return None
    if found.get("isApiErrorMessage") is True:
        tally.set_aside("error notes of the client (never sent)", number)
        return link
    message = object_in(found, "message")
    model = text_in(message, "model") or ""
    return Line(
        number, link.uuid, link.parent, link.session, link.side, link.at, "assistant",
        _blocks(message.get("content"), tally),
        None if model == "<synthetic>" else text_in(message, "id") or link.uuid,
        model, text_in(found, "requestId"), _usage(message),
    )  # fmt: skip


def _agent_progress(found: JsonObject, number: int, last_of_agent: dict[str, str], tally: Tally) -> Line | None:
    """Read a sub-agent's message out of a progress line of its parent; `None` where it is no such line."""
    data = object_in(found, "data")
    agent, inner = text_in(data, "agentId"), object_in(data, "message")
    if data.get("type") != "agent_progress" or agent is None or text_in(inner, "type") not in ("user", "assistant"):
        return None
    uuid = text_in(inner, "uuid") or f"{agent}:{found.get('uuid')}"
    placed: JsonObject = {
        **inner,
        "uuid": uuid,
        "parentUuid": last_of_agent.get(agent),
        "sessionId": found.get("sessionId"),
        "agentId": agent,
        "isSidechain": True,
    }
    last_of_agent[agent] = uuid
    return _record(placed, number, tally)


def _blocks(content: object, tally: Tally) -> tuple[Block, ...]:
    """Read message content; text without any letter is left out, as no provider takes it."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    found: list[Block] = []
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            tally.skipped["content that is not a block"] += 1
        elif block.get("type") == "text" and not str(block.get("text", "")).strip():
            tally.skipped["text blocks without text"] += 1
        elif block.get("type") == "thinking" and not block.get("signature") and not block.get("thinking"):
            tally.skipped["thinking blocks without thinking"] += 1
        elif (kept := sound(block, tally.skipped)) is not None:
            found.append(_block(kept))
    return tuple(found)


def _block(block: JsonObject) -> Block:
    block.pop("cache_control", None)
    kind = text_in(block, "type") or ""
    call_id = (
        text_in(block, "id") if kind == "tool_use" else text_in(block, "tool_use_id") if kind == "tool_result" else None
    )
    return Block(kind, compact_json(block), call_id, text_in(block, "name") if kind == "tool_use" else None)


def _usage(message: JsonObject) -> Usage:
    """Read usage. Output counts as known only where a stop reason stands beside it.

    Most lines were written when the stream began, with the one or two tokens it begins with.
    """
    usage = object_in(message, "usage")
    split = object_in(usage, "cache_creation")
    short, long = count_in(split, "ephemeral_5m_input_tokens"), count_in(split, "ephemeral_1h_input_tokens")
    if short is None and long is None:
        short = count_in(usage, "cache_creation_input_tokens")
    return Usage(
        fresh=count_in(usage, "input_tokens"),
        read=count_in(usage, "cache_read_input_tokens"),
        write_short=short,
        write_long=long,
        output=count_in(usage, "output_tokens") if message.get("stop_reason") is not None else None,
    )


def _side(found: JsonObject) -> str:
    return (text_in(found, "agentId") or UNNAMED_SIDE) if found.get("isSidechain") is True else ""
