"""Turn the calls of one reply into what the client expects as they stream by, and keep them as the model wrote them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Final

from coldpress.engine.session import RestoredCall
from coldpress.engine.tool_arguments import ArgumentFilter, call_key, packed
from coldpress.engine.tool_schemas import ToolShape
from coldpress.model.kept import Kept
from coldpress.model.plugins import PluginNote
from coldpress.model.records import Capture, CaptureWhy
from coldpress.plugins import CallFacts
from coldpress.stores.base import Store
from coldpress.wire.tool_schemas import SchemaEdit

AskPlugins = Callable[[CallFacts, Callable[[PluginNote], None]], str | None]
"""Asks plugins about a call: gives other arguments, `None` to leave them; tells what each plugin did."""

MOST_WAIT_SECONDS: Final = 2.0
"""A disk that takes longer keeps no client waiting: another process may then show the call as the client wrote it."""

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
        self._pending: list[Future[None]] = []
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
        watched = WatchedCall(name, call_id, ArgumentFilter(shape), self._keep, ask)
        self._filters.append(watched)
        return watched

    @property
    def is_pending(self) -> bool:
        """Whether calls that came whole are not durable yet."""
        return bool(self._pending)

    async def settled(self) -> None:
        """Wait until calls that came whole are durable: whoever gets the next request has to find them."""
        pending, self._pending = self._pending, []
        if pending:
            await asyncio.wait([asyncio.wrap_future(one) for one in pending], timeout=MOST_WAIT_SECONDS)

    def taken(self, called: tuple[str, ...] = ()) -> None:
        """Take note that the reply is over, and of the tools that were named by whoever read it on the side."""
        self.called += called
        self.captures = tuple(
            Capture(watched.name, watched.why, restored=watched.is_kept)
            for watched in self._filters
            if watched.ended and watched.name in self._work.shapes
        )

    def _asking(self, ask: AskPlugins, name: str, call_id: str) -> Callable[[str], str | None]:
        def asked(arguments: str) -> str | None:
            return ask(replace(self._about, tool=name, call_id=call_id, arguments=arguments), self._note)

        return asked

    def _note(self, note: PluginNote) -> None:
        self.notes += (note,)

    def _keep(self, watched: WatchedCall) -> None:
        """Keep a call as the model wrote it, once it is whole; none that is no JSON object."""
        turned, written = watched.filter.turned, watched.filter.written
        given = turned.arguments if watched.changed is None else watched.changed
        watched.why = turned.why
        if turned.why == "unreadable":
            return
        watched.is_kept = given != written or turned.intent is not None
        key = call_key(self._work.scope, watched.call_id, watched.name, given)
        self._pending.append(self._store.keep([Kept(key, "call", packed(written, turned.intent))], urgent=True))


@dataclass(slots=True)
class WatchedCall:
    """One call as it streams by, and the filter that its arguments go through.

    Where plugins are asked it is held back until it is whole.
    """

    name: str
    call_id: str
    filter: ArgumentFilter
    keep: Callable[[WatchedCall], None]
    ask: Callable[[str], str | None] | None = None
    held: list[str] = field(default_factory=list)
    changed: str | None = None
    ended: bool = False
    why: CaptureWhy = "left"
    is_kept: bool = False

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
        if self.ask is not None:
            whole = "".join([*self.held, rest])
            self.changed = self.ask(whole)
            rest = whole if self.changed is None else self.changed
        self.keep(self)
        return rest
