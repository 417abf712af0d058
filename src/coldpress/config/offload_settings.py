"""The settings of `[offload]`, resolved: what asks a model for a summary of one result needs to know, and no more."""

from __future__ import annotations

from dataclasses import dataclass, field

from coldpress.config.offload_keys import OffloadKeys
from coldpress.config.secret import Secret
from coldpress.measure.price_tables import PriceTableName
from coldpress.measure.rates import Prices
from coldpress.wire.registry import FormatName

_DEFAULT = OffloadKeys()


@dataclass(frozen=True, slots=True)
class OffloadSettings:
    """Who summarises single results.

    Attributes:
        enabled: all below is without use where this is false.
        provider: name of the provider, for prices and for people.
        model: as the request names it.
        format: what the endpoint speaks.
        endpoint: the whole address of the call.
        api_key: the key, `None` where none was found.
        needs_key: nothing is asked without a key; false for an address of this machine where none was named.
        switches_thinking_off: whether the request says that the model is not to think.
        pricing: prices from the provider's settings, each under its model's name; they go before all others.
        price_table: the table that takes the place of the built-in list, as for every other price.
        proxy: address of the HTTP proxy that the environment names for this endpoint; it may hold a password.

    The numbers are those of `coldpress.config.offload_keys.OffloadKeys`.
    """

    enabled: bool = False
    provider: str = ""
    model: str = ""
    format: FormatName = "openai_chat"
    endpoint: str = ""
    api_key: Secret | None = None
    needs_key: bool = True
    switches_thinking_off: bool = False
    timeout_seconds: float = _DEFAULT.timeout_seconds
    max_tokens: int = _DEFAULT.max_tokens
    max_input_bytes: int = _DEFAULT.max_input_bytes
    concurrency: int = _DEFAULT.concurrency
    rpm: int = _DEFAULT.rpm
    retries: int = _DEFAULT.retries
    rest_seconds: float = _DEFAULT.rest_seconds
    pricing: tuple[Prices, ...] = ()
    price_table: PriceTableName | None = None
    proxy: str | None = field(default=None, repr=False)

    @property
    def prices(self) -> dict[str, Prices]:
        """The prices of the settings by model name, the `overrides` of `coldpress.measure.prices.prices_for`."""
        return {prices.model: prices for prices in self.pricing}
