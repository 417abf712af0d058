"""Continue an agent's own request with a question of ours, so that the provider reads the agent's cache for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import msgspec

from coldpress.model.conversation import Conversation, Message, Span, ToolCall, ToolResult
from coldpress.wire.format import Source
from coldpress.wire.marks import read_marks
from coldpress.wire.registry import FormatName
from coldpress.wire.span import Misread, mask_lone_surrogates, splice

_WRITTEN: Final = frozenset({"anthropic", "openai_chat"})
_MOST_MARKS: Final = 4
_LIMIT_KEYS: Final = ("max_completion_tokens", "max_tokens")

FEWEST_OUTPUT_TOKENS: Final = 1_024
"""Under a lower limit of the agent's no summary comes to its end."""

_FREE_CHOICES: Final = (None, "auto", "none")
_FREE_FORMS: Final = (None, "text")


@dataclass(frozen=True, slots=True)
class Continuation:
    """An agent's request with our question at its end.

    Attributes:
        format: its wire format.
        body: its bytes; up to the end of the last message kept those of the agent, but for `stream`.
        model: the agent's.
        max_output_tokens: the limit it asks for, `None` where it names none.
    """

    format: FormatName
    body: bytes = field(repr=False)
    model: str
    max_output_tokens: int | None


@dataclass(frozen=True, slots=True)
class _Change:
    span: Span
    literal: bytes


def asked_to_summarise(conversation: Conversation, *, stop: int, request: str) -> Continuation:
    """Cut a request behind a message and put one more user message there, with what we ask.

    Nothing else is changed, since tools, reasoning settings and limits decide what the provider has cached, or whether
    it takes the request: only `stream` becomes false, and `stream_options`, which stands beside it, null. At Anthropic
    our message gets a cache mark where fewer than four are left, so that the entry of an earlier request is found
    behind which the agent's own marks have moved on.

    Args:
        conversation: the request as it was sent, standing edits and all: its spans must be those of the sent bytes.
        stop: how many messages stay, at least one.
        request: what is asked; not empty.

    Raises:
        ValueError: the cut would part a call from its result, `stop` is no number of messages of this request, or the
            request forces its answer into a form in which no summary can be: a tool must be called, a schema followed,
            it ends at a stop sequence or after a few tokens, or there are several answers.
        Misread: the request cannot be read, or names no model.

    A model that leaves old reasoning out of a prompt once a user speaks again (Claude before Opus 4.5, by default)
    reads the cache up to the first such reasoning only.
    """
    messages = conversation.messages
    if conversation.format not in _WRITTEN:
        raise ValueError(f"no request for a summary can be written in the format {conversation.format}")
    if not 1 <= stop <= len(messages):
        raise ValueError(f"stop is {stop}; it must be 1 to {len(messages)}, the messages of the request")
    if not request.strip():
        raise ValueError("the request for a summary is empty")
    if _parts_a_call(messages[:stop]):
        raise ValueError(f"a cut behind message {stop} parts a call from its result")
    fields, source = _top_level(conversation.body)
    model = source.string(fields.get("model"))
    if not model:
        raise Misread("the request names no model")
    hindrance = _hindrance(source, fields)
    if hindrance:
        raise ValueError(f"the request {hindrance}, so no summary can be its answer; ask with a request of its own")
    changes = [_ask(conversation, stop, request)]
    for key, literal in (("stream", b"false"), ("stream_options", b"null")):
        if key in fields and source.raw(fields[key]) != literal:
            changes.append(_Change(fields[key], literal))
    body = splice(conversation.body, sorted(changes, key=lambda change: change.span.start))
    return Continuation(conversation.format, body, model, _limit(source, fields))


def _top_level(body: bytes) -> tuple[dict[str, Span], Source]:
    try:
        return _members(Source(body, body))
    except Misread:
        return _members(Source(body, mask_lone_surrogates(body)))


def _members(source: Source) -> tuple[dict[str, Span], Source]:
    begin = len(source.text) - len(source.text.lstrip())
    return source.members(Span(begin, len(source.text.rstrip()))), source


def _parts_a_call(kept: tuple[Message, ...]) -> bool:
    """Whether a call of the last turn kept has no result among the messages kept."""
    start = next((i for i in range(len(kept) - 1, -1, -1) if kept[i].role == "assistant"), None)
    if start is None:
        return False
    while start and kept[start - 1].role == "assistant":
        start -= 1
    blocks = [block for message in kept[start:] for block in message.blocks]
    calls = sum(isinstance(block, ToolCall) for block in blocks)
    return calls != sum(isinstance(block, ToolResult) and block.call is not None for block in blocks)


def _ask(conversation: Conversation, stop: int, request: str) -> _Change:
    content: object = request
    if conversation.format == "anthropic":
        block: dict[str, object] = {"type": "text", "text": request}
        marks = read_marks(conversation)
        if marks is not None and sum(mark.message is None or mark.message < stop for mark in marks) < _MOST_MARKS:
            block["cache_control"] = {"type": "ephemeral"}
        content = [block]
    message = msgspec.json.encode({"role": "user", "content": content})
    messages = conversation.messages
    return _Change(Span(messages[stop - 1].span.end, messages[-1].span.end), b"," + message)


def _hindrance(source: Source, fields: dict[str, Span]) -> str:
    """Say what of a request keeps a summary from being its answer; empty where nothing does."""

    def given(key: str) -> object:
        return source.value(fields[key]) if key in fields else None

    if any(_kind(given(key)) not in _FREE_CHOICES for key in ("tool_choice", "function_call")):
        return "has a tool_choice that forces a call"
    config = given("output_config")
    form = config.get("format") if isinstance(config, dict) else None
    if any(_kind(value) not in _FREE_FORMS for value in (given("response_format"), given("output_format"), form)):
        return "sets the form of the answer"
    if given("n") not in (None, 1):
        return "asks for several answers"
    if given("stop") or given("stop_sequences"):
        return "has stop sequences"
    limit = _limit(source, fields)
    return f"allows {limit} tokens of output" if limit is not None and limit < FEWEST_OUTPUT_TOKENS else ""


def _kind(value: object) -> object:
    """What a choice says: its word, or the `type` of an object; one without a type is named by what it is."""
    return value.get("type", "object") if isinstance(value, dict) else value


def _limit(source: Source, fields: dict[str, Span]) -> int | None:
    for key in _LIMIT_KEYS:
        if key in fields:
            value = source.value(fields[key])
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return None
