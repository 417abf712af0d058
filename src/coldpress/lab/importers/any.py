"""Tell what program recorded a file, and read it with that program's importer."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, assert_never

from coldpress.lab.importers import (
    claude_code,
    codex,
    message_lists,
    mini_swe_agent,
    openhands,
    pi,
    raw_log,
    recording,
    swe_agent,
)
from coldpress.lab.importers.chains import Imported
from coldpress.lab.importers.claude_code_lines import UNSENT
from coldpress.lab.importers.jsonvalues import JsonObject, text_in
from coldpress.lab.importers.sniff import First, first_values, is_database, wrong_file
from coldpress.model.errors import RecordingError

Kind = Literal[
    "claude-code", "pi", "codex", "openhands", "swe-agent", "mini-swe-agent", "tau-bench", "chat", "coldpress",
    "raw-log", "store",
]  # fmt: skip

KINDS: dict[Kind, str] = {
    "claude-code": "a Claude Code session (.jsonl)",
    "pi": "a pi or OMP session (.jsonl)",
    "codex": "a Codex rollout (.jsonl)",
    "openhands": "OpenHands records (output.jsonl) or events (.json)",
    "swe-agent": "a SWE-agent trajectory (.traj)",
    "mini-swe-agent": "a mini-swe-agent trajectory (.traj.json)",
    "tau-bench": "tau-bench results (.json)",
    "chat": "chat messages or request bodies in OpenAI's or Anthropic's form (.json, .jsonl)",
    "coldpress": "a coldpress recording (.json)",
    "raw-log": "an export of coldpress's raw log (.jsonl)",
    "store": "a store of coldpress with a raw log (.sqlite3)",
}

_CLAUDE_CODE = frozenset({"user", "assistant", *UNSENT})
_EXPECTED = f"give {', '.join(list(KINDS.values())[:-1])}, or {list(KINDS.values())[-1]}"
_MOST_KEYS = 8
_KEY_LENGTH = 40


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
        case "codex":
            return codex.read_file(path)
        case "openhands":
            return openhands.read_file(path)
        case "swe-agent":
            return swe_agent.read_file(path)
        case "mini-swe-agent":
            return mini_swe_agent.read_file(path)
        case "tau-bench" | "chat":
            return message_lists.read_file(path)
        case "raw-log" | "store":
            return raw_log.read_file(path)
        case "coldpress":
            found = recording.read_file(path)
            return Imported((found.trajectory,), found.counts, found.head)
    assert_never(kind)


def kind_of(path: Path) -> Kind:
    """Tell the kind of a file by what it holds; its name plays no part.

    Raises:
        OSError: the file cannot be read.
        RecordingError: it is of no known kind; says what it is, and which kinds there are.
    """
    if (wrong := wrong_file(path)) is not None:
        raise RecordingError(f"{path}: not a recorded run of a known kind: it is {wrong.what}. Then {_EXPECTED}")
    if is_database(path):
        return "store"
    first = first_values(path)
    kind = _by_program(first) or _by_messages(first)
    if kind is None:
        raise RecordingError(f"{path}: not a recorded run of a known kind: {_told(first)}; {_EXPECTED}")
    return kind


def _by_program(first: First) -> Kind | None:
    """Tell the kind by the first value that only one program writes."""
    for found in first.values:
        if isinstance(found, list) and first.whole and openhands.recognises_list(found):
            return "openhands"
        kind = _of_object(found) if isinstance(found, dict) else None
        if kind is not None:
            return kind
    return None


def _of_object(found: JsonObject) -> Kind | None:
    """Tell the kind by an object: the whole document, or a line."""
    kind = text_in(found, "type")
    if str(found.get("trajectory_format", "")).startswith("mini-swe-agent"):
        return "mini-swe-agent"
    if str(found.get("format", "")).startswith("coldpress recording"):
        return "coldpress"
    if kind in _CLAUDE_CODE and text_in(found, "sessionId") is not None:
        return "claude-code"
    if kind == "session" and text_in(found, "id") is not None and text_in(found, "timestamp") is not None:
        return "pi"
    if raw_log.recognises(found):
        return "raw-log"
    if swe_agent.recognises(found):
        return "swe-agent"
    if codex.recognises(found):
        return "codex"
    return "openhands" if openhands.recognises(found) else None


def _by_messages(first: First) -> Kind | None:
    """Tell the kind by the first value that holds chat messages, which many programs write."""
    for found in first.values:
        if message_lists.recognises(found):
            one = found[0] if isinstance(found, list) else found
            return "tau-bench" if isinstance(one, dict) and "traj" in one and "task_id" in one else "chat"
    return None


def _told(first: First) -> str:
    """Say what JSON a file holds, in a few words."""
    if not first.values:
        return "it is no JSON"
    found = first.values[0]
    if isinstance(found, dict):
        names = ", ".join(repr(name[:_KEY_LENGTH]) for name in list(found)[:_MOST_KEYS])
        more = ", ..." if len(found) > _MOST_KEYS else ""
        keys = f"with the keys {names}{more}" if names else "without keys"
        return f"it {'is' if first.whole else 'begins with'} a JSON object {keys}"
    if isinstance(found, list):
        return f"it {'is' if first.whole else 'begins with'} a JSON list that holds no messages"
    return "it holds JSON that is no object"
