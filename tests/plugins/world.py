"""Requests, plugins and installed packages for the tests of the plugin manager."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from coldpress.config.plugin_settings import Approval, PluginSettings
from coldpress.model.identity import EditKey
from coldpress.model.plugins import CAPABILITIES, Capability
from coldpress.plugins import (
    CallFacts,
    PluginDeclaration,
    Plugins,
    ReplySummary,
    RequestFacts,
    ResultFacts,
    ToolFacts,
    hookimpl,
)
from coldpress.plugins.discovery import Found

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}


def key(number: int) -> EditKey:
    return EditKey(bytes([number]) * 32, 0, 0)


def result(number: int, text: str, *, tool: str = "Bash", first_sight: bool = True) -> ResultFacts:
    return ResultFacts(key(number), tool, first_sight, None, lambda: text, lambda: '{"command":"ls"}')


def request(
    *results: ResultFacts, schema: object = SCHEMA, tools: Callable[[], tuple[ToolFacts, ...]] | None = None
) -> RequestFacts:
    return RequestFacts(
        model="example-large",
        provider="anthropic",
        format="anthropic",
        harness="claude-cli",
        lineage="a" * 24,
        turn=3,
        tools=tools or (lambda: (ToolFacts("search", lambda: schema),)),
        results=lambda: results,
        last_user_text=lambda: "find the bug",
    )


def call(arguments: str = '{"q":"x"}') -> CallFacts:
    return CallFacts("search", "call_1", arguments, "example-large", "anthropic", "a" * 24)


def summary(request_id: str = "req-1") -> ReplySummary:
    return ReplySummary(request_id, "example-large", "anthropic", "anthropic", "a" * 24, 200, "complete", 1.5)


class Asks:
    """A plugin whose hooks are given as functions."""

    def __init__(
        self,
        name: str,
        *,
        may: Iterable[Capability] = CAPABILITIES,
        version: str = "1.0",
        settings: type | None = None,
        before: Callable[[Any], object] | None = None,
        on_call: Callable[[Any], object] | None = None,
        after: Callable[[Any], object] | None = None,
    ) -> None:
        self.PLUGIN = PluginDeclaration(name, version, tuple(may), "A plugin of the tests.", settings)
        self.seen: list[object] = []
        if before is not None:
            self.before_request = self._hook("before_request", before, "view")
        if on_call is not None:
            self.on_tool_call = self._hook("on_tool_call", on_call, "call")
        if after is not None:
            self.after_response = self._hook("after_response", after, "summary")

    def _hook(self, name: str, work: Callable[[Any], object], argument: str) -> Callable[..., None]:
        def one(subject: Any, settings: object) -> None:
            self.seen.append(settings)
            work(subject)

        written: dict[str, Callable[..., None]] = {}
        exec(f"def {name}({argument}, settings): one({argument}, settings)", {"one": one}, written)
        return hookimpl(written[name])


def found(plugin: object, *, name: str | None = None, package: str = "some-package 1.0") -> Found:
    own = name or getattr(plugin, "PLUGIN").name  # noqa: B009 - plugins are any object
    return Found(own, package, lambda: plugin)


@dataclass(frozen=True)
class On:
    """Settings in which plugins are on and approved for all that they declare."""

    plugins: tuple[Asks, ...]
    hook_seconds: float = 5.0

    def settings(self, **changes: Any) -> PluginSettings:
        facts: dict[str, Any] = {
            "order": tuple(one.PLUGIN.name for one in self.plugins),
            "approved": tuple(
                Approval(one.PLUGIN.name, one.PLUGIN.version, one.PLUGIN.capabilities) for one in self.plugins
            ),
            "hook_seconds": self.hook_seconds,
        }
        return PluginSettings(**{**facts, **changes})

    def manager(self, **changes: Any) -> Plugins:
        return Plugins(self.settings(**changes), found=[found(one) for one in self.plugins])


def manager(*plugins: Asks, hook_seconds: float = 5.0, **changes: Any) -> Plugins:
    return On(plugins, hook_seconds).manager(**changes)
