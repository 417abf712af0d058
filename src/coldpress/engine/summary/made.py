"""Find what was made or changed in a range of messages: files, and the ids that calls gave back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from coldpress.engine.catalogue_data import Kind
from coldpress.engine.changes import changed
from coldpress.engine.credentials import holds_secret
from coldpress.engine.memo import Memo, unremembered
from coldpress.engine.summary.bound import Candidate, chars_of
from coldpress.engine.summary.commands import first_line, is_coloured
from coldpress.engine.summary.events import Event, Ran
from coldpress.engine.summary.identifiers import labelled, load_bearing, telling
from coldpress.model.summary import Item

MAX_ID_CHARS: Final = 200
_MAX_RESULT_CHARS: Final = 4_000
"""A longer result reports on something; one that tells of a thing made is short, or says so at its end."""

_END_CHARS: Final = 1_500
_SHORT_LINES: Final = 3
"""A command that makes or looks up one thing answers in so few lines."""

_MAX_CALL_CHARS: Final = 120

_COUNTED: Final = 9
"""Counts above are not said: they would be one more number to get wrong."""

_MADE_LINE: Final = re.compile(
    r"\[[\w./-]+(?: \(root-commit\))? [0-9a-f]{7,40}\] |https?://\S+/(?:pull|issues|merge_requests|commit)/\S+$"
    r"|HEAD is now at |[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40} +\S+ -> |\* \[new (?:branch|tag)\]"
    r"|(?:[Cc]reated|[Pp]ublished|[Dd]eployed|[Uu]ploaded|[Ss]aved|[Ww]rote|[Tt]agged|[Mm]erged|[Bb]ooked)\b(?!:)"
)
"""How a command tells what it made, from the start of a line on."""

_LONE_HASH: Final = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})")
_ASKS_FOR_HASH: Final = re.compile(
    r"\bgit\b[^|;&\n]*\b(?:rev-parse|merge-base|hash-object|write-tree|commit-tree|describe)\b"
    r"|\bgit\b[^|;&\n]*\b(?:log|show|rev-list)\b[^|;&\n]*--(?:format|pretty)=\S*%[hH]|\b(?:sha\d+|md5|sha)sum\b"
)
"""Command lines that are run for the hash that they print."""

_LOOKS: Final = re.compile(r"\bgit\b[^|;&\n]*\b(?:log|reflog|show|blame)\b|^\s*(?:cat|ls|grep|rg|find)\b")
"""Command lines that look at what others made; what they show is soon seen again."""

_HASH: Final = re.compile(r"(?<![\w-])(?=[0-9a-f]*\d)[0-9a-f]{7,64}(?![\w-])")
_PAIR: Final = re.compile(
    r"\"(?:\w*_?(?:id|number|code|key|url|hash|sha)|status|amount|price|total|balance)\"\s*:\s*(?:\"[^\"\\\n]{1,80}\"|-?\d[\d.]*)",
    re.IGNORECASE,
)
"""A name and its value in a JSON answer."""

_OPAQUE_KEY: Final = re.compile(r"key\"\s*:\s*\"(?=[^\"]*\d)(?=[^\"]*[A-Za-z])[^\"\s:/]{16,}\"", re.IGNORECASE)
"""A key that is long and random opens something; the key of a ticket is short."""

_MAX_PAIRS: Final = 6
_REPORTS: Final[frozenset[Kind]] = frozenset({"mcp", "unknown", "subagent", "memory"})
_CHANGES: Final = re.compile(
    r"(?:create|update|delete|remove|add|set|book|cancel|send|modify|exchange|return|transfer|pay|charge|publish|deploy|"
    r"merge|post|submit|assign|close|reopen|move|rename|upload|save|write|put|insert|approve|refund|schedule)(?:[_-]|$)"
)


class _Change(NamedTuple):
    path: str
    number: int
    tool: str


def made(happened: Sequence[Event], *, memo: Memo = unremembered) -> Iterator[Candidate]:
    """Give an item for each file that was changed, at its last change, and for each id that a call gave back."""
    runs = [event for event in happened if isinstance(event, Ran)]
    yield from _files([run for run in runs if not run.failed], memo)
    for run in runs:
        # A command line that fails may have made something before it did; another call that fails made nothing.
        if not run.failed or run.classified.command is not None:
            yield from _ids_in(run, memo)


def _files(runs: Sequence[Ran], memo: Memo) -> Iterator[Candidate]:
    of_path: dict[str, list[_Change]] = {}
    for change in (change for run in runs for change in _changed_by(run, memo)):
        of_path.setdefault(change.path, []).append(change)
    for path, mine in sorted(of_path.items(), key=lambda entry: entry[1][-1].number):
        tools = " and ".join(sorted({change.tool for change in mine}))
        count = str(len(mine)) if len(mine) <= _COUNTED else f"more than {_COUNTED}"
        times = "once" if len(mine) == 1 else f"{count} times"
        weight = 5 if len(mine) > 1 else 4
        yield Candidate("artifacts", Item(f"{path}: changed by {tools} {times}", mine[-1].number, (path,)), weight)


def _changed_by(run: Ran, memo: Memo) -> tuple[_Change, ...]:
    return memo(run.place, "changes", lambda: tuple(_changes(run)), size=lambda found: sum(len(c.path) for c in found))


def _changes(run: Ran) -> Iterator[_Change]:
    """Find the files a call changed, as the message that holds the result shows them or, if not there, its call."""
    change = changed(run.classified, run.arguments)
    for path in change.paths if change is not None else ():
        if path in run.shown_call or path in run.text:
            yield _Change(path, run.number, run.tool)
        elif run.call_number and path in run.arguments_text:
            yield _Change(path, run.call_number, run.tool)


def _ids_in(run: Ran, memo: Memo) -> tuple[Candidate, ...]:
    return memo(run.place, "ids", lambda: tuple(_ids(run)), size=chars_of)


def _ids(run: Ran) -> Iterator[Candidate]:
    """Find what a call gave back that cannot be guessed: commits, pull requests, ids of bookings and the like."""
    acts = run.classified.kind in ("mcp", "unknown") and _CHANGES.match(run.classified.tool) is not None
    reports = run.classified.kind in _REPORTS and run.classified.command is None
    if not (reports or run.classified.runs_program):
        return
    told: dict[str, int] = {}
    for piece, weight in _telling(run, reports=reports):
        told.setdefault(piece, weight)
    for piece, weight in told.items():
        yield _id(run, piece, weight + acts, reports=reports)
    call = first_line(run)
    if acts and not told and call:
        yield Candidate("artifacts", Item(f"{run.tool} was called: {call}", run.number, (call,)), 5)


def _id(run: Ran, piece: str, weight: int, *, reports: bool) -> Candidate:
    """Quote what was given back, behind the tool that did; a bare name stands behind the command that asked for it."""
    if reports:
        return Candidate("artifacts", Item(f"{run.tool}: {piece}", run.number, (piece,)), weight)
    call = first_line(run)
    if " " in piece or not call or len(call) > _MAX_CALL_CHARS or "://" in piece:
        return Candidate("artifacts", Item(piece, run.number, (piece,)), weight)
    return Candidate("artifacts", Item(f"{call}: {piece}", run.number, (call, piece)), weight)


def _telling(run: Ran, *, reports: bool) -> Iterator[tuple[str, int]]:
    """Give the pieces of a result that hold ids, with their weight, at most `_MAX_PAIRS` that are not plainly made."""
    is_long = len(run.text) > _MAX_RESULT_CHARS
    text = run.text[-_END_CHARS:].partition("\n")[2] if is_long else run.text
    lines = [line.strip() for line in text.split("\n") if len(line) <= MAX_ID_CHARS and not is_coloured(line)]
    lines = [line for line in lines if line]
    for line in lines:
        if _MADE_LINE.match(line) and (not is_long or load_bearing(line)):
            yield line, 6 if load_bearing(line) else 3
    if is_long:
        return
    found = (match[0] for match in _PAIR.finditer(text)) if reports else ()
    pairs = tuple(dict.fromkeys(pair for pair in found if not _opens(pair)))
    for piece in (pairs or [line for line in lines if reports and load_bearing(line) and not _opens(line)])[
        :_MAX_PAIRS
    ]:
        yield piece, 3
    if not reports:
        yield from _looked_up(run, lines)


def _opens(piece: str) -> bool:
    return holds_secret(piece) or _OPAQUE_KEY.search(piece) is not None


def _looked_up(run: Ran, lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Give the lines of a command's short answer that hold hashes and ids."""
    command = run.classified.command or ""
    asks = _ASKS_FOR_HASH.search(command) is not None
    if len(lines) > _SHORT_LINES * (2 if asks else 1):
        return
    looks = not asks and _LOOKS.search(command) is not None
    for line in lines:
        if _LONE_HASH.fullmatch(line) or (asks and _HASH.fullmatch(line)) or labelled(line):
            yield line, 5
        elif (asks and _HASH.search(line)) or (not looks and telling(line)):
            yield line, 3
