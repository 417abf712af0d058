"""The settings everything below start-up works with: checked, resolved, frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from coldpress.config.keys import EXPECTED_APPLICATIONS, DefaultProviderKeys, StoreKeys
from coldpress.config.limit_keys import LimitKeys
from coldpress.config.notes_keys import NotesKeys
from coldpress.config.offload_settings import OffloadSettings
from coldpress.config.plugin_settings import PluginSettings
from coldpress.config.secret import Secret
from coldpress.config.summariser_settings import SummariserSettings
from coldpress.config.warmth_keys import WarmthKeys
from coldpress.engine.budget import Budgets
from coldpress.engine.native import Native
from coldpress.engine.policy import Policy
from coldpress.measure.price_tables import PriceTableName
from coldpress.measure.rates import Prices
from coldpress.model.records import Operation
from coldpress.wire.registry import FormatName

Limits = LimitKeys
StoreSettings = StoreKeys


@dataclass(frozen=True, slots=True)
class Provider:
    """One upstream.

    Attributes:
        name: as in `/provider/NAME/...`.
        url: `http://` or `https://`, no trailing slash; the client's path is put behind it.
        formats: the wire formats that are read here; requests of others are relayed.
        operation: what to do with its requests.
        api_key: takes the place of the client's key; `None` where the client's own passes through.
        pricing: prices from the settings, each under the name clients send; they go before built-in ones.
        concurrency: inference requests that it has at one time, `None` for no limit of its own.
        rpm: inference requests that go to it in any 60 seconds, `None` for no limit of its own.
        failover: name of the provider that is asked once where this one fails, `None` where there is none.
        failover_model: what that one is asked for, `None` for the model that the request names.
        warmth: what may be spent so that conversations' prefixes are held.
        native: what it is asked to do to prompts by itself.
    """

    name: str
    url: str
    formats: tuple[FormatName, ...]
    operation: Operation
    api_key: Secret | None = None
    pricing: tuple[Prices, ...] = ()
    concurrency: int | None = None
    rpm: int | None = None
    failover: str | None = None
    failover_model: str | None = None
    warmth: WarmthKeys = field(default_factory=WarmthKeys)
    native: Native = field(default_factory=Native)

    @property
    def prices(self) -> dict[str, Prices]:
        """The prices of the settings by model name, the `overrides` of `coldpress.measure.prices.prices_for`."""
        return {prices.model: prices for prices in self.pricing}


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one process, from `coldpress.config.load.load`.

    Attributes:
        policy: the rules of the file, then coldpress's own where `default_policy` is true.
        default_policy: whether coldpress's own rules are part of `policy`.
        source_age: turns after which coldpress's own rules may mask file reads, `None` for never.
        allow_thinking_loss: whether results in front of bound reasoning may be made smaller.
        expected_applications: requests to come where the ledger cannot tell.
        file: where the settings were read, `None` for the built-in defaults.
        prices: name of the price table in force, `None` for the built-in list.
        budgets: when prompts are compacted, and how far.
        require_raw_log: whether nothing is compacted that does not stand in the raw log first.
        summariser: who summarises the messages that leave a prompt.
        offload: who summarises single results.
        plugins: which plugins are on, what they may do, and their settings.
        notes: whose notes are used, and how much of them is kept and shown.
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
    source_age: int | None = None
    allow_thinking_loss: bool = False
    expected_applications: float = EXPECTED_APPLICATIONS
    prices: PriceTableName | None = None
    budgets: Budgets = field(default_factory=Budgets)
    require_raw_log: bool = False
    summariser: SummariserSettings = field(default_factory=SummariserSettings)
    offload: OffloadSettings = field(default_factory=OffloadSettings)
    notes: NotesKeys = field(default_factory=NotesKeys)
    plugins: PluginSettings = field(default_factory=PluginSettings)
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
        defaults = self.default_provider
        name = {
            "openai_chat": defaults.openai,
            "openai_responses": defaults.openai,
            "gemini": defaults.gemini,
        }.get(format_name or "", defaults.anthropic)
        found = self.provider(name)
        if found is None:
            raise KeyError(name)
        return found
