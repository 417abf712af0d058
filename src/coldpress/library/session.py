"""Compact message lists inside your own agent loop: the gateway's decisions, three lines of code.

    session = Session("claude-opus-4-6")
    shown = session.compact(messages, system=system, tools=tools)
    session.observe(client.messages.create(messages=shown, system=system, tools=tools, ...))

What goes to the model is what the gateway would have sent for the same request.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import TypeVar

from coldpress.config.settings import Settings
from coldpress.engine.notes import lineage_scope
from coldpress.library.compacted import Compacted
from coldpress.library.formats import checked_format, checked_provider
from coldpress.library.line import Line
from coldpress.library.memory_tool import MemoryTool
from coldpress.library.opening import StrPath, open_store, settings_for
from coldpress.library.runtime import Runtime
from coldpress.library.subtask import DISTILLED_TOKENS, Distilled, distil, require_room
from coldpress.model.errors import ConfigError
from coldpress.model.records import Operation, Receipt
from coldpress.stores.base import LedgerEntry
from coldpress.wire.registry import FormatName

M = TypeVar("M")
R = TypeVar("R")


class Session:
    """The pipeline of the gateway over the message lists of one agent, or of several; safe to use from any thread.

    Keep the whole history yourself and give all of it to `compact` each time: what is shown is made from the originals
    again, and stays the same from call to call, so that the provider's cache is read.

    Args:
        model: as requests name it. Prices, cache rules, window and token counts go by it.
        format: of the messages; told by them or by the model's name where it is not said.
        provider: as the settings call it, told by the model's name where it is not said. Prices and cache rules go
            by it.
        tools: what `compact` takes to be offered where it is given no tools.
        settings_file: TOML or JSON, as for the gateway; without one the built-in settings hold.
        settings: ready settings instead of a file.
        store_path: the SQLite file that keeps originals, decisions and receipts, a gateway's or your own. Without one
            everything is kept in memory, within the settings' bounds, and ends with the session.
        window_tokens: effective window, before what the settings and the price data say.
        project: whose notes are used.
        operation: `press`, `observe`, `drain` or `off`, before what the settings say.
        harness: name of your agent, to tell its conversations in the ledger from others'.
        task_class: what kind of task it works on, for budgets in the settings that name one.
        clock: seconds since 1970.
        parent: a session whose settings, store and thread this one shares, instead of having its own.

    Raises:
        ConfigError: an argument or the settings file is wrong.
        StoreError: the store cannot be opened.
    """

    def __init__(
        self,
        model: str,
        *,
        format: FormatName | None = None,
        provider: str | None = None,
        tools: object = None,
        settings_file: StrPath | None = None,
        settings: Settings | None = None,
        store_path: StrPath | None = None,
        window_tokens: int | None = None,
        project: str | None = None,
        operation: Operation | None = None,
        harness: str | None = None,
        task_class: str | None = None,
        clock: Callable[[], float] = time.time,
        parent: Session | None = None,
    ) -> None:
        if parent is None:
            found = settings_for(
                file=settings_file,
                settings=settings,
                operation=operation,
                window_tokens=window_tokens,
                project=project,
            )
            runtime = Runtime(found, open_store(store_path, found, clock=clock), clock=clock)
        else:
            own = (settings_file, settings, store_path, window_tokens, project, operation)
            if any(one is not None for one in own):
                raise ConfigError(
                    "a session with a parent has the parent's settings and store; give it none of its own"
                )
            runtime = parent._line.runtime
        self._line: Line = Line(
            runtime,
            model,
            format_name=checked_format(format),
            provider=checked_provider(provider, runtime.settings),
            harness=harness,
            task=task_class,
            tools=tools,
        )
        # Also where nobody closes it: at the latest when the interpreter ends, so that queued receipts are written.
        self._finalizer = weakref.finalize(self, runtime.close) if parent is None else None

    @property
    def model(self) -> str:
        """The model of requests that name none."""
        return self._line.model

    def compact(
        self,
        messages: Sequence[M],
        *,
        system: object = None,
        tools: object = None,
        extra: Mapping[str, object] | None = None,
        model: str | None = None,
    ) -> Compacted[M]:
        """Give the messages to send instead of these. Blocks for a few milliseconds.

        Args:
            messages: the whole conversation, dicts or SDK objects; not changed.
            system: the system prompt beside the messages (Anthropic), as it is sent.
            tools: the tools, as they are sent.
            extra: other top-level values of the request that change how it is cached or compacted: `thinking`,
                `tool_choice`, `cache_control`, `context_management`, `metadata`.
            model: where this request goes to another model.

        Returns:
            A new list. Every message that was not changed is the very object of `messages`.

        Raises:
            MessageError: a message is none, or holds what no request can carry; the message says which and where.
            RequestError: `extra` is no mapping, or holds what has an argument of its own.
            FormatError: it cannot be told which format the messages have.
            SessionClosed: the session was closed before.
        """
        asked = self._line.begin(messages, system=system, tools=tools, extra=extra, model=model)
        return self._line.end(asked, _awaited(asked.future), messages)

    async def acompact(
        self,
        messages: Sequence[M],
        *,
        system: object = None,
        tools: object = None,
        extra: Mapping[str, object] | None = None,
        model: str | None = None,
    ) -> Compacted[M]:
        """Do the same as `compact` on any event loop, without holding it up."""
        asked = self._line.begin(messages, system=system, tools=tools, extra=extra, model=model)
        return self._line.end(asked, await asyncio.wrap_future(asked.future), messages)

    def observe(self, reply: object, *, of: Compacted[M] | None = None) -> None:
        """Learn from a reply: what the provider's cache holds, how it counts, what the request cost. Does not wait.

        Without it nothing is known of the cache, and old results are made smaller under pressure only.

        Args:
            reply: what the SDK returned, whole; or its usage (an SDK's object, a dict, or `coldpress`'s own); or the
                exception that it raised.
            of: which request it answers; the last one of this session where it is not said. Say it where several
                requests are under way at a time.

        Raises:
            ReplyError: it is none of these, or there was no request.
            SessionClosed: the session was closed before.
        """
        self._line.observe(reply, of.receipt.request_id if of is not None else None)

    @property
    def last(self) -> Receipt | None:
        """What was decided on the last request, and why; `None` before the first."""
        return self._line.last

    def receipts(self) -> tuple[LedgerEntry, ...]:
        """Give the ledger's entries of the last 10,000 requests of this session, oldest first, as far as they are kept.

        An outcome may come a moment later than its reply, while the price list is being read.
        """
        return self._line.entries()

    @property
    def notes(self) -> MemoryTool:
        """The durable notes of the project; without a project, of the conversation that the last request belongs to.

        `session.notes.execute(block.input)` answers a call of Anthropic's memory tool.

        Raises:
            ConfigError: there is neither a project nor a request yet.
        """
        runtime, last = self._line.runtime, self._line.last
        keys = runtime.settings.notes
        scope = keys.project_scope
        if scope is None:
            if last is None:
                raise ConfigError("notes belong to a project or a conversation: say project=, or call compact first")
            scope = lineage_scope(last.lineage)
        return MemoryTool(runtime.store, scope, limits=keys.limits, clock=runtime.clock)

    def recall(self, sha: str) -> str:
        """Give back the original text of something that was made smaller, byte for byte.

        Args:
            sha: its SHA-256 in hexadecimal, or at least the first eight digits, as markers show them.

        Raises:
            UnknownOriginal, AmbiguousOriginal, ExpiredOriginal: there is none, several, or none any more.
        """
        self._line.runtime.settle()
        return self._line.runtime.store.recall(sha)

    def stats(self) -> dict[str, object]:
        """Give the ledger's sums, those of the whole store, as the gateway's `/stats` does."""
        self._line.runtime.settle()
        return self._line.runtime.driver.stats()

    def subtask(
        self,
        task: str,
        run: Callable[[Session, list[dict[str, object]]], object],
        *,
        tools: object = None,
        model: str | None = None,
        most_tokens: int = DISTILLED_TOKENS,
    ) -> Distilled:
        """Run a sub-agent in a window of its own, and give back a bounded answer with what it took.

        Args:
            task: what the sub-agent is to do; it sees nothing else of this conversation.
            run: your agent loop. It gets a session with this one's store and settings, and a list with the task as
                its only message, and gives the answer: a text, a message or a whole reply.
            tools: what the child's `compact` takes where it is given no tools.
            model: of the sub-agent; this session's where it is not said.
            most_tokens: bound of the answer's text.

        Raises:
            ReplyError: `run` gave back no text. Whatever `run` raises goes on to the caller, and nothing is stored.
        """
        require_room(most_tokens)
        child = self._child(tools, model)
        answer = run(child, [{"role": "user", "content": task}])
        return distil(answer, child._line, most_tokens=most_tokens)

    async def asubtask(
        self,
        task: str,
        run: Callable[[Session, list[dict[str, object]]], Awaitable[object]],
        *,
        tools: object = None,
        model: str | None = None,
        most_tokens: int = DISTILLED_TOKENS,
    ) -> Distilled:
        """Do the same as `subtask` with an asynchronous loop."""
        require_room(most_tokens)
        child = self._child(tools, model)
        answer = await run(child, [{"role": "user", "content": task}])
        return await asyncio.to_thread(distil, answer, child._line, most_tokens=most_tokens)

    def _child(self, tools: object, model: str | None) -> Session:
        line = self._line
        # Another model may be asked in another format, and from another provider.
        same = model is None or model == line.model
        return Session(
            model or line.model,
            format=line.format if same else None,
            provider=line.provider if same else None,
            harness=line.harness,
            task_class=line.task,
            tools=tools,
            parent=self,
        )

    def close(self) -> None:
        """Write down what is queued and let go of the store. Closing twice is fine.

        A session with a parent leaves closing to it.
        """
        if self._finalizer is not None:
            self._finalizer()

    async def aclose(self) -> None:
        """Do the same as `close` without holding up the event loop."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _awaited(future: Future[R]) -> R:
    """Wait for what runs on the session's own thread, and stop it where the caller is stopped."""
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
