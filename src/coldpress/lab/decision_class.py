"""Tell which tariffs an arm cannot tell apart: it decides the same under all of them, so one replay serves them all.

What a replay costs is worked out for each tariff from the prompts that were sent. What is sent depends only on what
the arm looks at: nothing of a tariff, the cache, or the cache and the prices.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import get_args

from coldpress.engine.binding import binds
from coldpress.engine.policy import RuleMode
from coldpress.lab.arm_files import Arm
from coldpress.lab.replay_service import Service
from coldpress.measure.rates import Prices
from coldpress.measure.token_families import family_of

_BLIND = ("never", "every_turn", "batched")
"""Schedules that look at neither cache nor prices, and so not at how a model counts either."""

_CACHE_BLIND = frozenset(get_args(RuleMode)) - {"source", "model"}
"""Modes of rules that do the same whatever is cached: `source` waits for a cold cache, and a summary has to pay."""


def decision_class(arm: Arm, service: Service) -> Hashable:
    """Give a value that is the same for two services under which an arm sends the same bodies.

    Prices are taken in proportion to the input price: a gate weighs amounts against each other, and a tariff that is
    twice as dear in everything decides alike.
    """
    if arm.is_control:
        return ()
    keeps_thinking = not arm.settings.allow_thinking_loss and binds(service.model)
    looks = any(rule.ungated or not _CACHE_BLIND.issuperset(rule.modes) for rule in arm.settings.policy.rules)
    if arm.schedule in _BLIND and not arm.has_budget and not looks:
        return keeps_thinking and arm.schedule != "never"
    # A budget goes by the window of the model, or by patterns over its name.
    named = (service.model, service.provider) if arm.has_budget else None
    model = (family_of(service.model).name, keeps_thinking, named)
    tariff = service.tariff
    cache = (
        service.rules,
        service.provider,
        service.lives_from,
        tariff.lifetime_seconds,
        tariff.long_lifetime_seconds,
        tariff.reads_anywhere,
    )
    if arm.schedule in (*_BLIND, "cold") and not looks:
        return model, cache
    return model, cache, _proportions(tariff.prices)


def _proportions(prices: Prices) -> Hashable:
    base = prices.at(0).input_usd_per_mtok or 1.0
    return tuple(
        (above, *(None if rate is None else round(rate / base, 9) for rate in _rates(prices, above)))
        for above, _ in prices.tiers
    )


def _rates(prices: Prices, above: int) -> tuple[float | None, ...]:
    rates = prices.at(above + 1)
    return (
        rates.input_usd_per_mtok,
        rates.cache_read_usd_per_mtok,
        rates.write_usd_per_mtok(long=False),
        rates.write_usd_per_mtok(long=True),
    )
