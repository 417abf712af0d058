"""Serve one inference request the way a provider would: check it, bill it, choose the scripted answer, write it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from coldpress.measure.cache import PrefixCache
from coldpress.measure.cache_rules import DEEPSEEK, OPENAI_STEPS
from coldpress.model.records import Miss
from coldpress.model.usage import Usage
from coldpress.testing.anthropic_rules import check_messages_request
from coldpress.testing.anthropic_usage import account
from coldpress.testing.anthropic_view import message_blocks
from coldpress.testing.anthropic_wire import (
    Answer,
    build_content,
    messages_document,
    messages_events,
    messages_output_tokens,
)
from coldpress.testing.chat_rules import check_chat_request
from coldpress.testing.chat_wire import (
    CacheFields,
    ChatAnswer,
    Dialect,
    build_message,
    chat_chunks,
    chat_document,
    chat_output_tokens,
)
from coldpress.testing.delivery import Written, write_document, write_stream
from coldpress.testing.jsonview import as_object, as_text, objects
from coldpress.testing.meter import Meter
from coldpress.testing.offered import offered_tools, resolve
from coldpress.testing.refusal import Refusal, WireFormat, refusal_for
from coldpress.testing.script import Aside, Asked, Delivery, Disconnect, HttpError, Say, Script, StopReason, Turn
from coldpress.testing.thinking import BINDING_BETA, ThinkingLedger, ThinkingVerdict

MIB = 1 << 20
_PLAIN = Delivery()
_DEEPSEEK_SECONDS = 12 * 3600.0
"""The provider promises hours to days."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a strict upstream enforces beyond the shape of requests.

    Attributes:
        check_signatures: verify thinking signatures. Off, recorded requests with foreign signatures are accepted.
        bind_thinking: refuse thinking whose prefix was changed, as the newest Claude models do.
        bind_reasoning: withhold reasoning items whose prefix or model was changed, as the newest GPT models do.
        require_key: answer 401 without an API key.
        max_body_bytes: larger bodies, compressed or not, are refused with 413.
        window_tokens: longer prompts are refused as too long.
        dialect: `deepseek` sends and demands `reasoning_content`, and reports hit and miss tokens.
        chat_cache: the prefix cache behind the chat wire; `None` for the dialect's usual one.
        cache_fields: what usage on the chat wire says of that cache.
    """

    check_signatures: bool = True
    bind_thinking: bool = False
    bind_reasoning: bool = False
    require_key: bool = False
    max_body_bytes: int = 32 * MIB
    window_tokens: int = 200_000
    dialect: Dialect = "openai"
    chat_cache: PrefixCache | None = None
    cache_fields: CacheFields = "usual"


@dataclass(frozen=True, slots=True)
class Served:
    """An answer to send. `close` asks for the connection to be closed without one."""

    status: int
    written: Written
    headers: tuple[tuple[str, str], ...] = ()
    delivery: Delivery = _PLAIN
    usage: Usage | None = None
    others: tuple[tuple[str, Usage], ...] = ()
    refusal: str | None = None
    close: bool = False


class Provider:
    """The scripted model behind both wires, with its caches, its signing key and its count of requests."""

    def __init__(self, script: Script, rules: Rules, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._script = script
        self._rules = rules
        self._ledger = ThinkingLedger(b"strict upstream", bind=rules.bind_thinking, check=rules.check_signatures)
        self._meter = Meter(clock, automatic=rules.chat_cache or _usual_cache(rules.dialect))
        self._reasoned: set[str] = set()

    def messages(self, body: Mapping[str, object], *, number: int, request_id: str, betas: str) -> Served:
        """Answer `POST /v1/messages`."""
        if (refusal := check_messages_request(body)) is not None:
            return refused(refusal, "anthropic", request_id)
        verdict = self._ledger.verify(body)
        if verdict.refusal is not None:
            return refused(verdict.refusal, "anthropic", request_id)
        tokens = self._meter.count_messages(body, dropped=verdict.dropped)
        if tokens > self._rules.window_tokens:
            message = f"prompt is too long: {tokens} tokens > {self._rules.window_tokens} maximum"
            return refused(Refusal(message), "anthropic", request_id)
        turn = self._choose(body, wire="anthropic", number=number)
        if isinstance(turn.fault, HttpError | Disconnect):
            return faulty(turn.fault, "anthropic", request_id)
        parts = turn.parts if body.get("max_tokens") != 0 else ()
        content = build_content(parts, number=number, body=body, verdict=verdict, ledger=self._ledger)
        stop_reason = _stop_reason(turn, called=any(block["type"] == "tool_use" for block in content))
        usage = replace(self._meter.messages(body, dropped=verdict.dropped), output=messages_output_tokens(content))
        answer = Answer(
            id=f"msg_{number:08d}",
            model=turn.aside.served_by or as_text(body.get("model")),
            content=content,
            stop_reason=stop_reason if parts else "max_tokens",
            told=account(usage, turn.aside),
            transformations=_transformations(verdict, turn.aside) if BINDING_BETA in betas else None,
            diagnostics=_diagnostics(turn.aside.miss) if isinstance(body.get("diagnostics"), dict) else None,
        )
        delivery = turn.delivery or Delivery()
        if body.get("stream") is True:
            events = messages_events(answer, delivery)
            written = write_stream(events, wire="anthropic", delivery=delivery, fault=turn.fault, request_id=request_id)
        else:
            plain = messages_document(answer, omit_usage=delivery.omit_usage)
            written = write_document(plain, delivery=delivery, fault=turn.fault)
        return Served(200, written, encoding_header(delivery), delivery, answer.told.own, answer.told.others)

    def count_tokens(self, body: Mapping[str, object], *, request_id: str) -> Served:
        """Answer `POST /v1/messages/count_tokens`."""
        if (refusal := check_messages_request(body, counting=True)) is not None:
            return refused(refusal, "anthropic", request_id)
        counted = {"input_tokens": self._meter.count_messages(body)}
        return Served(200, write_document(counted, delivery=Delivery(), fault=None))

    def chat(self, body: Mapping[str, object], *, number: int, request_id: str) -> Served:
        """Answer `POST .../chat/completions`."""
        refusal = check_chat_request(body) or self._check_reasoning(body) or self._check_chat_window(body)
        if refusal is not None:
            return refused(refusal, "openai_chat", request_id)
        turn = self._choose(body, wire="openai_chat", number=number)
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
            stop_reason=_stop_reason(turn, called=bool(calls)),
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

    def _choose(self, body: Mapping[str, object], *, wire: WireFormat, number: int) -> Turn:
        """Let the script choose, and turn its intents into calls of tools the client has."""
        tools = offered_tools(body)
        if wire == "anthropic":
            made = sum(any(p.kind == "tool_use" for p in blocks) for blocks in message_blocks(body))
        else:
            made = sum(bool(message.get("tool_calls")) for message in objects(body.get("messages")))
        asked = Asked(wire, body, number, made, tuple(tool.name for tool in tools))
        turn = self._script.choose(asked)
        try:
            return replace(turn, parts=tuple(resolve(part, tools) for part in turn.parts))
        except LookupError as missing:
            return replace(turn, parts=(Say(f"I cannot go on: {missing.args[0]}."),))

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


def refused(
    refusal: Refusal, wire: WireFormat, request_id: str, *, headers: tuple[tuple[str, str], ...] = ()
) -> Served:
    """Write a refusal in the shape of its wire."""
    written = Written("application/json", (refusal.body(wire, request_id),), breaks=False)
    return Served(refusal.status, written, headers, refusal=refusal.message)


def decode_json(raw: bytes) -> Mapping[str, object] | Refusal:
    """Read a request body, or give the refusal of one that is no JSON object."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        return Refusal(f"The request body is not valid JSON: {error}")
    return as_object(value) if isinstance(value, dict) else Refusal("The request body must be a JSON object.")


