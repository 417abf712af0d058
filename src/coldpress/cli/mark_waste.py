"""Estimate from the ledger what clients' ways of marking their prompts for the cache waste: lifetimes, and no marks.

An estimate, not a measurement: it says what the same requests would have cost with other marks, were the provider's
cache to do what its pages say. What a request reads of what others of the organisation wrote is not known to us.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from coldpress.measure.cache_rules import CacheRules, rules_for
from coldpress.measure.rates import Prices, Rates, Unpriced
from coldpress.model.records import Receipt
from coldpress.model.usage import Usage
from coldpress.stores.base import LedgerEntry

WasteKind = Literal["long_lifetime_unused", "short_lifetime_missed", "nothing_cached"]
PricesOf = Callable[[Receipt], Prices | Unpriced]

LEAST_TOKENS: Final = 10_000
"""Less is not worth a person's time at any price."""

_PER_MTOK: Final = 1e-6

MEANING: Final[dict[WasteKind, str]] = {
    "long_lifetime_unused": "the client asks for the long lifetime, and its next request comes within the short one",
    "short_lifetime_missed": "the client comes back after the short lifetime and within the long one",
    "nothing_cached": "prompts begin alike, and nothing of them was ever read from the cache or written to it",
}
REMEDY: Final[dict[WasteKind, str]] = {
    "long_lifetime_unused": "have the client ask for the short lifetime (Claude Code: no ENABLE_PROMPT_CACHING_1H)",
    "short_lifetime_missed": "have the client ask for the long lifetime (Claude Code: ENABLE_PROMPT_CACHING_1H=1)",
    "nothing_cached": "have the client set cache marks (Anthropic: cache_control), or one prompt_cache_key for each "
    "conversation (OpenAI)",
}


@dataclass(frozen=True, slots=True)
class Waste:
    """What one client wastes at one model, by one way of marking.

    Attributes:
        kind: which way.
        harness: the client, `None` where it does not say.
        provider: where it was sent.
        model: that was asked.
        conversations: in which it shows.
        requests: of these conversations.
        tokens: paid at a higher price than was needed.
        usd: what better marks would have saved, their own cost taken off; `None` where prices are not known.
    """

    kind: WasteKind
    harness: str | None
    provider: str
    model: str
    conversations: int
    requests: int
    tokens: int
    usd: float | None


@dataclass(frozen=True, slots=True)
class _Turn:
    """A request that was answered; `ended_at` in seconds since 1970, `prompt` in tokens."""

    receipt: Receipt
    usage: Usage
    ended_at: float
    prompt: int

    @property
    def written(self) -> int:
        return (self.usage.write_short or 0) + (self.usage.write_long or 0)


@dataclass(slots=True)
class _Sum:
    conversations: int = 0
    requests: int = 0
    tokens: int = 0
    usd: float | None = 0.0

    def add(self, turns: int, tokens: int, usd: float | None) -> None:
        self.conversations += 1
        self.requests += turns
        self.tokens += tokens
        self.usd = None if usd is None or self.usd is None else self.usd + usd


def wastes(entries: Iterable[LedgerEntry], prices_of: PricesOf) -> tuple[Waste, ...]:
    """List what is wasted, the dearest first; what would save nothing, or too few tokens, is left out.

    Args:
        entries: of the ledger, in any order.
        prices_of: gives the prices that held for a request.
    """
    sums: dict[tuple[WasteKind, str | None, str, str], _Sum] = defaultdict(_Sum)
    for turns in _conversations(entries):
        first = turns[0].receipt
        rules = rules_for(first.model or "", first.provider)
        if rules is None or first.model is None:
            continue
        prices = prices_of(first)
        for kind, tokens, usd in _found(turns, rules, prices if isinstance(prices, Prices) else None):
            sums[kind, first.harness, first.provider, first.model].add(len(turns), tokens, usd)
    listed = [
        Waste(kind, harness, provider, model, found.conversations, found.requests, found.tokens, found.usd)
        for (kind, harness, provider, model), found in sums.items()
        if found.tokens >= LEAST_TOKENS and (found.usd is None or found.usd > 0)
    ]
    return tuple(sorted(listed, key=lambda waste: (-(waste.usd or 0.0), -waste.tokens, waste.kind, waste.model)))


