"""Work out what taking text out of a prompt saves and costs, cached prefix and price cliffs included.

C is the price of a cached read, W that of writing uncached prompt tokens, N the expected requests, the one at hand
included. Without a cut N requests with a prompt of T tokens, the first c of them readable, cost

    C*c + W*(T-c) + (N-1)*C*T

A cut takes out every removal of a suffix, D tokens in all. What is read then ends at the last readable place before
the first removal (r tokens), and the R tokens between there and c that stay are written again:

    C*r + max(W,C)*R + W*(T-D-r-R) + (N-1)*C*(T-D)

The difference is the saving; a summariser's S comes off it. Where T = c and prices have no cliff it is
N*D*C - R*max(0, W-C) - S, so a cut pays where N > (R*max(0, W-C) + S) / (D*C). Each bill takes the rates of its own
prompt length. Output is left out: it costs the same either way, or less where the cut falls below a cliff.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import NamedTuple

from coldpress.measure.rates import Prices, Rates, Unpriced

_TOKENS_PER_MTOK = 1_000_000
_LARGEST_DENOMINATOR = 10**12
_NET_DIGITS = 4
"""Digits kept of a millionth of a dollar. Bills are sums of floats: what only breaks even must come out as 0, not as a
hair above it. The cheapest token there is costs ten times the last digit."""


class Removal(NamedTuple):
    """One text that could become smaller.

    Attributes:
        before_tokens: prompt tokens before the text, as the prompt would be sent without a new edit.
        removed_tokens: tokens that its replacement has fewer than what is sent now; 0 or more.
        waited: requests on which it could have gone and did not, the one at hand excluded.
        summariser_usd: what its replacement cost, or will cost, to write.
    """

    before_tokens: int
    removed_tokens: int
    waited: int = 0
    summariser_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prompt of a request as it would be sent without a new edit.

    Attributes:
        tokens: the whole of it.
        cached_tokens: how many of its first tokens the provider is believed to read; 0 where the cache is cold.
        readable: token counts at which a read of a shorter prefix can end, ascending; `None` where it can end anywhere.
            0 and `cached_tokens` always can.

    Raises:
        ValueError: more tokens are cached than there are, or a count is negative.
    """

    tokens: int
    cached_tokens: int
    readable: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.cached_tokens <= self.tokens:
            raise ValueError(f"{self.cached_tokens} of {self.tokens} prompt tokens cached; must be 0 to all of them")

    def read_before(self, tokens: int) -> int:
        """Tokens that can be read of the cached prefix if everything behind the first `tokens` changes.

        >>> Prompt(100, 80, readable=(30, 60)).read_before(50), Prompt(100, 80).read_before(90)
        (30, 80)
        """
        if tokens >= self.cached_tokens:
            return self.cached_tokens
        if self.readable is None:
            return max(0, tokens)
        index = bisect_right(self.readable, tokens)
        return self.readable[index - 1] if index else 0


class Suffix(NamedTuple):
    """All removals from one of them on, taken together: what that is worth at the route where it is worth least.

    Attributes:
        start: index of the first removal.
        net_usd: saving over the expected requests, rewrite and summariser taken off; may be negative.
        removed_tokens: what it frees.
        rewrite_tokens: cached tokens that stay in the prompt and are written again.
        rewrite_usd: what writing those costs above reading them.
        rent_usd: what waiting has cost so far: each removal's tokens read on every request it waited. Where the cut
            falls below a price cliff, the higher price of the whole prompt is part of it, for as long as the removal
            that waited longest.
    """

    start: int
    net_usd: float
    removed_tokens: int
    rewrite_tokens: int
    rewrite_usd: float
    rent_usd: float

    def rent_covers(self, share: float) -> bool:
        """Whether waiting has cost at least this share of the rewrite."""
        return self.rent_usd >= share * self.rewrite_usd


