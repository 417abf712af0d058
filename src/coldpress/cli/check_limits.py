"""Warn where a spend cap or a failover cannot do what it is set for, by what the ledger and the prices tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from coldpress.cli.check_budget import ModelBudget
from coldpress.cli.open_store import opened
from coldpress.config.settings import Provider, Settings
from coldpress.measure.prices import Unpriced, prices_for
from coldpress.stores.spending import day_of


def limit_warnings(settings: Settings, budgets: Sequence[ModelBudget], *, now: float) -> tuple[str, ...]:
    """Say which requests the cap does not know the cost of, and which cannot fail over.

    Args:
        settings: with the limits.
        budgets: the models that are asked about, or were in the ledger lately.
        now: in seconds since 1970.
    """
    capped = settings.limits.daily_usd is not None
    return (
        *(_spend_warnings(settings, now) if capped else ()),
        *(_price_warnings(settings, budgets, now) if capped else ()),
        *_failover_warnings(settings, budgets, now),
    )


def _spend_warnings(settings: Settings, now: float) -> Iterable[str]:
    cap = settings.limits.daily_usd
    if cap is None or not settings.store.path.exists():
        return
    with opened(settings) as store:
        spent = store.spent_on(day_of(now))
    if spent.usd >= cap:
        yield (
            f"limits.daily_usd is {cap:g}, and {spent.usd_text} USD were spent today (UTC): inference requests are "
            "refused until the day is over"
        )
    if spent.unpriced:
        yield (
            f"limits.daily_usd is {cap:g}, and {spent.unpriced} of today's requests are of unknown cost: more was "
            f"spent than the {spent.usd_text} USD that are counted; coldpress ledger list shows which"
        )


def _price_warnings(settings: Settings, budgets: Sequence[ModelBudget], now: float) -> Iterable[str]:
    what = "refused" if settings.limits.unpriced == "refuse" else "not in the sum"
    for found in budgets:
        provider = settings.provider(found.provider)
        if not _is_priced(settings, provider, found.provider, found.model, now):
            yield (
                f"limits.daily_usd is set, and the price of {found.model} at {found.provider} is not known, so its "
                f'requests are {what}; give it in [providers.{found.provider}.pricing."{found.model}"]'
            )


def _failover_warnings(settings: Settings, budgets: Sequence[ModelBudget], now: float) -> Iterable[str]:
    for found in budgets:
        provider = settings.provider(found.provider)
        if provider is None or provider.failover is None:
            continue
        model = provider.failover_model or found.model
        routes = ((provider, found.model), (settings.provider(provider.failover), model))
        for route, asked in routes:
            if route is not None and not _is_priced(settings, route, route.name, asked, now):
                yield (
                    f"the price of {asked} at {route.name} is not known, so requests for {found.model} at "
                    f'{provider.name} never fail over; give it in [providers.{route.name}.pricing."{asked}"]'
                )


def _is_priced(settings: Settings, provider: Provider | None, name: str, model: str, now: float) -> bool:
    found = prices_for(
        model,
        provider=name,
        at=datetime.fromtimestamp(now, UTC),
        overrides=provider.prices if provider is not None else {},
        table=settings.prices,
    )
    return not isinstance(found, Unpriced)
