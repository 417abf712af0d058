"""Join logged requests and replies into conversations.

Every request repeats the conversation so far, so a log is long and says little that is new. Messages are told apart by
digests, and only what a request adds to the one it continues is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from coldpress.lab.importers.chains import Chains, Imported
from coldpress.lab.importers.chat_blocks import REPLY_ROLES
from coldpress.lab.importers.chat_heads import Beside, beside, imported
from coldpress.lab.importers.chat_records import ChatReader
from coldpress.lab.importers.conversation import UNKNOWN_MODEL, UNSHOWN, Told
from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.dialogue import Block, Part, calls_of, message, says_something, tools_of
from coldpress.lab.importers.jsonvalues import HALVES, JsonObject, known_time, read_json, text_in, whole_bytes
from coldpress.lab.importers.raw_bodies import LoggedRequest, MessageKeys, plain_body, read_request
from coldpress.lab.importers.reply_bodies import read_reply
from coldpress.lab.importers.weave import added
from coldpress.model.trajectory import Turn
from coldpress.stores.base import RawEvent

OTHER_WORDS = "replies that the client showed in other words (its words count)"
ONLY_SHOWN = "replies that are not in the log (as a later request shows them)"

_UNREAD = {
    "error": "replies that are errors",
    "no reply": "replies of another kind (no model's)",
}
_SESSION = re.compile(r"_session_([0-9a-zA-Z-]+)$")


@dataclass(slots=True)
class _Asked:
    """A request while its reply, and what the client makes of it, are looked for.

    Attributes:
        number: of the event, see `Tally`; `replied` is that of the reply.
        at: when it was received, in seconds since 1970.
        base: the place of the request whose reply it shows last, `None` where it shows none of this log.
        tail: its messages behind that reply.
        reader: stands behind its messages; given away to the first request that continues this one.
        reply: what came back, `None` where nothing that can be used did.
        shown: the same as a later request shows it, where one does in another way, be it in the order of fields.
    """

    number: int
    at: float | None
    base: int | None
    tail: tuple[Part, ...]
    reader: ChatReader | None
    beside: Beside
    session: str
    model: str
    thinking: bool | None
    replied: int | None = None
    replied_at: float | None = None
    reply: tuple[Block, ...] | None = None
    shown: tuple[Block, ...] | None = None
    told: Told = field(default_factory=Told)

    @property
    def said(self) -> tuple[Block, ...] | None:
        """The reply as it stands in the conversation."""
        return self.reply if self.shown is None else self.shown


class Exchanges:
    """Takes the events of a log, the oldest first.

    Args:
        tally: takes the events, each as an object.
        sessions: names of sessions by request, for requests that do not name one.
    """

    def __init__(self, tally: Tally, sessions: dict[str, str]) -> None:
        self._tally = tally
        self._sessions = sessions
        self._keys = MessageKeys()
        self._asked: list[_Asked] = []
        self._by_id: dict[str, int] = {}
        self._by_messages: dict[bytes, list[int]] = {}
        self._beside: dict[tuple[object, ...], Beside] = {}

    def take(self, event: RawEvent) -> None:
        """Take one event."""
        number = self._tally.take(event.direction)
        encoding = next((value for name, value in event.headers if name.lower() == "content-encoding"), None)
        body = plain_body(event.body, encoding)
        if body is None:
            self._tally.set_aside("bodies in an encoding that is not known, or damaged", number)
        elif event.direction == "reply":
            self._reply(event, number, body)
        elif (request := self._whole_request(body)) is None:
            self._tally.set_aside("requests of another kind (no list of messages)", number)
        else:
            self._request(event, number, request)

    def _whole_request(self, body: bytes) -> LoggedRequest | None:
        """Read a request; every body that shows half a character counts it."""
        body, halves = whole_bytes(body)
        self._tally.skipped[HALVES] += halves
        return read_request(body)

    def _request(self, event: RawEvent, number: int, request: LoggedRequest) -> None:
        keys = self._keys.along(request.messages)
        base, reader, tail = self._continued(request, keys)
        for one in reader.spoken:
            self._tally.skipped += one.notes
        for left in reader.left:
            self._tally.skipped[left.why] += 1
        anthropic = any(name.lower() == "anthropic-version" for name, _ in event.headers)
        self._by_id[event.request_id] = place = len(self._asked)
        self._by_messages.setdefault(keys[-1], []).append(place)
        sent = known_time(event.at, self._tally.skipped)
        self._asked.append(
            _Asked(
                number, sent, base, tail, reader, self._head(request, reader.system or ""),
                _session(request.user) or self._sessions.get(event.request_id, ""), request.model,
                _thinking(request.thinking, anthropic=anthropic),
            )
        )  # fmt: skip

    def _continued(
        self, request: LoggedRequest, keys: Sequence[bytes]
    ) -> tuple[int | None, ChatReader, tuple[Part, ...]]:
        """Find the request that this one goes on behind; read what it adds, and give the reader of that."""
        for place in range(len(request.messages) - 1, -1, -1):
            same = self._by_messages.get(keys[place])
            if same is None or request.role(place) not in REPLY_ROLES:
                continue
            reader = self._behind(same, request, place)
            reader.take(request.message(place))
            shown = reader.spoken.pop().blocks if reader.spoken else ()
            if not says_something(shown):
                continue
            base = next((at for at in reversed(same) if _alike(self._asked[at].said, shown)), same[-1])
            if self._asked[base].said != shown and self._asked[base].shown is None:
                self._asked[base].shown = shown
            reader.left.clear()
            return base, *_read(reader, request, place + 1)
        return None, *_read(ChatReader(request.model), request, 0)

    def _behind(self, same: Sequence[int], request: LoggedRequest, place: int) -> ChatReader:
        """Give a reader that stands behind the first messages: one that was kept, else one that reads them again."""
        for at in same:
            kept, self._asked[at].reader = self._asked[at].reader, None
            if kept is not None:
                return kept.behind()
        reader = ChatReader(request.model)
        for earlier in range(place):
            reader.take(request.message(earlier))
        return reader.behind()

    def _head(self, request: LoggedRequest, system: str) -> Beside:
        key = (*request.beside, system)
        if key not in self._beside:
            self._beside[key] = beside(request.head(), system)
        return self._beside[key]

    def _reply(self, event: RawEvent, number: int, body: bytes) -> None:
        at = self._by_id.get(event.request_id)
        if at is None:
            self._tally.set_aside("replies whose request is not in the log, or is of another kind", number)
            return
        asked = self._asked[at]
        read = read_reply(body)
        if isinstance(read, str):
            self._tally.set_aside(_UNREAD[read], number)
            return
        if asked.replied is not None:
            self._tally.set_aside("second replies of one request", number)
            return
        if not read.whole:
            self._tally.skipped["replies that broke off"] += 1
        # A reader goes on from here as the next request's does, so that calls get the same ids.
        scribe = (asked.reader or ChatReader(asked.model)).scribe.copy()
        # A stream may cut a character in two where no text ends, so the message is looked through, not the body.
        said = read_json(json.dumps(read.message), self._tally.skipped)
        asked.reply = scribe.reply(said if isinstance(said, dict) else {})
        self._tally.skipped += scribe.notes
        asked.replied, asked.replied_at = number, known_time(event.at, self._tally.skipped)
        facts = read.facts
        asked.told = Told(facts.model or "", facts.usage, asked.replied_at, facts.message_id, facts.reported_usd)

    def imported(self, name: str) -> Imported:
        """Make turns of all requests that have a reply; call it after the last event."""
        chains, told = Chains(), list[Beside]()
        for at, asked in enumerate(self._asked):
            said = asked.said
            if said is None or (not says_something(said) and not asked.told.usage.known):
                self._tally.set_aside("requests without a reply that can be used", asked.number)
                if asked.replied is not None:
                    self._tally.set_aside("replies that say nothing", asked.replied)
                continue
            lines = len(chains)
            stands = says_something(said)
            chains.add(at, self._turn(asked, said), behind=asked.base, session=asked.session, shown_later=stands)
            told += [asked.beside] * (len(chains) - lines)
            self._tally.use(asked.number, *([] if asked.replied is None else [asked.replied]))
        return imported(chains.trajectories(name), told, self._tally)

    def _turn(self, asked: _Asked, said: tuple[Block, ...]) -> Turn:
        if asked.reply is None:
            self._tally.skipped[ONLY_SHOWN] += 1
        elif asked.shown is not None and not _alike(asked.reply, asked.shown):
            self._tally.skipped[OTHER_WORDS] += 1
        before = None if asked.base is None else self._asked[asked.base].said
        stands = says_something(said)
        return Turn(
            added=added(asked.tail, calls_of(before or ()), self._tally),
            reply=message("assistant", said if stands else (UNSHOWN,)),
            model=asked.told.model or asked.model or UNKNOWN_MODEL,
            sent_at=asked.at,
            replied_at=asked.replied_at,
            usage=asked.told.usage,
            request_id=asked.told.request_id,
            tools=tools_of(said) if stands else (),
            reported_usd=asked.told.reported_usd,
            thinking=asked.thinking,
        )


def _alike(one: Sequence[Block] | None, other: Sequence[Block]) -> bool:
    """Whether two replies say the same; clients write the fields of a block in orders of their own."""
    return one is not None and len(one) == len(other) and all(
        mine.json == theirs.json or json.loads(mine.json) == json.loads(theirs.json)
        for mine, theirs in zip(one, other, strict=True)
    )  # fmt: skip


def _read(reader: ChatReader, request: LoggedRequest, start: int) -> tuple[ChatReader, tuple[Part, ...]]:
    for place in range(start, len(request.messages)):
        reader.take(request.message(place))
    return reader, tuple(Part(one.role, one.blocks) for one in reader.spoken)


def _thinking(asked: JsonObject, *, anthropic: bool) -> bool | None:
    if asked:
        return asked.get("type") != "disabled"
    return False if anthropic else None


def _session(user: str) -> str:
    """Find the session that a client names in its request: as JSON, or behind a word, as Claude Code does."""
    try:
        named = msgspec.json.decode(user) if user.startswith("{") else None
    except (msgspec.DecodeError, RecursionError):
        named = None
    if isinstance(named, dict):
        return text_in(named, "session_id") or ""
    found = _SESSION.search(user)
    return found.group(1) if found else ""
