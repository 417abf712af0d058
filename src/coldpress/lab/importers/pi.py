"""Turn a pi or OMP session file into trajectories: one per straight line, fork and compaction.

The file is a tree, or before version 2 a list. Each reply is one request, whose history is the path from the root. A
compaction puts a summary in the place of all that stands above its first kept entry; what it kept is said again, so the
line behind it begins with the summary and the kept messages. The request that made the summary is not recorded.

A reply that the user stopped was paid for, as far as its usage says. Later requests do not show it, so it ends a line
of its own. Before version 2 they do show it, without the calls that were never run: in the one recording at hand the
tokens of the next prompt say so, in six cases of six.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median

from coldpress.lab.importers.chains import Chains, Imported
from coldpress.lab.importers.conversation import UNKNOWN_MODEL
from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.dialogue import Block, Part, calls_of, message, messages, says_something, tools_of
from coldpress.lab.importers.linefiles import decoded
from coldpress.lab.importers.pi_entries import Entry, Reader, Reply, Session
from coldpress.model.trajectory import Turn

SHOWS_STOPPED = 1
"""The last version of the format whose program shows the model a reply that was stopped."""


STARTING_SECONDS = 0.006
"""How much later than usual the first text in a new process is written down, at least.

Fitted on the one recording at hand, where the median is 9 ms: 8 texts took 16 to 20 ms, and each of those found its
whole cached prefix lost. The file's first text took 14 ms, the 43 others 13 ms at most.
"""

QUEUED_SECONDS = 1.0
"""What took longer than this waited for the model to finish."""


def read_file(path: Path) -> Imported:
    """Read one session file.

    Raises:
        OSError: the file cannot be read.
    """
    tally = Tally()
    with path.open("rb") as lines:
        return _read(decoded(lines, tally), tally, name=path.stem)


def read_lines(lines: Iterable[str], *, name: str) -> Imported:
    """Read the lines of one session file; `name` begins the names of its trajectories."""
    return _read(lines, Tally(), name=name)


def _read(lines: Iterable[str], tally: Tally, *, name: str) -> Imported:
    history = _History(Reader(tally).read(lines), tally)
    chains = Chains()
    for entry in history.session.entries.values():
        if entry.reply is not None:
            _add(chains, entry, entry.reply, history, tally)
    history.count_unused()
    return Imported(chains.trajectories(name), tally.counts())


def _add(chains: Chains, entry: Entry, reply: Reply, history: _History, tally: Tally) -> None:
    """Add the turn that ends in this reply; one that says nothing and reports nothing was no request."""
    if not reply.usage.known and not says_something(entry.blocks):
        tally.set_aside("replies that say nothing", entry.at)
        return
    previous, between = history.before(entry)
    parts = [Part(item.role, history.shown(item)) for item in between if item.role]
    added = messages(parts, open_calls=calls_of(history.shown(previous)) if previous else (), tally=tally)
    if not added and previous is None:
        tally.set_aside("replies to nothing", entry.at)
        return
    shown = history.shown(entry)
    times = [item.time for item in (*between, *([previous] if previous else [])) if item.time is not None]
    turn = Turn(
        added=added,
        reply=message("assistant", shown or entry.blocks),
        model=reply.model or UNKNOWN_MODEL,
        # pi notes when it asked; that may be some milliseconds before it has written down the last result.
        sent_at=max([*times, *([] if reply.sent_at is None else [reply.sent_at])], default=None),
        replied_at=entry.time,
        usage=reply.usage,
        request_id=reply.request_id,
        tools=tools_of(shown or entry.blocks),
        reported_usd=reply.reported_usd,
        restarted=history.restarted(between),
    )
    chains.add(
        entry.at,
        turn,
        behind=previous.at if previous else None,
        session=history.session.name,
        shown_later=bool(shown),
    )
    tally.use(entry.at)


class _History:
    """What a request shows, found by walking up from its reply."""

    def __init__(self, session: Session, tally: Tally) -> None:
        self.session = session
        self._tally = tally
        self._answered = {
            block.call_id for entry in session.entries.values() for block in entry.blocks if block.type == "tool_result"
        }
        self._used: set[int] = set()
        self._started: set[int] = set()
        lags = [entry.lag_seconds for entry in session.entries.values() if entry.lag_seconds is not None]
        self._usual_seconds = median([lag for lag in lags if lag < QUEUED_SECONDS] or [0.0])

    def restarted(self, between: Iterable[Entry]) -> bool:
        """Tell whether a text here was the first in a new process; each counts once, as a compaction shows it again."""
        found = {item.at for item in between if self._starts(item)} - self._started
        self._started |= found
        return bool(found)

    def _starts(self, entry: Entry) -> bool:
        """Tell whether a text was written down late, as happens while a process warms up."""
        if entry.lag_seconds is None or entry.lag_seconds >= QUEUED_SECONDS:
            return False
        return entry.lag_seconds >= self._usual_seconds + STARTING_SECONDS

    def shown(self, entry: Entry) -> tuple[Block, ...]:
        """Give what later requests show of an entry; nothing of a reply that cannot stand in a history."""
        if entry.reply is None:
            return entry.blocks
        blocks = entry.blocks
        if entry.reply.stopped:
            if self.session.version > SHOWS_STOPPED:
                return ()
            blocks = tuple(block for block in blocks if block.type != "tool_use" or block.call_id in self._answered)
        return blocks if says_something(blocks) else ()

    def before(self, entry: Entry) -> tuple[Entry | None, list[Entry]]:
        """Find the reply before this one and what stands between the two, in order.

        A stopped reply right before, without a word between, was tried again: it is not shown.
        """
        previous, between = None, list[Entry]()
        for above in self._path(entry.parent):
            if above.boundary == "compaction":
                between += [*reversed(self._kept(above)), above]
            if above.boundary is not None:
                break
            if above.reply is None:
                between.append(above)
            elif self.shown(above) and (between or not above.reply.stopped):
                previous = above
                break
        between.reverse()
        self._used.update(item.at for item in between)
        return previous, between

    def _kept(self, compaction: Entry) -> list[Entry]:
        """Find the entries that a compaction kept, in order; none where its first one is not on the path."""
        kept: list[Entry] = []
        for above in self._path(compaction.parent):
            if above.boundary is None:
                kept.append(above)
            if above.at == compaction.first_kept:
                return kept[::-1]
        self._tally.skipped["compactions that kept nothing"] += 1
        return []

    def _path(self, place: int | None) -> Iterable[Entry]:
        while place is not None:
            entry = self.session.entries[place]
            yield entry
            place = entry.parent

    def count_unused(self) -> None:
        """Say which entries a request shows, and why others are in none; call it when `before` was asked about all."""
        for entry in self.session.entries.values():
            if entry.boundary == "reset" or (entry.at in self._used and entry.blocks):
                self._tally.use(entry.at)
            elif entry.blocks and entry.reply is None:
                self._tally.set_aside("client messages that no reply follows", entry.at)
            elif entry.role is not None:
                self._tally.pass_over(entry.at)
