"""Write notes out as one block of text for the model's window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coldpress.engine.markers import MARK
from coldpress.engine.notes import KIB
from coldpress.model.errors import ConfigError
from coldpress.model.notes import Note, NoteScope, NoteSource

LEAST_SHOWN_BYTES: Final = KIB
"""Under this there is no room for the lines that say what is left out."""

_OMISSION_BYTES: Final = 560
"""The longest line that says what is left out: see `_omission`."""

_NAMED_BYTES: Final = 300
_FIRST: Final[dict[NoteSource, int]] = {"user": 0, "agent": 1, "summary": 2}
"""Whose notes are shown first where not all fit."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """As much of a note as there is room for; `lines` are whole, with their line ends."""

    note: Note
    lines: tuple[str, ...]
    left: int

    @property
    def text(self) -> str:
        told = f", its first {len(self.lines)} of {len(self.lines) + self.left} lines" if self.left else ""
        return f"{MARK}: note {self.note.path}{told}]\n{''.join(self.lines)}"


def render(notes: Sequence[Note], *, most_bytes: int, scope: NoteScope | None = None) -> str:
    """Write notes out, in the order of their paths, each under a line that names it.

    Where not all fit, notes of the user go first, then those of the agent, then those of summaries; of a note that
    does not fit whole, its first lines. No line is cut. A last line counts and names what is left out.

    Args:
        notes: in any order, of one scope or of several; two of the same path both stand.
        most_bytes: of the whole text, in UTF-8, at least `LEAST_SHOWN_BYTES`.
        scope: whose they are, where all are of one, for the command that shows the rest.

    Returns:
        A text that begins with `MARK` and ends with a line end, or nothing where there are no notes.

    Raises:
        ConfigError: `most_bytes` is too small.
    """
    if most_bytes < LEAST_SHOWN_BYTES:
        raise ConfigError(f"notes are shown in at least {LEAST_SHOWN_BYTES} bytes, not in {most_bytes}")
    if not notes:
        return ""
    ordered = sorted(notes, key=lambda note: (note.path, _FIRST[note.source], note.text))
    head = f"{MARK}: notes kept outside this conversation, {len(ordered)} in all]\n"
    whole = head + "".join(_Shown(note, _lines(note.text), 0).text for note in ordered)
    if _size(whole) <= most_bytes:
        return whole
    shown = _fitting(ordered, most_bytes - _size(head) - _OMISSION_BYTES)
    parts = [found.text for found in shown if found is not None]
    short = [note.path for note, found in zip(ordered, shown, strict=True) if found is None or found.left]
    return head + "".join(parts) + _omission(short, scope)


def _fitting(notes: Sequence[Note], room: int) -> list[_Shown | None]:
    """As much of each note as fits into a number of bytes together, in the order of the notes."""
    shown: list[_Shown | None] = [None] * len(notes)
    for place in sorted(range(len(notes)), key=lambda at: (_FIRST[notes[at].source], at)):
        found = _beginning(notes[place], room)
        if found is not None:
            shown[place] = found
            room -= _size(found.text)
    return shown


def _beginning(note: Note, room: int) -> _Shown | None:
    """As many first lines of a note as fit; `None` where it is not a single one."""
    lines = _lines(note.text)
    whole = _Shown(note, lines, 0)
    if _size(whole.text) <= room:
        return whole
    # No count of lines is longer than that of all of them.
    used = _size(_Shown(note, (), len(lines)).text) + len(str(len(lines)))
    kept = 0
    while kept < len(lines) and used + _size(lines[kept]) <= room:
        used += _size(lines[kept])
        kept += 1
    return _Shown(note, lines[:kept], len(lines) - kept) if kept else None


def _omission(paths: Sequence[str], scope: NoteScope | None) -> str:
    """Count the notes that are not shown whole, name the first of them, and say how to see them."""
    named: list[str] = []
    used = 0
    for path in paths:
        used += _size(path) + 2
        if used > _NAMED_BYTES:
            break
        named.append(path)
    rest = len(paths) - len(named)
    names = ", ".join(named) + (f" and {rest} others" if rest else "")
    count = "1 more note" if len(paths) == 1 else f"{len(paths)} more notes"
    return f"{MARK}: {count}: coldpress notes show{_option(scope)} with one of {names}]\n"


def _option(scope: NoteScope | None) -> str:
    if scope is None:
        return ""
    kind, _, name = scope.partition(":")
    # `project_problem` lets no quotes through.
    quoted = name if name.replace("-", "").replace("_", "").isalnum() else f"'{name}'"
    return f" --{kind} {quoted}"


def _lines(text: str) -> tuple[str, ...]:
    """The lines of a text, each with its line end; a last one that has none gets one."""
    if not text:
        return ()
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return tuple(f"{line}\n" for line in lines)


def _size(text: str) -> int:
    return len(text.encode())
