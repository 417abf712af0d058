"""Turn `[plugins]` into settings, and say what of it is not used; what is installed is looked at elsewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, get_args

from coldpress.config.masked import shown
from coldpress.config.pii_keys import PiiKeys
from coldpress.config.plugin_keys import BUILTIN_PLUGINS, IntentKeys, PluginsKeys
from coldpress.config.plugin_settings import Approval, PluginSettings
from coldpress.config.read import nearest
from coldpress.engine.catalogue import Kind
from coldpress.engine.policy import KIND_PREFIX

_PROPERTY: Final = re.compile("[a-zA-Z_][a-zA-Z0-9_.-]{0,63}")
"""Names that every provider takes for a property of a tool's schema."""


@dataclass(frozen=True, slots=True)
class BuiltPlugins:
    """Settings of plugins, with what had to be said about them."""

    settings: PluginSettings
    problems: tuple[str, ...]
    warnings: tuple[str, ...]


def build_plugins(keys: PluginsKeys) -> BuiltPlugins:
    """Resolve the table; nothing is loaded for it."""
    twice = dict.fromkeys(name for name in keys.order if keys.order.count(name) > 1)
    settings = PluginSettings(
        order=keys.order,
        approved=tuple(
            Approval(name, said.version, tuple(dict.fromkeys(said.capabilities)))
            for name, said in keys.approved.items()
        ),
        hook_seconds=keys.hook_seconds,
        builtin=keys.config,
        tables=dict(keys.config.others),
    )
    return BuiltPlugins(
        settings,
        problems=(
            *(f"plugins.order names {shown(name)} more than once; keep one of them" for name in twice),
            *_intent_problems(keys),
            *_pii_problems(keys),
        ),
        warnings=(*_without_rules(keys), *_unused(keys)),
    )


def _intent_problems(keys: PluginsKeys) -> list[str]:
    name = (keys.config.intent or IntentKeys()).field_name
    if _PROPERTY.fullmatch(name):
        return []
    return [
        f"plugins.config.intent.field_name is {shown(name)}; it must be a letter or _ and up to 63 more letters, "
        "digits, _, . or - (ASCII), since providers refuse tools with other fields"
    ]


def _pii_problems(keys: PluginsKeys) -> list[str]:
    told = []
    pii, at = keys.config.pii or PiiKeys(), "plugins.config.pii"
    if not pii.kinds:
        told.append(f"{at}.kinds is an empty list, so nothing is looked for; leave pii out of plugins.order instead")
    for index, row in enumerate(pii.tools):
        pattern = row.match.lower()
        if pattern.startswith(KIND_PREFIX) and not any(
            fnmatchcase(kind, pattern.removeprefix(KIND_PREFIX)) for kind in get_args(Kind)
        ):
            told.append(
                f'{at}.tools[{index}].match is "{row.match}", which fits no kind of tool; kinds are '
                f"{', '.join(get_args(Kind))}"
            )
    return told


def _without_rules(keys: PluginsKeys) -> list[str]:
    compactors = keys.config.compactors
    return [
        f"plugins.order: {name} has no tool_policies in plugins.config.{name}, so it makes nothing smaller"
        for name in ("keyword_compactor", "compactor")
        if name in keys.order and not (name in compactors and compactors[name].tool_policies)
    ]


def _unused(keys: PluginsKeys) -> list[str]:
    told = []
    for name in keys.config.said:
        if name not in keys.order:
            near = None if name in BUILTIN_PLUGINS else nearest(name, (*keys.order, *BUILTIN_PLUGINS))
            meant = f"; did you mean {near}?" if near else ""
            told.append(f"plugins.config.{name} is not used, since plugins.order does not name {name}{meant}")
    return told