def breakeven_turns(
    rewrite_tokens: int, removed_tokens: int, rates: Rates, *, summariser_usd: float = 0.0, long: bool = False
) -> int | Unpriced | None:
    """Smallest whole number of requests, the one that rewrites included, after which a warm cut has saved money.

    Args:
        rewrite_tokens: R, cached tokens that stay behind the cut and are written again.
        removed_tokens: D, tokens taken out.
        rates: prices of the model at this prompt length.
        summariser_usd: S, what the replacement cost to write.
        long: writes are of the long lifetime; `Unpriced` comes back where their price is not known.

    Returns:
        The turns, 1 or more; `None` where no number of them is enough.

    The prices are taken as the decimal numbers they stand for, so that a cut which only breaks even after 10
    turns needs 11, whatever the rounding of floats.

    >>> v4_pro = Rates(0.435, 0.003625, 0.435, None, 0.87, "example", "2026-07-21")
    >>> breakeven_turns(50_000, 20_000, v4_pro)
    298
    """
    write = rates.write_usd_per_mtok(long=long)
    if write is None:
        return _no_long_write(rates)
    read = _exact(rates.cache_read_usd_per_mtok)
    saved_a_turn = removed_tokens * read
    if saved_a_turn <= 0:
        return None
    once = rewrite_tokens * max(Fraction(0), _exact(write) - read) + _exact(summariser_usd) * _TOKENS_PER_MTOK
    return once // saved_a_turn + 1


def net_usd(
    prompt: Prompt,
    removals: Sequence[Removal],
    prices: Prices,
    *,
    requests: float,
    summariser_usd: float = 0.0,
    long: bool = False,
) -> float | Unpriced:
    """Give what taking out all of these removals saves over the expected requests, in USD; may be negative.

    Args:
        prompt: the request at hand.
        removals: in the order of the prompt, not overlapping.
        prices: of the model, at all prompt lengths.
        requests: expected requests, the one at hand included; fewer than 1 count as 1. The later ones are taken to be
            as long as this one.
        summariser_usd: what all replacements together cost, beside what single removals say of themselves.
        long: writes are of the long lifetime; `Unpriced` comes back where their price is not known.
    """
    found = suffixes(prompt, removals, (prices,), requests=requests, summariser_usd=summariser_usd, long=long)
    if isinstance(found, Unpriced):
        return found
    return found[0].net_usd if found else -summariser_usd


def best_suffix(
    prompt: Prompt,
    removals: Sequence[Removal],
    routes: Sequence[Prices],
    *,
    requests: float,
    summariser_usd: float = 0.0,
    long: bool = False,
) -> Suffix | Unpriced | None:
    """Choose the removal from which on to take out everything: the largest net, the later one of two that are equal.

    The net may be negative. Arguments are those of `suffixes`; `None` where there are no removals.
    """
    found = suffixes(prompt, removals, routes, requests=requests, summariser_usd=summariser_usd, long=long)
    if isinstance(found, Unpriced):
        return found
    return largest_net(found)


def largest_net(found: Sequence[Suffix]) -> Suffix | None:
    """Choose the suffix with the largest net, the later one of two that are equal; `None` where there is none."""
    return max(reversed(found), key=lambda suffix: suffix.net_usd, default=None)


def suffixes(
    prompt: Prompt,
    removals: Sequence[Removal],
    routes: Sequence[Prices],
    *,
    requests: float,
    summariser_usd: float = 0.0,
    long: bool = False,
) -> tuple[Suffix, ...] | Unpriced:
    """Price every suffix of the removals, in one pass from the last to the first.

    Args:
        prompt: the request at hand.
        removals: in the order of the prompt, not overlapping.
        routes: prices of each upstream that may serve the conversation; every suffix is priced by the one where it
            is worth least.
        requests: expected requests, the one at hand included; see `net_usd`.
        summariser_usd: what the replacements of the batch cost together, whatever the start.
        long: writes are of the long lifetime.

    Returns:
        One suffix per removal, in order; `Unpriced` where there is no route or no price for its writes.
    """
    if not routes:
        return Unpriced(("rates: no route",))
    later = max(0.0, requests - 1)
    bills = []
    for prices in routes:
        bill = _Bill.of(prices, prompt, later, long=long)
        if isinstance(bill, Unpriced):
            return bill
        bills.append(bill)
    found = [_suffix(cut, [bill.changed_by(cut) for bill in bills], summariser_usd) for cut in _cuts(prompt, removals)]
    return tuple(reversed(found))


# These are made for every removal of every request, and named tuples cost a third of what dataclasses do.


class _Cut(NamedTuple):
    """The token counts of one suffix; `waited_tokens` is the sum of removed tokens times the requests they waited."""

    start: int
    removed_tokens: int
    rewrite_tokens: int
    read_tokens: int
    waited_tokens: int
    longest_wait: int
    summariser_usd: float


