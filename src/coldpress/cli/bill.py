"""Price ledger entries: what one request cost by the tokens its provider reported, or what is missing to say so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from coldpress.config.settings import Settings
from coldpress.measure.prices import Prices, Unpriced, cost_usd, prices_for
from coldpress.stores.base import LedgerEntry


@dataclass(frozen=True, slots=True)
class Bill:
    """What a request cost.

    Attributes:
        cost_usd: in USD, not rounded; `None` where it is not known.
        missing: what is not known, empty where the cost is.
        prices: where the prices come from and the day they hold for, `None` where there are none.
    """

    cost_usd: float | None
    missing: tuple[str, ...]
    prices: str | None


class Biller:
    """Prices entries at the prices in force when they were received, those of the settings first."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def bill(self, entry: LedgerEntry) -> Bill:
        """Price one entry, with the steps that other models took for it."""
        receipt, outcome = entry.receipt, entry.outcome
        if outcome is None:
            return Bill(None, ("outcome",), None)
        if receipt.model is None:
            return Bill(None, ("model",), None)
        if not outcome.usage.known:
            return Bill(None, ("usage",), None)
        at = datetime.fromtimestamp(receipt.received_at, tz=UTC)
        prices = self.prices(receipt.provider, receipt.model, at)
        costs = [cost_usd(outcome.usage, prices)]
        costs += [cost_usd(usage, self.prices(receipt.provider, model, at)) for model, usage in outcome.others]
        missing = tuple(dict.fromkeys(word for cost in costs if isinstance(cost, Unpriced) for word in cost.missing))
        total = None if missing else sum(cost for cost in costs if isinstance(cost, float))
        return Bill(total, missing, prices.label if isinstance(prices, Prices) else None)

    def prices(self, provider: str, model: str, at: datetime) -> Prices | Unpriced:
        """Give the prices of a model at a moment, those of the settings first."""
        found = self._settings.provider(provider)
        overrides = found.prices if found else {}
        return prices_for(model, provider=provider, at=at, overrides=overrides, table=self._settings.prices)
