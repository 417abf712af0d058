"""Decide whether results that a model has seen become smaller on this request, from which one on, and why not.

A cold cache takes every removal that gains: its prefix is paid in full anyway. A warm one takes a batch if two
things hold. It pays: what it saves over the expected requests exceeds what is written again. And the rent is paid:
what waiting has cost so far is a fair share of that rewrite. The first alone is greedy, since it cuts at once and
again and again; the second forecasts nothing and lets a batch grow. Where anything is unknown, nothing is done, and
the reason says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from coldpress.measure.economics import Prompt, Removal, Suffix, largest_net, suffixes
from coldpress.measure.rates import Prices, Unpriced
from coldpress.model.records import CacheState, Cut, CutReason

_TOKENS_PER_MTOK = 1_000_000

RENT_SHARE = 0.4
"""Share of the rewrite that waiting must have cost before a warm batch goes.

From simulations over recorded sessions at five tariffs: shares of 0.25 to 0.5 cost about the same, and this one holds
best on sessions that it was not chosen on (docs/explanation/schedules.md).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a decision is made on, apart from the prompt.

    Attributes:
        routes: prices of every upstream that may serve the conversation; the worst of them decides.
        requests: expected further requests, the one at hand included; `None` where there is no forecast.
        state: whether the prefix that was sent last is still held.
        long: the client writes its cache with the long lifetime.
        rent_share: how much of the rewrite waiting must have cost before a warm batch goes, 0 or more; `None` lets go
            whatever pays.
    """

    routes: tuple[Prices, ...] | Unpriced
    requests: float | None
    state: CacheState
    long: bool = False
    rent_share: float | None = RENT_SHARE


@dataclass(frozen=True, slots=True)
class Ruling:
    """What was decided: every removal from `start` on goes, none where it is `None`. `cut` is the ledger's record."""

    start: int | None
    cut: Cut


def settle(prompt: Prompt | None, removals: Sequence[Removal], terms: Terms, *, summariser_usd: float = 0.0) -> Ruling:
    """Decide on all aged results of a request together.

    Of the starts that may go, the one with the largest net is taken.

    Args:
        prompt: as it would be sent without a new edit; `None` where the provider does not report what it reads.
        removals: in the order of the prompt, not overlapping.
        terms: prices, forecast, cache and rule.
        summariser_usd: what the replacements cost together, beside what single removals say of themselves.
    """
    unknown = _unknown(prompt, removals, terms)
    if unknown is not None or prompt is None or terms.requests is None or isinstance(terms.routes, Unpriced):
        return Ruling(None, Cut(unknown or "unknown_usage", len(removals), requests=terms.requests))
    found = suffixes(
        prompt, removals, terms.routes, requests=terms.requests, summariser_usd=summariser_usd, long=terms.long
    )
    if isinstance(found, Unpriced):
        return Ruling(None, Cut("unpriced", len(removals), requests=terms.requests))
    best = largest_net([suffix for suffix in found if suffix.net_usd > 0 and _due(suffix, terms)])
    if best is not None:
        return _ruling(best, "cold" if terms.state == "cold" else "pays", removals, terms, summariser_usd, applied=True)
    declined = largest_net(found)
    if declined is None:
        return Ruling(None, Cut("nothing_aged", requests=terms.requests))
    reason: CutReason = "waiting" if declined.net_usd > 0 else "does_not_pay"
    return _ruling(declined, reason, removals, terms, summariser_usd, applied=False)


def preflight(
    prompt: Prompt | None, best_case: Sequence[Removal], terms: Terms, *, summariser_usd: float
) -> CutReason | None:
    """Say why no paid call may be made for these removals; `None` where it may, and `settle` then has the last word.

    Removals that are not `worth` what they cost themselves are left out: nobody would pay for them. Whatever calls for
    the others bring, `settle` would not have used it where this declines: they remove no more than the best case, and
    cost no less than the estimate. That holds for prices that do not fall as prompts grow longer.

    Args:
        prompt: as for `settle`.
        best_case: the removals as if nothing were left of each original.
        terms: as for `settle`.
        summariser_usd: the least that the calls will cost together.
    """
    worthwhile = [removal for removal in best_case if worth(removal, terms)]
    ruling = settle(prompt, worthwhile, terms, summariser_usd=summariser_usd)
    return None if ruling.start is not None else ruling.cut.reason


def worth(removal: Removal, terms: Terms) -> bool:
    """Whether a removal saves more than it costs itself, wherever the cut begins and whatever else goes.

    Its tokens are not written once, and not read on every later request, at the least that they cost anywhere.
    """
    if not removal.summariser_usd:
        return True
    if isinstance(terms.routes, Unpriced) or terms.requests is None:
        return False
    rates = [rates for prices in terms.routes for _, rates in prices.tiers]
    writes = [rate for one in rates if (rate := one.write_usd_per_mtok(long=terms.long)) is not None]
    write = min(writes, default=0.0)
    read = min((one.cache_read_usd_per_mtok for one in rates), default=0.0)
    saved = removal.removed_tokens * (write + max(0.0, terms.requests - 1) * read) / _TOKENS_PER_MTOK
    return saved > removal.summariser_usd


def _unknown(prompt: Prompt | None, removals: Sequence[Removal], terms: Terms) -> CutReason | None:
    """Give the first thing that must be known and is not."""
    if not removals:
        return "nothing_aged"
    if isinstance(terms.routes, Unpriced) or not terms.routes:
        return "unpriced"
    if prompt is None:
        return "unknown_usage"
    if terms.state == "unknown":
        return "unknown_cache"
    if terms.requests is None or not isfinite(terms.requests):
        return "unknown_requests"
    return None


def _due(suffix: Suffix, terms: Terms) -> bool:
    return terms.state == "cold" or terms.rent_share is None or suffix.rent_covers(terms.rent_share)


def _ruling(
    suffix: Suffix,
    reason: CutReason,
    removals: Sequence[Removal],
    terms: Terms,
    summariser_usd: float,
    *,
    applied: bool,
) -> Ruling:
    behind = removals[suffix.start :]
    cut = Cut(
        reason=reason,
        candidates=len(removals),
        applied=len(behind) if applied else 0,
        removed_tokens=suffix.removed_tokens,
        rewrite_tokens=suffix.rewrite_tokens,
        requests=terms.requests,
        net_usd=suffix.net_usd,
        prices=_prices_label(terms),
        summariser_usd=summariser_usd + sum(removal.summariser_usd for removal in behind),
    )
    return Ruling(suffix.start if applied else None, cut)


def _prices_label(terms: Terms) -> str:
    if isinstance(terms.routes, Unpriced):
        return ""
    return "; ".join(dict.fromkeys(prices.label for prices in terms.routes))
