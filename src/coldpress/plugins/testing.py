"""Test a plugin of your own: ask it as the gateway would, without one.

The plugin counts as approved for all that it declares; whatever else it does ends in a fault of the notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from coldpress.config.plugin_settings import Approval, PluginSettings
from coldpress.model.plugins import PluginNote
from coldpress.plugins.declaration import PluginDeclaration
from coldpress.plugins.discovery import Found
from coldpress.plugins.facts import CallFacts, PluginEdits, ReplySummary, RequestFacts
from coldpress.plugins.manager import Plugins


def ask(plugin: object, facts: RequestFacts, /, **settings: object) -> PluginEdits:
    """Give what a plugin wants of a request.

    Args:
        plugin: a module, an object or a class, as its entry point would name it.
        facts: the request.
        settings: keys of its table in the settings file, as plain values.

    Raises:
        ValueError: it would do nothing in a gateway; the message says why.
    """
    with _alone(plugin, settings) as plugins:
        return plugins.before_request(facts)


def ask_about_call(
    plugin: object, call: CallFacts, /, *, told: Callable[[PluginNote], None] = lambda note: None, **settings: object
) -> str | None:
    """Give the arguments that a plugin wants for a call, `None` where it leaves them; raises like `ask`."""
    with _alone(plugin, settings) as plugins:
        return plugins.on_tool_call(call, told=told)


def tell_end(
    plugin: object,
    summary: ReplySummary,
    /,
    *,
    told: Callable[[PluginNote], None] = lambda note: None,
    **settings: object,
) -> None:
    """Tell a plugin how a request ended, and wait until it was told; raises like `ask`."""
    with _alone(plugin, settings) as plugins:
        plugins.after_response(summary, told=told)
        plugins.drain()


@contextmanager
def _alone(plugin: object, table: dict[str, object]) -> Iterator[Plugins]:
    declared = getattr(plugin, "PLUGIN", None)
    if not isinstance(declared, PluginDeclaration):
        raise ValueError(f"{plugin!r} has no PLUGIN that is a PluginDeclaration")
    name = declared.name
    settings = PluginSettings(
        order=(name,),
        approved=(Approval(name, declared.version, declared.capabilities),),
        hook_seconds=5.0,
        tables={name: table} if table else {},
    )
    plugins = Plugins(settings, found=[Found(name, "a test", lambda: plugin)])
    try:
        if plugins.is_empty:
            raise ValueError("; ".join(plugins.warnings))
        yield plugins
    finally:
        plugins.close()
