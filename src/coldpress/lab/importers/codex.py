"""Turn a Codex rollout into trajectories: one for the session, one more per compaction and per time the user went back.

A rollout is JSON Lines of `timestamp`, `type` and `payload`: what Codex sends (`response_item`), what it tells its
screen (`event_msg`: said again there, but for token counts and the user's going back), the settings of each turn and
compactions. Before autumn 2025 the items stood bare on their lines, without times and models. A reply is what the model
says up to the next result or message; see `codex_usage` for whose tokens are whose.

A compaction names the messages that stand for the history from then on. Where it only names a summary, the user's own
messages and the summary stand there, near to what was sent and not equal to it. Reasoning is encrypted, so that a reply
here may hold less than was sent again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from coldpress.lab.importers.chains import Chains, Imported
from coldpress.lab.importers.codex_items import ITEMS, Scribe, of_the_user, spoken, summary_block
from coldpress.lab.importers.codex_lines import (
    BARE_HEADER,
    BARE_STATE,
    EVENTS,
    WRAPPED,
    Head,
    is_count,
    label,
    recognises,
    unwrapped,
)
from coldpress.lab.importers.codex_usage import Count, Meter, counts_come_first, tells_of_a_request
from coldpress.lab.importers.conversation import Conversation, Said, Told
from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.dialogue import Block, tools_of
from coldpress.lab.importers.jsonvalues import JsonObject, count_in, objects_in, text_in
from coldpress.lab.importers.linefiles import decoded, line_objects, utc_time
from coldpress.model.errors import RecordingError
from coldpress.model.usage import Usage

__all__ = ["read_file", "read_lines", "recognises"]

UNOWNED = "token counts of requests whose reply is not recorded"


def read_file(path: Path) -> Imported:
    """Read one rollout.

    Raises:
        OSError: the file cannot be read.
        RecordingError: no line of it is one of a rollout.
    """
    tally = Tally()
    with path.open("rb") as lines:
        return _read(decoded(lines, tally), tally, name=path.name.removesuffix(".jsonl"))


def read_lines(lines: Iterable[str], *, name: str) -> Imported:
    """Read the lines of one rollout; `name` begins the names of its trajectories.

    Raises:
        RecordingError: no line is one of a rollout.
    """
    return _read(lines, Tally(), name=name)


def _read(lines: Iterable[str], tally: Tally, *, name: str) -> Imported:
    found = list(line_objects(lines, tally))
    if not any(recognises(one) for one in found):
        raise RecordingError(f"Codex rollout {name}: no line of it is one of a rollout; give a rollout-*.jsonl file")
    run = _Run(tally, first=counts_come_first(_order(found)))
    for one in found:
        run.take(one)
    run.end()
    return Imported(run.chains.trajectories(name), tally.counts(), run.head.request_head())


def _order(found: Iterable[JsonObject]) -> Iterator[str]:
    """Tell counts and replies in the order in which they stand."""
    for one in found:
        kind, payload = unwrapped(one)
        if is_count(kind, payload):
            if tells_of_a_request(kind, payload):
                yield "count"
        elif kind == "response_item" and spoken(payload):
            yield "reply"


@dataclass(slots=True)
class _Open:
    """A reply of which more may come. `late` is what the client said since."""

    at: int
    model: str
    blocks: list[Block] = field(default_factory=list)
    count: Count | None = None
    replied_at: float | None = None
    late: list[Said] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)


class _Run:
    """Reads the lines of one rollout from first to last.

    Args:
        tally: takes what is read and what is left out.
        first: whether token counts stand in front of their replies.
    """

    def __init__(self, tally: Tally, *, first: bool) -> None:
        self.chains = Chains()
        self.head = Head()
        self._conversation = Conversation(self.chains, tally)
        self._tally = tally
        self._first = first
        self._scribe = Scribe(tally)
        self._meter = Meter(tally)
        self._open: _Open | None = None
        self._waiting: Count | None = None

    def take(self, found: JsonObject) -> None:
        """Take one line's object."""
        kind, payload = unwrapped(found)
        number = self._tally.take(label(kind, payload))
        time = utc_time(found.get("timestamp"), self._tally.skipped)
        if kind == "response_item":
            self._item(number, payload, time)
        elif is_count(kind, payload):
            self._counted(self._meter.count(kind, payload, number))
        elif kind == "compacted":
            self._finish()
            self._drop_waiting()
            self._compacted(payload, time, number)
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            self._finish()
            self._conversation.cut_back(count_in(payload, "num_turns") or 0)
            self._tally.use(number)
        else:
            self._setting(kind, payload, number)

    def end(self) -> None:
        """Finish the last reply and count what is left over."""
        self._finish()
        self._drop_waiting()
        self._conversation.count_unused()

    def _setting(self, kind: str, payload: JsonObject, number: int) -> None:
        """Take what is no part of the conversation, and count what is no part of anything."""
        if kind == "turn_context":
            self.head.turn(payload)
            self._tally.use(number)
        elif kind in ("session_meta", BARE_HEADER):
            if self.head.begin(payload):
                self._conversation.session = self.head.session or ""
                self._conversation.side_chain = self.head.side_chain
                self._tally.use(number)
            else:
                self._tally.set_aside("session_meta lines after the first", number)
        elif kind == "event_msg":
            event = text_in(payload, "type") or "(no type)"
            if event in EVENTS:
                self._tally.set_aside("events (never sent)", number)
            else:
                self._tally.not_known(f"events of an unknown kind: {event}", number)
        elif kind in WRAPPED or kind == BARE_STATE:
            self._tally.set_aside(f"{kind} lines (never sent)", number)
        else:
            self._tally.not_known(f"lines of an unknown kind: {kind}", number)

    def _item(self, number: int, item: JsonObject, time: float | None) -> None:
        kind = text_in(item, "type") or "(no type)"
        if kind not in ITEMS:
            self._tally.not_known(f"items of an unknown kind: {kind}", number)
            return
        blocks = self._scribe.blocks(item)
        self.head.tools |= set(tools_of(blocks))
        if spoken(item):
            reply = self._reply(number)
            reply.blocks += blocks
            if blocks:
                reply.sources.append(number)
            reply.replied_at = time if time is not None else reply.replied_at
        elif blocks:
            said = Said("user", blocks, time, starts=of_the_user(item), sources=(number,))
            if self._open is None:
                self._conversation.hear(said)
            else:
                self._open.late.append(said)
        if not blocks:
            self._tally.pass_over(number)

    def _reply(self, at: int) -> _Open:
        """Give the reply that an item of the model belongs to: the open one, or one that begins here."""
        if self._open is None or not self._goes_on(self._open):
            self._finish()
            self._open = _Open(at, self.head.model, count=self._waiting)
            self._waiting = None
        return self._open

    def _goes_on(self, reply: _Open) -> bool:
        """Whether the next item of the model is of this reply too.

        Where counts stand in front, a program writes each result right behind its call, so that only the next count
        ends a reply.
        """
        if self._first and reply.count is not None:
            return self._waiting is None and not any(said.starts for said in reply.late)
        return not reply.late and reply.count is None

    def _counted(self, count: Count | None) -> None:
        if count is None:
            return
        if self._first:
            self._drop_waiting()
            self._waiting = count
        elif self._open is not None and self._open.count is None:
            self._open.count = count
        elif count.source is not None:
            self._tally.set_aside(UNOWNED, count.source)

    def _drop_waiting(self) -> None:
        if self._waiting is not None and self._waiting.source is not None:
            self._tally.set_aside(UNOWNED, self._waiting.source)
        self._waiting = None

    def _finish(self) -> None:
        """Make a turn of the open reply, and let the client say what it said since."""
        reply, self._open = self._open, None
        if reply is None:
            return
        count = reply.count or Count(Usage())
        told = Told(reply.model or self.head.model, count.usage, reply.replied_at, count.response_id)
        sources = (*reply.sources, *([] if count.source is None else [count.source]))
        self._conversation.reply(reply.at, tuple(reply.blocks), told, sources=sources)
        for said in reply.late:
            self._conversation.hear(said)

    def _compacted(self, payload: JsonObject, time: float | None, number: int) -> None:
        """Put what a compaction names in the place of the history."""
        found = [replace(said, sources=said.sources or (number,)) for said in self._replacement(payload, time)]
        self._conversation.replace(found)
        self._tally.use(number)

    def _replacement(self, payload: JsonObject, time: float | None) -> list[Said]:
        """Give what stands for the history after a compaction."""
        summary = text_in(payload, "message") or ""
        if not isinstance(payload.get("replacement_history"), list):
            kept = [said for said in self._conversation.said if said.starts]
            return [*kept, *([Said("user", (summary_block(summary),), time)] if summary.strip() else [])]
        found = []
        for item in objects_in(payload, "replacement_history"):
            blocks = self._scribe.blocks(item)
            self.head.tools |= set(tools_of(blocks))
            if blocks:
                found.append(Said("assistant" if spoken(item) else "user", blocks, time, starts=of_the_user(item)))
        return found
