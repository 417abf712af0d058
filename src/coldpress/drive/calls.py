"""Send tool schemas and earlier calls otherwise than the client wrote them, and turn new calls back on their way to it.

The client never meets what is added here. So everything is named by its own bytes: a schema by its JSON, a call by the
conversation it stands in, its id, its tool and the arguments that the client got.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import msgspec

from coldpress.config.plugin_settings import PluginSettings
from coldpress.drive.calls_on_the_way import CallWork, OnTheWay
from coldpress.drive.exchange import Inbound
from coldpress.drive.extensions import Extensions
from coldpress.drive.memory import Recent
from coldpress.drive.receipts import lineage_of, root_of
from coldpress.engine.binding import binds, signs_calls
from coldpress.engine.session import RestoredCall
from coldpress.engine.tool_arguments import call_key, unpacked
from coldpress.engine.tool_schemas import ReasonField, ToolShape, shaped
from coldpress.model.conversation import Conversation, Span, ToolCall
from coldpress.model.kept import Kept
from coldpress.model.records import Operation
from coldpress.plugins import CallFacts
from coldpress.stores.base import Store
from coldpress.wire.registry import CALL_FORMATS
from coldpress.wire.tool_schemas import SchemaEdit, schema_edits

log = logging.getLogger(__name__)

MOST_TOOL_SETS: Final = 64
"""Sets of tools whose schemas are remembered as they are sent."""

AS_GIVEN: Final = "as given"
"""Kept in the place of a call that was sent as the client wrote it."""

MOST_ON_THE_WAY: Final = 10_000
"""Replies whose calls are turned back at one time."""


Schemas = Mapping[str, tuple[object, str]]
"""What plugins want for tools: by the tool's name a schema, and whose wish it is."""

NO_SCHEMAS: Final[Schemas] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ToolSet:
    """The tools of a request as they are sent.

    Attributes:
        edits: of the schemas, in a body whose list of tools begins at `start`.
        shapes: what was done to each tool, by its name: how its calls are turned back.
        start: in bytes.
    """

    edits: tuple[SchemaEdit, ...] = ()
    shapes: Mapping[str, ToolShape] = field(default_factory=dict)
    start: int = 0

    def at(self, start: int) -> ToolSet:
        """The same in a body where the list begins elsewhere."""
        return ToolSet(tuple(edit.moved(start - self.start) for edit in self.edits), self.shapes, start)


NO_CALL_WORK: Final = CallWork()


