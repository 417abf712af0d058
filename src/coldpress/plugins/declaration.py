"""What a plugin says about itself, and what is wrong with that."""

from __future__ import annotations

import re
from dataclasses import dataclass, is_dataclass
from typing import Final

from coldpress.config.shapes import shapes_of
from coldpress.model.plugins import CAPABILITIES, Capability

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_LONGEST_VERSION: Final = 64

WHAT_CAPABILITIES_MEAN: Final[dict[Capability, str]] = {
    "read_results": "read the text of tool results, the arguments of tool calls and the user's last words",
    "edit_results": "put another text in the place of a result that no model has seen yet",
    "edit_schemas": "change the schemas of tools on the way out, and the arguments of calls on the way back",
    "use_summariser": "have the summariser make paid summaries; built-in plugins only, no hook of others offers it",
    "use_network": "make network connections of its own while a hook runs",
}
"""For people who are asked to approve."""


@dataclass(frozen=True, slots=True)
class PluginDeclaration:
    """What a plugin says about itself, in its attribute `PLUGIN`.

    Attributes:
        name: as in `plugins.order`, and the name of its entry point: lower-case letters, digits, `-` and `_`.
        version: what a user approves. Give the package's own, so that new code needs a new approval.
        capabilities: everything it may want to do; what is not declared is refused.
        summary: one line for people.
        settings: a frozen dataclass whose fields are the keys of `[plugins.config.NAME]`; `None` for no settings.
            Fields are text, paths, switches, numbers, `Literal` choices, `tuple[str, ...]` or further such dataclasses;
            `coldpress.plugins.setting` gives a key its line, unit and bounds. A value is made of it once, at start.
    """

    name: str
    version: str
    capabilities: tuple[Capability, ...] = ()
    summary: str = ""
    settings: type | None = None


def declaration_problem(found: object, entry_name: str) -> str:
    """Say why this is no declaration of the plugin with this entry point; empty where it is one."""
    if not isinstance(found, PluginDeclaration):
        return "has no PLUGIN, or one that is no PluginDeclaration"
    if not isinstance(found.name, str) or not _NAME.fullmatch(found.name):
        return f"calls itself {found.name!r}; a name is lower-case letters, digits, - and _, a letter first"
    if found.name != entry_name:
        return f"calls itself {found.name}, and its entry point is {entry_name}; both must be the same"
    if not isinstance(found.version, str) or not 0 < len(found.version) <= _LONGEST_VERSION:
        return f"declares no version of 1 to {_LONGEST_VERSION} characters"
    if not isinstance(found.capabilities, tuple):
        return "declares capabilities that are no tuple"
    unknown = [word for word in found.capabilities if word not in CAPABILITIES]
    if unknown:
        return f"declares the capability {unknown[0]!r}; there are {', '.join(CAPABILITIES)}"
    return _settings_problem(found.settings)


def _settings_problem(settings: type | None) -> str:
    if settings is None:
        return ""
    parameters = getattr(settings, "__dataclass_params__", None)
    if not is_dataclass(settings) or not getattr(parameters, "frozen", False):
        return "declares settings that are no frozen dataclass"
    try:
        shapes_of(settings)
    except (KeyError, NameError, TypeError, ValueError, AttributeError) as error:
        return f"declares settings of a kind that no file can hold ({error})"
    return ""
