"""Turn the calls of one reply into what the client expects as they stream by, and keep them as the model wrote them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from coldpress.engine.session import RestoredCall
from coldpress.engine.tool_arguments import ArgumentFilter, call_key, packed
from coldpress.engine.tool_schemas import ToolShape
from coldpress.model.kept import Kept
from coldpress.model.plugins import PluginNote
from coldpress.model.records import Capture
from coldpress.plugins import CallFacts
from coldpress.stores.base import Store
from coldpress.wire.tool_schemas import SchemaEdit

AskPlugins = Callable[[CallFacts, Callable[[PluginNote], None]], str | None]
"""Asks plugins about a call: gives other arguments, `None` to leave them; tells what each plugin did."""

AS_IT_COMES = ToolShape("left")


@dataclass(frozen=True, slots=True)
class CallWork:
    """What of a request's tools and calls is sent otherwise.

    Attributes:
        schemas: edits of the schemas, in the order of their spans.
        restored: earlier calls in the messages read anew, as the model wrote them.
        intents: why they were made, by where their arguments start.
        shapes: of the tools, to turn new calls back.
        scope: names the conversation in the keys of calls.
    """

    schemas: tuple[SchemaEdit, ...] = ()
    restored: tuple[RestoredCall, ...] = ()
    intents: Mapping[int, str] = field(default_factory=dict)
    shapes: Mapping[str, ToolShape] = field(default_factory=dict)
    scope: str = ""

    @property
    def is_on(self) -> bool:
        """Whether anything may be sent otherwise at all."""
        return bool(self.scope)


class OnTheWay:
    """The calls of one reply. Used by one thread at a time.

    Args:
        work: of the request that is answered.
        store: where calls are kept.
        ask: asks plugins about each call, `None` where none wants to be asked.
        about: the reply, for plugins; the call is filled in.

    Attributes:
        called: names of the tools that were called, in order.
        captures: what came of each call that was looked at, once `taken` was called.
        notes: what plugins did.
    """

    def __init__(self, work: CallWork, store: Store, *, ask: AskPlugins | None, about: CallFacts) -> None:
        self._work = work
        self._store = store
        self._ask = ask
        self._about = about
        self._filters: list[WatchedCall] = []
        self.called: tuple[str, ...] = ()
        self.captures: tuple[Capture, ...] = ()
        self.notes: tuple[PluginNote, ...] = ()

    @property
    def blocks(self) -> bool:
        """Whether a call may be held up by a plugin, which belongs into a thread."""
        return self._ask is not None

    def filter_of(self, name: str, call_id: str) -> WatchedCall | None:
        """Give what a call's arguments pass through; `None` for a tool that nothing was done to."""
        self.called += (name,)
        shape = self._work.shapes.get(name, AS_IT_COMES)
        if self._ask is None and not (shape.changes_calls or shape.reason == "native"):
            return None
        ask = None if self._ask is None else self._asking(self._ask, name, call_id)
        watched = WatchedCall(name, call_id, ArgumentFilter(shape), ask)
        self._filters.append(watched)
        return watched

    def taken(self) -> None:
        """Keep every call that came whole, so that the next request can show it as the model wrote it."""
        whole = [watched for watched in self._filters if watched.ended]
        kept = [self._kept(watched) for watched in whole]
        self.captures = tuple(
            Capture(watched.name, watched.filter.turned.why, restored=bool(found))
            for watched, found in zip(whole, kept, strict=True)
            if watched.name in self._work.shapes
        )
        self._store.keep([one for found in kept for one in found])

    def _asking(self, ask: AskPlugins, name: str, call_id: str) -> Callable[[str], str | None]:
        def asked(arguments: str) -> str | None:
            return ask(replace(self._about, tool=name, call_id=call_id, arguments=arguments), self._note)

        return asked

    def _note(self, note: PluginNote) -> None:
        self.notes += (note,)

    def _kept(self, watched: WatchedCall) -> tuple[Kept, ...]:
        """Keep a call that the client got otherwise, or that said why; none that is no JSON object."""
        turned, written = watched.filter.turned, watched.filter.written
        given = turned.arguments if watched.changed is None else watched.changed
        if turned.why == "unreadable" or (given == written and turned.intent is None):
            return ()
        key = call_key(self._work.scope, watched.call_id, watched.name, given)
        return (Kept(key, "call", packed(written, turned.intent)),)


@dataclass(slots=True)
class WatchedCall:
    """One call as it streams by, and the filter that its arguments go through.

    Where plugins are asked it is held back until it is whole.
    """

    name: str
    call_id: str
    filter: ArgumentFilter
    ask: Callable[[str], str | None] | None = None
    held: list[str] = field(default_factory=list)
    changed: str | None = None
    ended: bool = False

    def feed(self, fragment: str) -> str:
        """Take what the model wrote and give what the client gets now."""
        given = self.filter.feed(fragment)
        if self.ask is None:
            return given
        self.held.append(given)
        return ""

    def end(self) -> str:
        """Give the rest."""
        self.ended = True
        rest = self.filter.end()
        if self.ask is None:
            return rest
        whole = "".join([*self.held, rest])
        self.changed = self.ask(whole)
        return whole if self.changed is None else self.changed
