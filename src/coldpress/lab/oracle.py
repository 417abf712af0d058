"""Find the cheapest schedule that knew the whole conversation beforehand: the least that any schedule could have cost.

A schedule masks candidates on some of the requests on which they are offered. Once a request rewrites the prompt from
some place on, masking every other result on offer behind that place costs nothing more and shortens this request and
all later ones. So a schedule is a set of cuts, each with a first result. Three more things need not be tried:

- On a cold request everything on offer goes: its prompt is written anyway.
- A warm cut without a result that was not on offer one request earlier: that one would have rewritten less. (Not so
  where the last request's own end cannot be read yet: there every cut is tried.)
- A state that another one beats. A state is the set masked so far, the places where reads can end, and what was
  paid. One that masked no less, can read up to the same places and paid no more is at least as good, whatever is on
  offer later: where the other one cuts, it cuts no earlier place. One that masked less can follow the other's cuts, and
  carries its extra results until a cold request on which they are on offer: it beats the other where it is cheaper by
  what that can cost (`coldpress.lab.bounds`). A result that is not on offer any more cannot join a cut in front of it,
  so it may be written again each time. (Only where no prompt of the conversation reaches a price cliff; else the
  first half alone is used.)

What is left is walked through request by request: a dynamic program over sets, exact, and compared with trying every
set of cuts in tests. Where the states are too many, a bound on what the rest must cost is worked out from the end
backwards, and states that cannot reach the best schedule known are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from coldpress.lab.bounds import Bounds, first_requests
from coldpress.lab.schedules import Run, Sent, Situation, replay

MOST_STATES = 400
"""States kept from one request to the next."""

_TRIED_STATES = (12, 60)
"""The same on earlier walks, each of which finds a schedule to hold all others against; mostly it is the cheapest."""

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Clairvoyant:
    """The cheapest schedule that was found, and what no schedule can be cheaper than; mostly the same.

    `cuts` says what is newly masked on which request, as bits.
    """

    run: Run
    at_least_usd: float
    cuts: tuple[tuple[int, int], ...]


# States are made by the hundred thousand, and named tuples cost a third of what dataclasses do.


class _Cut(NamedTuple):
    request: int
    new: int
    earlier: _Cut | None


class _State(NamedTuple):
    """What was paid and masked so far, at which ends a read can end, and of them those that a later cut may need.

    `promise_usd` is the least that it comes to in the end.
    """

    paid_usd: float
    promise_usd: float
    masked: int
    ends: int
    needed_ends: int
    cuts: _Cut | None


@dataclass(frozen=True, slots=True)
class _Found:
    """The cheapest state behind a walk; `at_least_usd` is lower where states were dropped without being beaten."""

    best: _State
    at_least_usd: float

    @property
    def is_proven(self) -> bool:
        return self.at_least_usd >= self.best.paid_usd


def clairvoyant(situation: Situation, *, most_states: int = MOST_STATES) -> Clairvoyant:
    """Find the cheapest schedule of a conversation.

    Args:
        situation: the conversation, what may be masked when, and at what prices; these must not fall as prompts grow.
        most_states: kept from one request to the next; more only take longer.
    """
    search = _Search(situation)
    begin = situation.begin
    start = _State(0.0, 0.0, begin.masked, begin.ends, begin.ends, None)
    own, last = situation.layout.own, len(situation.layout.prompt_tokens)
    found = search.walk(start, own, last, most_states=min(most_states, _TRIED_STATES[0]))
    if not found.is_proven:
        search.bound(own, last)
        for states in (*(few for few in _TRIED_STATES if few < most_states), most_states):
            again = search.walk(start, own, last, most_states=states, limit_usd=found.best.paid_usd)
            best = min(found.best, again.best, key=lambda state: state.paid_usd)
            found = _Found(best, max(found.at_least_usd, again.at_least_usd))
            if found.is_proven:
                break
    cuts: dict[int, int] = {}
    cut = found.best.cuts
    while cut is not None:
        cuts[cut.request] = cut.new
        cut = cut.earlier
    run = replay(situation, lambda request, _: cuts.get(request, 0))
    return Clairvoyant(run, found.at_least_usd, tuple(sorted(cuts.items())))


class _Search:
    """Walks through the requests of one conversation with every state worth keeping; `bounds` grow with the walks."""

    def __init__(self, situation: Situation) -> None:
        self._of = situation
        self.bounds = Bounds(situation)
        self._firsts = tuple(one.first for one in situation.candidates)
        self._fresh = _fresh(situation)
        self._short = _short_reads(situation)
        self._by_first = first_requests(situation)
        self._open: dict[int, int] = {}

    def walk(self, start: _State, begin: int, end: int, *, most_states: int, limit_usd: float = float("inf")) -> _Found:
        """Go from a state in front of request `begin` to the cheapest behind `end - 1`.

        States are dropped where what they paid and the bound on the rest exceed `limit_usd`, what a known schedule
        costs; one is always kept.
        """
        states, at_least_usd, most_usd = [start], float("inf"), limit_usd + _ROUNDING
        for request in range(begin, end):
            reached: dict[tuple[int, int], _State] = {}
            for state in states:
                for paid_usd, promise_usd, new, after in self._after(state, request, begin):
                    if promise_usd > most_usd and reached:
                        continue
                    key = after.masked, self._needed(after, request)
                    known = reached.get(key)
                    if known is None or paid_usd < known.paid_usd:
                        cuts = _Cut(request, new, state.cuts) if new else state.cuts
                        reached[key] = _State(paid_usd, promise_usd, after.masked, after.ends, key[1], cuts)
            states, least_usd = self._worth_keeping(reached.values(), request, most_usd, most_states)
            at_least_usd = min(at_least_usd, least_usd)
        best = min(states, key=lambda state: state.paid_usd)
        return _Found(best, min(at_least_usd, best.paid_usd, limit_usd))

    def bound(self, own: int, last: int) -> None:
        """Work out the least that the requests from each one on can cost, the last first.

        Nothing beats having everything that was offered masked for free and every end readable. From that start some
        request is the first to cut something, and what is behind it is bounded already.
        """
        for request in range(last - 1, own, -1):
            everywhere = (1 << request) - 1
            free = _State(0.0, 0.0, self.bounds.ever[request - 1], everywhere, everywhere, None)
            self.bounds.raise_rest(request, self._first_cut_usd(free, request, last))

    def _first_cut_usd(self, state: _State, begin: int, last: int) -> float:
        """Give the least that requests `begin` to the last come to, bounded behind the first that cuts something."""
        least = float("inf")
        for request in range(begin, last):
            (paid_usd, promise_usd, new, after), *cut = self._after(state, request, begin)
            least = min([least, *(one[1] for one in cut)])
            if promise_usd >= least:
                return least
            if new or self._of.cold[request]:
                return min(least, promise_usd)
            state = _State(paid_usd, promise_usd, after.masked, after.ends, 0, None)
        return min(least, state.paid_usd)

    def _after(self, state: _State, request: int, begin: int) -> Iterator[tuple[float, float, int, Sent]]:
        """Give what one may do on a request, nothing first: paid then, to be paid at least, newly masked, and sent."""
        of, bounds = self._of, self.bounds
        sent = Sent(state.masked, state.ends)
        for new in self._choices(state.masked, request, begin):
            paid_usd, after = state.paid_usd + of.cost_usd(request, sent, new), of.after(request, sent, new)
            yield paid_usd, bounds.promise_usd(paid_usd, request, after.masked, after.ends), new, after

    def _choices(self, masked: int, request: int, begin: int) -> Iterator[int]:
        exact = self._of.offered[request] & ~masked
        if self._of.cold[request]:
            yield exact
            return
        yield 0
        fresh = (self._fresh[request] if request > begin else -1) & exact
        if not fresh:
            return
        new, rest, firsts = 0, exact, self._firsts
        while rest:
            k = rest.bit_length() - 1
            rest ^= 1 << k
            new |= 1 << k
            if rest and firsts[rest.bit_length() - 1] == firsts[k]:
                continue  # what one request added goes together: its read ends at the same place
            if new & fresh:
                yield new

    def _needed(self, sent: Sent, request: int) -> int:
        """Of the ends that can be read, give those that some later cut, or a read that falls short, may read up to."""
        if self._of.reads_anywhere:
            return 0
        found = 0
        for reach in self._short[request]:
            found |= 1 << (sent.ends & ((1 << reach) - 1)).bit_length() >> 1
        firsts = self._open_firsts(sent.masked)
        while firsts:
            readable = sent.ends & ((1 << firsts.bit_length() - 1) - 1)
            if not readable:
                break
            place = readable.bit_length()
            found |= 1 << place - 1
            firsts &= (1 << place) - 1
        return found

    def _open_firsts(self, masked: int) -> int:
        """Give the requests, as bits, in which something first appears that is not masked."""
        found = self._open.get(masked)
        if found is None:
            found = sum(1 << first for first, candidates in self._by_first if candidates & ~masked)
            self._open[masked] = found
        return found

    def _worth_keeping(
        self, states: Iterable[_State], request: int, most_usd: float, most_states: int
    ) -> tuple[list[_State], float]:
        """Drop the states that another one beats, and those that cannot come to `most_usd` or less.

        Where more than `most_states` are left, the least promising are dropped too; given beside those kept is the
        least that one of these may have come to.
        """
        carry = self.bounds.carried_usd(request)
        kept: list[_State] = []
        for state in sorted(states, key=lambda state: (state.paid_usd, -state.masked.bit_count())):
            if (state.promise_usd <= most_usd or not kept) and not _is_beaten(state, kept, carry):
                kept.append(state)
        if len(kept) <= most_states:
            return kept, float("inf")
        kept.sort(key=lambda state: state.promise_usd)
        return kept[:most_states], kept[most_states].promise_usd


def _is_beaten(state: _State, cheaper: list[_State], carry: list[float] | None) -> bool:
    masked, needed, paid = state.masked, state.needed_ends, state.paid_usd
    for other in cheaper:
        if needed & ~other.ends:
            continue
        unmasked = masked & ~other.masked
        if not unmasked:
            return True
        if carry is None:
            continue
        room = paid - other.paid_usd
        while unmasked and room >= 0:
            k = unmasked.bit_length() - 1
            room -= carry[k]
            unmasked ^= 1 << k
        if room >= 0:
            return True
    return False


def _fresh(situation: Situation) -> tuple[int, ...]:
    """Give the candidates that a warm cut on each request must mask one of, as bits; -1 for any."""
    offered, reach = situation.offered, situation.reach
    found = [-1]
    for request in range(1, len(offered)):
        found.append(offered[request] & ~offered[request - 1] if reach[request] == request else -1)
    return tuple(found)


def _short_reads(situation: Situation) -> tuple[tuple[int, ...], ...]:
    """Give how far the reads reach that come behind each request and fall short of what was sent last."""
    found: list[tuple[int, ...]] = [()]
    for request in range(len(situation.reach) - 1, 0, -1):
        reach, later = situation.reach[request], found[-1]
        found.append(tuple({*later, reach}) if 0 < reach < request else later)
    return tuple(reversed(found))
