"""Price ledger entries: what one request cost by the tokens its provider reported, or what is missing to say so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime

from coldpress.config.settings import Settings
from coldpress.measure.prices import Rates, Unpriced, cost_usd, rates_for
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
    """Prices entries, looking each model up once a day of the ledger: the price list takes a while to search."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[tuple[str, str, date], Rates | Unpriced] = {}

    def bill(self, entry: LedgerEntry) -> Bill:
        """Price one entry at the rates of the day it was received."""
        receipt, outcome = entry.receipt, entry.outcome
        if outcome is None:
            return Bill(None, ("outcome",), None)
        if receipt.model is None:
            return Bill(None, ("model",), None)
        if not outcome.usage.known:
            return Bill(None, ("usage",), None)
        day = datetime.fromtimestamp(receipt.received_at, tz=UTC).date()
        rates = self._rates(receipt.provider, receipt.model, day)
        cost = cost_usd(outcome.usage, rates)
        prices = f"{rates.source} for {rates.as_of}" if isinstance(rates, Rates) else None
        if isinstance(cost, Unpriced):
            return Bill(None, cost.missing, prices)
        return Bill(cost, (), prices)

    def _rates(self, provider: str, model: str, day: date) -> Rates | Unpriced:
        key = (provider, model, day)
        if key not in self._known:
            found = self._settings.provider(provider)
            self._known[key] = rates_for(model, provider=provider, on=day, overrides=found.rates if found else {})
        return self._known[key]
