"""Turn the records of OpenHands' `output.jsonl` into trajectories: one per run, one more per condensation.

A record is one run: its `history` of actions and observations, or of the newer agent SDK's events. A file of nothing
but events, as one list or one a line, is one run too. A reply may have made several calls: the events that name the
same response are one reply. An observation that answers a call already answered is counted and left out. A condensation
takes events out of sight and may put a summary in their place; what it kept is said again, so the line behind it begins
with all of that. The request that made the summary is not recorded.

Programs of 2024 wrote actions as text into the reply; here they become calls of a tool of the action's name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from coldpress.lab.importers.chains import Imported
from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.jsonvalues import JsonObject
from coldpress.lab.importers.linefiles import decoded, line_objects
from coldpress.lab.importers.openhands_events import is_event
from coldpress.lab.importers.openhands_run import Run
from coldpress.model.errors import RecordingError
from coldpress.model.trajectory import Trajectory

__all__ = ["read_file", "read_lines", "recognises", "recognises_list"]


def recognises(found: JsonObject) -> bool:
    """Whether this object is a record of a run, with a history of OpenHands' events, or one such event."""
    history = found.get("history")
    return recognises_list(history) if isinstance(history, list) else is_event(found)


def recognises_list(found: list[object]) -> bool:
    """Whether this list begins with an event, or with a pair of an action and its observation."""
    first = found[0] if found else None
    if isinstance(first, list):
        first = first[0] if first else None
    return isinstance(first, dict) and is_event(first)


def read_file(path: Path) -> Imported:
    """Read a file of records, or of one record.

    Raises:
        OSError: the file cannot be read.
        RecordingError: it holds no record of a run.
    """
    tally = Tally()
    raw = path.read_bytes()
    name = path.name.removesuffix(".jsonl").removesuffix(".json")
    try:  # one record, or a list of events, may be laid out over many lines
        whole = json.loads(raw)
    except (ValueError, RecursionError):
        return _read(decoded(raw.splitlines(keepends=True), tally), tally, name=name)
    if isinstance(whole, list) and recognises_list(whole):
        whole = {"history": whole}
    return _read([json.dumps(whole)], tally, name=name)


def read_lines(lines: Iterable[str], *, name: str) -> Imported:
    """Read the lines of a file of records; `name` begins the names of the trajectories of more than one.

    Raises:
        RecordingError: no line is a record of a run.
    """
    return _read(lines, Tally(), name=name)


def _read(lines: Iterable[str], tally: Tally, *, name: str) -> Imported:
    records: list[JsonObject] = []
    loose: list[object] = []
    for found in line_objects(lines, tally):
        if isinstance(found.get("history"), list) and recognises(found):
            records.append(found)
        elif recognises(found):
            loose.append(found)
        else:
            tally.not_known("objects that are no record of a run", tally.take("(no record)"))
    if loose:
        records.append({"history": loose})
    if not records:
        raise RecordingError(f"OpenHands records {name}: no record with a history of events; give an output.jsonl file")
    runs: list[Run] = []
    trajectories: list[Trajectory] = []
    for number, record in enumerate(records):
        own = name if len(records) == 1 else f"{name}/{number + 1}"
        runs.append(Run(record, tally, name=own))
        runs[-1].read()
        trajectories += runs[-1].chains.trajectories(own)
    heads = [run.head() for run in runs]
    same = all(head == heads[0] for head in heads)
    for run in runs:
        run.settle_head(used=same)
    return Imported(tuple(trajectories), tally.counts(), heads[0] if same else None)
