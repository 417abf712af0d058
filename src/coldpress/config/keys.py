"""What may stand in a settings file: every key with its type, default, bounds, unit and one line of meaning.

These classes are the only definition. The reader checks files against them, `coldpress init` writes them out as
a commented file, and docs/reference/settings.md is generated from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from coldpress.config.about import say
from coldpress.config.budget_keys import BudgetKeys, BudgetRowKeys
from coldpress.config.limit_keys import LimitKeys
from coldpress.config.native_keys import NativeKeys
from coldpress.config.notes_keys import NotesKeys
from coldpress.config.offload_keys import OffloadKeys
from coldpress.config.plugin_keys import PluginsKeys
from coldpress.config.price_keys import PriceKeys
from coldpress.config.rule_keys import RuleKeys
from coldpress.config.summariser_keys import SummariserKeys
from coldpress.config.warmth_keys import WarmthKeys
from coldpress.measure.price_tables import PriceTableName
from coldpress.model.records import Operation
from coldpress.stores.base import Bounds

FormatWord = Literal["anthropic", "openai", "openai_chat", "openai_responses", "gemini"]

EXPECTED_APPLICATIONS: Final = 30.0
"""Over recorded sessions of a coding agent and six price tables this constant decides as well as their own survival
curve; six, the reference experiment's number, leaves half of the saving behind where reads are cheap
(docs/explanation/schedules.md)."""

_BOUNDS = Bounds()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderKeys:
    """One upstream, reached as `/provider/NAME/PATH`. A built-in provider's name changes only what is said."""

    url: str | None = field(
        default=None,
        metadata=say(
            "Where requests go: this, then the client's path. So leave out the `/v1` that clients' paths begin with.",
            example='"https://llm.example.com"',
            unset="the built-in address; a provider that is not built in must give it",
        ),
    )
    format: FormatWord | None = field(
        default=None,
        metadata=say(
            "The one API that is pressed here; `openai` means both of OpenAI's, Chat Completions and Responses.",
            example='"anthropic"',
            unset="every format, told apart by the path",
        ),
    )
    operation: Operation | None = field(
        default=None,
        metadata=say(
            "What to do with this provider's requests.", example='"observe"', unset="the top-level `operation`"
        ),
    )
    api_key_env: str | None = field(
        default=None,
        repr=False,  # somebody may have put the key itself there
        metadata=say(
            "Name of the environment variable whose value replaces the client's API key. "
            "The key itself never stands in this file. Requests of web pages of other sites are refused then.",
            example='"EXAMPLE_API_KEY"',
            unset="the client's own key passes through",
        ),
    )
    concurrency: int | None = field(
        default=None,
        metadata=say(
            "Inference requests that this provider has at one time; see `limits.concurrency`.",
            unit="requests",
            least=1,
            example="4",
            unset="no limit of its own",
        ),
    )
    rpm: int | None = field(
        default=None,
        metadata=say(
            "Inference requests that go to this provider in any 60 seconds; see `limits.rpm`.",
            unit="requests per minute",
            least=1,
            example="50",
            unset="no limit of its own",
        ),
    )
    failover: str | None = field(
        default=None,
        metadata=say(
            "Name of the provider that is asked once where this one gives no answer, or answers with 429, 500, 502, "
            "503, 504 or 529. It needs an `api_key_env` of its own, and the price of the model must be known at both.",
            example='"openrouter"',
            unset="the client gets what this provider said",
        ),
    )
    failover_model: str | None = field(
        default=None,
        metadata=say(
            "Model that the second provider is asked for, whatever model the request names.",
            example='"anthropic/claude-sonnet-4.5"',
            unset="the model that the request names",
        ),
    )
    warmth: WarmthKeys = field(
        default_factory=WarmthKeys, metadata=say("What may be spent so that conversations' prefixes are held.")
    )
    native: NativeKeys = field(
        default_factory=NativeKeys, metadata=say("What the provider is asked to do to prompts by itself.")
    )
    pricing: Mapping[str, PriceKeys] = field(
        default_factory=dict,
        metadata=say(
            "Prices by model name, as the client sends it; they go before the built-in prices.", example="example-large"
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultProviderKeys:
    """Where requests without `/provider/NAME` go, by the format their path tells."""

    anthropic: str = field(
        default="anthropic", metadata=say("Provider of bare `/v1/messages` requests and all paths of no known format.")
    )
    openai: str = field(
        default="openai", metadata=say("Provider of bare `/chat/completions` and `/responses` requests.")
    )
    gemini: str = field(
        default="gemini", metadata=say("Provider of bare requests to Gemini's `:generateContent` paths.")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreKeys:
    """The SQLite file that keeps originals, standing edits and the ledger, and its bounds."""

    path: Path = field(
        default=Path("~/.local/share/coldpress/coldpress.sqlite3"),
        metadata=say(
            "The file; a relative path starts at the folder of the settings file. "
            "`$XDG_DATA_HOME` takes the place of `~/.local/share` in the default."
        ),
    )
    originals_bytes: int = field(
        default=_BOUNDS.originals_bytes,
        metadata=say(
            "Originals kept, as stored (compressed); the least recently used go first.", unit="bytes", least=0
        ),
    )
    originals_days: float = field(
        default=_BOUNDS.originals_days,
        metadata=say("Time an original is kept after it was last used.", unit="days", least=0),
    )
    standings_bytes: int = field(
        default=_BOUNDS.standings_bytes,
        metadata=say("Standing edits kept; the least recently used go first.", unit="bytes", least=0),
    )
    standings_days: float = field(
        default=_BOUNDS.standings_days,
        metadata=say(
            "Time a standing edit is kept after it was last used. A conversation older than this is sent exact.",
            unit="days",
            least=0,
        ),
    )
    ledger_bytes: int = field(
        default=_BOUNDS.ledger_bytes,
        metadata=say("Ledger entries kept; the oldest go first.", unit="bytes", least=0),
    )
    ledger_days: float = field(
        default=_BOUNDS.ledger_days, metadata=say("Time a ledger entry is kept.", unit="days", least=0)
    )
    raw_log: bool = field(
        default=False,
        metadata=say("Whether whole requests and replies are kept as well, without the headers that hold keys."),
    )
    raw_bytes: int = field(
        default=_BOUNDS.raw_bytes,
        metadata=say("Raw log kept, as stored (compressed); the oldest goes first.", unit="bytes", least=0),
    )
    raw_days: float = field(
        default=_BOUNDS.raw_days, metadata=say("Time an entry of the raw log is kept.", unit="days", least=0)
    )
    notes_bytes: int = field(
        default=_BOUNDS.notes_bytes,
        metadata=say(
            "Notes kept, as stored (compressed). None is removed for want of room: one that does not fit is refused.",
            unit="bytes",
            least=0,
        ),
    )
    kept_bytes: int = field(
        default=_BOUNDS.kept_bytes,
        metadata=say(
            "Tool calls as the model wrote them and summaries of results kept, as stored (compressed); the least "
            "recently used go first.",
            unit="bytes",
            least=0,
        ),
    )
    kept_days: float = field(
        default=_BOUNDS.kept_days,
        metadata=say(
            "Time such a call or summary is kept after it was last used. An older call is sent as the client has it.",
            unit="days",
            least=0,
        ),
    )

    @property
    def bounds(self) -> Bounds:
        """The bounds in the form the store takes."""
        return Bounds(
            originals_bytes=self.originals_bytes,
            originals_days=self.originals_days,
            standings_bytes=self.standings_bytes,
            standings_days=self.standings_days,
            ledger_bytes=self.ledger_bytes,
            ledger_days=self.ledger_days,
            raw_bytes=self.raw_bytes,
            raw_days=self.raw_days,
            notes_bytes=self.notes_bytes,
            kept_bytes=self.kept_bytes,
            kept_days=self.kept_days,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKeys:
    """The top level of a settings file."""

    host: str = field(
        default="127.0.0.1", metadata=say("Address to listen on. Any but a loopback address needs `allow_remote`.")
    )
    port: int = field(default=8484, metadata=say("Port to listen on; 0 takes any free one.", least=0, most=65535))
    control_port: int | None = field(
        default=None,
        metadata=say(
            "Port of `/health`, `/stats` and `/metrics`.",
            least=0,
            most=65535,
            example="8485",
            unset="the port after `port`",
        ),
    )
    allow_remote: bool = field(
        default=False,
        metadata=say(
            "Whether to listen where other machines can connect. Whoever can connect can use the API keys that "
            "`api_key_env` names."
        ),
    )
    operation: Operation = field(
        default="press",
        metadata=say(
            "`press` makes results smaller; `observe` decides and records, and forwards every byte as it came; `drain` "
            "keeps the edits that stand and makes none; `off` only relays."
        ),
    )
    press_subscription: bool = field(
        default=False,
        metadata=say(
            "Whether Claude subscription traffic (Claude Code's billing line stands in `system[0]`) is pressed. "
            "It is only observed otherwise."
        ),
    )
    source_age: int | None = field(
        default=None,
        metadata=say(
            "Turns after which file reads may be masked by coldpress's own rules. An agent that quotes a masked read "
            "from memory in an edit may fail and read the file again; docs/explanation/schedules.md says how often.",
            unit="turns",
            least=1,
            example="20",
            unset="reads stay exact",
        ),
    )
    allow_thinking_loss: bool = field(
        default=False,
        metadata=say(
            "Whether results may be made smaller in front of reasoning that the model binds to what stands before it. "
            "The provider then drops that reasoning or refuses the request."
        ),
    )
    expected_applications: float | None = field(
        default=None,
        metadata=say(
            "How many further requests a conversation is taken to have as long as the ledger holds too few to tell.",
            unit="requests",
            least=1,
            example="6",
            unset=f"what `plugins.config` says, else {EXPECTED_APPLICATIONS:g}",
        ),
    )
    default_policy: bool | None = field(
        default=None,
        metadata=say(
            "Whether coldpress's own rules follow those of the file. Without them every unmatched tool stays exact.",
            example="true",
            unset="true; false where the rules stand in `plugins.config`, as in the reference experiment",
        ),
    )
    default_provider: DefaultProviderKeys = field(
        default_factory=DefaultProviderKeys, metadata=say("Where bare paths go.")
    )
    prices: PriceTableName | None = field(
        default=None,
        metadata=say(
            "Price table to use instead of the built-in list; a model that is neither in it nor in a provider's "
            "`pricing` has no price then.",
            example='"reference-2026-07"',
            unset="the built-in list, at the moment of each request",
        ),
    )
    store: StoreKeys = field(default_factory=StoreKeys, metadata=say("Where things are kept, how much and how long."))
    limits: LimitKeys = field(default_factory=LimitKeys, metadata=say("What one process takes on."))
    budget: BudgetKeys = field(default_factory=BudgetKeys, metadata=say("When prompts are compacted, and how far."))
    budgets: tuple[BudgetRowKeys, ...] = field(
        default=(), metadata=say("Budgets by model, client and task class, in order.")
    )
    summariser: SummariserKeys = field(
        default_factory=SummariserKeys, metadata=say("Who summarises the messages that leave a prompt.")
    )
    notes: NotesKeys = field(
        default_factory=NotesKeys, metadata=say("Durable facts, whose they are, and how much is kept and shown.")
    )
    providers: Mapping[str, ProviderKeys] = field(
        default_factory=dict, metadata=say("Upstreams by name.", example="example")
    )
    rules: tuple[RuleKeys, ...] = field(default=(), metadata=say("What may become smaller, in order."))
    plugins: PluginsKeys = field(
        default_factory=PluginsKeys, metadata=say("Which plugins are on, what they may do, and their settings.")
    )
    offload: OffloadKeys = field(
        default_factory=OffloadKeys, metadata=say("The cheaper model that summarises single results.")
    )