def _conversations(entries: Iterable[LedgerEntry]) -> Iterator[list[_Turn]]:
    """Give the answered requests of each conversation at one model, in order; two of them at least."""
    by_name: dict[tuple[str, str | None, str], list[_Turn]] = defaultdict(list)
    for entry in entries:
        receipt, outcome = entry.receipt, entry.outcome
        if outcome is None or outcome.status != 200 or not receipt.lineage:
            continue
        prompt = outcome.usage.prompt
        if prompt is not None:
            ended_at = receipt.received_at + outcome.duration_seconds
            turn = _Turn(receipt, outcome.usage, ended_at, prompt)
            by_name[receipt.lineage, receipt.model, receipt.provider].append(turn)
    for turns in by_name.values():
        if len(turns) > 1:
            yield sorted(turns, key=lambda turn: turn.receipt.received_at)


def _found(
    turns: Sequence[_Turn], rules: CacheRules, prices: Prices | None
) -> Iterator[tuple[WasteKind, int, float | None]]:
    short, long = rules.short_seconds, rules.long_seconds
    if short is None:
        return
    if not any(turn.usage.read or turn.written for turn in turns):
        yield from _nothing_cached(turns, rules, prices, short)
    elif rules.write_priced and long is not None:
        late = [(before, after) for before, after in pairwise(turns) if short < _idle(before, after) <= long]
        if any(turn.usage.write_long for turn in turns):
            yield from _long_unused(turns, late, prices)
        else:
            yield from _short_missed(turns, late, prices)


def _long_unused(
    turns: Sequence[_Turn], late: Sequence[tuple[_Turn, _Turn]], prices: Prices | None
) -> Iterator[tuple[WasteKind, int, float | None]]:
    tokens = sum(turn.usage.write_long or 0 for turn in turns)
    if prices is None:
        if not late:
            yield "long_lifetime_unused", tokens, None
        return
    overpaid = sum((turn.usage.write_long or 0) * _dearer(_rates(prices, turn)) for turn in turns)
    spared = sum((after.usage.read or 0) * _rewrite(_rates(prices, after)) for _, after in late)
    if overpaid > spared:
        yield "long_lifetime_unused", tokens, (overpaid - spared) * _PER_MTOK


def _short_missed(
    turns: Sequence[_Turn], late: Sequence[tuple[_Turn, _Turn]], prices: Prices | None
) -> Iterator[tuple[WasteKind, int, float | None]]:
    again = [(after, max(0, min(before.prompt, after.prompt) - (after.usage.read or 0))) for before, after in late]
    tokens = sum(missed for _, missed in again)
    if not tokens or prices is None:
        if tokens:
            yield "short_lifetime_missed", tokens, None
        return
    lost = sum(missed * _rewrite(_rates(prices, after)) for after, missed in again)
    dearer = sum((turn.usage.write_short or 0) * _dearer(_rates(prices, turn)) for turn in turns)
    if lost > dearer:
        yield "short_lifetime_missed", tokens, (lost - dearer) * _PER_MTOK


def _nothing_cached(
    turns: Sequence[_Turn], rules: CacheRules, prices: Prices | None, short: float
) -> Iterator[tuple[WasteKind, int, float | None]]:
    """Only where the provider reports reads at all: one that does not may read as much as it likes."""
    if any(turn.usage.read is None for turn in turns):
        return
    shared = [
        (after, before.prompt if after.prompt >= before.prompt and _idle(before, after) <= short else 0)
        for before, after in pairwise(turns)
    ]
    shared = [(after, tokens if tokens >= rules.minimum_tokens else 0) for after, tokens in shared]
    tokens = sum(same for _, same in shared)
    if not tokens or prices is None:
        if tokens:
            yield "nothing_cached", tokens, None
        return
    saved = 0.0
    for turn, same in [(turns[0], 0), *shared]:
        rates = _rates(prices, turn)
        premium = rates.cache_write_usd_per_mtok - rates.input_usd_per_mtok
        saved += same * (rates.input_usd_per_mtok - rates.cache_read_usd_per_mtok) - (turn.prompt - same) * premium
    if saved > 0:
        yield "nothing_cached", tokens, saved * _PER_MTOK


def _idle(before: _Turn, after: _Turn) -> float:
    return max(0.0, after.receipt.received_at - before.ended_at)


def _rates(prices: Prices, turn: _Turn) -> Rates:
    return prices.at(turn.prompt)


def _dearer(rates: Rates) -> float:
    """What a token costs more that is written for the long lifetime; 0 where no such price is known."""
    return max(0.0, (rates.cache_write_long_usd_per_mtok or 0.0) - rates.cache_write_usd_per_mtok)


def _rewrite(rates: Rates) -> float:
    """What a token costs more that is written again and could have been read."""
    return rates.cache_write_usd_per_mtok - rates.cache_read_usd_per_mtok
