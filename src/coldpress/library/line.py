"""Carry one agent's requests: write them down for the driver, read back what it sends, report the replies."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar, cast

from coldpress.drive import Inbound, Prepared
from coldpress.library.body import Body, Piece, pieces, require_request, write
from coldpress.library.compacted import Compacted
from coldpress.library.formats import by_name, evidence, provider_of
from coldpress.library.replies import read_reply
from coldpress.library.runtime import Runtime
from coldpress.model.errors import FormatError, ReplyError
from coldpress.model.records import Outcome, Receipt
from coldpress.stores.base import LedgerEntry
from coldpress.wire.registry import FormatName

log = logging.getLogger(__name__)

MOST_REQUESTS: Final = 10_000
"""Requests that are remembered, to report a reply to or to list."""

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that the driver was given.

    `began_at` is on the monotonic clock, in seconds.
    """

    inbound: Inbound
    body: Body = field(repr=False)
    future: Future[Prepared] = field(repr=False)
    began_at: float


@dataclass(frozen=True, slots=True)
class _Request:
    """A request that was decided on; `prompt_tokens` as reported, else as estimated, else `None`."""

    receipt: Receipt
    format: FormatName
    began_at: float
    prompt_tokens: int | None


class Line:
    """One agent's requests over a runtime; safe to use from any thread.

    Args:
        runtime: driver and store.
        model: as requests name it, where one does not say.
        format_name: of the messages, `None` to tell it by them.
        provider: as the settings call it, `None` to tell it by the model.
        harness: name of the agent.
        task: class of its task.
        tools: what requests without tools offer.
    """

    def __init__(
        self,
        runtime: Runtime,
        model: str,
        *,
        format_name: FormatName | None,
        provider: str | None,
        harness: str | None,
        task: str | None,
        tools: object,
    ) -> None:
        self.runtime = runtime
        self.model = model
        self.provider = provider
        self.harness = harness
        self.task = task
        self.tools = tools
        self.format: FormatName | None = format_name
        self._lock = threading.Lock()
        self._known: Body | None = None
        self._requests: OrderedDict[str, _Request] = OrderedDict()

    def begin(
        self,
        messages: Sequence[object],
        *,
        system: object,
        tools: object,
        extra: Mapping[str, object] | None,
        model: str | None,
    ) -> Asked:
        """Give a request to the driver.

        Raises:
            MessageError, RequestError, FormatError, SessionClosed: see `Session.compact`.
        """
        require_request(messages, extra)
        began_at, model = time.monotonic(), model or self.model
        tools = self.tools if tools is None else tools
        format_name = self._format_of(messages, system=system, tools=tools, model=model)
        if system is not None and format_name == "openai_chat":
            raise FormatError("system is Anthropic's; in Chat Completions the system prompt is the first message")
        head = {"model": model, "system": system, "tools": tools, **(extra or {})}
        body = write(head, messages, self._known)
        self._known = body
        now = self.runtime.clock()
        inbound = Inbound(
            request_id=f"{int(now * 1000):011x}{os.urandom(5).hex()}",
            received_at=now,
            provider=self.provider or provider_of(model, format_name, self.runtime.settings),
            format=format_name,
            body=body.data,
            operation=None,
            headers={"user-agent": self.harness} if self.harness else {},
            task=self.task,
        )
        return Asked(inbound, body, self.runtime.begin(inbound), began_at)

    def end(self, asked: Asked, prepared: Prepared, messages: Sequence[M]) -> Compacted[M]:
        """Put the messages together that are to be sent."""
        found = _pieces(asked, prepared)
        request = _Request(prepared.receipt, asked.inbound.format, asked.began_at, prepared.receipt.prompt_tokens)
        with self._lock:
            self._requests[asked.inbound.request_id] = request
            while len(self._requests) > MOST_REQUESTS:
                self._requests.popitem(last=False)
        # A new message has the shape of the caller's own on the wire; there is no other type to give it.
        shown = [messages[p.source] if p.source is not None and p.raw is None else cast(M, p.value()) for p in found]
        return Compacted(
            shown,
            receipt=prepared.receipt,
            sources=tuple(piece.source for piece in found),
            format_name=asked.inbound.format,
        )

    def observe(self, reply: object, request_id: str | None) -> None:
        """Report a reply to a request, `None` for the last one.

        Raises:
            ReplyError, SessionClosed: see `Session.observe`.
        """
        with self._lock:
            name = next(reversed(self._requests), "") if request_id is None else request_id
            request = self._requests.get(name)
        if request is None:
            raise ReplyError("there is no request that this reply could answer; call compact first")
        seconds = time.monotonic() - request.began_at
        ended = read_reply(reply, request_id=name, format_name=request.format, seconds=seconds)
        tokens = _prompt_tokens(ended.outcome)
        with self._lock:
            if tokens is not None and name in self._requests:
                self._requests[name] = replace(request, prompt_tokens=tokens)
        self.runtime.finish(ended)

    @property
    def last(self) -> Receipt | None:
        """The receipt of the last request."""
        with self._lock:
            return next(reversed(self._requests.values())).receipt if self._requests else None

    def entries(self) -> tuple[LedgerEntry, ...]:
        """The ledger's entries, oldest first."""
        self.runtime.settle()
        with self._lock:
            names = tuple(self._requests)
        found = (self.runtime.store.receipt(name) for name in names)
        return tuple(entry for entry in found if entry is not None)

    @property
    def requests(self) -> int:
        """How many requests were made."""
        return len(self._requests)

    @property
    def prompt_tokens(self) -> int | None:
        """Tokens of all prompts together; `None` where one was neither reported nor estimated."""
        with self._lock:
            counts = [request.prompt_tokens for request in self._requests.values()]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def _format_of(self, messages: Sequence[object], *, system: object, tools: object, model: str) -> FormatName:
        if self.format is not None:
            return self.format
        found = evidence(messages, system=system, tools=tools)
        if found is None:
            return by_name(model)  # not kept: what comes later may say more
        self.format = found
        return found


def _pieces(asked: Asked, prepared: Prepared) -> tuple[Piece, ...]:
    own = tuple(Piece(index) for index in range(len(asked.body.messages)))
    if not prepared.changed:
        return own
    try:
        return pieces(asked.body, prepared.body)
    except ValueError as error:
        # A mistake of ours: the caller's own messages go on, and it is written down.
        facts = {"request_id": asked.inbound.request_id, "why": str(error)}
        log.error("what was to be sent could not be read back", extra=facts)
        return own


def _prompt_tokens(outcome: Outcome) -> int | None:
    return outcome.context_tokens if outcome.context_tokens is not None else outcome.usage.prompt
