"""What plugins did and cost since the process was started, for `/stats`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from coldpress.model.plugins import Capability, PluginFault

PluginState = Literal["on", "resting", "off"]


@dataclass(frozen=True, slots=True)
class HookTotals:
    """Runs of one hook of one plugin.

    Attributes:
        calls: how often it ran.
        seconds: all runs together, waits for those that were too slow included.
        slowest_seconds: the longest of them.
        edits: texts, schemas and calls that were changed. Whether a text was taken is told where it is decided.
    """

    hook: str
    calls: int
    seconds: float
    slowest_seconds: float
    edits: int


@dataclass(frozen=True, slots=True)
class PluginTotals:
    """One plugin that is named in the order.

    Attributes:
        state: `off` where it does nothing, `resting` after too many faults in a row.
        why: of `off` and `resting`, one sentence.
        hooks: those that it has.
        faults: by kind; kinds without any are left out.
        late_uses: how often it used a view after its hook was over.
        missed: ends of requests that it was not told of, since it was too slow for them.
    """

    plugin: str
    version: str
    state: PluginState
    why: str = ""
    capabilities: tuple[Capability, ...] = ()
    hooks: tuple[HookTotals, ...] = ()
    faults: tuple[tuple[PluginFault, int], ...] = ()
    late_uses: int = 0
    missed: int = 0

    def as_object(self) -> dict[str, object]:
        """Plain values under names that stay."""
        return {
            **asdict(self),
            "capabilities": list(self.capabilities),
            "hooks": {
                hook.hook: {key: value for key, value in asdict(hook).items() if key != "hook"} for hook in self.hooks
            },
            "faults": dict(self.faults),
        }
