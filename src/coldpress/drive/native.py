"""Ask providers for what they do to a prompt by themselves, where the settings say so: members beside a client's own.

`coldpress.engine.native` decides. This writes it into the request, and keeps the little that has to be known from one
request to the next: whether the memory tool is declared, and whether the client sends a provider's summaries back.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from coldpress.config.settings import Settings
from coldpress.drive.accounts import Accounts
from coldpress.drive.beside import NOTHING, Beside
from coldpress.drive.exchange import Inbound
from coldpress.drive.memory import Recent
from coldpress.drive.native_asking import asking_of, has_summary
from coldpress.drive.receipts import lineage_of
from coldpress.engine.native import MEMORY, Native, decide
from coldpress.model.conversation import Conversation, ToolCall
from coldpress.model.native import Declined, NativeAsked, Primitive
from coldpress.model.records import Outcome
from coldpress.stores.base import Store
from coldpress.wire.addition import Addition, element, member
from coldpress.wire.span import Misread

EDITING_BETA: Final = "context-management-2025-06-27"
COMPACT_BETA: Final = "compact-2026-01-12"

MOST_KEPT: Final = 4_096
"""Conversations of which it is remembered what was asked last, and whether summaries come back."""

MOST_OPEN: Final = 10_000
"""Requests that ask for a summary and whose reply is awaited."""

_FIELD: Final = "context_management"
_MEMORY_TOOL: Final = msgspec.json.encode({"type": "memory_20250818", "name": MEMORY})
_SUMMARY: Final = re.compile(rb'"type"\s*:\s*"compaction"')
"""The beginning of a block, not of a text that quotes one: there the quotes are escaped."""

_CLEARING: Final[frozenset[Primitive]] = frozenset({"clear_tool_uses", "clear_thinking"})
_EDITS: Final[frozenset[Primitive]] = _CLEARING | {"compact_threshold"}
_COMPACTING: Final[frozenset[Primitive]] = frozenset({"compact_threshold", "compaction"})


@dataclass(frozen=True, slots=True)
class _Request:
    """One that asked for a summary: its conversation, how many messages it has, and the chain of the last."""

    lineage: str
    messages: int
    chain: bytes

    def is_before(self, conversation: Conversation) -> bool:
        """Whether a later request goes on from this one."""
        listed = conversation.messages
        return len(listed) > self.messages and listed[self.messages - 1].chain == self.chain


class Natives:
    """Says what to put beside the client's own fields; safe to use from any thread.

    Args:
        settings: frozen settings.
        accounts: prices.
        store: tells what was asked before this process.
    """

    def __init__(self, settings: Settings, accounts: Accounts, store: Store) -> None:
        self._settings = settings
        self._accounts = accounts
        self._store = store
        self._lock = threading.Lock()
        self._asked: Recent[str, frozenset[Primitive]] = Recent(MOST_KEPT)
        self._open: Recent[str, _Request] = Recent(MOST_OPEN)
        self._summed_up: Recent[str, _Request] = Recent(MOST_KEPT)
        self._dropping: Recent[str, None] = Recent(MOST_KEPT)

    def beside(self, inbound: Inbound, conversation: Conversation, *, draining: bool = False) -> Beside:
        """Give what goes beside the client's own fields; nothing where the settings switch nothing on.

        The caller keeps requests out that may not be changed: those under `off` and `observe`. May ask the store, so it
        may block: for the memory tool and while draining, once per conversation and process.

        Args:
            inbound: the request as it came.
            conversation: the request as it was read.
            draining: only what was asked on the request before is asked on, and what a summary cannot do without.
        """
        provider = self._settings.provider(inbound.provider)
        if provider is None or not provider.native.wished or not conversation.messages:
            return NOTHING
        native, lineage = provider.native, lineage_of(conversation)
        try:
            asking = asking_of(
                self._settings,
                self._accounts,
                conversation,
                provider=provider,
                harness=inbound.harness,
                at=inbound.received_at,
                dropped=self._drops(lineage, conversation),
                before=self._before(lineage, conversation) if native.memory_tool or draining else None,
                draining=draining,
            )
        except Misread:
            return Beside(asked=NativeAsked(declined=tuple(Declined(one, "unreadable") for one in native.wished)))
        asked = decide(native, asking)
        if asked is None:
            return NOTHING
        self._note(inbound.request_id, lineage, conversation, asked)
        additions = sorted(_additions(conversation, native, asked), key=lambda one: one.span.start)
        return Beside(tuple(additions), _betas(asked), asked)

    def least(self, inbound: Inbound) -> Beside:
        """Give what a request cannot do without, found without reading it: for one that is passed through unread.

        A summary that Anthropic wrote for us is refused without the edit that wrote it.
        """
        provider, body = self._settings.provider(inbound.provider), inbound.body
        if provider is None or provider.native.compact_threshold_tokens is None or inbound.format != "anthropic":
            return NOTHING
        if not _SUMMARY.search(body) or f'"{_FIELD}"'.encode() in body or not body.rstrip().endswith(b"}"):
            return NOTHING
        asked = NativeAsked(("compact_threshold",))
        return Beside((_edits_member(body, provider.native, asked, ()),), (COMPACT_BETA,), asked)

    def ended(self, outcome: Outcome) -> None:
        """Take note of how a request ended: whether its reply carries a summary that must come back."""
        with self._lock:
            request = self._open.pop(outcome.request_id, None)
            served_elsewhere = outcome.failover is not None and outcome.failover.served
            if request is None or served_elsewhere:
                return
            if any(applied.primitive in _COMPACTING for applied in outcome.applied):
                self._summed_up.note(request.lineage, request)

    def _note(self, request_id: str, lineage: str, conversation: Conversation, asked: NativeAsked) -> None:
        with self._lock:
            self._asked.note(lineage, frozenset(asked.asked))
            if _COMPACTING & set(asked.asked):
                messages = conversation.messages
                self._open.note(request_id, _Request(lineage, len(messages), messages[-1].chain))

    def _drops(self, lineage: str, conversation: Conversation) -> bool:
        """Whether the client has left out a summary that a reply of this conversation carried."""
        with self._lock:
            written = self._summed_up.get(lineage)
            if written is not None and written.is_before(conversation):
                del self._summed_up[lineage]
                if not has_summary(conversation, since=written.messages):
                    self._dropping.note(lineage, None)
            return lineage in self._dropping

    def _before(self, lineage: str, conversation: Conversation) -> frozenset[Primitive] | None:
        """What the request before was asked; `None` where there is none."""
        if conversation.last_assistant < 0:
            return None
        with self._lock:
            known = self._asked.get(lineage)
        if known is not None:
            return known
        newest = self._store.receipts(limit=1, lineage=lineage, before=None)
        native = newest[0].receipt.native if newest else None
        asked = frozenset(native.asked if native is not None else ())
        return asked | {"memory_tool"} if _calls_memory(conversation) else asked


def _calls_memory(conversation: Conversation) -> bool:
    return any(
        isinstance(block, ToolCall) and block.name == MEMORY
        for message in conversation.messages
        for block in message.blocks
    )


def _additions(conversation: Conversation, native: Native, asked: NativeAsked) -> Iterator[Addition]:
    """Write what is asked for; every value depends on the settings, the request's head and prices alone."""
    body = conversation.body
    if "memory_tool" in asked.asked:
        assert conversation.tools is not None  # it is declined where the client offers none
        yield element(body, conversation.tools, _MEMORY_TOOL)
    if "compaction" in asked.asked:
        compaction = {"type": "compaction", "compact_threshold": native.compaction_tokens}
        yield member(body, _FIELD, msgspec.json.encode([compaction]))
    if _EDITS & set(asked.asked):
        yield _edits_member(body, native, asked, conversation.head.tools)


