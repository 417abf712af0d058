"""Read the lines of a pi session file into entries that name their parent.

A session file is JSON Lines: a header, then entries. Since version 2 each entry has an id and names its parent; before,
each follows the line above it. OMP writes the same with more kinds of entry. A model's reply is one line, with the
usage of its request; a request that was stopped before any reply leaves a reply without content and with zeros for
usage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.dialogue import Block, CallIds, Role, calls_of
from coldpress.lab.importers.jsonvalues import (
    JsonObject,
    count_in,
    known_time,
    number_in,
    object_in,
    objects_in,
    text_in,
    time_in,
)
from coldpress.lab.importers.linefiles import line_objects
from coldpress.lab.importers.pi_blocks import client_blocks, reply_blocks
from coldpress.model.usage import Usage

SENT = frozenset({"message", "custom_message", "branch_summary"})
"""Kinds of entry that put something into the conversation."""

UNSENT = frozenset(
    {
        "archive", "credential_pin", "custom", "label", "mode_change", "model_change", "service_tier_change",
        "session", "session_info", "session_init", "thinking_level_change", "title", "title_change", "ttsr_injection",
    }
)  # fmt: skip
"""Known kinds of line that are never sent as messages."""

MILLISECONDS = 1000.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model's reply carries beside its content. `stopped` says that it was cut short or failed."""

    model: str
    usage: Usage
    sent_at: float | None
    request_id: str | None
    stopped: bool
    reported_usd: float | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry.

    Attributes:
        at: its place in the file, counted in objects from 0, header included.
        parent: the place of the entry it follows, `None` for the first.
        time: when it was written, in seconds since 1970.
        role: who says `blocks`; `None` where the entry says nothing.
        reply: set where a model spoke.
        boundary: `compaction` where what stands above is replaced, `reset` where it is forgotten.
        first_kept: for a compaction, the place of the first entry that stays in sight; `None` where none does.
        lag_seconds: for what the user typed, time from when it was made to when it was written down.
    """

    at: int
    parent: int | None
    time: float | None
    role: Role | None = None
    blocks: tuple[Block, ...] = ()
    reply: Reply | None = None
    boundary: Literal["compaction", "reset"] | None = None
    first_kept: int | None = None
    lag_seconds: float | None = None


@dataclass(slots=True)
class Session:
    """The entries of a file by their place, and what the header says."""

    name: str = ""
    version: int = 1
    entries: dict[int, Entry] = field(default_factory=dict)


class Reader:
    """Reads a file's lines one by one; ids are resolved as they come, since a parent stands above its children."""

    def __init__(self, tally: Tally) -> None:
        self.session = Session()
        self._tally = tally
        self._ids = CallIds()
        self._calls: dict[int, dict[str, str]] = {}
        self._place: dict[str, int] = {}
        self._last: int | None = None

    def read(self, lines: Iterable[str]) -> Session:
        """Read all lines, counting every object and every one that is left out."""
        for found in line_objects(lines, self._tally):
            self._take(found)
        return self.session

    def _take(self, found: JsonObject) -> None:
        kind = text_in(found, "type") or "(no type)"
        role = text_in(object_in(found, "message"), "role")
        at = self._tally.take(f"{kind}:{role}" if role else kind)
        if kind == "session":
            self._tally.use(at)
            self.session.name = text_in(found, "id") or ""
            self.session.version = count_in(found, "version") or 1
        elif kind == "title":  # OMP's slot for a title above the header: no entry of the tree
            self._tally.set_aside("title lines (never sent)", at)
        else:
            self._add(self._entry(kind, found, at), text_in(found, "id"))

    def _add(self, entry: Entry, name: str | None) -> None:
        self.session.entries[entry.at] = entry
        self._last = entry.at
        if name is not None:
            self._place[name] = entry.at

    def _parent(self, found: JsonObject) -> int | None:
        if "parentId" not in found:
            return self._last
        parent = text_in(found, "parentId")
        if parent is None:
            return None
        if parent not in self._place:
            self._tally.skipped["parents that are not in the file (the line before stands in)"] += 1
        return self._place.get(parent, self._last)

    def _entry(self, kind: str, found: JsonObject, at: int) -> Entry:
        parent, time = self._parent(found), time_in(found, "timestamp", self._tally.skipped)
        if kind == "compaction":
            summary = client_blocks({"role": "compactionSummary", "summary": found.get("summary")}, self._tally)
            return Entry(at, parent, time, "user", summary, None, "compaction", self._first_kept(found))
        if kind == "reset_boundary":
            return Entry(at, parent, time, boundary="reset")
        if kind not in SENT:
            if kind in UNSENT:
                self._tally.set_aside(f"{kind} lines (never sent)", at)
            else:
                self._tally.not_known(f"lines of an unknown kind: {kind}", at)
            return Entry(at, parent, time)
        said = {"custom_message": "custom", "branch_summary": "branchSummary"}.get(kind)
        message = object_in(found, "message") if said is None else {**found, "role": said}
        if message.get("role") == "assistant":
            return Entry(at, parent, time, "assistant", self._said(message, at), _reply(message, self._tally.skipped))
        if message.get("role") == "toolResult":
            message = {**message, "toolCallId": self._id_of_call(text_in(message, "toolCallId") or "", parent)}
        made = number_in(message, "timestamp") if message.get("role") == "user" else None
        lag = None if made is None or time is None else time - made / MILLISECONDS
        return Entry(at, parent, time, "user", client_blocks(message, self._tally), lag_seconds=lag)

    def _said(self, message: JsonObject, at: int) -> tuple[Block, ...]:
        """Write a reply, and remember under which ids its calls are written."""
        blocks = reply_blocks(message, self._ids, self._tally)
        calls = [block for block in objects_in(message, "content") if block.get("type") == "toolCall"]
        written = zip(calls, calls_of(blocks), strict=True)
        self._calls[at] = {text_in(call, "id") or "": call_id for call, call_id in written}
        return blocks

    def _id_of_call(self, recorded: str, place: int | None) -> str:
        """Find the id under which the nearest call above with this recorded id is written."""
        while place is not None:
            if recorded in self._calls.get(place, {}):
                return self._calls[place][recorded]
            place = self.session.entries[place].parent
        return recorded

    def _first_kept(self, found: JsonObject) -> int | None:
        """Find the first entry that a compaction kept: by id, before version 2 by its place in the file."""
        name = text_in(found, "firstKeptEntryId")
        return count_in(found, "firstKeptEntryIndex") if name is None else self._place.get(name)


def _reply(message: JsonObject, notes: Counter[str]) -> Reply:
    reported = object_in(message, "usage")
    stopped = message.get("stopReason") in ("aborted", "error")
    usage, sent = _usage(reported, stopped=stopped), number_in(message, "timestamp")
    cost = number_in(object_in(reported, "cost"), "total")
    return Reply(
        model=text_in(message, "responseModel") or text_in(message, "model") or "",
        usage=usage,
        sent_at=None if sent is None else known_time(sent / MILLISECONDS, notes),
        request_id=text_in(message, "responseId"),
        stopped=stopped,
        # pi works the cost out from its own table, and writes zero where that has no price.
        reported_usd=cost if cost and usage.known else None,
    )


def _usage(reported: JsonObject, *, stopped: bool) -> Usage:
    """Read usage. All zeros mean that the reply ended before any was reported; output is final where it was not cut."""
    counts = [count_in(reported, key) for key in ("input", "cacheRead", "cacheWrite", "output")]
    if not any(counts):
        return Usage()
    fresh, read, write, output = counts
    return Usage(fresh=fresh, read=read, write_short=write, output=None if stopped else output)
