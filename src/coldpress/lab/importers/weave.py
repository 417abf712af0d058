"""Make turns out of lists of messages: every reply in a list is one request, which showed all that stands above it.

Lists may continue each other, as the bodies of a client's requests do. What a list shares with an earlier one, from the
first message on, is told once; where it goes on in another way, it is a fork.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from coldpress.lab.importers.chains import Chains
from coldpress.lab.importers.conversation import NOT_RECORDED, UNKNOWN_MODEL, UNSHOWN, Told
from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.dialogue import (
    Block,
    Part,
    Role,
    calls_of,
    message,
    messages,
    says_something,
    tools_of,
)
from coldpress.model.trajectory import Turn

UNFOLLOWED = "client messages that no reply follows"
STAND_IN = "words of the client that are not recorded (a note stands in)"
SEVERAL = "replies in several messages (made into one)"
OPENING = "replies to nothing (said again by the client)"

_USER = '{"role":"user"'


@dataclass(frozen=True, slots=True)
class Spoken:
    """One message of a list.

    Attributes:
        role: who says it.
        blocks: what.
        kind: what it is counted as; empty where it is no object of its own, but the first of those `beside`.
        notes: what of it is left out, or stands in another shape.
        time: when it was said, in seconds since 1970.
        told: of a reply, what else is known of its request.
        again: a reply that no request of this run brought: the client says it, as an example for one.
        shown: false for a reply that no later request shows.
        beside: numbers of other objects that tell of it, see `Tally`.
    """

    role: Role
    blocks: tuple[Block, ...]
    kind: str
    notes: Counter[str] = field(default_factory=Counter)
    time: float | None = None
    told: Told = field(default_factory=Told)
    again: bool = False
    shown: bool = True
    beside: tuple[int, ...] = ()

    def key(self, before: bytes) -> bytes:
        """Name the list up to this message by all that it says; `before` is that of the list above it."""
        said = "\x00".join((self.role, *(block.json for block in self.blocks)))
        return hashlib.blake2b(before + said.encode(errors="surrogatepass"), digest_size=16).digest()


@dataclass(slots=True)
class _State:
    """Where a list stands: behind which turn, and what the client said since."""

    behind: int | None = None
    open_calls: tuple[str, ...] = ()
    parts: list[Part] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    time: float | None = None


class Weaver:
    """Turns lists of messages into turns of `chains`; several weavers may share them.

    Args:
        chains: takes the turns.
        tally: takes the messages, each as an object of its kind.
        first: the number of the first turn; `next_turn` is free after any list.
    """

    def __init__(self, chains: Chains, tally: Tally, *, first: int = 0) -> None:
        self.next_turn = first
        self._chains = chains
        self._tally = tally
        self._number: dict[bytes, int] = {}
        self._turn: dict[bytes, int] = {}
        self._waiting: set[int] = set()

    def take(self, spoken: Sequence[Spoken], *, session: str, side_chain: bool = False) -> int | None:
        """Take a list of messages; gives the number of its first one as an object, `None` for an empty list."""
        state, key, at = _State(), b"", 0
        first: int | None = None
        while at < len(spoken):
            run = _run(spoken, at)
            at += len(run)
            numbers = []
            for one in run:
                key = one.key(key)
                numbers.append(self._taken(one, key))
            first = numbers[0] if first is None else first
            said = _joined(run)
            if said.role == "user" or said.again or self._opens(said, state):
                state.parts.append(Part(said.role, said.blocks))
                state.numbers += numbers
                state.time = said.time if said.time is not None else state.time
            elif key in self._turn:
                state = _State(self._turn[key], calls_of(said.blocks), time=said.time)
            else:
                if len(run) > 1:
                    self._tally.skipped[SEVERAL] += 1
                self._reply(said, key, state, numbers, (session, side_chain))
        return first

    def end(self) -> None:
        """Say of what no reply follows that it is in no trajectory; call it after the last list."""
        for number in sorted(self._waiting):
            self._tally.set_aside(UNFOLLOWED, number)

    def _taken(self, one: Spoken, key: bytes) -> int:
        """Count a message that no list before had."""
        if key not in self._number:
            self._number[key] = self._tally.take(one.kind) if one.kind else one.beside[0]
            self._tally.skipped += one.notes
            self._waiting.add(self._number[key])
        return self._number[key]

    def _opens(self, said: Spoken, state: _State) -> bool:
        """Whether a conversation begins with this reply: nobody asked for it."""
        if state.parts or state.behind is not None or not says_something(said.blocks):
            return False
        self._tally.skipped[OPENING] += 1
        return True

    def _reply(self, said: Spoken, key: bytes, state: _State, numbers: list[int], origin: tuple[str, bool]) -> None:
        stands = says_something(said.blocks)
        if not stands and not said.told.usage.known:
            self._tally.set_aside("replies that say nothing", *numbers)
            self._waiting -= set(numbers)
            return
        turn = Turn(
            added=added(state.parts, state.open_calls, self._tally),
            reply=message("assistant", said.blocks if stands else (UNSHOWN,)),
            model=said.told.model or UNKNOWN_MODEL,
            sent_at=state.time,
            replied_at=said.time,
            usage=said.told.usage,
            request_id=said.told.request_id,
            tools=tools_of(said.blocks) if stands else (),
            reported_usd=said.told.reported_usd,
        )
        shown = stands and said.shown
        self._chains.add(
            self.next_turn, turn, behind=state.behind, session=origin[0], side_chain=origin[1], shown_later=shown
        )
        self._tally.use(*state.numbers, *numbers, *said.beside)
        self._waiting -= {*state.numbers, *numbers}
        if shown:
            self._turn[key] = self.next_turn
            state.behind, state.open_calls, state.time = self.next_turn, calls_of(said.blocks), said.time
            state.parts, state.numbers = [], []
        self.next_turn += 1


def added(parts: Sequence[Part], open_calls: Sequence[str], tally: Tally) -> tuple[str, ...]:
    """Write what a client said since the reply before; it begins and ends with the user, as a provider asks for."""
    written = list(messages(parts, open_calls=open_calls, tally=tally))
    note = message("user", (NOT_RECORDED,))
    if not written or not written[0].startswith(_USER):
        tally.skipped[STAND_IN] += 1
        written.insert(0, note)
    if not written[-1].startswith(_USER):
        tally.skipped[STAND_IN] += 1
        written.append(note)
    return tuple(written)


def _run(spoken: Sequence[Spoken], at: int) -> Sequence[Spoken]:
    """Give the messages from here on that are one reply; a message of the client is one by itself."""
    end = at + 1
    if spoken[at].role == "assistant" and not spoken[at].again and spoken[at].shown:
        while end < len(spoken) and spoken[end].role == "assistant" and spoken[end].shown and not spoken[end].again:
            end += 1
    return spoken[at:end]


def _joined(run: Sequence[Spoken]) -> Spoken:
    """Make one of the messages of a reply; what else is known of it is what is known of the last."""
    if len(run) == 1:
        return run[0]
    last = run[-1]
    blocks = tuple(block for one in run for block in one.blocks)
    beside = tuple(number for one in run for number in one.beside)
    return Spoken("assistant", blocks, last.kind, time=last.time, told=last.told, beside=beside)
