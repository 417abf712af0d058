"""Read the lines of a Claude Code session file into records that name their parent.

A session file is JSON Lines, one line per content block: lines of one assistant message repeat `message.id`
and `usage`. Tool output stands twice, as the block that was sent and again in `toolUseResult`, which is left
alone here. A writer that was interrupted may leave two objects on one line. Sub-agents appear either as
lines with `isSidechain`, or inside `progress` lines of kind `agent_progress`, which name no parent and follow
each other in order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from coldpress.lab.importers.counts import Tally
from coldpress.lab.jsontext import compact_json
from coldpress.model.usage import Usage

JsonObject = dict[str, object]

UNNAMED_SIDE = "side"
"""The side of a sub-agent whose lines name no agent: several of them share it."""

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
class Block:
    """One content block. `call_id` is the id of a tool call, or of the call that a tool result answers."""

    type: str
    json: str
    call_id: str | None = None
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One object of the file that has a place in a conversation.

    `role` is `None` where the line only links others together. `message` groups the lines of one model reply;
    it is `None` for what the client wrote itself, be it in the assistant's name. `side` names a sub-agent,
    empty for the main agent. `boundary` is true where a compaction ended the conversation before.
    """

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


def read(lines: Iterable[str], tally: Tally) -> Iterator[Line]:
    """Read records in file order, counting every object and every one that is left out."""
    last_of_agent: dict[str, str] = {}
    for line in lines:
        tally.lines += 1
        for found in _objects(line, tally):
            tally.kinds[_kind(found)] += 1
            said = _agent_progress(found, last_of_agent, tally)
            record = _record(found, tally) if said is None else _link(found)
            yield from (line for line in (said, record) if line is not None)


def _objects(line: str, tally: Tally) -> Iterator[JsonObject]:
    """Yield the JSON objects of one line; more than one is rare, none is a blank or broken line."""
    decoder, at, line = json.JSONDecoder(), 0, line.strip()
    while at < len(line):
        try:
            value, end = decoder.raw_decode(line, at)
        except json.JSONDecodeError:
            tally.skipped["text that is not JSON"] += 1
            return
        if isinstance(value, dict):
            yield value
        else:
            tally.skipped["JSON that is not an object"] += 1
        at = end
        while at < len(line) and line[at].isspace():
            at += 1


def _kind(found: JsonObject) -> str:
    kind = _text(found, "type") or "(no type)"
    detail = _text(found, "subtype") or _text(_object(found, "data"), "type")
    return f"{kind}:{detail}" if detail else kind


def _record(found: JsonObject, tally: Tally) -> Line | None:
    """Read one line of the session itself; `None` where it has no place in the tree."""
    kind = _text(found, "type")
    if kind == "user" or (kind == "system" and found.get("subtype") == "local_command"):
        return _user(found, tally)
    if kind == "assistant":
        return _assistant(found, tally)
    tally.skipped[UNSENT.get(kind or "", f"lines of an unknown kind: {kind}")] += 1
    return _link(found)


def _link(found: JsonObject) -> Line | None:
    """Keep a line that carries no message for the sake of those that name it as parent."""
    uuid = _text(found, "uuid")
    if uuid is None:
        return None
    return Line(
        uuid, _text(found, "parentUuid"), _text(found, "sessionId") or "", _side(found), _time(found),
        boundary=found.get("subtype") == "compact_boundary",
    )  # fmt: skip


def _user(found: JsonObject, tally: Tally) -> Line | None:
    link = _link(found)
    if link is None:
        tally.skipped["user lines without a uuid"] += 1
        return None
    # A local command's output is recorded as a system line and sent as the user's text.
    content = _object(found, "message").get("content", found.get("content"))
    return Line(link.uuid, link.parent, link.session, link.side, link.at, "user", _blocks(content, tally))


def _assistant(found: JsonObject, tally: Tally) -> Line | None:
    link = _link(found)
    if link is None:
        tally.skipped["assistant lines without a uuid"] += 1
        return None
    if found.get("isApiErrorMessage") is True:
        tally.skipped["error notes of the client (never sent)"] += 1
        return link
    message = _object(found, "message")
    model = _text(message, "model") or ""
    return Line(
        link.uuid, link.parent, link.session, link.side, link.at, "assistant",
        _blocks(message.get("content"), tally),
        None if model == "<synthetic>" else _text(message, "id") or link.uuid,
        model, _text(found, "requestId"), _usage(message),
    )  # fmt: skip


def _agent_progress(found: JsonObject, last_of_agent: dict[str, str], tally: Tally) -> Line | None:
    """Read a sub-agent's message out of a progress line of its parent; `None` where it is no such line."""
    data = _object(found, "data")
    agent, inner = _text(data, "agentId"), _object(data, "message")
    if data.get("type") != "agent_progress" or agent is None or _text(inner, "type") not in ("user", "assistant"):
        return None
    uuid = _text(inner, "uuid") or f"{agent}:{found.get('uuid')}"
    placed: JsonObject = {
        **inner,
        "uuid": uuid,
        "parentUuid": last_of_agent.get(agent),
        "sessionId": found.get("sessionId"),
        "agentId": agent,
        "isSidechain": True,
    }
    last_of_agent[agent] = uuid
    return _record(placed, tally)


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
        else:
            found.append(_block(block))
    return tuple(found)


def _block(block: JsonObject) -> Block:
    block.pop("cache_control", None)
    kind = _text(block, "type") or ""
    call_id = (
        _text(block, "id") if kind == "tool_use" else _text(block, "tool_use_id") if kind == "tool_result" else None
    )
    return Block(kind, compact_json(block), call_id, _text(block, "name") if kind == "tool_use" else None)


def _usage(message: JsonObject) -> Usage:
    """Read usage. Output counts as known only where a stop reason stands beside it.

    Most lines were written when the stream began, with the one or two tokens it begins with.
    """
    usage = _object(message, "usage")
    split = _object(usage, "cache_creation")
    short, long = _count(split, "ephemeral_5m_input_tokens"), _count(split, "ephemeral_1h_input_tokens")
    if short is None and long is None:
        short = _count(usage, "cache_creation_input_tokens")
    return Usage(
        fresh=_count(usage, "input_tokens"),
        read=_count(usage, "cache_read_input_tokens"),
        write_short=short,
        write_long=long,
        output=_count(usage, "output_tokens") if message.get("stop_reason") is not None else None,
    )


def _side(found: JsonObject) -> str:
    return (_text(found, "agentId") or UNNAMED_SIDE) if found.get("isSidechain") is True else ""


def _time(found: JsonObject) -> float | None:
    stamp = _text(found, "timestamp")
    try:
        return datetime.fromisoformat(stamp).timestamp() if stamp else None
    except ValueError:
        return None


def _text(found: JsonObject, key: str) -> str | None:
    value = found.get(key)
    return value if isinstance(value, str) else None


def _count(found: JsonObject, key: str) -> int | None:
    value = found.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _object(found: JsonObject, key: str) -> JsonObject:
    value = found.get(key)
    return value if isinstance(value, dict) else {}