class Calls:
    """Works on requests of many conversations; safe to use from any thread.

    Args:
        settings: of the plugins `intent` and `schema_translator`.
        store: where calls are kept as the model wrote them.
        extensions: the plugins of other packages.
    """

    def __init__(self, settings: PluginSettings, store: Store, extensions: Extensions) -> None:
        asks = settings.is_on("intent") and settings.intent.mode == "capture"
        self._reason = ReasonField(settings.intent.field_name) if asks else None
        self._translate = settings.is_on("schema_translator")
        self._store = store
        self._extensions = extensions
        self._is_on = asks or self._translate
        self._sets: Recent[bytes, ToolSet] = Recent(MOST_TOOL_SETS)
        self._on_the_way: Recent[str, OnTheWay] = Recent(MOST_ON_THE_WAY)

    def work(self, conversation: Conversation, operation: Operation, schemas: Schemas = NO_SCHEMAS) -> CallWork:
        """Say what is sent otherwise in a request; reads the store.

        While draining too: what was added to the tools stands at the very front of the cached prefix.

        Args:
            conversation: the request.
            operation: only `press` and `drain` send anything otherwise.
            schemas: what plugins want for tools, by name, each with the plugin's name.

        Raises:
            StoreError: the store cannot be read.
        """
        if not self._is_wanted(operation, schemas) or conversation.head.stateful:
            return NO_CALL_WORK
        if conversation.format not in CALL_FORMATS:
            return NO_CALL_WORK
        if binds(conversation.head.model):
            return NO_CALL_WORK  # what stands in the history of such a model stays as it is, and so does its head
        found = self._tool_set(conversation, schemas)
        restored, intents = self._restored(conversation)
        return CallWork(found.edits, restored, intents, found.shapes, scope_of(conversation))

    def leaves(self, conversation: Conversation, operation: Operation, schemas: Schemas = NO_SCHEMAS) -> bool:
        """Whether something was to be sent otherwise, and is not since nobody can do so on this wire."""
        return conversation.format not in CALL_FORMATS and self._is_wanted(operation, schemas)

    def _is_wanted(self, operation: Operation, schemas: Schemas) -> bool:
        is_on = self._is_on or bool(schemas) or self._extensions.looks_at_calls
        return is_on and operation in ("press", "drain")

    def on_the_way(self, inbound: Inbound, conversation: Conversation, work: CallWork) -> OnTheWay | None:
        """Give what turns the calls of the reply back; `None` where none has to be looked at.

        On a wire outside `CALL_FORMATS` it is only told which tools were called.
        """
        looks = self._extensions.looks_at_calls and work.is_on
        if not (looks or self._extensions.looks_at_ends or any(map(_is_watched, work.shapes.values()))):
            return None
        about = CallFacts("", "", "", conversation.head.model, inbound.provider, lineage_of(conversation))
        found = OnTheWay(work, self._store, ask=self._extensions.call if looks else None, about=about)
        self._on_the_way.note(inbound.request_id, found)
        return found

    def ended(self, request_id: str) -> OnTheWay | None:
        """Give the calls of a reply that is over, once; `None` where they were not looked at."""
        return self._on_the_way.pop(request_id, None)

    def _tool_set(self, conversation: Conversation, schemas: Schemas) -> ToolSet:
        """Shape the schemas of a request's tools, once per distinct bytes."""
        span = conversation.tools
        if span is None:
            return ToolSet()
        wanted = msgspec.json.encode([*schemas.items()]) if schemas else b""
        signs = b"signs" if signs_calls(conversation.head.model) else b""
        name = b"\0".join((conversation.format.encode(), signs, conversation.body[span.start : span.end], wanted))
        found = self._sets.get(name)
        if found is None or found.start != span.start:
            # The list stands at the same place on every request of most clients, so that nothing is to be moved.
            found = self._shaped(conversation, span, schemas) if found is None else found.at(span.start)
            self._sets.note(name, found)
        return found

    def _shaped(self, conversation: Conversation, span: Span, schemas: Schemas) -> ToolSet:
        shapes: dict[str, ToolShape] = {}
        mixed: set[str] = set()
        # A call that is not found again would go out with a signature that belongs to other arguments.
        reason = None if signs_calls(conversation.head.model) else self._reason

        def change(name: str, schema: object) -> object | None:
            given = schemas[name][0] if name in schemas else None
            asked, translate = (None, False) if name in mixed else (reason, self._translate)
            changed, shape = shaped(name, schema if given is None else given, reason=asked, translate=translate)
            if shapes.setdefault(name, shape) != shape:
                mixed.add(name)
            return given if changed is None else changed

        edits = schema_edits(conversation.body, span, conversation.format, change)
        if mixed:  # of tools with one name nobody can tell which a call is for, so they go out as they are
            shapes.clear()
            edits = schema_edits(conversation.body, span, conversation.format, change)
        return ToolSet(edits, MappingProxyType(shapes), span.start)

    def _restored(self, conversation: Conversation) -> tuple[tuple[RestoredCall, ...], dict[int, str]]:
        """Find the calls of new messages that were kept as the model wrote them.

        All others go out as the client wrote them, and that stands: whatever is kept later, by whom ever, what was sent
        once is sent again.
        """
        calls = [
            (index, block)
            for index in range(conversation.known, len(conversation.messages))
            for block in conversation.messages[index].blocks
            if isinstance(block, ToolCall) and block.arguments is not None
        ]
        scopes = {index: scope_of(conversation, index) for index, _ in calls}
        keys = [call_key(scopes[index], call.id, call.name, conversation.arguments(call)) for index, call in calls]
        kept = self._store.kept(keys) if keys else {}
        self._store.keep([Kept(key, "call", AS_GIVEN) for key in keys if key not in kept])
        restored: list[RestoredCall] = []
        intents: dict[int, str] = {}
        for (index, call), key in zip(calls, keys, strict=True):
            written = unpacked(kept[key].text) if key in kept else None
            if written is None or call.arguments is None:
                continue
            if written.intent is not None:
                intents[call.arguments.start] = written.intent
            literal = _literal(written.arguments, call)
            if literal is not None and literal != conversation.body[call.arguments.start : call.arguments.end]:
                restored.append(RestoredCall(call.arguments, literal, index))
        return tuple(restored), intents


def scope_of(conversation: Conversation, index: int | None = None) -> str:
    """Name the place of a reply: by the reply in front of it, and all that stands before that one.

    What clients put behind a reply, and take away again later, plays no part in it.

    Args:
        conversation: the request.
        index: of a message of the reply; `None` for the reply to this request.
    """
    messages = conversation.messages
    at = len(messages) if index is None else index
    while at > 0 and messages[at - 1].role == "assistant":
        at -= 1
    before = next((one for one in reversed(messages[:at]) if one.role == "assistant"), None)
    return before.chain.hex() if before is not None else root_of(conversation).hex()


def _literal(arguments: str, call: ToolCall) -> bytes | None:
    """Write a call's arguments as they stand in a request; `None` where half a character keeps them from it."""
    try:
        return msgspec.json.encode(arguments) if call.quoted else arguments.encode()
    except UnicodeEncodeError:
        return None


def _is_watched(shape: ToolShape) -> bool:
    """Whether the calls of a tool have to be looked at as they come."""
    return shape.changes_calls or shape.reason == "native"
