"""Choose the moment in other ways than the gate does: never, at once, in batches, when the cache is cold, by a rule.

Each of these stands in the gate's place in `coldpress.drive`, so that everything else is as in a gateway; the arms of
`coldpress.lab.arms` ask the same functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from coldpress.engine.aged import Aged
from coldpress.engine.cut import Choose, by_gate
from coldpress.engine.gate import Ruling, Terms
from coldpress.measure.economics import Prompt, Removal, suffixes
from coldpress.measure.rates import Unpriced
from coldpress.model.records import Cut, CutReason

REFERENCE_REQUESTS: Final = 6
"""`expected_applications` of the reference experiment."""

_TOKENS_PER_MTOK = 1_000_000

gate: Final[Choose] = by_gate
"""The gateway's own gate."""


def never(_: Sequence[Aged], prompt: Prompt, removals: Sequence[Removal], terms: Terms) -> Ruling:
    """Leave every result as it is."""
    return declined("waiting", removals, terms)


def every_turn(_: Sequence[Aged], prompt: Prompt, removals: Sequence[Removal], terms: Terms) -> Ruling:
    """Let each result go as soon as it is of age, whatever that rewrites."""
    if not removals:
        return declined("nothing_aged", removals, terms)
    return taken(0, "ordered", prompt, removals, terms)


def cold(_: Sequence[Aged], prompt: Prompt, removals: Sequence[Removal], terms: Terms) -> Ruling:
    """Let everything of age go when nothing is held, and only then."""
    if not removals or terms.state != "cold":
        return declined("waiting" if removals else "nothing_aged", removals, terms)
    return taken(0, "cold", prompt, removals, terms)


def batched(turns: int) -> Choose:
    """Let everything of age go once one of the results has waited this many turns, 0 or more.

    Raises:
        ValueError: `turns` is negative.
    """
    if turns < 0:
        raise ValueError(f"a batch waits {turns} turns; give 0 or more")

    def choose(_: Sequence[Aged], prompt: Prompt, removals: Sequence[Removal], terms: Terms) -> Ruling:
        if not removals or max(removal.waited for removal in removals) < turns:
            return declined("waiting" if removals else "nothing_aged", removals, terms)
        return taken(0, "ordered", prompt, removals, terms)

    return choose


def reference(_: Sequence[Aged], prompt: Prompt, removals: Sequence[Removal], terms: Terms) -> Ruling:
    """Let all or nothing go: all where N*D*C > R*(W-C), N = 6, as if the cache were always warm.

    D is what goes, R what stands behind the first of it and stays. Source: the reference experiment (July 2026), whose
    gate is `N > R*(W-C) / (D*C)`.
    """
    if not removals:
        return declined("nothing_aged", removals, terms)
    if isinstance(terms.routes, Unpriced) or not terms.routes:
        return declined("unpriced", removals, terms)
    removed = sum(removal.removed_tokens for removal in removals)
    kept = max(0, prompt.tokens - removals[0].before_tokens - removed)
    nets = []
    for prices in terms.routes:
        rates = prices.at(prompt.tokens)
        read, write = rates.cache_read_usd_per_mtok, rates.write_usd_per_mtok(long=terms.long)
        if write is None:
            return declined("unpriced", removals, terms)
        nets.append(REFERENCE_REQUESTS * removed * read - kept * (write - read))
    cut = Cut(
        reason="pays" if min(nets) > 0 else "does_not_pay",
        candidates=len(removals),
        removed_tokens=removed,
        rewrite_tokens=kept,
        requests=REFERENCE_REQUESTS,
        net_usd=min(nets) / _TOKENS_PER_MTOK,
        prices=_label(terms),
    )
    return Ruling(0 if min(nets) > 0 else None, cut)


def taken(start: int, reason: CutReason, prompt: Prompt, removals: Sequence[Removal], terms: Terms) -> Ruling:
    """Let everything from a start on go, and say what that rewrites and saves, as far as it is known.

    Args:
        start: index of the first removal that goes.
        reason: for the ledger.
        prompt: as it would be sent without a new edit.
        removals: in the order of the prompt.
        terms: prices and forecast.
    """
    behind = removals[start:]
    cached = sum(min(max(0, prompt.cached_tokens - one.before_tokens), one.removed_tokens) for one in behind)
    read = prompt.read_before(behind[0].before_tokens)
    cut = Cut(
        reason=reason,
        candidates=len(removals),
        applied=len(behind),
        removed_tokens=sum(removal.removed_tokens for removal in behind),
        rewrite_tokens=max(0, prompt.cached_tokens - read - cached),
        requests=terms.requests,
        net_usd=_net_usd(prompt, behind, terms),
        prices=_label(terms),
        summariser_usd=sum(removal.summariser_usd for removal in behind),
    )
    return Ruling(start, cut)


def declined(reason: CutReason, removals: Sequence[Removal], terms: Terms) -> Ruling:
    """Let nothing go."""
    return Ruling(None, Cut(reason, len(removals), requests=terms.requests, prices=_label(terms)))


def _net_usd(prompt: Prompt, behind: Sequence[Removal], terms: Terms) -> float | None:
    if isinstance(terms.routes, Unpriced) or terms.requests is None:
        return None
    found = suffixes(prompt, behind, terms.routes, requests=terms.requests, long=terms.long)
    return None if isinstance(found, Unpriced) else found[0].net_usd


def _label(terms: Terms) -> str:
    if isinstance(terms.routes, Unpriced):
        return ""
    return "; ".join(dict.fromkeys(prices.label for prices in terms.routes))
