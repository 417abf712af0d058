"""What may stand in `[plugins]`: which plugins are on and in which order, what they may do, and their own settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from coldpress.config.about import say
from coldpress.config.pii_keys import PiiKeys
from coldpress.config.rule_keys import RuleKeys
from coldpress.model.plugins import Capability

BuiltinPlugin = Literal["schema_translator", "intent", "keyword_compactor", "compactor", "pii"]
BUILTIN_PLUGINS: Final[tuple[BuiltinPlugin, ...]] = get_args(BuiltinPlugin)

IntentMode = Literal["capture", "infer"]

HOOK_SECONDS: Final = 0.25
"""An eighth of what reading and deciding may take by default (`limits.prepare_seconds`)."""

FreeTable = Mapping[str, object]
"""A table whose keys somebody else knows and checks, as it stands in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactorKeys:
    """Settings of a plugin that makes results smaller by rules of its own."""

    tool_policies: tuple[RuleKeys, ...] = field(
        default=(),
        metadata=say("Rules, read like `[[rules]]` and placed behind them, in the order of `plugins.order`."),
    )
    expected_applications: float | None = field(
        default=None,
        metadata=say(
            "Further requests expected; where the file's own key says nothing.",
            unit="requests",
            least=1,
            example="6",
            unset="not used",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentKeys:
    """Settings of `intent`, which learns what a model calls a tool for."""

    mode: IntentMode = field(
        default="capture",
        metadata=say(
            "`capture` asks for it in a field added to every tool's schema and taken off calls again. `infer` changes "
            "no schema: it reads the model's own text, the arguments and the last request."
        ),
    )
    field_name: str = field(
        default="intent",
        metadata=say(
            "Name of the added field: a letter or `_`, then up to 63 letters, digits, `_`, `.` or `-`. A tool that has "
            "a field of this name keeps its own."
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoKeys:
    """A plugin without settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginConfigKeys:
    """Settings by plugin. A plugin from another package has a table under its own name and checks the keys itself."""

    schema_translator: NoKeys | None = field(
        default=None, metadata=say("Open-map schemas as strict lists of keys and values, and back.", unset="none")
    )
    intent: IntentKeys | None = field(
        default=None, metadata=say("What a model calls a tool for.", unset="the defaults")
    )
    keyword_compactor: CompactorKeys | None = field(
        default=None, metadata=say("Rules that are on while this plugin is.", unset="no rules")
    )
    compactor: CompactorKeys | None = field(
        default=None, metadata=say("Rules that are on while this plugin is.", unset="no rules")
    )
    pii: PiiKeys | None = field(
        default=None, metadata=say("Secrets and personal data in results.", unset="the defaults")
    )
    others: Mapping[str, FreeTable] = field(
        default_factory=dict, metadata=say("Settings of plugins from other packages, by name.")
    )

    @property
    def compactors(self) -> dict[str, CompactorKeys]:
        """The plugins with rules of their own that the file says something of, by name."""
        said = (("keyword_compactor", self.keyword_compactor), ("compactor", self.compactor))
        return {name: keys for name, keys in said if keys is not None}

    @property
    def said(self) -> tuple[str, ...]:
        """Names of all plugins that the file has a table for."""
        return (*(name for name in BUILTIN_PLUGINS if getattr(self, name) is not None), *self.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalKeys:
    """What one plugin from another package was allowed to do. `coldpress plugins approve` writes such a table."""

    version: str = field(
        metadata=say(
            "The plugin's version that this holds for; any other does nothing until it is approved.", example='"1.0"'
        )
    )
    capabilities: tuple[Capability, ...] = field(
        metadata=say("What it may do. A plugin that declares more does nothing.", example='["read_results"]')
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginsKeys:
    """Plugins: built-in ones, and those of installed packages that you approved. docs/howto/plugins.md has more."""

    order: tuple[str, ...] = field(
        default=(),
        metadata=say(
            f"Plugins that are on, in the order in which they are asked. Built in are {', '.join(BUILTIN_PLUGINS)}. "
            "One that is not installed or not approved does nothing; `coldpress check` and serve say so."
        ),
    )
    hook_seconds: float = field(
        default=HOOK_SECONDS,
        metadata=say(
            "Longest time for one hook of a plugin from another package. Past it the request goes on without what "
            "that plugin wanted.",
            unit="seconds",
            least=0.001,
        ),
    )
    approved: Mapping[str, ApprovalKeys] = field(
        default_factory=dict, metadata=say("What plugins from other packages may do, by name.", example="example")
    )
    config: PluginConfigKeys = field(default_factory=PluginConfigKeys, metadata=say("Settings by plugin."))
