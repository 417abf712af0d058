"""Say which notes are allowed, how large they may be, and add facts to them without losing any."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from coldpress.engine.credentials import holds_secret
from coldpress.model.errors import ConfigError
from coldpress.model.notes import Note, NoteScope, NoteSource, scope_of_lineage
from coldpress.model.summary import Item, Section, Summary

KIB: Final = 1024
SUMMARY_PATH: Final = "summary.md"
"""Where facts from summaries go; where it is full, `summary-2.md` follows, and so on."""

MOST_PATH_BYTES: Final = 200
MOST_PATH_PARTS: Final = 8
MOST_NAME_BYTES: Final = 100

_FACTS: Final[tuple[tuple[Section, str], ...]] = (
    ("constraints", "constraint"),
    ("decisions", "decision"),
    ("artifacts", "artifact"),
)
"""Sections that hold true after the window they were taken from, and the word in front of each of their facts."""

_ENCODED: Final = re.compile(r"%[0-9a-fA-F]{2}")
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_LINE_ENDS: Final = re.compile(r"\r\n|\n|\r")
_SHELL: Final = "'\"\\`$!"
"""A command that names the project can then be copied with quotes around the name."""
_LINEAGE: Final = re.compile(r"[0-9A-Za-z_-]+")


@dataclass(frozen=True, slots=True)
class NoteLimits:
    """How much the notes of one scope may hold, in bytes of UTF-8.

    Raises:
        ConfigError: a limit is under 1.
    """

    most_file_bytes: int = 64 * KIB
    most_files: int = 64
    most_total_bytes: int = 256 * KIB

    def __post_init__(self) -> None:
        for limit in fields(self):
            if getattr(self, limit.name) < 1:
                raise ConfigError(f"note limit {limit.name} is {getattr(self, limit.name)}; use 1 or more")


DEFAULT_LIMITS: Final = NoteLimits()


@dataclass(frozen=True, slots=True)
class Remembered:
    """Notes with facts added to them.

    Attributes:
        notes: all of them, by path; those that did not change are the same values.
        changed: those that are new or longer, to be stored.
        left_out: facts for which the limits leave no room, in their order. Nothing else was taken out for them.
    """

    notes: tuple[Note, ...]
    changed: tuple[Note, ...]
    left_out: tuple[str, ...]


def project_scope(name: str) -> NoteScope:
    """Name the notes of a project.

    Raises:
        ConfigError: the name cannot stand for a project, see `project_problem`.
    """
    problem = project_problem(name)
    if problem:
        raise ConfigError(f"project {name!r} {problem}")
    return NoteScope(f"project:{name}")


def lineage_scope(lineage: str) -> NoteScope:
    """Name the notes of one conversation, by its lineage as the ledger has it.

    Raises:
        ConfigError: this is no lineage.
    """
    if not _LINEAGE.fullmatch(lineage) or len(lineage) > MOST_NAME_BYTES:
        raise ConfigError(f"lineage {lineage!r} is none; coldpress ledger conversations names them")
    return scope_of_lineage(lineage)


def project_problem(name: str) -> str | None:
    """Say what is wrong with a project's name, as the end of a sentence that names it; `None` where nothing is."""
    if not name or name != name.strip():
        return "is empty or has spaces around it"
    if not name.isprintable():
        return "holds characters that cannot be printed"
    if any(c in _SHELL for c in name):
        return f"holds one of {_SHELL}, which a shell would read"
    if len(name.encode()) > MOST_NAME_BYTES:
        return f"is longer than {MOST_NAME_BYTES} bytes"
    return None


def path_problem(path: str) -> str | None:
    """Say what is wrong with a note's path, as the end of a sentence that names it; `None` where nothing is.

    A path is relative, has `/` between its parts, and reads the same however a client, a file system or a terminal
    takes it: what only some of them would take for `..` or `/` is refused as well.

    >>> path_problem("facts/ids.md"), path_problem("../ids.md")
    (None, 'has a part "..", which leads elsewhere')
    """
    if not path:
        return "is empty"
    # Before anything is measured in bytes: a lone surrogate is not printable, and has no UTF-8.
    if not path.isprintable():
        return "holds characters that cannot be printed"
    if path.startswith("/") or _DRIVE.match(path):
        return "is absolute; give it relative to the notes"
    if "\\" in path:
        return "holds a backslash; use / between parts"
    if _ENCODED.search(path):
        return "is percent-encoded; write the characters themselves"
    if unicodedata.normalize("NFKC", path) != path:
        return "holds characters that have a plainer form (NFKC); use that"
    if len(path.encode()) > MOST_PATH_BYTES:
        return f"is longer than {MOST_PATH_BYTES} bytes"
    return _parts_problem(path.split("/"))


def _parts_problem(parts: list[str]) -> str | None:
    if len(parts) > MOST_PATH_PARTS:
        return f"has more than {MOST_PATH_PARTS} parts"
    for part in parts:
        if not part:
            return "has an empty part"
        if part in (".", ".."):
            return f'has a part "{part}", which leads elsewhere'
        if part != part.strip():
            return "has a part with spaces around it"
    return None


