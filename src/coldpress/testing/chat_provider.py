"""Serve one Chat Completions request the way a provider would: check it, bill it, write the scripted answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from coldpress.testing.chat_rules import check_chat_request
from coldpress.testing.chat_wire import ChatAnswer, build_message, chat_chunks, chat_document, chat_output_tokens
from coldpress.testing.delivery import write_document, write_stream
from coldpress.testing.jsonview import as_object, as_text, objects
from coldpress.testing.meter import Meter
from coldpress.testing.offered import offered_tools
from coldpress.testing.refusal import Refusal
from coldpress.testing.script import Asked, Delivery, Disconnect, HttpError, Script, Turn
from coldpress.testing.served import Rules, Served, choose, encoding_header, faulty, refused, stop_reason


class ChatProvider:
    """The scripted model behind the chat wire, and the reasoning it wants back."""

    def __init__(self, script: Script, rules: Rules, meter: Meter) -> None:
        self._script = script
        self._rules = rules
        self._meter = meter
        self._reasoned: set[str] = set()

    def chat(self, body: Mapping[str, object], *, number: int, request_id: str) -> Served:
        """Answer `POST .../chat/completions`."""
        refusal = check_chat_request(body) or self._check_reasoning(body) or self._check_chat_window(body)
        if refusal is not None:
            return refused(refusal, "openai_chat", request_id)
        turn = self._choose(body, number=number)
        if isinstance(turn.fault, HttpError | Disconnect):
            return faulty(turn.fault, "openai_chat", request_id)
        text, reasoning, calls = build_message(turn.parts, number=number)
        if self._rules.dialect != "deepseek":
            reasoning = ""
        if reasoning:
            self._reasoned.update(as_text(call["id"]) for call in calls)
        output = chat_output_tokens(text, reasoning, calls)
        answer = ChatAnswer(
            id=f"chatcmpl-{number:08d}",
            model=as_text(body.get("model")),
            text=text,
            reasoning=reasoning,
            calls=calls,
            stop_reason=stop_reason(turn, called=bool(calls)),
            usage=replace(self._meter.chat(body), output=output),
            dialect=self._rules.dialect,
            cache_fields=self._rules.cache_fields,
        )
        delivery = turn.delivery or Delivery()
        if body.get("stream") is True:
            asked = as_object(body.get("stream_options")).get("include_usage") is True
            chunks = chat_chunks(
                answer, with_usage=asked and not delivery.omit_usage, delta_characters=delivery.delta_characters
            )
            written = write_stream(
                [("", chunk) for chunk in chunks],
                wire="openai_chat",
                delivery=delivery,
                fault=turn.fault,
                request_id=request_id,
            )
        else:
            plain = chat_document(answer, omit_usage=delivery.omit_usage)
            written = write_document(plain, delivery=delivery, fault=turn.fault)
        return Served(200, written, encoding_header(delivery), delivery, answer.usage)

    def _choose(self, body: Mapping[str, object], *, number: int) -> Turn:
        tools = offered_tools(body)
        made = sum(bool(message.get("tool_calls")) for message in objects(body.get("messages")))
        asked = Asked("openai_chat", body, number, made, tuple(tool.name for tool in tools))
        return choose(self._script, asked, tools)

    def _check_chat_window(self, body: Mapping[str, object]) -> Refusal | None:
        tokens = self._meter.count_chat(body)
        if tokens <= self._rules.window_tokens:
            return None
        return Refusal(
            f"This model's maximum context length is {self._rules.window_tokens} tokens. However, your messages "
            f"resulted in {tokens} tokens. Please reduce the length of the messages.",
            param="messages",
            code="context_length_exceeded",
        )

    def _check_reasoning(self, body: Mapping[str, object]) -> Refusal | None:
        """DeepSeek wants the reasoning of tool-calling turns back."""
        for message in objects(body.get("messages")):
            ids = {as_text(call.get("id")) for call in objects(message.get("tool_calls"))}
            if ids & self._reasoned and not message.get("reasoning_content"):
                return Refusal("The `reasoning_content` in the thinking mode must be passed back to the API.")
        return None
