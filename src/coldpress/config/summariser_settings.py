"""The summariser's settings, resolved: what asks a model for a summary needs to know, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

from coldpress.config.secret import Secret
from coldpress.config.summariser_keys import SummariserKeys, SummariserKind, SummaryPrefix
from coldpress.measure.price_tables import PriceTableName
from coldpress.measure.rates import Prices

_DEFAULT = SummariserKeys()


@dataclass(frozen=True, slots=True)
class SummariserSettings:
    """Who summarises, from `[summariser]`.

    Attributes:
        kind: `structural` asks no model; all below is without use then.
        endpoint: the whole address of the call; empty for `structural`.
        model: as the request names it; empty for `structural`.
        needs_key: a key was named. Without `api_key` no call is made then.
        api_key: the key, `None` where none was named or none was found.
        pricing: prices from the settings, each under its model's name; they go before all others.
        price_table: the table that takes the place of the built-in list, as for every other price.
        proxy: address of the HTTP proxy that the environment names for this endpoint; it may hold a password.

    The numbers are those of `coldpress.config.summariser_keys.SummariserKeys`.
    """

    kind: SummariserKind = _DEFAULT.kind
    endpoint: str = ""
    model: str = ""
    needs_key: bool = False
    api_key: Secret | None = None
    prefix: SummaryPrefix = _DEFAULT.prefix
    timeout_seconds: float = _DEFAULT.timeout_seconds
    attempts: int = _DEFAULT.attempts
    rest_seconds: float = _DEFAULT.rest_seconds
    max_output_tokens: int = _DEFAULT.max_output_tokens
    most_input_tokens: int = _DEFAULT.most_input_tokens
    max_usd_per_call: float = _DEFAULT.max_usd_per_call
    pricing: tuple[Prices, ...] = ()
    price_table: PriceTableName | None = None
    proxy: str | None = field(default=None, repr=False)

    @property
    def prices(self) -> dict[str, Prices]:
        """The prices of the settings by model name, the `overrides` of `coldpress.measure.prices.prices_for`."""
        return {prices.model: prices for prices in self.pricing}
