"""The settings everything below start-up works with: checked, resolved, frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from coldpress.config.keys import DefaultProviderKeys, LimitKeys, StoreKeys
from coldpress.config.secret import Secret
from coldpress.engine.policy import Policy
from coldpress.measure.prices import Rates
from coldpress.model.records import Operation
from coldpress.wire.registry import FormatName

Limits = LimitKeys
StoreSettings = StoreKeys


@dataclass(frozen=True, slots=True)
class ModelRates:
    """What one model costs at one provider, by the name clients send."""

    model: str
    rates: Rates


@dataclass(frozen=True, slots=True)
class Provider:
    """One upstream.

    Attributes:
        name: as in `/provider/NAME/...`.
        url: `http://` or `https://`, no trailing slash; the client's path is put behind it.
        formats: the wire formats that are read here; requests of others are relayed.
        operation: what to do with its requests.
        api_key: takes the place of the client's key; `None` where the client's own passes through.
        pricing: prices from the settings; they go before built-in ones.
    """

    name: str
    url: str
    formats: tuple[FormatName, ...]
    operation: Operation
    api_key: Secret | None = None
    pricing: tuple[ModelRates, ...] = ()

    @property
    def rates(self) -> dict[str, Rates]:
        """The prices of the settings by model name, as `coldpress.measure.prices.rates_for` takes them."""
        return {priced.model: priced.rates for priced in self.pricing}


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one process, from `coldpress.config.load.load`.

    Attributes:
        policy: the rules of the file, then coldpress's own where `default_policy` is true.
        default_policy: whether coldpress's own rules are part of `policy`.
        file: where the settings were read, `None` for the built-in defaults.
        warnings: everything the file asks for that this version does not do, one sentence each.
    """

    host: str
    port: int
    control_port: int | None
    operation: Operation
    press_subscription: bool
    default_provider: DefaultProviderKeys
    store: StoreSettings
    limits: Limits
    providers: tuple[Provider, ...]
    policy: Policy
    default_policy: bool
    warnings: tuple[str, ...] = ()
    file: Path | None = field(default=None, compare=False)

    @property
    def source(self) -> str:
        """Where the settings come from, for people."""
        return str(self.file) if self.file else "built-in defaults"

    def provider(self, name: str) -> Provider | None:
        """Find a provider by name; `None` where there is none."""
        return next((provider for provider in self.providers if provider.name == name), None)

    def bare_path_provider(self, format_name: FormatName | None) -> Provider:
        """Find where a request without `/provider/NAME` goes; paths of no known format go Anthropic's way."""
        name = self.default_provider.openai if format_name == "openai_chat" else self.default_provider.anthropic
        found = self.provider(name)
        if found is None:
            raise KeyError(name)
        return found