def _edits_member(body: bytes, native: Native, asked: NativeAsked, tools: Sequence[str]) -> Addition:
    return member(body, _FIELD, msgspec.json.encode({"edits": list(_edits(native, asked, tools))}))


def _edits(native: Native, asked: NativeAsked, tools: Sequence[str]) -> Iterator[Mapping[str, object]]:
    """List Anthropic's edits in its own order."""
    if "clear_thinking" in asked.asked:
        turns = native.clear_thinking_keep
        kept = {"type": "thinking_turns", "value": turns}
        yield {"type": "clear_thinking_20251015", "keep": "all" if turns is None else kept}
    if "clear_tool_uses" in asked.asked:
        excluded = dict.fromkeys(native.exclude_tools)
        if "memory_tool" in asked.asked or MEMORY in tools:
            excluded[MEMORY] = None
        yield {
            "type": "clear_tool_uses_20250919",
            "trigger": {"type": "input_tokens", "value": native.clear_trigger_tokens},
            "keep": {"type": "tool_uses", "value": native.clear_keep},
            "clear_at_least": {"type": "input_tokens", "value": asked.clear_at_least_tokens},
        } | ({"exclude_tools": list(excluded)} if excluded else {})
    if "compact_threshold" in asked.asked:
        trigger = {"type": "input_tokens", "value": native.compact_threshold_tokens}
        yield {"type": "compact_20260112", "trigger": trigger}


def _betas(asked: NativeAsked) -> tuple[str, ...]:
    editing = (EDITING_BETA,) if _CLEARING & set(asked.asked) else ()
    return editing + ((COMPACT_BETA,) if "compact_threshold" in asked.asked else ())
