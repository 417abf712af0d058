"""Find the cheapest schedule that knew the whole conversation beforehand: the least that any schedule could have cost.

A schedule masks candidates on some requests. Once a request rewrites the prompt from some place on, masking every other
result of age behind that place costs nothing more and shortens this request and all later ones. So a schedule is a set
of cuts, each with a first result. Three more things need not be tried:

- On a cold request everything of age goes: its prompt is written anyway.
- A warm cut without a result that has just come of age: one request earlier it would have rewritten less.
- A state that another one beats. A state is the set masked so far, the places where reads can end, and what was
  paid. One that masked no less, can read up to the same places and paid no more is at least as good. One that masked
  less can follow the other's cuts, and reads its extra results until the next cold request at most, at C a token: it
  beats the other where it is cheaper by that much. (Only where no prompt of the conversation reaches a price cliff;
  else the first half alone is used.)

What is left is walked through request by request: a dynamic program over sets, exact, and compared with trying every
set of cuts in tests. Where the states are too many, a bound on what the rest must cost is worked out from the end
backwards, and states that cannot reach the best schedule known are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from coldpress.lab.schedules import Run, Sent, Situation, bits_of, replay

MOST_STATES = 400
"""States kept from one request to the next, once there are bounds."""

_FIRST_STATES = 100
"""The same on the first walk, which has none: enough for all but a few long conversations."""

_BOUND_STATES = 80
"""The same while bounds are worked out: there are many walks, and each may be a little loose."""

_BOUND_EVERY = 8
"""Requests between two bounds."""

_USD_PER_TOKEN = 1e-6
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Clairvoyant:
    """The cheapest schedule that was found, and what no schedule can be cheaper than; mostly the same."""

    run: Run
    at_least_usd: float


@dataclass(frozen=True, slots=True)
class _Cut:
    request: int
    new: int
    earlier: _Cut | None


@dataclass(frozen=True, slots=True)
class _State:
    paid_usd: float
    sent: Sent
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
        situation: the conversation, what may be masked from when on, and at what prices.
        most_states: kept from one request to the next; more only take longer.
    """
    search = _Search(situation)
    start = _State(0.0, situation.begin, situation.begin.ends, None)
    own, last = situation.layout.own, len(situation.layout.prompt_tokens)
    found = search.walk(start, own, last, most_states=min(most_states, _FIRST_STATES))
    if not found.is_proven:
        search.bound(own, last)
        again = search.walk(start, own, last, most_states=most_states, limit_usd=found.best.paid_usd)
        best = min(found.best, again.best, key=lambda state: state.paid_usd)
        found = _Found(best, max(found.at_least_usd, again.at_least_usd))
    cuts: dict[int, int] = {}
    cut = found.best.cuts
    while cut is not None:
        cuts[cut.request] = cut.new
        cut = cut.earlier
    return Clairvoyant(replay(situation, lambda request, _: cuts.get(request, 0)), found.at_least_usd)


