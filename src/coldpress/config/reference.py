"""Read what the settings of the reference experiment ask for: the rules of its plugins, and what they expect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from coldpress.config.keys import FileKeys
from coldpress.config.plugin_keys import PluginsKeys
from coldpress.config.rule_keys import RuleKeys

UNGATED: Final = "keyword_compactor"
"""The plugin whose rules rewrite what a model has seen without asking what that costs."""


@dataclass(frozen=True, slots=True)
class PlacedRule:
    """A rule with the full key where it stands in the file.

    `ungated` is what holds where its own key `gate` says nothing.
    """

    at: str
    keys: RuleKeys
    ungated: bool = False


def is_reference(root: FileKeys) -> bool:
    """Whether a file has rules in the reference experiment's place.

    Such a file describes a whole experiment arm, where an unmatched tool stays exact: coldpress's own rules are
    not added to it unless it says `default_policy = true`.
    """
    return any(plugin.tool_policies for plugin in root.plugins.config.compactors.values())


def reference_rules(plugins: PluginsKeys) -> tuple[PlacedRule, ...]:
    """List the rules of the plugins that are on, in the order of `plugins.order`."""
    return tuple(
        PlacedRule(f"plugins.config.{name}.tool_policies[{index}]", rule, ungated=name == UNGATED)
        for name in plugins.order
        if name in plugins.config.compactors
        for index, rule in enumerate(plugins.config.compactors[name].tool_policies)
    )


def reference_expected_applications(plugins: PluginsKeys) -> float | None:
    """Give the requests to come that the plugins' settings expect: the fewest, where several say so."""
    said = [config.expected_applications for config in plugins.config.compactors.values()]
    return min((expected for expected in said if expected is not None), default=None)
