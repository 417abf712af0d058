"""Read a whole reply that we asked for ourselves: its text, how it ended, and what it is billed for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

import msgspec

from coldpress.wire.registry import FormatName
from coldpress.wire.span import Misread
from coldpress.wire.sse import TapResult, UsageTap

Ending = Literal["complete", "cut", "refused", "other"]

_ENDINGS: Final[dict[str, Ending]] = {
    "end_turn": "complete",
    "stop_sequence": "complete",
    "stop": "complete",
    "eos": "complete",
    "max_tokens": "cut",
    "length": "cut",
    "model_context_window_exceeded": "cut",
    "refusal": "refused",
    "content_filter": "refused",
    "sensitive": "refused",
}
"""Words of Anthropic (anthropic 2.14.0 `StopReason`), OpenAI (openai 3.57.0 `finish_reason`) and servers like it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reply says.

    Attributes:
        text: all of its text; empty where it has none.
        ending: `cut` at a limit, `refused` by the model or a filter, `other` where it called a tool, was paused, or
            does not say.
        facts: the model and the bill.
    """

    text: str = field(repr=False)
    ending: Ending
    facts: TapResult


class _Block(msgspec.Struct):
    type: str | None = None
    text: str | None = None


class _Message(msgspec.Struct):
    content: str | list[_Block] | None = None
    refusal: str | None = None
    tool_calls: list[msgspec.Raw] | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Messages(msgspec.Struct):
    content: list[_Block]
    stop_reason: str | None = None


class _Chat(msgspec.Struct):
    choices: list[_Choice]


_MESSAGES: Final = msgspec.json.Decoder(_Messages)
_CHAT: Final = msgspec.json.Decoder(_Chat)


def read_facts(format_name: FormatName, body: bytes) -> TapResult:
    """Read what a reply is billed for, whatever else it holds; what it does not say stays unknown."""
    tap = UsageTap(format_name, "application/json")
    tap.feed(body)
    return tap.end()


def read_answer(format_name: FormatName, body: bytes) -> Answer:
    """Read a reply that did not come as a stream.

    Args:
        format_name: of the request.
        body: the whole reply, its content encoding undone.

    Raises:
        Misread: it is no reply of this format.
    """
    facts = read_facts(format_name, body)
    try:
        if format_name == "anthropic":
            return _from_messages(_MESSAGES.decode(body), facts)
        return _from_chat(_CHAT.decode(body), facts)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Misread(f"no reply in the {format_name} format") from error


def _from_messages(reply: _Messages, facts: TapResult) -> Answer:
    calls = any(block.type == "tool_use" for block in reply.content)
    return Answer(_joined(reply.content), _ending(reply.stop_reason, calls=calls), facts)


def _from_chat(reply: _Chat, facts: TapResult) -> Answer:
    if not reply.choices:
        return Answer("", "other", facts)
    choice = reply.choices[0]
    content = choice.message.content
    text = content if isinstance(content, str) else _joined(content or [])
    ending = _ending(choice.finish_reason, calls=bool(choice.message.tool_calls))
    return Answer(text, "refused" if choice.message.refusal else ending, facts)


def _joined(blocks: list[_Block]) -> str:
    return "".join(block.text for block in blocks if block.type == "text" and block.text is not None)


def _ending(word: str | None, *, calls: bool) -> Ending:
    found = _ENDINGS.get(word or "", "other")
    return "other" if calls and found == "complete" else found
