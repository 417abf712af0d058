"""Read coldpress's own recordings: one JSON object with a run's head and turns.

    {"format": "coldpress recording 1", "session": "...", "model": "...",
     "system": "...", "max_tokens": 8192, "tools": [{"name": ..., "description": ..., "input_schema": ...}],
     "turns": [{"sent_at": 0.0, "replied_at": 6.5, "added": [message, ...], "reply": message}, ...]}

Messages are in Anthropic's form: `{"role": ..., "content": [block, ...]}`, without cache marks.
Times are seconds since 1970.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from coldpress.lab.importers.counts import Counts, Tally
from coldpress.lab.importers.jsonvalues import HALVES, JsonObject, known_time, whole_bytes
from coldpress.lab.importers.sound_blocks import sound
from coldpress.lab.jsontext import compact_json
from coldpress.lab.rebuild import RequestHead
from coldpress.model.errors import RecordingError
from coldpress.model.trajectory import Trajectory, Turn
from coldpress.model.usage import Usage

FORMAT = "coldpress recording 1"


@dataclass(frozen=True, slots=True)
class Recording:
    """A run and the head that its requests carried."""

    trajectory: Trajectory
    head: RequestHead
    counts: Counts


class _Message(msgspec.Struct, forbid_unknown_fields=True):
    role: Literal["user", "assistant"]
    content: list[JsonObject]


class _Turn(msgspec.Struct, forbid_unknown_fields=True):
    sent_at: float
    replied_at: float
    added: list[_Message]
    reply: _Message


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    session: str
    model: str
    system: str
    max_tokens: int
    tools: list[dict[str, object]]
    turns: list[_Turn]


def read_file(path: Path) -> Recording:
    """Read a recording.

    Raises:
        OSError: the file cannot be read.
        RecordingError: the file is no recording of this format; says what is wrong and where.
    """
    return read_bytes(path.read_bytes(), name=path.stem)


def read_bytes(raw: bytes, *, name: str) -> Recording:
    """Read the bytes of a recording; `name` becomes the trajectory's name.

    Raises:
        RecordingError: this is no recording of this format; says what is wrong and where.
    """
    tally = Tally()
    tally.lines = 1
    raw, halves = whole_bytes(raw)
    tally.skipped[HALVES] += halves
    try:
        found = msgspec.json.decode(raw, type=_File)
    except msgspec.DecodeError as error:
        raise RecordingError(f"recording {name}: {error}; make it again or check its format") from error
    if found.format != FORMAT:
        raise RecordingError(f"recording {name}: its format is {found.format!r}, this version reads {FORMAT!r}")
    tally.use(*(tally.take("turn") for _ in found.turns))
    for place, turn in enumerate(found.turns):
        for message in (*turn.added, turn.reply):
            if not message.content or any(sound(block, Counter()) is None for block in message.content):
                raise RecordingError(f"recording {name}: turns[{place}] has a message without blocks; make it again")
    turns = tuple(_turn(turn, found.model, tally.skipped) for turn in found.turns)
    head = RequestHead(found.system, tuple(compact_json(tool) for tool in found.tools), found.max_tokens)
    return Recording(Trajectory(name, found.session, False, turns), head, tally.counts())


def _turn(turn: _Turn, model: str, notes: Counter[str]) -> Turn:
    reply = _blocks(turn.reply, notes)
    return Turn(
        added=tuple(_message(message.role, _blocks(message, notes)) for message in turn.added),
        reply=_message(turn.reply.role, reply),
        model=model,
        sent_at=known_time(turn.sent_at, notes),
        replied_at=known_time(turn.replied_at, notes),
        usage=Usage(),
        tools=tuple(str(block["name"]) for block in reply if block["type"] == "tool_use"),
    )


def _blocks(message: _Message, notes: Counter[str]) -> list[JsonObject]:
    return [kept for block in message.content if (kept := sound(block, notes)) is not None]


def _message(role: str, blocks: list[JsonObject]) -> str:
    return compact_json({"role": role, "content": blocks})