class _Search:
    """Walks through the requests of one conversation with every state worth keeping."""

    def __init__(self, situation: Situation) -> None:
        self._of = situation
        self._rest_usd = [0.0] * (len(situation.layout.prompt_tokens) + 1)
        self._reads_left = _reads_left(situation.cold)
        self._is_flat = _is_flat(situation)
        by_first: dict[int, int] = {}
        for k, one in enumerate(situation.candidates):
            by_first[one.first] = by_first.get(one.first, 0) | 1 << k
        self._by_first = tuple(by_first.items())
        self._saved = [one.saved_tokens for one in situation.candidates]

    def walk(self, start: _State, begin: int, end: int, *, most_states: int, limit_usd: float = float("inf")) -> _Found:
        """Go from a state in front of request `begin` to the cheapest behind `end - 1`.

        States are dropped where what they paid and the bound on the rest exceed `limit_usd`, what a known schedule
        costs; one is always kept.
        """
        states, at_least_usd = [start], float("inf")
        for request in range(begin, end):
            reached: dict[tuple[int, int], _State] = {}
            for state in states:
                for after in self._after(state, request, begin):
                    key = after.sent.masked, after.needed_ends
                    known = reached.get(key)
                    if known is None or after.paid_usd < known.paid_usd:
                        reached[key] = after
            rest_usd = self._rest_usd[request + 1]
            states = self._worth_keeping(reached.values(), request, limit_usd - rest_usd + _ROUNDING)
            if len(states) > most_states:
                # The cheapest so far have masked least; what a state will save counts as well.
                states.sort(key=lambda state: self._promise(state, request))
                dropped = min(state.paid_usd for state in states[most_states:])
                at_least_usd = min(at_least_usd, dropped + rest_usd)
                states = states[:most_states]
        best = min(states, key=lambda state: state.paid_usd)
        return _Found(best, min(at_least_usd, best.paid_usd, limit_usd))

    def bound(self, own: int, last: int) -> None:
        """Work out the least that the requests from each one on can cost.

        Nothing beats having everything of age masked for free and every end readable; from every eighth request on,
        that start is priced. Each request between those costs at least its shortest prompt, all but its growth read.
        """
        for request in range(last - 1, own, -1):
            self._rest_usd[request] = self._rest_usd[request + 1] + self._least_usd(request)
            if (last - request) % _BOUND_EVERY == 0:
                everywhere = (1 << request) - 1
                free = _State(0.0, Sent(self._of.aged[request - 1], everywhere), everywhere, None)
                tried = self.walk(free, request, last, most_states=10)
                found = self.walk(free, request, last, most_states=_BOUND_STATES, limit_usd=tried.best.paid_usd)
                self._rest_usd[request] = max(self._rest_usd[request], found.at_least_usd)

    def _least_usd(self, request: int) -> float:
        of = self._of
        read, write = of.tariff.read_and_write(0, asked_long=of.layout.long)
        shortest = of.end(request, of.aged[request])
        written = shortest
        if not of.cold[request]:
            written = min(shortest, of.layout.prompt_tokens[request] - of.layout.prompt_tokens[request - 1])
        return (read * (shortest - written) + write * written) * _USD_PER_TOKEN

    def _after(self, state: _State, request: int, begin: int) -> list[_State]:
        """Give the states that one may be in after a request."""
        of = self._of
        exact = of.aged[request] & ~state.sent.masked
        if of.cold[request]:
            return [self._with(state, request, exact)]
        found = [self._with(state, request, 0)]
        fresh = of.newly[request] if request > begin else exact
        if not fresh & exact:
            return found
        firsts = sorted({of.candidates[k].first for k in bits_of(exact)}, reverse=True)
        for first in firsts:
            new = exact & ~of.before[first]
            if new & fresh:
                found.append(self._with(state, request, new))
        return found

    def _with(self, state: _State, request: int, new: int) -> _State:
        paid = state.paid_usd + self._of.cost_usd(request, state.sent, new)
        sent = self._of.after(request, state.sent, new)
        cuts = _Cut(request, new, state.cuts) if new else state.cuts
        return _State(paid, sent, self._needed(sent), cuts)

    def _needed(self, sent: Sent) -> int:
        """Of the ends that can be read, give those that some later cut may read up to."""
        if self._of.tariff.reads_anywhere:
            return 0
        found = 0
        for first, candidates in self._by_first:
            if candidates & ~sent.masked:
                found |= 1 << (sent.ends & ((1 << first) - 1)).bit_length() >> 1
        return found

    def _worth_keeping(self, states: Iterable[_State], request: int, most_usd: float) -> list[_State]:
        """Drop the states that a cheaper one beats: it masked as much, or reading what it did not costs too little."""
        read, _ = self._of.tariff.read_and_write(0, asked_long=self._of.layout.long)
        extra_usd = read * _USD_PER_TOKEN * self._reads_left[request] if self._is_flat else float("inf")
        kept: list[_State] = []
        for state in sorted(states, key=lambda state: (state.paid_usd, -state.sent.masked.bit_count())):
            if state.paid_usd > most_usd and kept:
                break
            if not self._is_beaten(state, kept, extra_usd):
                kept.append(state)
        return kept

    def _is_beaten(self, state: _State, cheaper: list[_State], extra_usd: float) -> bool:
        saved = self._saved
        for other in cheaper:
            if state.needed_ends & ~other.sent.ends:
                continue
            unmasked = state.sent.masked & ~other.sent.masked
            room = state.paid_usd - other.paid_usd
            while unmasked and room >= 0:
                k = unmasked.bit_length() - 1
                room -= saved[k] * extra_usd
                unmasked ^= 1 << k
            if room >= 0:
                return True
        return False

    def _promise(self, state: _State, request: int) -> float:
        read, _ = self._of.tariff.read_and_write(0, asked_long=self._of.layout.long)
        will_save = self._of.saved(state.sent.masked) * read * _USD_PER_TOKEN * self._reads_left[request]
        return state.paid_usd - will_save / 2


def _reads_left(cold: Sequence[bool]) -> list[int]:
    """Count the requests behind each one up to the next cold one."""
    found = [0] * len(cold)
    for request, behind in reversed(list(pairwise(range(len(cold))))):
        found[request] = 0 if cold[behind] else found[behind] + 1
    return found


def _is_flat(situation: Situation) -> bool:
    prices = situation.tariff.prices
    return prices.at(max(situation.layout.prompt_tokens)) is prices.at(0)
