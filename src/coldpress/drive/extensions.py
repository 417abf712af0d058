"""Tell the plugins of other packages of a request, its calls and its end, and take up what they want."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from coldpress.config.plugin_settings import PluginSettings
from coldpress.drive.exchange import Inbound
from coldpress.drive.memory import Recent
from coldpress.drive.receipts import lineage_of
from coldpress.engine.first_sight import Offered
from coldpress.engine.injected import is_nobodys
from coldpress.engine.plan import Place, places
from coldpress.model.conversation import Conversation, Text
from coldpress.model.edits import Standing
from coldpress.model.identity import EditKey
from coldpress.model.plugins import PluginNote
from coldpress.model.records import Outcome
from coldpress.plugins import CallFacts, PluginEdits, Plugins, ReplySummary, RequestFacts, ResultFacts, ToolFacts
from coldpress.wire.tool_schemas import schema_edits

log = logging.getLogger(__name__)

SMALLEST_BYTES: Final = 3
"""A plugin may care for the shortest text; an empty one has two bytes, its quotes."""

MOST_OPEN: Final = 10_000
"""Requests whose end plugins are told of."""


class Extensions:
    """The plugins of other packages, as the driver asks them; safe to use from any thread.

    Args:
        settings: which plugins are on, and what was approved.
    """

    def __init__(self, settings: PluginSettings) -> None:
        self._plugins = Plugins(settings)
        self._open: Recent[str, ReplySummary] = Recent(MOST_OPEN)
        for warning in self._plugins.warnings:
            log.warning("plugin not used", extra={"why": warning})

    @property
    def looks_at_requests(self) -> bool:
        """Whether any plugin is asked about requests: that may take long, and belongs into a thread."""
        return self._plugins.wants_requests

    @property
    def looks_at_calls(self) -> bool:
        """Whether any plugin is asked about calls."""
        return self._plugins.wants_calls

    @property
    def looks_at_ends(self) -> bool:
        """Whether any plugin is told how requests end."""
        return self._plugins.wants_replies

    def totals(self, kept: object) -> dict[str, object]:
        """Add what each plugin is doing now to the ledger's sums of it, by the plugin's name."""
        found = dict(kept) if isinstance(kept, dict) else {}
        for one in self._plugins.totals():
            row = found.get(one.plugin)
            found[one.plugin] = {**(row if isinstance(row, dict) else {}), "state": one.state, "why": one.why}
        return found

    def before(self, inbound: Inbound, conversation: Conversation, known: Mapping[EditKey, Standing]) -> PluginEdits:
        """Ask about a request; blocks for as long as the settings let plugins take.

        Args:
            inbound: the request as it came.
            conversation: as it was read.
            known: decisions made earlier on texts in its new messages.
        """
        if self._plugins.wants_replies:
            self._open.note(inbound.request_id, _opened(inbound, conversation))
        if not self._plugins.wants_requests:
            return PluginEdits()
        return self._plugins.before_request(_facts(inbound, conversation, known))

    def call(self, facts: CallFacts, told: Callable[[PluginNote], None]) -> str | None:
        """Ask about a call; gives other arguments, `None` to leave them. Blocks as `before` does."""
        return self._plugins.on_tool_call(facts, told=told)

    def after(self, outcome: Outcome, called: tuple[str, ...]) -> None:
        """Tell how a request ended, and which tools the model called; never blocks."""
        summary = self._open.pop(outcome.request_id, None)
        if summary is not None:
            ended = replace(
                summary,
                status=outcome.status,
                ended=outcome.ended,
                duration_seconds=outcome.duration_seconds,
                usage=outcome.usage,
                calls=called,
                stop=outcome.stop,
            )
            self._plugins.after_response(ended)

    def close(self) -> None:
        """Tell no more ends of requests."""
        self._plugins.close()


def offered(edits: PluginEdits) -> dict[EditKey, Offered]:
    """Put what plugins want of results in the terms of the rules."""
    return {key: Offered(text, plugin) for key, (text, plugin) in edits.results.items()}


def _facts(inbound: Inbound, conversation: Conversation, known: Mapping[EditKey, Standing]) -> RequestFacts:
    return RequestFacts(
        model=conversation.head.model,
        provider=inbound.provider,
        format=conversation.format,
        harness=inbound.harness,
        lineage=lineage_of(conversation),
        turn=sum(message.role == "assistant" for message in conversation.messages),
        tools=functools.partial(_tools, conversation),
        results=functools.partial(_results, conversation, known),
        last_user_text=functools.partial(_last_user_text, conversation),
    )


def _tools(conversation: Conversation) -> tuple[ToolFacts, ...]:
    found: list[ToolFacts] = []

    def take(name: str, schema: object) -> None:
        found.append(ToolFacts(name, lambda: schema))

    if conversation.tools is not None:
        schema_edits(conversation.body, conversation.tools, conversation.format, take)
    return tuple(found)


def _results(conversation: Conversation, known: Mapping[EditKey, Standing]) -> tuple[ResultFacts, ...]:
    first_new = max(conversation.known, conversation.last_assistant + 1)
    return tuple(
        ResultFacts(
            key=place.key,
            tool=place.result.call.name if place.result.call is not None else "",
            first_sight=place.message >= first_new and place.key not in known,
            failed=place.result.failed,
            text=functools.partial(conversation.text, place.literal),
            arguments=functools.partial(_arguments, conversation, place),
        )
        for place in places(conversation, smallest=SMALLEST_BYTES, first=0)
        if place.literal.readable
    )


def _arguments(conversation: Conversation, place: Place) -> str:
    return conversation.arguments(place.result.call) if place.result.call is not None else "{}"


def _last_user_text(conversation: Conversation) -> str:
    for message in reversed(conversation.messages):
        for block in reversed(message.blocks if message.role == "user" else ()):
            if isinstance(block, Text) and block.literal.readable:
                text = conversation.text(block.literal)
                if not is_nobodys(text):
                    return text
    return ""


def _opened(inbound: Inbound, conversation: Conversation) -> ReplySummary:
    """Begin to say how a request ends; its body is not held for that."""
    return ReplySummary(
        request_id=inbound.request_id,
        model=conversation.head.model,
        provider=inbound.provider,
        format=conversation.format,
        lineage=lineage_of(conversation),
        status=None,
        ended="",
        duration_seconds=0.0,
    )
