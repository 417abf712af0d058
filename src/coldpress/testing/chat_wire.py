"""Write a scripted turn as a Chat Completions answer: one JSON document, or the chunks of a stream."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from coldpress.measure.tokens import estimate
from coldpress.model.usage import Usage
from coldpress.testing.script import Call, Part, Say, StopReason, Think

Dialect = Literal["openai", "deepseek"]
CacheFields = Literal["usual", "own", "none"]
"""What usage says of the cache: all fields of the dialect, DeepSeek's two without OpenAI's details, or nothing."""

_CREATED = 1_767_225_600
_FINISH: Mapping[StopReason, str] = {
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """A finished answer. `reasoning` is sent by the DeepSeek dialect only."""

    id: str
    model: str
    text: str
    reasoning: str
    calls: tuple[Mapping[str, object], ...]
    stop_reason: StopReason
    usage: Usage
    dialect: Dialect
    cache_fields: CacheFields = "usual"


def build_message(parts: Sequence[Part], *, number: int) -> tuple[str, str, tuple[Mapping[str, object], ...]]:
    """Give text, reasoning and tool calls; ids depend on the request's number only."""
    text = "".join(part.text for part in parts if isinstance(part, Say))
    reasoning = "".join(part.text for part in parts if isinstance(part, Think))
    calls = tuple(
        {
            "id": f"call_{number:08d}_{place:02d}",
            "type": "function",
            "function": {"name": part.tool, "arguments": json.dumps(dict(part.arguments), ensure_ascii=False)},
        }
        for place, part in enumerate(parts)
        if isinstance(part, Call)
    )
    return text, reasoning, calls


def chat_output_tokens(text: str, reasoning: str, calls: Sequence[Mapping[str, object]]) -> int:
    """Tokens of an answer."""
    return estimate(text) + estimate(reasoning) + sum(estimate(json.dumps(call["function"])) for call in calls)


def usage_fields(answer: ChatAnswer) -> dict[str, object]:
    """Write usage the OpenAI way: cached tokens are inside the prompt's; DeepSeek adds its own two fields."""
    usage = answer.usage
    prompt, output, read = usage.prompt or 0, usage.output or 0, usage.read or 0
    fields: dict[str, object] = {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
    }
    if answer.cache_fields == "usual":
        fields["prompt_tokens_details"] = {"cached_tokens": read}
    if answer.dialect == "deepseek" and answer.cache_fields != "none":
        fields |= {"prompt_cache_hit_tokens": read, "prompt_cache_miss_tokens": usage.fresh or 0}
    return fields


def chat_document(answer: ChatAnswer, *, omit_usage: bool) -> dict[str, object]:
    """Write the answer as one JSON document."""
    message: dict[str, object] = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = list(answer.calls)
    if answer.dialect == "deepseek" and answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(answer)}
    written: dict[str, object] = {**_envelope(answer, kind="chat.completion"), "choices": [choice]}
    return written if omit_usage else {**written, "usage": usage_fields(answer)}


def chat_chunks(answer: ChatAnswer, *, with_usage: bool, delta_characters: int = 60) -> list[dict[str, object]]:
    """Write the answer as stream chunks, in order; the closing `[DONE]` is the caller's."""
    deltas: list[dict[str, object]] = [{"role": "assistant", "content": ""}]
    if answer.dialect == "deepseek":
        deltas += [{"reasoning_content": piece} for piece in _cut(answer.reasoning, delta_characters)]
    deltas += [{"content": piece} for piece in _cut(answer.text, delta_characters)]
    for index, call in enumerate(answer.calls):
        function = call["function"]
        assert isinstance(function, dict)
        opening = {"index": index, "id": call["id"], "type": "function"}
        deltas.append({"tool_calls": [{**opening, "function": {"name": function["name"], "arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in _cut(function["arguments"], delta_characters)
        ]
    envelope = _envelope(answer, kind="chat.completion.chunk")
    listed = [{**envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    listed.append({**envelope, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(answer)}]})
    if with_usage:
        listed.append({**envelope, "choices": [], "usage": usage_fields(answer)})
    return listed


def _envelope(answer: ChatAnswer, *, kind: str) -> dict[str, object]:
    return {"id": answer.id, "object": kind, "created": _CREATED, "model": answer.model}


def _finish(answer: ChatAnswer) -> str:
    return _FINISH.get(answer.stop_reason, "stop")


def _cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
