"""Find what was made or changed in a range of messages: files, and the ids that calls gave back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from coldpress.engine import catalogue_data, shellkinds_data
from coldpress.engine.catalogue_data import Kind
from coldpress.engine.shellwords import split
from coldpress.engine.summary.bound import Candidate
from coldpress.engine.summary.commands import first_line
from coldpress.engine.summary.events import Event, Ran, given
from coldpress.engine.summary.identifiers import load_bearing
from coldpress.model.summary import Item

MAX_ID_CHARS: Final = 200
_MAX_RESULT_CHARS: Final = 4_000
"""A longer result reports on something; one that tells of a thing made is short."""

_COUNTED: Final = 9
"""Counts above are not said: they would be one more number to get wrong."""

_FILE_LINES: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete|Move to) ?(?:File)?: (.+)$", re.MULTILINE)
_MADE_LINE: Final = re.compile(
    r"\[[\w./-]+(?: \(root-commit\))? [0-9a-f]{7,40}\] |https?://\S+/(?:pull|issues|merge_requests|commit)/\S+$"
    r"|HEAD is now at |[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40} +\S+ -> |\* \[new (?:branch|tag)\]"
    r"|(?:[Cc]reated|[Pp]ublished|[Dd]eployed|[Uu]ploaded|[Ss]aved|[Ww]rote|[Tt]agged|[Mm]erged|[Bb]ooked)\b(?!:)"
)
"""How a command tells what it made, from the start of a line on."""

_PAIR: Final = re.compile(
    r"\"(?:\w*_?(?:id|number|code|key|url|hash|sha)|status|amount|price|total|balance)\"\s*:\s*(?:\"[^\"\\\n]{1,80}\"|-?\d[\d.]*)",
    re.IGNORECASE,
)
"""A name and its value in a JSON answer."""

_FILE: Final = re.compile(r"[\w@+~/][\w@.+/~-]*")
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


def made(happened: Sequence[Event]) -> Iterator[Candidate]:
    """Give an item for each file that was changed, at its last change, and for each id that a call gave back."""
    runs = [event for event in happened if isinstance(event, Ran) and not event.failed]
    yield from _files(runs)
    for run in runs:
        yield from _ids(run)


def _files(runs: Sequence[Ran]) -> Iterator[Candidate]:
    of_path: dict[str, list[_Change]] = {}
    for change in (change for run in runs for change in _changes(run)):
        of_path.setdefault(change.path, []).append(change)
    for path, mine in sorted(of_path.items(), key=lambda entry: entry[1][-1].number):
        tools = " and ".join(sorted({change.tool for change in mine}))
        count = str(len(mine)) if len(mine) <= _COUNTED else f"more than {_COUNTED}"
        times = "once" if len(mine) == 1 else f"{count} times"
        weight = 5 if len(mine) > 1 else 4
        yield Candidate("artifacts", Item(f"{path}: changed by {tools} {times}", mine[-1].number, (path,)), weight)


def _changes(run: Ran) -> Iterator[_Change]:
    """Find the files a call changed, as the message that holds the result shows them or, if not there, its call."""
    if run.classified.kind != "mutation":
        return
    for path in dict.fromkeys(_paths(run)):
        if path in run.shown_call or path in run.text:
            yield _Change(path, run.number, run.tool)
        elif run.call_number and path in run.arguments_text:
            yield _Change(path, run.call_number, run.tool)


def _paths(run: Ran) -> Iterator[str]:
    command = run.classified.command
    if command is not None:
        yield from _written(command)
    arguments = given(run)
    for key in catalogue_data.PATH_KEYS:
        value = arguments.get(key)
        if command is None and isinstance(value, str) and value:
            yield value
            break
    yield from (match[1].strip() for match in _FILE_LINES.finditer(run.arguments_text))


def _written(command: str) -> Iterator[str]:
    """Find the files a command line writes to by redirection, or in place."""
    for pipeline in split(command) or ():
        for stage in pipeline:
            for redirect in stage.redirects:
                plain = redirect.operator.startswith((">", "&>")) and not re.search(r"[$*?\s]", redirect.target)
                if (
                    plain
                    and redirect.target.lower() not in shellkinds_data.HARMLESS_TARGETS
                    and redirect.operator != ">&"
                ):
                    yield redirect.target
            if stage.words[:1] in (("sed",), ("tee",)) and _FILE.fullmatch(stage.words[-1]):
                yield stage.words[-1]


def _ids(run: Ran) -> Iterator[Candidate]:
    """Find what a call gave back that cannot be guessed: commits, pull requests, ids of bookings and the like."""
    acts = run.classified.kind in ("mcp", "unknown") and _CHANGES.match(run.classified.tool) is not None
    reports = run.classified.kind in _REPORTS
    if not (reports or run.classified.runs_program) or len(run.text) > _MAX_RESULT_CHARS:
        return
    found = 0
    for piece, weight in _telling(run, reports=reports):
        told_by = f"{run.tool}: " if reports else ""
        yield Candidate("artifacts", Item(f"{told_by}{piece}", run.number, (piece,)), weight + acts)
        found += 1
    call = first_line(run)
    if acts and not found and call:
        yield Candidate("artifacts", Item(f"{run.tool} was called: {call}", run.number, (call,)), 5)


def _telling(run: Ran, *, reports: bool) -> Iterator[tuple[str, int]]:
    """Give the pieces of a result that hold ids, with their weight, at most `_MAX_PAIRS`."""
    pairs = tuple(dict.fromkeys(match[0] for match in _PAIR.finditer(run.text))) if reports else ()
    lines = [line.strip() for line in run.text.split("\n") if len(line) <= MAX_ID_CHARS and "\x1b" not in line]
    for line in lines:
        if _MADE_LINE.match(line):
            yield line, 6 if load_bearing(line) else 3
    for piece in (pairs or [line for line in lines if reports and load_bearing(line)])[:_MAX_PAIRS]:
        yield piece, 3
