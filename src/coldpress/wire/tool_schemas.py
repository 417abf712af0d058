"""Find the schemas of the tools a request offers, and write changed ones in their places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from coldpress.model.conversation import Span
from coldpress.wire.format import Source
from coldpress.wire.registry import CALL_FORMATS, FormatName
from coldpress.wire.span import Misread, mask_lone_surrogates

Change = Callable[[str, object], object | None]
"""Takes a tool's name and its decoded schema, and gives the schema to send, or `None` for the one that stands there."""


@dataclass(frozen=True, slots=True)
class SchemaEdit:
    """A schema's JSON to put in the place of another.

    Attributes:
        span: where the client's schema stands.
        literal: compact JSON, keys in the order in which `change` gave them.
        tool: whose schema it is.
    """

    span: Span
    literal: bytes
    tool: str

    def moved(self, by_bytes: int) -> SchemaEdit:
        """The same edit in a body where the tools stand so much further on; for callers that keep edits of a list."""
        return SchemaEdit(Span(self.span.start + by_bytes, self.span.end + by_bytes), self.literal, self.tool)


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    schema: Span


def schema_edits(body: bytes, tools: Span, format_name: FormatName, change: Change) -> tuple[SchemaEdit, ...]:
    """Ask for every tool with an object schema of its own what to send instead.

    Never asked about: tools that the provider runs or defines (at Anthropic any with a `type` other than `custom`),
    custom tools with a grammar, tools without a name or a schema, and those whose JSON cannot be read without doubt.
    The result depends on the bytes of the list and on `change` alone.

    Args:
        body: the client's bytes.
        tools: where the list stands, from `Conversation.tools`.
        format_name: wire format of the request.
        change: is asked in the order of the list; what it gives must be writable as JSON.

    Returns:
        Edits in the order of the list; none where the list cannot be read, or on a wire outside `CALL_FORMATS`.
    """
    if format_name not in CALL_FORMATS:
        return ()
    raw = body[tools.start : tools.end]
    read = _elements(Source(raw, raw, tools.start), tools)
    if read is None:
        read = _elements(Source(raw, mask_lone_surrogates(raw), tools.start), tools)
    if read is None:
        return ()
    source, spans = read
    find = _anthropic_tool if format_name == "anthropic" else _chat_tool
    edits = [_edit(source, found, change) for span in spans if (found := _read_tool(source, span, find)) is not None]
    return tuple(edit for edit in edits if edit is not None)


def _elements(source: Source, tools: Span) -> tuple[Source, list[Span]] | None:
    try:
        return source, source.elements(tools)
    except Misread:
        return None


def _read_tool(source: Source, span: Span, find: Callable[[Source, dict[str, Span]], _Found | None]) -> _Found | None:
    if not source.is_object(span):
        return None
    try:
        return find(source, source.members(span))
    except Misread:
        return None


def _anthropic_tool(source: Source, fields: dict[str, Span]) -> _Found | None:
    if _kind(source, fields) not in (None, "custom"):
        return None
    return _named(source, fields, "input_schema")


def _chat_tool(source: Source, fields: dict[str, Span]) -> _Found | None:
    function = fields.get("function")
    if source.is_object(function):
        if _kind(source, fields) not in (None, "function"):
            return None
        return _named(source, source.members(function), "parameters")
    # The legacy `functions` list holds the functions themselves.
    return _named(source, fields, "parameters") if "type" not in fields else None


def _named(source: Source, fields: dict[str, Span], key: str) -> _Found | None:
    name, schema = source.string(fields.get("name")), fields.get(key)
    return _Found(name, schema) if name and source.is_object(schema) else None


def _kind(source: Source, fields: dict[str, Span]) -> object:
    return source.value(fields["type"]) if "type" in fields else None


def _edit(source: Source, found: _Found, change: Change) -> SchemaEdit | None:
    if source.masked(found.schema):
        return None  # decoded and written again it would say something else
    try:
        schema = source.value(found.schema)
    except Misread:
        return None
    changed = change(found.name, schema)
    return SchemaEdit(found.schema, msgspec.json.encode(changed), found.name) if changed is not None else None
