"""Write a scripted turn as the items and the document of a Responses answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from coldpress.measure.tokens import estimate
from coldpress.model.usage import Usage
from coldpress.testing.jsonview import as_array, as_object, as_text
from coldpress.testing.offered import Offered
from coldpress.testing.responses_reasoning import ReasoningLedger
from coldpress.testing.responses_view import Item, follow_prefix, kind_of, plain_text
from coldpress.testing.script import Call, Part, Say, StopReason, Think

CREATED: Final = 1_767_225_600
_INCOMPLETE: Final[Mapping[StopReason, str]] = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}
_ECHOED: Final[Mapping[str, object]] = {
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
}
"""Fields of a request that its answer repeats, and what stands there where the request says nothing."""


@dataclass(frozen=True, slots=True)
class ResponsesAnswer:
    """A finished answer.

    Attributes:
        id: of the response.
        body: the request it answers.
        output: its items, whole.
        stop_reason: why it ended.
        usage: what was billed, `output` included.
        transformations: reasoning that was withheld from the model.
        diagnostics: of the prompt cache, where the request asks for them.
    """

    id: str
    body: Mapping[str, object]
    output: tuple[Item, ...]
    stop_reason: StopReason
    usage: Usage
    transformations: tuple[Mapping[str, object], ...] = ()
    diagnostics: Mapping[str, object] | None = None

    @property
    def status(self) -> str:
        """What the document says of the answer."""
        return "incomplete" if self.stop_reason in _INCOMPLETE else "completed"


def build_output(
    parts: Sequence[Part],
    *,
    number: int,
    body: Mapping[str, object],
    tools: Sequence[Offered],
    ledger: ReasoningLedger,
    prefix: bytes,
    first: int = 0,
) -> tuple[Item, ...]:
    """Give the items of an answer; their ids depend on the request's number only.

    Args:
        parts: what the model says and calls, with intents already resolved.
        number: of the request.
        body: the request.
        tools: what it offers; a call is written the way its tool is offered.
        ledger: seals the reasoning.
        prefix: names all that stands before the first of these items.
        first: how many items of the answer stand before them.
    """
    output: list[Item] = []
    for place, part in enumerate(_merged(parts), start=first):
        tag = f"{number:08d}_{place:02d}"
        match part:
            case Say(text):
                item = _message(f"msg_{tag}", text)
            case Think(text):
                sealed = ledger.seal(f"rs_{tag}", text, model=as_text(body.get("model")), prefix=prefix)
                told = as_object(body.get("reasoning")).get("summary") is not None
                summary = [{"type": "summary_text", "text": text}] if told else []
                item = {"id": f"rs_{tag}", "type": "reasoning", "summary": summary, "encrypted_content": sealed}
            case Call():
                item = _call(part, tag, tools)
            case _:
                raise TypeError(f"{part!r} is no call of a tool the client offers: resolve it first")
        output.append(item)
        prefix = follow_prefix(prefix, item, ledger.opened)
    return tuple(output)


def output_usage(output: Sequence[Item], ledger: ReasoningLedger) -> Usage:
    """Tokens of an answer's items; reasoning counts by what was thought, not by its summary."""
    reasoning = sum(estimate(ledger.opened(item)) for item in output if kind_of(item) == "reasoning")
    sealed = sum(estimate(ledger.opened(item)) for item in output if kind_of(item) == "compaction")
    said = sum(estimate(plain_text(item) or _asked(item)) for item in output)
    return Usage(output=reasoning + sealed + said, reasoning=reasoning)


def usage_fields(usage: Usage) -> dict[str, object]:
    """Write usage: what was read and what was written are inside the prompt's tokens."""
    prompt, output = usage.prompt or 0, usage.output or 0
    details: dict[str, object] = {
        "cached_tokens": usage.read or 0,
        "cache_write_tokens": (usage.write_short or 0) + (usage.write_long or 0),
    }
    if usage.write_long is not None:
        lives = {"ttl_30m_tokens": usage.write_short or 0, "ttl_12h_tokens": usage.write_long}
        details["cache_write_tokens_details"] = lives
    return {
        "input_tokens": prompt,
        "input_tokens_details": details,
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
        "total_tokens": prompt + output,
    }


