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
from coldpress.config.notes_keys import NotesKeys
from coldpress.config.price_keys import PriceKeys
from coldpress.config.summariser_keys import SummariserKeys
from coldpress.engine.policy import AGED_TURNS
from coldpress.measure.price_tables import PriceTableName
from coldpress.model.records import Operation
from coldpress.stores.base import Bounds

FormatWord = Literal["anthropic", "openai", "openai_chat"]
ModeWord = Literal["exact", "lossless", "dedupe", "deterministic", "keyword", "model", "mask", "source"]
PluginName = Literal["schema_translator", "intent", "keyword_compactor", "compactor", "pii"]

EXPECTED_APPLICATIONS: Final = 30.0
"""Over recorded sessions of a coding agent and six price tables this constant decides as well as their own survival
curve; six, the reference experiment's number, leaves half of the saving behind where reads are cheap
(docs/explanation/schedules.md)."""

_MIB = 1024 * 1024
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
            "The one wire format that is pressed here; `openai` and `openai_chat` both mean Chat Completions.",
            example='"anthropic"',
            unset="both formats, told apart by the path",
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
    pricing: Mapping[str, PriceKeys] = field(
        default_factory=dict,
        metadata=say(
            "Prices by model name, as the client sends it; they go before the built-in prices.", example="example-large"
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleKeys:
    """One rule. Rules are tried in the order of the file, the first that matches decides."""

    match: str = field(
        metadata=say(
            "Shell pattern over the tool's name, upper and lower case alike, or `kind:` and a kind of tool.",
            example='"web_*"',
        )
    )
    mode: tuple[ModeWord, ...] = field(
        metadata=say(
            "How results of these tools may become smaller; of several, each works on what the one before left. "
            "`mask` works on results that the model has seen and that are `age` turns old. "
            "`keyword`, `model` and `source` are known and not built yet: a rule with one of them means exact.",
            example='"deterministic"',
        )
    )
    first_pass: bool = field(
        default=False,
        metadata=say(
            "Whether `deterministic` applies when a result is first sent. Without it the mode waits for aged results."
        ),
    )
    rerun: str | None = field(
        default=None,
        metadata=say(
            "Sentence for the model: how to get the whole result again.",
            example='"Repeat the search to recover every result."',
            unset="a sentence that the same call can be made again",
        ),
    )
    min_bytes: int | None = field(
        default=None,
        metadata=say(
            "Results under this size are not shortened by `deterministic`.",
            unit="bytes of UTF-8",
            least=0,
            example="8192",
            unset="no minimum but the gain that every view must have",
        ),
    )
    age: int = field(
        default=AGED_TURNS,
        metadata=say(
            "How many replies of the model must stand behind a result before `mask`, or `deterministic` without "
            "`first_pass`, may make it smaller. It then waits for a cold cache or for a cut that pays.",
            unit="turns",
            least=1,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultProviderKeys:
    """Where requests without `/provider/NAME` go, by the format their path tells."""

    anthropic: str = field(
        default="anthropic", metadata=say("Provider of bare `/v1/messages` requests and all paths of no known format.")
    )
    openai: str = field(default="openai", metadata=say("Provider of bare `/v1/chat/completions` requests."))


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
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitKeys:
    """What one process takes on before it refuses or passes through."""

    body_bytes: int = field(
        default=32 * _MIB,
        metadata=say("Largest request body as sent; a larger one is answered with 413.", unit="bytes", least=1),
    )
    expanded_body_bytes: int = field(
        default=64 * _MIB,
        metadata=say(
            "Largest compressed request body once expanded; a larger one is answered with 413.", unit="bytes", least=1
        ),
    )
    in_flight_bytes: int = field(
        default=256 * _MIB,
        metadata=say(
            "Request bodies held at one time; what does not fit is refused as overloaded.", unit="bytes", least=1
        ),
    )
    connect_seconds: float = field(
        default=10.0, metadata=say("Longest wait for a connection to a provider.", unit="seconds", least=0.001)
    )
    idle_seconds: float = field(
        default=600.0,
        metadata=say("Longest silence of a provider in the middle of an exchange.", unit="seconds", least=0.001),
    )
    client_seconds: float = field(
        default=60.0,
        metadata=say("Longest silence of a client in the middle of its body.", unit="seconds", least=0.001),
    )
    shutdown_seconds: float = field(
        default=10.0,
        metadata=say("How long running exchanges may go on after a stop is asked for.", unit="seconds", least=0),
    )
    prepare_seconds: float = field(
        default=2.0,
        metadata=say(
            "Longest time for reading and pressing; past it the client's own bytes go on.", unit="seconds", least=0.001
        ),
    )
    concurrency: int | None = field(
        default=None,
        metadata=say(
            "Requests at one time. Not enforced yet.", unit="requests", least=1, example="10", unset="no limit"
        ),
    )
    rpm: int | None = field(
        default=None,
        metadata=say(
            "Requests a minute. Not enforced yet.", unit="requests per minute", least=1, example="100", unset="no limit"
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactorKeys:
    """Settings of one plugin of the reference experiment."""

    tool_policies: tuple[RuleKeys, ...] = field(
        default=(),
        metadata=say("Rules, read like `[[rules]]` and placed behind them, in the order of `plugins.order`."),
    )
    expected_applications: float | None = field(
        default=None,
        metadata=say("Further requests expected; where the file's own key says nothing.", least=1, unset="not used"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginsKeys:
    """Plugins of the reference experiment. Of these only the rules are used so far."""

    order: tuple[PluginName, ...] = field(
        default=(), metadata=say("Plugins that are on. Not built yet, except for their rules.")
    )
    config: Mapping[PluginName, CompactorKeys] = field(
        default_factory=dict, metadata=say("Settings by plugin name.", example="compactor")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OffloadKeys:
    """The summariser of the reference experiment. Not built yet."""

    enabled: bool = field(default=False, metadata=say("Whether results may go to a cheaper model. Not built yet."))
    provider: str | None = field(default=None, metadata=say("Provider of the cheaper model.", unset="none"))
    model: str | None = field(default=None, metadata=say("The cheaper model.", unset="none"))


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
            "Port of `/health` and `/stats`.", least=0, most=65535, example="8485", unset="the port after `port`"
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
    plugins: PluginsKeys = field(default_factory=PluginsKeys, metadata=say("Plugins of the reference experiment."))
    offload: OffloadKeys = field(default_factory=OffloadKeys, metadata=say("Summariser of the reference experiment."))


REFERENCE_TABLES: Final = ("plugins", "offload")
"""Tables read only so that the settings of the reference experiment load as they are."""
