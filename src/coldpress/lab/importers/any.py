"""Tell what program recorded a file, and read it with that program's importer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal, assert_never

from coldpress.lab.importers import claude_code, mini_swe_agent, pi, recording
from coldpress.lab.importers.chains import Imported
from coldpress.lab.importers.claude_code_lines import UNSENT
from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.jsonvalues import JsonObject, objects_of, text_in
from coldpress.model.errors import RecordingError

Kind = Literal["claude-code", "pi", "mini-swe-agent", "coldpress"]

KINDS: dict[Kind, str] = {
    "claude-code": "a Claude Code session (.jsonl)",
    "pi": "a pi or OMP session (.jsonl)",
    "mini-swe-agent": "a mini-swe-agent trajectory (.traj.json)",
    "coldpress": "a coldpress recording (.json)",
}

_CLAUDE_CODE = frozenset({"user", "assistant", *UNSENT})

_LINES_LOOKED_AT = 200
"""A session may begin with lines that could be anyone's; none that was seen needs more than ten."""


def read_file(path: Path) -> Imported:
    """Read a recorded run of any known kind.

    Raises:
        OSError: the file cannot be read.
        RecordingError: it is of no known kind, or broken; says which kinds there are, or what is wrong.
    """
    kind = kind_of(path)
    match kind:
        case "claude-code":
            return claude_code.read_file(path)
        case "pi":
            return pi.read_file(path)
        case "mini-swe-agent":
            return mini_swe_agent.read_file(path)
        case "coldpress":
            found = recording.read_file(path)
            return Imported((found.trajectory,), found.counts, found.head)
    assert_never(kind)


def kind_of(path: Path) -> Kind:
    """Tell the kind of a file by what it holds; its name plays no part.

    Raises:
        OSError: the file cannot be read.
        RecordingError: it is of no known kind; says which kinds there are.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise RecordingError(f"{path}: not UTF-8 text; {_EXPECTED}") from error
    kind = _of_document(text) or _of_lines(text)
    if kind is None:
        raise RecordingError(f"{path}: not a recorded run of a known kind; {_EXPECTED}")
    return kind


_EXPECTED = f"give {', '.join(list(KINDS.values())[:-1])} or {list(KINDS.values())[-1]}"


def _of_document(text: str) -> Kind | None:
    """Tell the kind of a file that is one JSON object."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        return None
    if not isinstance(found, dict):
        return None
    if str(found.get("trajectory_format", "")).startswith("mini-swe-agent"):
        return "mini-swe-agent"
    return "coldpress" if str(found.get("format", "")).startswith("coldpress recording") else None


def _of_lines(text: str) -> Kind | None:
    """Tell the kind of a file that is one JSON object a line by the first line that only one program writes."""
    for line in text.split("\n", _LINES_LOOKED_AT)[:_LINES_LOOKED_AT]:
        for found in objects_of(line, Tally()):
            kind = _of_line(found)
            if kind is not None:
                return kind
    return None


def _of_line(found: JsonObject) -> Kind | None:
    kind = text_in(found, "type")
    if kind in _CLAUDE_CODE and text_in(found, "sessionId") is not None:
        return "claude-code"
    if kind == "session" and text_in(found, "id") is not None and text_in(found, "timestamp") is not None:
        return "pi"
    return None
