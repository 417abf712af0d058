"""Plugin settings, resolved: what is on in which order, what was approved, and tables that only a plugin can check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coldpress.config.pii_keys import PiiKeys
from coldpress.config.plugin_keys import BUILTIN_PLUGINS, HOOK_SECONDS, FreeTable, IntentKeys, PluginConfigKeys
from coldpress.model.plugins import Capability


@dataclass(frozen=True, slots=True)
class Approval:
    """What a user allowed one version of a plugin."""

    plugin: str
    version: str
    capabilities: tuple[Capability, ...]


@dataclass(frozen=True, slots=True)
class PluginSettings:
    """Plugins of one process, from `[plugins]`.

    Attributes:
        order: names of the plugins that are on, built-in ones and others, in the order in which they are asked.
        approved: of plugins from other packages, whether they are on or not.
        hook_seconds: longest time for one hook of a plugin from another package.
        builtin: settings of the built-in plugins.
        tables: settings of the others as they stand in the file; each plugin's own type checks them.
    """

    order: tuple[str, ...] = ()
    approved: tuple[Approval, ...] = ()
    hook_seconds: float = HOOK_SECONDS
    builtin: PluginConfigKeys = field(default_factory=PluginConfigKeys)
    tables: Mapping[str, FreeTable] = field(default_factory=dict)

    def is_on(self, name: str) -> bool:
        """Whether a plugin is named in the order. One from another package may still do nothing."""
        return name in self.order

    def approval(self, name: str) -> Approval | None:
        """What was approved for a plugin; `None` where nothing was."""
        return next((approval for approval in self.approved if approval.plugin == name), None)

    @property
    def others(self) -> tuple[str, ...]:
        """The plugins of other packages that are on, in order."""
        return tuple(name for name in self.order if name not in BUILTIN_PLUGINS)

    @property
    def intent(self) -> IntentKeys:
        """The settings of `intent`, its defaults where the file says nothing of it."""
        return self.builtin.intent or IntentKeys()

    @property
    def pii(self) -> PiiKeys | None:
        """The settings of `pii`, its defaults where the file says nothing of it; `None` where it is off."""
        return (self.builtin.pii or PiiKeys()) if self.is_on("pii") else None
