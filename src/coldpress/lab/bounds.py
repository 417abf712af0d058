"""Bound from below what the rest of a conversation must cost, so that a search for the cheapest schedule can be short.

All of it takes prices that do not fall as prompts grow, and writes that cost no less than reads.

- From some request on, nothing beats a start with everything masked that was ever offered and every end readable.
- Of what is not masked, the results before some place stay until the next cold request, and are read on every request
  up to it; those behind it are cut away some time, which writes again what stands between that place and whatever the
  start above would have to cut. The cheapest such place is the least that a state must pay beside the first bound.
- One that masked less than another can make the other's cuts. Of what it has not masked it reads each result until a
  cold request on which that is offered; where it is not offered, what stands behind a cut is written with it.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from operator import or_

from coldpress.lab.schedules import Situation

_USD_PER_TOKEN = 1e-6


class Bounds:
    """Bounds for one conversation.

    Attributes:
        ever: candidates that were offered up to each request.
        rest_usd: the least that the requests from each one on cost together; 0 behind the last.
    """

    def __init__(self, situation: Situation) -> None:
        self._of = situation
        layout, prices = situation.layout, situation.tariff.prices
        self.ever = tuple(accumulate(situation.offered, or_))
        tiers = [situation.tariff.read_and_write(above + 1, asked_long=layout.long) for above, _ in prices.tiers]
        self._is_flat = prices.at(max(layout.prompt_tokens)) is prices.at(0)
        self._read_usd = min(read for read, _ in tiers) * _USD_PER_TOKEN
        self._rewrite_usd = max(0.0, min(write - read for read, write in tiers)) * _USD_PER_TOKEN
        self._may_bound = all(a <= c and b - a <= d - c for (a, b), (c, d) in pairwise(tiers))
        self._saved = [one.saved_tokens for one in situation.candidates]
        self._firsts = [one.first for one in situation.candidates]
        self._reads_left = _reads_left(situation)
        self._base = [self._base_tokens(request) for request in range(len(layout.prompt_tokens))]
        self._carry = self._carried()
        self.rest_usd = [0.0] * (len(layout.prompt_tokens) + 1)
        for request in range(len(layout.prompt_tokens) - 1, layout.own - 1, -1):
            self.rest_usd[request] = self.rest_usd[request + 1] + self._least_usd(request)

    def raise_rest(self, request: int, at_least_usd: float) -> None:
        """Take in that the requests from this one on cost at least so much, and those before it with them."""
        more = at_least_usd - self.rest_usd[request]
        if more > 0:
            for earlier in range(self._of.layout.own, request + 1):
                self.rest_usd[earlier] += more

    def promise_usd(self, paid_usd: float, request: int, masked: int, ends: int) -> float:
        """Give the least that a state behind a request comes to in the end."""
        return paid_usd + self.rest_usd[request + 1] + self.extra_usd(request, masked, ends)

    def extra_usd(self, request: int, masked: int, ends: int) -> float:
        """Give what a state behind a request must pay beside `rest_usd`."""
        open_ = self.ever[request] & ~masked
        left = self._reads_left[request]
        if not open_ or not left or not self._may_bound:
            return 0.0
        of, saved, firsts = self._of, self._saved, self._firsts
        carry_usd, rewrite_usd = self._read_usd * left, self._rewrite_usd
        stay = of.saved(open_)
        least = stay * carry_usd
        ever, base = self.ever[request], self._base[request]
        while open_:
            k = open_.bit_length() - 1
            open_ ^= 1 << k
            stay -= saved[k]
            readable = ends & ((1 << firsts[k]) - 1)
            read = of.end(readable.bit_length() - 1, ever) if readable else of.layout.head_tokens
            rewrite = max(0, base - read) * rewrite_usd
            if rewrite >= least:
                break  # further to the left it is no less
            least = min(least, rewrite + stay * carry_usd)
        return least

    def carried_usd(self, request: int) -> list[float] | None:
        """Give, by candidate, the most that it costs later not to have masked it; `None` where nobody can say."""
        return self._carry[request] if self._is_flat else None

    def _base_tokens(self, request: int) -> int:
        """Tokens that the start of the first bound can read whatever it cuts behind this request."""
        later = [one.first for k, one in enumerate(self._of.candidates) if not self.ever[request] >> k & 1]
        end = min([request, *(first - 1 for first in later)])
        return self._of.end(end, self.ever[request]) if end >= 0 else self._of.layout.head_tokens

    def _least_usd(self, request: int) -> float:
        of = self._of
        shortest = of.end(request, self.ever[request])
        read = of.read_tokens[request] - of.saved(self.ever[request] & of.before[of.reach[request]])
        written = shortest - min(shortest, max(0, read))
        return self._read_usd * shortest + self._rewrite_usd * written

    def _carried(self) -> list[list[float]]:
        of = self._of
        read, write = of.tariff.read_and_write(0, asked_long=of.layout.long)
        dear = max(read, write) * _USD_PER_TOKEN
        found = [[0.0] * len(self._saved)]
        for request in range(len(of.layout.prompt_tokens) - 1, 0, -1):
            offered, cold, later = of.offered[request], of.cold[request], found[-1]
            warm_usd = read * _USD_PER_TOKEN if of.reach[request] == request else dear
            row = []
            for k, tokens in enumerate(self._saved):
                is_offered = offered >> k & 1
                if cold and is_offered:
                    row.append(0.0)
                else:
                    row.append(later[k] + tokens * (warm_usd if is_offered and not cold else dear))
            found.append(row)
        return found[::-1]


def _reads_left(situation: Situation) -> list[int]:
    """Count the requests behind each one, up to the next cold one."""
    cold = situation.cold
    found = [0] * len(cold)
    for request, behind in reversed(list(pairwise(range(len(cold))))):
        found[request] = 0 if cold[behind] else found[behind] + 1
    return found


def first_requests(situation: Situation) -> tuple[tuple[int, int], ...]:
    """Give every request that some candidates first appear in, and these candidates as bits."""
    found: dict[int, int] = {}
    for k, one in enumerate(situation.candidates):
        found[one.first] = found.get(one.first, 0) | 1 << k
    return tuple(found.items())
