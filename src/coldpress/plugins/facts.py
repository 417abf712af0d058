"""What the driver tells of a request, a call and a reply, and what plugins wanted: the values between both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from coldpress.model.identity import EditKey
from coldpress.model.plugins import PluginNote
from coldpress.model.usage import Usage


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """One tool that a request offers.

    Attributes:
        name: as the client calls it.
        schema: gives its decoded JSON schema, `None` where it has none that may be changed.
    """

    name: str
    schema: Callable[[], object]


@dataclass(frozen=True, slots=True)
class ResultFacts:
    """One text of one tool result.

    Attributes:
        key: its name.
        tool: the tool's name, empty where its call is missing.
        first_sight: whether no model has seen it yet, so that it may be edited.
        failed: the wire's own flag, `None` where the format has none.
        text: gives the client's own text. It is called at most once for each plugin that asks.
        arguments: gives the JSON text that the tool was called with.
    """

    key: EditKey
    tool: str
    first_sight: bool
    failed: bool | None
    text: Callable[[], str]
    arguments: Callable[[], str]


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """One request; nothing in it costs anything before a plugin asks.

    Attributes:
        model: as the client names it, `None` where it names none.
        provider: where the request goes.
        format: the wire format.
        harness: the client's product name, `None` where it gives none.
        lineage: the conversation's name, as in the ledger.
        turn: how many replies of the model the request holds.
        tools: gives the tools it offers, in order.
        results: gives every text of every tool result, in order.
        last_user_text: gives the last text of a user, empty where there is none.
    """

    model: str | None
    provider: str
    format: str
    harness: str | None
    lineage: str
    turn: int
    tools: Callable[[], tuple[ToolFacts, ...]]
    results: Callable[[], tuple[ResultFacts, ...]]
    last_user_text: Callable[[], str]


@dataclass(frozen=True, slots=True)
class CallFacts:
    """One call in a reply.

    Attributes:
        tool: the tool's name.
        call_id: as the provider names the call.
        arguments: JSON text, as the client would get it.
        model: as the client named it on the request.
        provider: where the reply comes from.
        lineage: the conversation's name.
    """

    tool: str
    call_id: str
    arguments: str
    model: str | None
    provider: str
    lineage: str


@dataclass(frozen=True, slots=True)
class ReplySummary:
    """How a request ended; holds no text of the conversation, so that it needs no capability.

    Attributes:
        request_id: as in the ledger.
        model: as the client named it, `None` where it named none.
        provider: where the request went.
        format: the wire format.
        lineage: the conversation's name, as in the ledger.
        status: HTTP status, `None` where no answer came.
        ended: how the exchange closed, as in the ledger: `complete`, `client_gone` and so on.
        duration_seconds: from the request to the end of the reply.
        usage: tokens that the provider reported; a number that it did not report is `None`, not 0.
        calls: names of the tools that the model called, in order.
        stop: why the model stopped, in the provider's own word; `None` where the reply does not say.
    """

    request_id: str
    model: str | None
    provider: str
    format: str
    lineage: str
    status: int | None
    ended: str
    duration_seconds: float
    usage: Usage = field(default_factory=Usage)
    calls: tuple[str, ...] = ()
    stop: str | None = None


@dataclass(frozen=True, slots=True)
class PluginEdits:
    """What all plugins together want of one request.

    Attributes:
        results: the text for a result and the plugin that wants it; of several, joined with `+`, the last one's text.
        schemas: the schema for a tool, by its name, and the plugin that wants it, likewise. Plain JSON values.
        notes: one for each hook that ran.
    """

    results: Mapping[EditKey, tuple[str, str]] = field(default_factory=dict)
    schemas: Mapping[str, tuple[object, str]] = field(default_factory=dict)
    notes: tuple[PluginNote, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is to be edited."""
        return bool(self.results or self.schemas)
