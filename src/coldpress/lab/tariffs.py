"""Name the prices and cache lifetimes that schedules are compared under."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from coldpress.measure.prices import prices_for
from coldpress.measure.rates import Prices, Rates, Unpriced
from coldpress.model.errors import ConfigError

DAY: Final = datetime(2026, 11, 30, 12, tzinfo=UTC)
"""The moment that current prices are taken at: off-peak, where prices go by the hour."""

_MINUTE: Final = 60.0
_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Tariff:
    """What a conversation is priced at, and how long a prefix that nobody reads is held.

    Attributes:
        name: of the row in a table.
        prices: in USD, all prompt lengths.
        lifetime_seconds: since the last request.
        long_lifetime_seconds: the same where the client asks for the long lifetime and pays its writes; `None` where
            there is no such choice.
        reads_anywhere: whether a read can end at any place that was sent before, or only where a prompt ended that
            was really sent (providers with marks), and behind the head.
        note: what the lifetime stands for, for people.
    """

    name: str
    prices: Prices
    lifetime_seconds: float
    long_lifetime_seconds: float | None = None
    reads_anywhere: bool = False
    note: str = ""

    def is_long(self, *, asked: bool) -> bool:
        """Whether writes are of the long lifetime, where the client asked for it."""
        return asked and self.long_lifetime_seconds is not None

    def held_seconds(self, *, asked_long: bool) -> float:
        """How long an unread prefix is held."""
        if asked_long and self.long_lifetime_seconds is not None:
            return self.long_lifetime_seconds
        return self.lifetime_seconds

    def read_and_write(self, prompt_tokens: int, *, asked_long: bool) -> tuple[float, float]:
        """USD per million tokens read and written, for a prompt of this length.

        Raises:
            ConfigError: the tariff has a long lifetime and no price for its writes.
        """
        rates = self.prices.at(prompt_tokens)
        write = rates.write_usd_per_mtok(long=self.is_long(asked=asked_long))
        if write is None:
            raise ConfigError(f"tariff {self.name} has a long lifetime and no price of long writes; give one")
        return rates.cache_read_usd_per_mtok, write


def _listed(model: str, provider: str, *, table: str | None = None) -> Prices:
    found = prices_for(model, provider=provider, at=DAY, table=table)
    if isinstance(found, Unpriced):
        raise ConfigError(f"no prices for {model}: {', '.join(found.missing)}; update the price list")
    return found


def _marked(model: str) -> Tariff:
    note = "5 minutes, or an hour where the recording's client asked for it"
    return Tariff(model, _listed(model, "anthropic"), 5 * _MINUTE, _HOUR, note=note)


def _uncached() -> Tariff:
    flat = Rates(1.0, 1.0, 1.0, None, 1.0, "made up: one price for every token", DAY.date().isoformat())
    return Tariff("server without a cache", Prices("uncached", ((0, flat),)), 0.0, note="none")


def _deepseek(name: str, table: str | None) -> Tariff:
    prices = _listed("deepseek-v4-pro", "deepseek", table=table)
    return Tariff(name, prices, 24 * _HOUR, reads_anywhere=True, note="a day, best effort")


TARIFFS: Final[dict[str, Callable[[], Tariff]]] = {
    "claude-opus-5-5": lambda: _marked("claude-opus-5-5"),
    "claude-sonnet-5-5": lambda: _marked("claude-sonnet-5-5"),
    "claude-opus-4-6": lambda: _marked("claude-opus-4-6"),
    "gpt-6.1-sol": lambda: Tariff("gpt-6.1-sol", _listed("gpt-6.1-sol", "openai"), 30 * _MINUTE, note="30 minutes"),
    "deepseek-v4-pro": lambda: _deepseek("deepseek-v4-pro", None),
    "server without a cache": _uncached,
    "reference-2026-07": lambda: _deepseek("reference-2026-07", "reference-2026-07"),
}
"""Tariffs by name, made when asked for: the price list takes a moment to load."""
