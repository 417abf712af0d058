"""Find plugins of installed packages by entry point, and load one: import it, make it, register its hooks."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import pluggy

from coldpress.plugins.declaration import PluginDeclaration, declaration_problem
from coldpress.plugins.hookspecs import HOOK_NAMES, PROJECT, Hooks
from coldpress.plugins.running import place_of, run

GROUP: Final = "coldpress.plugins"
LOAD_SECONDS: Final = 30.0
"""An import of a large library on a slow disk takes seconds; past this it hangs."""


@dataclass(frozen=True, slots=True)
class Found:
    """A plugin of an installed package, not loaded.

    Attributes:
        name: of its entry point.
        package: the distribution and its version, for people.
        load: imports it and gives the object that the entry point names; may raise anything.
    """

    name: str
    package: str
    load: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A plugin that was imported and is well formed."""

    declaration: PluginDeclaration
    hooks: pluggy.PluginManager


@dataclass(frozen=True, slots=True)
class Unloadable:
    """Why a plugin cannot be used, as the end of a sentence that begins with it."""

    why: str


def installed() -> tuple[Found, ...]:
    """List the plugins of all installed packages by name; nothing is imported."""
    points = importlib.metadata.entry_points(group=GROUP)
    return tuple(sorted((_found(point) for point in points), key=lambda found: (found.name, found.package)))


def load(found: Found, *, seconds: float = LOAD_SECONDS) -> Loaded | Unloadable:
    """Import a plugin, which runs its code, and check it."""
    ran = run(lambda: _made(found), seconds=seconds, name=f"coldpress-load-{found.name}")
    if not ran.in_time:
        return Unloadable(f"was not loaded within {seconds:g} s")
    if isinstance(ran.error, pluggy.PluginValidationError):
        return Unloadable(f"has a hook that is none: {ran.error}")
    if ran.error is not None:
        return Unloadable(f"cannot be loaded: {place_of(ran.error)}: {ran.error}")
    return ran.value if ran.value is not None else Unloadable("cannot be loaded")


def named(name: str, found: Sequence[Found]) -> tuple[Found, ...]:
    """The installed plugins of one name; more than one only by mistake."""
    return tuple(one for one in found if one.name == name)


def _found(point: importlib.metadata.EntryPoint) -> Found:
    package = f"{point.dist.name} {point.dist.version}" if point.dist is not None else "an unknown package"
    return Found(point.name, package, point.load)


def _made(found: Found) -> Loaded | Unloadable:
    plugin = found.load()
    if isinstance(plugin, type):
        plugin = plugin()
    declaration = getattr(plugin, "PLUGIN", None)
    problem = declaration_problem(declaration, found.name)
    if problem or not isinstance(declaration, PluginDeclaration):
        return Unloadable(problem)
    # A manager of its own: plugins.order is the user's, and each plugin is timed and judged alone.
    hooks = pluggy.PluginManager(PROJECT)
    hooks.add_hookspecs(Hooks)
    hooks.register(plugin, name=found.name)
    hooks.check_pending()
    if not any(getattr(hooks.hook, name).get_hookimpls() for name in HOOK_NAMES):
        return Unloadable(f"has none of the hooks {', '.join(HOOK_NAMES)}; hookimpl marks one")
    return Loaded(declaration, hooks)
