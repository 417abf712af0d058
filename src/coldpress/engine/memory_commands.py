"""Run the commands of Anthropic's memory tool over notes; a command that cannot be run is told, never raised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, assert_never

from coldpress.engine.memory_input import (
    ROOT,
    Command,
    Create,
    Delete,
    Insert,
    LineRange,
    Rename,
    Replace,
    Told,
    View,
    full,
    shown,
)
from coldpress.engine.notes import NoteLimits, path_problem, place_problem, put, size_problem
from coldpress.model.notes import Note

LINE_NUMBER_WIDTH: Final = 6
"""Numbers stand right-aligned in this many columns with a tab behind them, as models know it from `cat -n`."""

SNIPPET_LINES: Final = 2
"""Lines shown before and behind a replaced text."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that was run.

    Attributes:
        notes_after: all notes, by path; those the command did not touch are the same values.
        reply: for the model.
    """

    notes_after: tuple[Note, ...]
    reply: str


class _Refused(Exception):
    """The command cannot be run on these notes; the message says why."""


def run(command: Command, notes: Sequence[Note], limits: NoteLimits) -> Ran | Told:
    """Run one command.

    Args:
        command: from `coldpress.engine.memory_input.parse`.
        notes: all of the scope, in any order.
        limits: what the notes may hold afterwards. Notes that break them already can still be made smaller.

    Returns:
        What the notes are afterwards, or `Told` where nothing was changed.
    """
    ordered = tuple(sorted(notes, key=lambda note: note.path))
    try:
        return _run(command, ordered, limits)
    except _Refused as refused:
        return Told(f"Not done: {refused}")


def _run(command: Command, notes: tuple[Note, ...], limits: NoteLimits) -> Ran:
    match command:
        case View():
            return Ran(notes, _view(command, notes))
        case Create():
            return _create(command, notes, limits)
        case Replace():
            return _replace(command, notes, limits)
        case Insert():
            return _insert(command, notes, limits)
        case Delete():
            return _delete(command, notes)
        case Rename():
            return _rename(command, notes)
        case _:
            assert_never(command)


def _view(command: View, notes: tuple[Note, ...]) -> str:
    if _is_directory(command.path, notes):
        if command.lines is not None:
            raise _Refused(f"{full(command.path)} is a directory and has no lines; leave view_range out.")
        return _listing(command.path, notes)
    text = _file(command.path, notes).text
    lines = _lines(text)
    if not lines:
        return f"{full(command.path)} is empty."
    asked = command.lines or LineRange(1, None)
    if asked.first > len(lines):
        raise _Refused(f"view_range begins with {asked.first}, and {full(command.path)} has {len(lines)} lines.")
    last = len(lines) if asked.last is None else min(asked.last, len(lines))
    of = "" if (asked.first, last) == (1, len(lines)) else f", lines {asked.first} to {last} of {len(lines)}"
    return f"{full(command.path)}{of}:\n{_numbered(lines, asked.first, last)}"


def _listing(path: str, notes: tuple[Note, ...]) -> str:
    """All files below a directory, at any depth: there are few, and what is not listed would not be found again."""
    below = [note for note in notes if not path or note.path.startswith(f"{path}/")]
    if not below:
        return f"{full(path)} holds no files yet."
    total = sum(len(note.text.encode()) for note in below)
    rows = [f"{len(note.text.encode())}\t{full(note.path)}" for note in below]
    return "\n".join([f"Files below {full(path)}, each with its size in bytes, {total} in all:", *rows])


def _create(command: Create, notes: tuple[Note, ...], limits: NoteLimits) -> Ran:
    if _is_directory(command.path, notes):
        raise _Refused(f"{full(command.path)} is a directory; give the path of a file.")
    if any(note.path == command.path for note in notes):
        raise _Refused(
            f"{full(command.path)} is there already; change it with str_replace or insert, or delete it first."
        )
    _require_place(command.path, notes)
    after = _within(put(notes, Note(command.path, command.text, "agent")), notes, limits)
    return Ran(after, f"Created {full(command.path)}, {len(command.text.encode())} bytes.")


def _replace(command: Replace, notes: tuple[Note, ...], limits: NoteLimits) -> Ran:
    note = _file(command.path, notes)
    if not command.old:
        raise _Refused("old_str is empty; use insert to add lines.")
    found = _places(note.text, command.old)
    if not found:
        raise _Refused(f"old_str {shown(command.old)} does not stand in {full(note.path)}; it must match exactly.")
    if len(found) > 1:
        numbers = ", ".join(str(note.text.count("\n", 0, at) + 1) for at in found[:20])
        more = f" and {len(found) - 20} more" if len(found) > 20 else ""
        raise _Refused(
            f"old_str {shown(command.old)} stands {len(found)} times in {full(note.path)}, in lines {numbers}{more}; "
            "give more of the text around the one that is meant."
        )
    at = found[0]
    text = note.text[:at] + command.new + note.text[at + len(command.old) :]
    after = _within(put(notes, replace(note, text=text, source="agent")), notes, limits)
    return Ran(after, f"Changed {full(note.path)}.{_snippet(text, at, len(command.new))}")


def _snippet(text: str, at: int, length: int) -> str:
    lines = _lines(text)
    if not lines:
        return " It is empty now."
    first = text.count("\n", 0, at) + 1
    last = first + text.count("\n", at, at + length)
    first, last = max(1, min(first, len(lines)) - SNIPPET_LINES), min(len(lines), last + SNIPPET_LINES)
    return f" Lines {first} to {last} are now:\n{_numbered(lines, first, last)}"


def _insert(command: Insert, notes: tuple[Note, ...], limits: NoteLimits) -> Ran:
    note = _file(command.path, notes)
    lines = _lines(note.text)
    if not 0 <= command.line <= len(lines):
        raise _Refused(
            f"insert_line is {command.line}; {full(note.path)} takes 0, the top, to {len(lines)}, behind its last line."
        )
    before = "".join(f"{line}\n" for line in lines[: command.line])
    # What stands behind is copied as it is, with or without a line end of its own.
    behind = note.text[len(before) :]
    new = command.text if command.text.endswith("\n") else f"{command.text}\n"
    after = _within(put(notes, replace(note, text=before + new + behind, source="agent")), notes, limits)
    return Ran(after, f"Inserted behind line {command.line} of {full(note.path)}.")


def _delete(command: Delete, notes: tuple[Note, ...]) -> Ran:
    if not command.path:
        raise _Refused(f"{ROOT} itself cannot be deleted; delete what lies below it.")
    kept = tuple(note for note in notes if not _is_at(note.path, command.path))
    gone = len(notes) - len(kept)
    if not gone:
        raise _missing(command.path)
    was_directory = _is_directory(command.path, notes)
    files = f" with {gone} file{'' if gone == 1 else 's'}" if was_directory else ""
    return Ran(kept, f"Deleted {full(command.path)}{files}.")


def _rename(command: Rename, notes: tuple[Note, ...]) -> Ran:
    if not command.old or not command.new:
        raise _Refused(f"{ROOT} itself cannot be renamed, nor replaced.")
    moved = tuple(note for note in notes if _is_at(note.path, command.old))
    if not moved:
        raise _missing(command.old)
    if any(_is_at(note.path, command.new) for note in notes):
        raise _Refused(f"{full(command.new)} is there already; nothing is overwritten.")
    if command.new.startswith(f"{command.old}/"):
        raise _Refused(f"{full(command.new)} lies below {full(command.old)}; it cannot be moved into itself.")
    others = tuple(note for note in notes if note not in moved)
    _require_place(command.new, others)
    renamed = [replace(note, path=command.new + note.path.removeprefix(command.old)) for note in moved]
    for note in renamed:
        problem = path_problem(note.path)
        if problem:
            raise _Refused(f"{shown(full(note.path))} {problem}.")
    after = tuple(sorted((*others, *renamed), key=lambda note: note.path))
    return Ran(after, f"Renamed {full(command.old)} to {full(command.new)}.")


def _file(path: str, notes: tuple[Note, ...]) -> Note:
    for note in notes:
        if note.path == path:
            return note
    if _is_directory(path, notes):
        raise _Refused(f"{full(path)} is a directory; give the path of a file.")
    raise _missing(path)


def _missing(path: str) -> _Refused:
    return _Refused(f"there is no {full(path)}; view {ROOT} lists what there is.")


def _require_place(path: str, notes: tuple[Note, ...]) -> None:
    problem = place_problem(path, notes)
    if problem:
        raise _Refused(f"{full(path)} {problem}.")


def _within(after: tuple[Note, ...], before: tuple[Note, ...], limits: NoteLimits) -> tuple[Note, ...]:
    """The notes, if they break no limit, or if all they do is to come nearer to one that was broken already."""
    problem = size_problem(after, limits)
    if problem and not (len(after) <= len(before) and _shrinks(after, before)):
        raise _Refused(f"{problem}; shorten or delete something first.")
    return after


def _shrinks(after: tuple[Note, ...], before: tuple[Note, ...]) -> bool:
    return sum(len(note.text.encode()) for note in after) < sum(len(note.text.encode()) for note in before)


def _is_at(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")


def _is_directory(path: str, notes: tuple[Note, ...]) -> bool:
    """The root is one, and so is whatever has a file below it."""
    return not path or any(note.path.startswith(f"{path}/") for note in notes)


def _places(text: str, part: str) -> list[int]:
    """Where a text begins in another, overlapping ones too: in `aaa`, `aa` is not unique."""
    found: list[int] = []
    at = text.find(part)
    while at >= 0:
        found.append(at)
        at = text.find(part, at + 1)
    return found


def _lines(text: str) -> list[str]:
    """The lines of a text without their line feeds; a line feed at its end begins no further line."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _numbered(lines: list[str], first: int, last: int) -> str:
    return "\n".join(
        f"{number:>{LINE_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines[first - 1 : last], start=first)
    )
