"""Tell what kind of thing a tool call gives back, by the tool's name and, for shells, by the command line."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from coldpress.engine import catalogue_data as data
from coldpress.engine.catalogue_data import Kind
from coldpress.engine.shellkinds import numbers_lines, read_command

__all__ = ["Classified", "Kind", "canonical", "classify"]


@dataclass(frozen=True, slots=True)
class Classified:
    """One tool call, placed.

    Attributes:
        kind: what its result is.
        tool: the tool's name in lower case without harness prefixes (`mcp__github__get_issue` is `get_issue`).
        target: the file a source call reads, where it reads exactly one; as the call names it, joined with a `cd`
            before it.
        command: the shell command line, without a wrapping `bash -lc`; `None` for tools that run none.
        runs_program: whether the text may tell of a failed program: true for every shell call but those that only
            read, search and list files.
        numbered: whether line numbers in a source may be the tool's own. Those in what a shell read shows are the
            file's, unless the command line asks for numbers.
    """

    kind: Kind
    tool: str
    target: str | None = None
    command: str | None = None
    runs_program: bool = False
    numbered: bool = True


def canonical(name: str) -> str:
    """Strip a tool name of what harnesses put around it, in lower case.

    >>> canonical("functions.exec_command"), canonical("mcp__files__Read_File"), canonical("proxy_Bash")
    ('exec_command', 'read_file', 'bash')
    """
    lowered = name.strip().lower()
    stripped = True
    while stripped:
        stripped = False
        for prefix in data.PREFIXES:
            if lowered.startswith(prefix) and len(lowered) > len(prefix):
                lowered, stripped = lowered[len(prefix) :], True
    if lowered.startswith("mcp__"):
        return lowered.split("__", 2)[-1] or lowered
    return lowered


def classify(name: str, arguments: str) -> Classified:
    """Place a tool call.

    Args:
        name: as it stands on the wire.
        arguments: raw JSON text; may be invalid, then only the name counts.

    >>> classify("Bash", '{"command": "cat src/a.py"}').target
    'src/a.py'
    """
    tool = canonical(name)
    if _is_mcp(name):
        return Classified("mcp", tool)
    given = _decode(arguments)
    if tool in data.COMMAND_TOOLS:
        return _shell_call(tool, given)
    kind = _kind_of_name(tool)
    if tool in data.FILE_TOOLS:
        kind = _file_tool_kind(tool, given)
    target = _target(given) if kind == "source" else None
    return Classified(kind, tool, target, runs_program=kind == "shell")


def _is_mcp(name: str) -> bool:
    lowered = name.strip().lower()
    return any(lowered.startswith((f"{prefix}mcp__", f"{prefix}_mcp__")) for prefix in ("", *data.PREFIXES))


def _decode(arguments: str) -> dict[str, object]:
    try:
        return msgspec.json.decode(arguments, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return {}


def _kind_of_name(tool: str) -> Kind:
    exact = data.KIND_OF_NAME.get(tool)
    if exact is not None:
        return exact
    for pattern, kind in data.KIND_OF_PATTERN:
        if fnmatchcase(tool, pattern):
            return kind
    return "unknown"


def _file_tool_kind(tool: str, given: dict[str, object]) -> Kind:
    """Place a tool that reads and writes: what is not plainly a read counts as a change."""
    reads = given.get("command") in data.FILE_TOOL_READS
    if tool == "memory":
        return "memory" if reads or "command" not in given else "mutation"
    return "source" if reads else "mutation"


def _shell_call(tool: str, given: dict[str, object]) -> Classified:
    command = _command_line(given)
    if command is None:
        # Without its command line this may have been anything, a read or a patch among them.
        return Classified("unknown", tool, runs_program=True)
    reading = read_command(command)
    target = reading.files[0] if reading.kind == "source" and len(reading.files) == 1 else None
    numbered = reading.kind == "source" and numbers_lines(command)
    return Classified(reading.kind, tool, target, command, reading.runs_program, numbered)


def _command_line(given: dict[str, object]) -> str | None:
    """Find the command line in a shell tool's arguments; a program with its arguments is quoted into one."""
    action = given.get("action")
    places = (given, action) if isinstance(action, dict) else (given,)
    for place in places:
        for key in data.COMMAND_KEYS:
            value = place.get(key)
            if isinstance(value, str):
                return value
            if isinstance(value, list) and all(isinstance(word, str) for word in value):
                words = [str(word) for word in value]
                return "\n".join(words) if key == "commands" else _joined(words)
    return None


_SHELL_COMMAND_FLAGS: Final = frozenset({"-c", "-lc", "-ic", "-lic", "-ec", "-exc", "-Command"})


def _joined(words: list[str]) -> str:
    if len(words) == 3 and words[1] in _SHELL_COMMAND_FLAGS:
        return words[2]
    return shlex.join(words)


def _target(given: dict[str, object]) -> str | None:
    for key in data.PATH_KEYS:
        value = given.get(key)
        if isinstance(value, str) and value:
            return value
    for key in data.PATH_LIST_KEYS:
        value = given.get(key)
        if isinstance(value, list) and len(value) == 1:
            only = value[0]
            if isinstance(only, dict):
                return _target(only)
            return only if isinstance(only, str) and only else None
    return None