def response_document(answer: ResponsesAnswer, *, omit_usage: bool) -> dict[str, object]:
    """Write the finished answer as one JSON document."""
    reason = _INCOMPLETE.get(answer.stop_reason)
    completed = {} if reason else {"completed_at": CREATED + 1}
    return {
        **_envelope(answer, answer.status),
        **completed,
        "incomplete_details": {"reason": reason} if reason else None,
        "output": list(answer.output),
        "usage": None if omit_usage else usage_fields(answer.usage),
        **({"input_transformations": list(answer.transformations)} if answer.transformations else {}),
        **({"prompt_cache_diagnostics": answer.diagnostics} if answer.diagnostics is not None else {}),
    }


def unfinished_document(answer: ResponsesAnswer) -> dict[str, object]:
    """Write the answer as a stream announces it: in progress, with nothing in it."""
    return {**_envelope(answer, "in_progress"), "incomplete_details": None, "output": [], "usage": None}


def _envelope(answer: ResponsesAnswer, status: str) -> dict[str, object]:
    echoed = {name: answer.body.get(name, usual) for name, usual in _ECHOED.items()}
    opening = {"id": answer.id, "object": "response", "created_at": CREATED, "status": status, "error": None}
    return {**opening, "model": answer.body.get("model"), **echoed}


def _merged(parts: Sequence[Part]) -> list[Part]:
    """Texts behind each other are one message."""
    merged: list[Part] = []
    for part in parts:
        if isinstance(part, Say) and merged and isinstance(merged[-1], Say):
            merged[-1] = Say(merged[-1].text + part.text)
        else:
            merged.append(part)
    return merged


def _message(identifier: str, text: str) -> dict[str, object]:
    content = [{"type": "output_text", "annotations": [], "logprobs": [], "text": text}]
    return {"id": identifier, "type": "message", "status": "completed", "role": "assistant", "content": content}


def _call(part: Call, tag: str, tools: Sequence[Offered]) -> dict[str, object]:
    offered = next((tool for tool in tools if tool.name == part.tool), Offered(part.tool, {}))
    call_id = f"call_{tag}"
    arguments = dict(part.arguments)
    match offered.kind:
        case "custom":
            text = next((value for value in arguments.values() if isinstance(value, str)), "")
            item: dict[str, object] = {"id": f"ctc_{tag}", "type": "custom_tool_call", "status": "completed"}
            item |= {"call_id": call_id, "name": part.tool, "input": as_text(arguments.get("input")) or text}
        case "shell":
            commands = as_array(arguments.get("commands")) or [arguments.get("command")]
            action: dict[str, object] = {"commands": list(commands), "timeout_ms": None, "max_output_length": None}
            item = {
                "id": f"sh_{tag}",
                "type": "shell_call",
                "status": "completed",
                "call_id": call_id,
                "action": action,
            }
        case "local_shell":
            action = {"type": "exec", "command": list(as_array(arguments.get("command"))), "env": {}}
            item = {"id": f"lsh_{tag}", "type": "local_shell_call", "status": "completed"}
            item |= {"call_id": call_id, "action": action}
        case "apply_patch":
            item = {"id": f"apc_{tag}", "type": "apply_patch_call", "status": "completed"}
            item |= {"call_id": call_id, "operation": arguments}
        case "function":
            item = {"id": f"fc_{tag}", "type": "function_call", "status": "completed", "call_id": call_id}
            item |= {"name": part.tool, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return item | ({"namespace": offered.namespace} if offered.namespace else {})


def _asked(item: Item) -> str:
    """What a call without arguments of its own asks for."""
    asked = item.get("action") or item.get("operation")
    return json.dumps(asked, ensure_ascii=False) if asked else ""
