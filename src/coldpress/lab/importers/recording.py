"""Read coldpress's own recordings: one JSON object with a run's head and turns.

    {"format": "coldpress recording 1", "session": "...", "model": "...",
     "system": "...", "max_tokens": 8192, "tools": [{"name": ..., "description": ..., "input_schema": ...}],
     "turns": [{"sent_at": 0.0, "replied_at": 6.5, "added": [message, ...], "reply": message}, ...]}

Messages are in Anthropic's form: `{"role": ..., "content": [block, ...]}`, without cache marks.
Times are seconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from coldpress.lab.importers.counts import Counts
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
    role: str
    content: list[dict[str, object]]


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
    try:
        found = msgspec.json.decode(raw, type=_File)
    except msgspec.DecodeError as error:
        raise RecordingError(f"recording {name}: {error}; make it again or check its format") from error
    if found.format != FORMAT:
        raise RecordingError(f"recording {name}: its format is {found.format!r}, this version reads {FORMAT!r}")
    turns = tuple(_turn(turn, found.model) for turn in found.turns)
    head = RequestHead(found.system, tuple(compact_json(tool) for tool in found.tools), found.max_tokens)
    return Recording(
        Trajectory(name, found.session, False, turns), head, _counts(len(turns))
    )  # fmt: skip


def _counts(turns: int) -> Counts:
    return Counts(1, turns, (("turn", turns),), (), used=turns, set_aside=0, unknown=0, broken=0)


def _turn(turn: _Turn, model: str) -> Turn:
    return Turn(
        added=tuple(_message(message) for message in turn.added),
        reply=_message(turn.reply),
        model=model,
        sent_at=turn.sent_at,
        replied_at=turn.replied_at,
        usage=Usage(),
        tools=tuple(str(block["name"]) for block in turn.reply.content if block.get("type") == "tool_use"),
    )


def _message(message: _Message) -> str:
    return compact_json({"role": message.role, "content": message.content})