class _Change(NamedTuple):
    """What one suffix changes at one route, in millionths of a dollar: `saved` has the rewrite taken off already."""

    saved: float
    rewrite: float
    rent: float

    @property
    def cover(self) -> float:
        """How often the rent pays for the rewrite."""
        return self.rent / self.rewrite if self.rewrite else inf


def _suffix(cut: _Cut, changes: Sequence[_Change], summariser_usd: float) -> Suffix:
    # A rule on rent and rewrite holds on all routes if it holds where the rent covers the smallest part.
    slowest, saved = changes[0], changes[0].saved
    if len(changes) > 1:
        slowest, saved = min(changes, key=lambda change: change.cover), min(change.saved for change in changes)
    saved -= (summariser_usd + cut.summariser_usd) * _TOKENS_PER_MTOK
    return Suffix(
        start=cut.start,
        net_usd=round(saved, _NET_DIGITS) / _TOKENS_PER_MTOK,
        removed_tokens=cut.removed_tokens,
        rewrite_tokens=cut.rewrite_tokens,
        rewrite_usd=slowest.rewrite / _TOKENS_PER_MTOK,
        rent_usd=slowest.rent / _TOKENS_PER_MTOK,
    )


def _cuts(prompt: Prompt, removals: Sequence[Removal]) -> Iterator[_Cut]:
    """Count each suffix, the shortest first."""
    removed = removed_cached = waited_tokens = longest_wait = 0
    summariser_usd = 0.0
    for start in range(len(removals) - 1, -1, -1):
        removal = removals[start]
        removed += removal.removed_tokens
        removed_cached += min(max(0, prompt.cached_tokens - removal.before_tokens), removal.removed_tokens)
        waited_tokens += removal.removed_tokens * removal.waited
        longest_wait = max(longest_wait, removal.waited)
        summariser_usd += removal.summariser_usd
        read = prompt.read_before(removal.before_tokens)
        # Token counts are estimates and may overlap a little: what is written again is never negative.
        rewrite = max(0, prompt.cached_tokens - read - removed_cached)
        yield _Cut(start, removed, rewrite, read, waited_tokens, longest_wait, summariser_usd)


@dataclass(frozen=True, slots=True)
class _Bill:
    """What the expected requests cost at one route without a cut, in millionths of a dollar.

    `tiers` are price cliffs: the number of tokens above which the prices of a read and a write beside it hold.
    """

    tiers: tuple[tuple[int, float, float], ...]
    tokens: int
    later: float
    read: float
    total: float

    @classmethod
    def of(cls, prices: Prices, prompt: Prompt, later: float, *, long: bool) -> _Bill | Unpriced:
        """Price this request and `later` more of its length."""
        tiers = []
        for above, rates in prices.tiers:
            rate = rates.write_usd_per_mtok(long=long)
            if rate is None:
                return _no_long_write(rates)
            tiers.append((above, rates.cache_read_usd_per_mtok, rate))
        read, write = _at(tiers, prompt.tokens)
        now = read * prompt.cached_tokens + write * (prompt.tokens - prompt.cached_tokens)
        return cls(tuple(tiers), prompt.tokens, later, read, now + later * read * prompt.tokens)

    def changed_by(self, cut: _Cut) -> _Change:
        """Price the same requests with the suffix taken out."""
        kept = max(0, self.tokens - cut.removed_tokens)
        read, write = _at(self.tiers, kept)
        rewrite = cut.rewrite_tokens * max(0.0, write - read)
        written = max(0, kept - cut.read_tokens - cut.rewrite_tokens)
        now = read * (cut.read_tokens + cut.rewrite_tokens) + rewrite + write * written
        rent = read * cut.waited_tokens + max(0.0, self.read - read) * self.tokens * cut.longest_wait
        return _Change(self.total - now - self.later * read * kept, rewrite, rent)


def _at(tiers: Sequence[tuple[int, float, float]], tokens: int) -> tuple[float, float]:
    """Prices of a read and of a write in a prompt of so many tokens."""
    _, read, write = tiers[0]
    if len(tiers) == 1:
        return read, write
    for above, read_above, write_above in tiers[1:]:
        if tokens <= above:
            break
        read, write = read_above, write_above
    return read, write


def _no_long_write(rates: Rates) -> Unpriced:
    return Unpriced((f"cache_write_long rate in {rates.label}",))


def _exact(usd: float) -> Fraction:
    return Fraction(usd).limit_denominator(_LARGEST_DENOMINATOR)
