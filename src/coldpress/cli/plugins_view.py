"""Lay out plugins for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, is_dataclass
from typing import Any

import click

from coldpress.cli.output import UNKNOWN, print_table, printable
from coldpress.cli.plugins_approval import approval_lines
from coldpress.config.about import Key, keys_of
from coldpress.config.plugin_settings import Approval
from coldpress.config.shapes import Shape, say_shape, shapes_of
from coldpress.config.template import toml_value
from coldpress.plugins.admission import Admission
from coldpress.plugins.declaration import WHAT_CAPABILITIES_MEAN, PluginDeclaration

Totals = Mapping[str, Mapping[str, Any]]
"""What the running gateway says of each plugin, by name."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One plugin, with what the running gateway says of it: `None` where none runs or it says nothing."""

    admission: Admission
    totals: Mapping[str, Any] | None

    @property
    def faults(self) -> int | None:
        """All faults that the gateway's statistics hold, `None` where nobody knows."""
        faults = self.totals.get("faults") if self.totals is not None else None
        return sum(faults.values()) if isinstance(faults, Mapping) else None

    @property
    def state(self) -> str:
        """One of `on`, `resting` (after faults, in the running gateway), `idle` (on, and does nothing) and `off`."""
        if self.admission.place is None:
            return "off"
        if self.totals is not None and self.totals.get("state") == "resting":
            return "resting"
        return "on" if self.admission.acts else "idle"


def plugin_object(shown: Shown) -> dict[str, object]:
    """Plain values under names that stay."""
    one, declared = shown.admission, shown.admission.declaration
    return {
        "name": one.name,
        "version": declared.version if declared else None,
        "source": one.source,
        "package": one.package or None,
        "state": shown.state,
        "place": one.place,
        "approval": one.approval,
        "why": one.why or None,
        "capabilities": list(declared.capabilities) if declared else None,
        "faults": shown.faults,
    }


def plugin_details(shown: Shown) -> dict[str, object]:
    """The same with everything that `show` tells."""
    one, declared = shown.admission, shown.admission.declaration
    approval = approval_of(one)
    return {
        **plugin_object(shown),
        "summary": declared.summary if declared else None,
        "meanings": {word: WHAT_CAPABILITIES_MEAN[word] for word in declared.capabilities} if declared else {},
        "settings": [_key_object(key, shape) for key, shape in settings_keys(declared)],
        "approval_lines": approval_lines(approval) if approval else None,
        "totals": dict(shown.totals) if shown.totals is not None else None,
    }


def approval_of(one: Admission) -> Approval | None:
    """What approving a plugin as it is installed now would write; `None` where there is nothing to approve."""
    if one.source != "installed" or one.declaration is None:
        return None
    return Approval(one.name, one.declaration.version, one.declaration.capabilities)


def print_list(plugins: tuple[Shown, ...]) -> None:
    """Print a table of plugins."""
    print_table(
        ("name", "version", "source", "order", "state", "approval", "capabilities", "faults"),
        [
            (
                shown.admission.name,
                shown.admission.declaration.version if shown.admission.declaration else UNKNOWN,
                shown.admission.source,
                str(shown.admission.place or "-"),
                shown.state,
                shown.admission.approval,
                _capabilities(shown.admission.declaration),
                _faults(shown),
            )
            for shown in plugins
        ],
        right=frozenset({3, 7}),
        spare=("source", "capabilities"),
    )


def print_details(shown: Shown) -> None:
    """Print all that is known of one plugin."""
    one, declared = shown.admission, shown.admission.declaration
    place = f"{shown.state}, number {one.place} in plugins.order" if one.place else "off"
    rows = (
        ("plugin", f"{one.name} {declared.version if declared else ''}".rstrip()),
        ("summary", declared.summary if declared else ""),
        ("source", f"{one.source}{f', {one.package}' if one.package else ''}"),
        ("state", place),
        ("approval", one.approval),
        ("why idle", one.why),
        ("faults", _faults(shown) if shown.totals is not None else ""),
    )
    for name, value in rows:
        if value:
            click.echo(printable(f"{name:<10}{value}"))
    if declared is None:
        return
    click.echo("")
    print_capabilities(declared)
    _print_settings(declared)
    approval = approval_of(one)
    if approval is not None:
        click.echo(f"\nApproval writes:\n\n{approval_lines(approval)}")


def print_capabilities(declared: PluginDeclaration, *, to_stderr: bool = False) -> None:
    """Print what a plugin may do, each with its meaning."""
    told = ["It may:", *(f"  {word:<15} {WHAT_CAPABILITIES_MEAN[word]}" for word in declared.capabilities)]
    if not declared.capabilities:
        told = ["It needs no capability: it sees the model, the tools' names and the like, and changes nothing."]
    click.echo("\n".join(told), err=to_stderr)


def settings_keys(declared: PluginDeclaration | None) -> tuple[tuple[Key, Shape], ...]:
    """The keys of a plugin's table in the settings file, with the kind of each."""
    if declared is None or declared.settings is None or not is_dataclass(declared.settings):
        return ()
    shapes = shapes_of(declared.settings)
    return tuple((key, shapes[key.name]) for key in keys_of(declared.settings))


def _print_settings(declared: PluginDeclaration) -> None:
    keys = settings_keys(declared)
    if not keys:
        return
    click.echo(f"\nSettings, in [plugins.config.{declared.name}]:")
    print_table(
        ("key", "takes", "default", "unit", "meaning"),
        [(key.name, say_shape(shape), _default(key), key.about.unit or "-", key.about.line) for key, shape in keys],
    )


def _key_object(key: Key, shape: Shape) -> dict[str, object]:
    return {
        "key": key.name,
        "takes": say_shape(shape),
        "default": _default(key),
        "unit": key.about.unit or None,
        "meaning": key.about.line,
    }


def _default(key: Key) -> str:
    if key.default is MISSING:
        return "required"
    if key.default is None:
        return "none"
    try:
        return toml_value(key.default)
    except TypeError:
        return "a table"


def _capabilities(declared: PluginDeclaration | None) -> str:
    return ", ".join(declared.capabilities) or "none" if declared else UNKNOWN


def _faults(shown: Shown) -> str:
    return "-" if shown.faults is None else str(shown.faults)
