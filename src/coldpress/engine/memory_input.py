"""Read a call of Anthropic's memory tool (`memory_20250818`) into a checked command, or say what is wrong with it.

Fields: `view{path, view_range?}`, `create{path, file_text}`, `str_replace{path, old_str, new_str}`,
`insert{path, insert_line, insert_text}`, `delete{path}`, `rename{old_path, new_path}`, all under `/memories`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from coldpress.engine.notes import path_problem, text_problem

ROOT: Final = "/memories"
COMMANDS: Final = ("view", "create", "str_replace", "insert", "delete", "rename")
_LONGEST_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Told:
    """A command that was not run. `reply` tells the model why, and what to do."""

    reply: str


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines counted from 1, both ends included; `last` is `None` for the end of the file."""

    first: int
    last: int | None


@dataclass(frozen=True, slots=True)
class View:
    """Show a file, or what a directory holds. Paths are relative to the root here and below; the root is `""`."""

    path: str
    lines: LineRange | None = None


@dataclass(frozen=True, slots=True)
class Create:
    """Make a new file."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Replace:
    """Put a text in the place of another that stands once in a file."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Insert:
    """Put lines behind a line, counted from 1; 0 is the top of the file."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Take away a file, or a directory with all below it."""

    path: str


@dataclass(frozen=True, slots=True)
class Rename:
    """Move a file or a directory."""

    old: str
    new: str


Command = View | Create | Replace | Insert | Delete | Rename


class _Refused(Exception):
    """A field is wrong; the message says which and why."""


def parse(given: Mapping[str, object]) -> Command | Told:
    """Read the `input` of a tool call; fields that the command does not have are ignored.

    Never raises: what is wrong is told, in words for the model.
    """
    try:
        return _parse(given)
    except _Refused as refused:
        return Told(f"Not done: {refused}")


def _parse(given: Mapping[str, object]) -> Command:
    name = given.get("command")
    match name:
        case "view":
            return View(_path(given, "path"), _lines(given))
        case "create":
            return Create(_file(given), _text(given, "file_text"))
        case "str_replace":
            return Replace(_file(given), _text(given, "old_str"), _text(given, "new_str"))
        case "insert":
            return Insert(_file(given), _whole(given, "insert_line"), _text(given, "insert_text"))
        case "delete":
            return Delete(_path(given, "path"))
        case "rename":
            return Rename(_path(given, "old_path"), _path(given, "new_path"))
        case str():
            raise _Refused(f"there is no command {shown(name)}; commands are {', '.join(COMMANDS)}.")
        case _:
            raise _Refused(f"command is missing or no text; commands are {', '.join(COMMANDS)}.")


def shown(text: str) -> str:
    """Quote a text of the model's for a reply, shortened and with nothing that cannot be printed."""
    short = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
    return '"' + "".join(c if c.isprintable() else "�" for c in short) + '"'


def full(path: str) -> str:
    """Give a path as the model writes it."""
    return f"{ROOT}/{path}" if path else ROOT


def _path(given: Mapping[str, object], field: str) -> str:
    """A path relative to the root, checked. One slash at the end of a directory's name is as good as none."""
    path = given.get(field)
    if not isinstance(path, str):
        raise _Refused(f"{field} is missing or no text; it must be a path under {ROOT}.")
    if path in (ROOT, f"{ROOT}/"):
        return ""
    if not path.startswith(f"{ROOT}/"):
        raise _Refused(f"{field} is {shown(path)}; it must begin with {ROOT}/.")
    inner = path.removeprefix(f"{ROOT}/").removesuffix("/")
    problem = path_problem(inner)
    if problem:
        raise _Refused(f"{field} {shown(path)} {problem}.")
    return inner


def _file(given: Mapping[str, object]) -> str:
    """A path that can only be a file's."""
    path = given.get("path")
    if isinstance(path, str) and path.endswith("/"):
        raise _Refused(f"path {shown(path)} names a directory; give the path of a file. Directories need not be made.")
    return _path(given, "path")


def _text(given: Mapping[str, object], field: str) -> str:
    text = given.get(field)
    if not isinstance(text, str):
        raise _Refused(f"{field} is missing or no text.")
    problem = text_problem(text)
    if problem:
        raise _Refused(f"{field} {problem}.")
    return text


def _whole(given: Mapping[str, object], field: str) -> int:
    number = given.get(field)
    if not isinstance(number, int) or isinstance(number, bool):
        raise _Refused(f"{field} is missing or no whole number.")
    return number


def _lines(given: Mapping[str, object]) -> LineRange | None:
    asked = given.get("view_range")
    match asked:
        case None:
            return None
        case [int() as first, int() as last] if not isinstance(first, bool) and not isinstance(last, bool):
            pass
        case _:
            raise _Refused("view_range must be two line numbers, [first, last]; -1 as the last is the end of the file.")
    if first < 1:
        raise _Refused(f"view_range begins with {first}; lines count from 1.")
    if last == -1:
        return LineRange(first, None)
    if last < first:
        raise _Refused(f"view_range is [{first}, {last}]; the last line must not stand before the first.")
    return LineRange(first, last)