def text_problem(text: str) -> str | None:
    """Say what is wrong with a note's text, as the end of a sentence; `None` where nothing is."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds half a surrogate pair, which is no character"
    return None


def place_problem(path: str, notes: Sequence[Note]) -> str | None:
    """Say why no note can stand at a path beside these others; `None` where it can, or where it is one of them."""
    for note in notes:
        if path.startswith(f"{note.path}/"):
            return f"lies below {note.path}, which is a file"
        if note.path.startswith(f"{path}/"):
            return "is a directory"
    return None


def size_problem(notes: Sequence[Note], limits: NoteLimits) -> str | None:
    """Say which limit these notes break, as a sentence without its full stop; `None` where they break none."""
    if len(notes) > limits.most_files:
        return f"there would be {len(notes)} files, and at most {limits.most_files} are kept"
    sizes = [(len(note.text.encode()), note.path) for note in notes]
    for size, path in sizes:
        if size > limits.most_file_bytes:
            return f"{path} would hold {size} bytes, and a file holds at most {limits.most_file_bytes}"
    total = sum(size for size, _ in sizes)
    if total > limits.most_total_bytes:
        return f"all files together would hold {total} bytes, and at most {limits.most_total_bytes} are kept"
    return None


def put(notes: Sequence[Note], note: Note) -> tuple[Note, ...]:
    """Give the notes by path with one more, or with one replaced."""
    return tuple(sorted((*(n for n in notes if n.path != note.path), note), key=lambda n: n.path))


def holds(text: str, fact: str) -> bool:
    """Whether a text holds a fact as whole lines."""
    return f"\n{fact.rstrip(chr(10))}\n" in f"\n{text}\n"


def added(text: str, fact: str) -> str:
    """Append a fact as a line of its own, or as several where it has several, unless it stands there already.

    Every character of `text` stays. Adding twice is adding once.

    >>> added("port 8484", "no force pushes")
    'port 8484\\nno force pushes\\n'
    """
    fact = fact.rstrip("\n")
    if not fact or holds(text, fact):
        return text
    return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{fact}\n"


def facts(summary: Summary) -> tuple[str, ...]:
    r"""List what of a summary is worth keeping for good: constraints, decisions, artifacts, each as one line.

    Only items with quotes: what a model said in its own words may be wrong, and would outlive the next summary here.
    What looks like a credential is left out.

    The number of the message is left out: it means nothing in another conversation, and the same fact found again in
    another message would look like a new one. A line end inside an item is written `\n`, so that nothing is lost.
    """
    sections = dict(summary.sections())
    lasting = (
        f"{word}: {_one_line(item)}"
        for name, word in _FACTS
        for item in sections[name]
        if item.quotes and not holds_secret(item.text)
    )
    return tuple(dict.fromkeys(lasting))


def _one_line(item: Item) -> str:
    path = item.quotes[0] if item.quotes else ""
    # How often a file was changed is true of one moment only, and would be a new fact each time.
    text = path if path and item.text.startswith(f"{path}: changed by ") else item.text
    return _LINE_ENDS.sub(r"\\n", text.strip())


def remembered(
    notes: Sequence[Note],
    new: Sequence[str],
    *,
    limits: NoteLimits,
    path: str = SUMMARY_PATH,
    source: NoteSource = "summary",
) -> Remembered:
    """Add facts to the file of facts, and to files that continue it where that is full.

    Args:
        notes: of one scope.
        new: one line each. A fact that stands in any of the notes is there already.
        limits: of the scope. Notes that break them already only grow no further.
        path: of the first file.
        source: who says so.
    """
    now: dict[str, Note] = {note.path: note for note in notes}
    changed: set[str] = set()
    left_out: list[str] = []
    for fact in new:
        if not fact.strip() or any(holds(note.text, fact) for note in now.values()):
            continue
        grown = _with_fact(now, fact, limits=limits, path=path, source=source)
        if grown is None:
            left_out.append(fact)
        else:
            now[grown.path] = grown
            changed.add(grown.path)
    ordered = tuple(now[name] for name in sorted(now))
    return Remembered(ordered, tuple(note for note in ordered if note.path in changed), tuple(left_out))


def _with_fact(
    notes: Mapping[str, Note], fact: str, *, limits: NoteLimits, path: str, source: NoteSource
) -> Note | None:
    """The file of facts that takes this one; `None` where no more may be kept, or the fact is no text."""
    if text_problem(fact):
        return None
    spare_bytes = limits.most_total_bytes - sum(len(note.text.encode()) for note in notes.values())
    for name in _continued(path, limits.most_files):
        old = notes.get(name, Note(name, "", source))
        grown = replace(old, text=added(old.text, fact), source=source)
        size = len(grown.text.encode())
        if size - len(old.text.encode()) > spare_bytes:
            return None
        is_room = size <= limits.most_file_bytes and (name in notes or len(notes) < limits.most_files)
        if is_room and place_problem(name, tuple(notes.values())) is None:
            return grown
    return None


def _continued(path: str, count: int) -> Iterator[str]:
    stem, dot, ending = path.rpartition(".")
    yield path
    for number in range(2, count + 1):
        yield f"{stem}-{number}.{ending}" if dot else f"{path}-{number}"
