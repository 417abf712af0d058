"""Read what the settings of the reference experiment ask for: their rules, and a sentence for all that is not built."""

from __future__ import annotations

from dataclasses import dataclass

from coldpress.config.keys import FileKeys, OffloadKeys, PluginsKeys, RuleKeys


@dataclass(frozen=True, slots=True)
class PlacedRule:
    """A rule with the full key where it stands in the file."""

    at: str
    keys: RuleKeys


def is_reference(root: FileKeys) -> bool:
    """Whether a file has rules in the reference experiment's place.

    Such a file describes a whole experiment arm, where an unmatched tool stays exact: coldpress's own rules are
    not added to it unless it says `default_policy = true`.
    """
    return any(plugin.tool_policies for plugin in root.plugins.config.values())


def reference_rules(plugins: PluginsKeys) -> tuple[PlacedRule, ...]:
    """List the rules of the plugins that are on, in the order of `plugins.order`."""
    return tuple(
        PlacedRule(f"plugins.config.{name}.tool_policies[{index}]", rule)
        for name in plugins.order
        if name in plugins.config
        for index, rule in enumerate(plugins.config[name].tool_policies)
    )


def reference_expected_applications(plugins: PluginsKeys) -> float | None:
    """Give the requests to come that the plugins' settings expect: the fewest, where several say so."""
    said = [config.expected_applications for config in plugins.config.values()]
    return min((expected for expected in said if expected is not None), default=None)


def reference_warnings(root: FileKeys) -> tuple[str, ...]:
    """Name everything in the reference experiment's tables that this version does not do."""
    return (*_plugin_warnings(root.plugins), *_offload_warnings(root.offload))


def _plugin_warnings(plugins: PluginsKeys) -> list[str]:
    told: list[str] = []
    for name in plugins.order:
        if name in plugins.config and plugins.config[name].tool_policies:
            told.append(
                f"plugins.order: {name} is not built as a plugin; its tool_policies are used as rules, "
                "and its work is done by the modes they name"
            )
        else:
            told.append(f"plugins.order: {name} is not built yet and does nothing")
    told.extend(
        f"plugins.config.{name} is not used, since plugins.order does not name {name}"
        for name in plugins.config
        if name not in plugins.order
    )
    return told


def _offload_warnings(offload: OffloadKeys) -> list[str]:
    if offload == OffloadKeys():
        return []
    asked = "is on in the settings" if offload.enabled else "is off in the settings"
    model = f" ({offload.model})" if offload.model else ""
    return [f"offload {asked} and is not built yet: no result goes to another model{model}"]
