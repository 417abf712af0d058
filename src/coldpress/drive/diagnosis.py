"""Ask a provider why its cache was missed, where the settings switch that on: two members beside a client's own.

Anthropic compares a request with the one whose reply is named in `diagnostics.previous_message_id` (`null` on the first
one, so that there is something to compare the next one with). OpenAI compares with the response that
`prompt_cache_options.comparison_response_id` names, on Responses and for the models that take these options, gpt-5.6
and later (openai 3.57.0). Where the client asks by itself, the answer is about what it asked and nothing is added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from coldpress.drive.beside import NOTHING, Beside
from coldpress.drive.exchange import Inbound
from coldpress.measure.cache_rules import OPENAI_MARKS, rules_for
from coldpress.model.conversation import Conversation, Span
from coldpress.model.native import Declined, NativeAsked, Primitive
from coldpress.wire.addition import Addition, member
from coldpress.wire.format import Source, top_level
from coldpress.wire.span import Misread

BETA: Final = "cache-diagnosis-2026-04-07"
DIAGNOSTICS: Final[Primitive] = "diagnostics"

_OPTIONS: Final = "prompt_cache_options"
_COMPARED: Final = "comparison_response_id"
_MOST_CHARACTERS: Final = 200
"""Of a reply's name; real ones have some 30 to 70."""

LastReply = Callable[[Inbound, Conversation], str | None]
"""Names the reply before a request, as its provider does; `None` where that is not known."""


class Diagnosis:
    """Says what to add to requests so that their replies tell why a cache was missed; safe to use from any thread.

    Args:
        is_on: whether the settings switch it on for a provider of this name.
        last_reply: what to compare with.
    """

    def __init__(self, is_on: Callable[[str], bool], last_reply: LastReply) -> None:
        self._is_on = is_on
        self._last_reply = last_reply

    def beside(self, inbound: Inbound, conversation: Conversation) -> Beside:
        """Give what goes beside the client's own fields; nothing where the settings do not switch it on.

        The caller keeps requests out that may not be changed: those under `off`, `observe` and `drain`, and those whose
        server holds a history of its own.
        """
        if not self._is_on(inbound.provider):
            return NOTHING
        if conversation.head.stateful:
            return _declined("stateful")
        last = self._last_reply(inbound, conversation)
        if last is not None and not (last.isascii() and last.isprintable() and len(last) <= _MOST_CHARACTERS):
            last = None
        try:
            match conversation.format:
                case "anthropic":
                    return _anthropic(conversation, last)
                case "openai_responses":
                    return _responses(conversation, inbound.provider, last)
                case _:
                    return _declined("format")
        except Misread:
            return _declined("unreadable")


def is_question(addition: Addition) -> bool:
    """Whether an addition only asks for a diagnosis, which is no part of the prompt."""
    text = addition.literal.lstrip(b",")
    return text.startswith((f'"{DIAGNOSTICS}":'.encode(), f'"{_COMPARED}":'.encode(), f'"{_OPTIONS}":'.encode()))


def _anthropic(conversation: Conversation, last: str | None) -> Beside:
    if DIAGNOSTICS in _members(conversation)[1]:
        return _declined("client")
    value = msgspec.json.encode({"previous_message_id": last})
    return _asked(member(conversation.body, DIAGNOSTICS, value), (BETA,))


def _responses(conversation: Conversation, provider: str, last: str | None) -> Beside:
    model = conversation.head.model
    if model is None or rules_for(model, provider) is not OPENAI_MARKS:
        return _declined("model")
    if last is None:
        return _declined("first_request")
    source, fields = _members(conversation)
    name = msgspec.json.encode(last)
    span = fields.get(_OPTIONS)
    if span is None:
        return _asked(member(conversation.body, _OPTIONS, b'{"%s":%s}' % (_COMPARED.encode(), name)))
    if not source.is_object(span) or _COMPARED in source.members(span):
        return _declined("client")
    comma = b"," if source.members(span) else b""
    end = _in_body(conversation, span.end) - 1
    return _asked(Addition(Span(end, end), comma + b'"%s":%s' % (_COMPARED.encode(), name)))


def _members(conversation: Conversation) -> tuple[Source, dict[str, Span]]:
    """Locate the members of a body without its messages, in a text that leaves those out.

    Raises:
        Misread: it is no object, or repeats a key.
    """
    messages, body = conversation.messages, conversation.body
    if not messages:
        return top_level(body)
    return top_level(body[: messages[0].span.start] + body[messages[-1].span.end :])


def _in_body(conversation: Conversation, place: int) -> int:
    """Turn a place in the text without messages into one in the body."""
    messages = conversation.messages
    if not messages or place <= messages[0].span.start:
        return place
    return place + messages[-1].span.end - messages[0].span.start


def _asked(addition: Addition, betas: tuple[str, ...] = ()) -> Beside:
    return Beside((addition,), betas, NativeAsked(asked=(DIAGNOSTICS,)))


def _declined(why: str) -> Beside:
    return Beside(asked=NativeAsked(declined=(Declined(DIAGNOSTICS, why),)))