def faulty(fault: HttpError | Disconnect, wire: WireFormat, request_id: str) -> Served:
    """Answer a request as its scripted fault says."""
    if isinstance(fault, Disconnect):
        return Served(0, Written("", (), breaks=True), close=True, refusal="connection closed without an answer")
    headers = () if fault.retry_after_seconds is None else (("retry-after", str(fault.retry_after_seconds)),)
    return refused(
        refusal_for(fault.status, wire, message=fault.message, kind=fault.kind), wire, request_id, headers=headers
    )


def _transformations(verdict: ThinkingVerdict, aside: Aside) -> list[dict[str, str]]:
    scripted = [
        {"type": kind, "path": f"messages.1.content.{place}", "reason": reason}
        for place, (kind, reason) in enumerate(aside.transformations)
    ]
    return verdict.transformations + scripted


def _diagnostics(miss: Miss | None) -> dict[str, object] | None:
    if miss is None:
        return None
    tokens = {} if miss.tokens is None else {"cache_missed_input_tokens": miss.tokens}
    return {"cache_miss_reason": {"type": miss.reason, **tokens}}


def _stop_reason(turn: Turn, *, called: bool) -> StopReason:
    return turn.stop_reason or ("tool_use" if called else "end_turn")


def encoding_header(delivery: Delivery) -> tuple[tuple[str, str], ...]:
    """Name how the answer's body is compressed."""
    return (("content-encoding", "gzip"),) if delivery.gzip else ()


def _usual_cache(dialect: Dialect) -> PrefixCache:
    if dialect == "deepseek":
        return PrefixCache(DEEPSEEK, short_seconds=_DEEPSEEK_SECONDS)
    return PrefixCache(OPENAI_STEPS)
