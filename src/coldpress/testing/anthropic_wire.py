"""Write a scripted turn as a Messages answer: one JSON document, or the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from coldpress.measure.tokens import estimate
from coldpress.testing.anthropic_usage import Account, account_fields, closing_fields, usage_fields
from coldpress.testing.jsonview import as_object, as_text
from coldpress.testing.script import Call, Delivery, Part, Say, StopReason, Think
from coldpress.testing.thinking import ThinkingLedger, ThinkingVerdict


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished answer.

    Attributes:
        transformations: `None` where the client did not ask to see them.
        diagnostics: why the cache was missed, `None` where there is nothing to tell.
        asked_diagnostics: the client asked for them.
        applied_edits: what was cleared from the prompt, `None` where the request has no `context_management`.
    """

    id: str
    model: str
    content: tuple[Mapping[str, object], ...]
    stop_reason: StopReason | Literal["compaction"]
    told: Account
    transformations: Sequence[Mapping[str, str]] | None
    diagnostics: Mapping[str, object] | None = None
    asked_diagnostics: bool = False
    applied_edits: Sequence[Mapping[str, object]] | None = None


def build_content(
    parts: Sequence[Part], *, number: int, body: Mapping[str, object], verdict: ThinkingVerdict, ledger: ThinkingLedger
) -> tuple[Mapping[str, object], ...]:
    """Make the content blocks, with signatures and with ids that depend on the request's number only.

    Thinking is left out where the request does not ask for it, and has no text where it asks for `display: "omitted"`.
    """
    thinking = as_object(body.get("thinking"))
    blocks: list[Mapping[str, object]] = []
    for place, part in enumerate(parts):
        match part:
            case Say(text):
                blocks.append({"type": "text", "text": text})
            case Think(text) if thinking.get("type") in ("enabled", "adaptive"):
                shown = "" if thinking.get("display") == "omitted" else text
                blocks.append({"type": "thinking", "thinking": shown, "signature": ledger.sign(text, verdict.prefix)})
            case Call(tool, arguments):
                identifier = f"toolu_{number:08d}_{place:02d}"
                blocks.append({"type": "tool_use", "id": identifier, "name": tool, "input": dict(arguments)})
            case _:
                continue
    ledger.remember(blocks)
    return tuple(blocks)


def messages_output_tokens(content: Sequence[Mapping[str, object]]) -> int:
    """Tokens of an answer."""
    return sum(
        estimate(
            as_text(b.get("text"))
            or as_text(b.get("thinking"))
            or as_text(b.get("content"))
            or json.dumps(b.get("input", ""))
        )
        for b in content
    )


def messages_document(answer: Answer, *, omit_usage: bool) -> dict[str, object]:
    """Write the answer as one JSON document."""
    return {
        **_envelope(answer, content=list(answer.content), stop_reason=answer.stop_reason),
        **({} if omit_usage else {"usage": account_fields(answer.told)}),
        **_applied(answer),
    }


def messages_events(answer: Answer, delivery: Delivery) -> list[tuple[str, dict[str, object]]]:
    """Write the answer as named stream events, in order."""
    opening = _envelope(answer, content=[], stop_reason=None)
    if not delivery.omit_usage:
        opening["usage"] = {**usage_fields(answer.told.opening), "output_tokens": 1}
    listed = [_event("message_start", message=opening), _event("ping")]
    for index, block in enumerate(answer.content):
        start, deltas = _block_stream(block, delivery.delta_characters)
        listed.append(_event("content_block_start", index=index, content_block=start))
        listed += [_event("content_block_delta", index=index, delta=delta) for delta in deltas]
        listed.append(_event("content_block_stop", index=index))
    closing: dict[str, object] = {"delta": {"stop_reason": answer.stop_reason, "stop_sequence": None}}
    if not delivery.omit_usage:
        closing["usage"] = closing_fields(answer.told)
    return [*listed, _event("message_delta", **closing, **_applied(answer)), _event("message_stop")]


def _applied(answer: Answer) -> dict[str, object]:
    if answer.applied_edits is None:
        return {}
    return {"context_management": {"applied_edits": list(answer.applied_edits)}}


def _envelope(answer: Answer, *, content: list[Mapping[str, object]], stop_reason: str | None) -> dict[str, object]:
    envelope: dict[str, object] = {
        "id": answer.id,
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
    }
    if answer.transformations is not None:
        envelope["input_transformations"] = list(answer.transformations)
    if answer.diagnostics is not None or answer.asked_diagnostics:
        envelope["diagnostics"] = answer.diagnostics
    return envelope


def _event(name: str, **fields: object) -> tuple[str, dict[str, object]]:
    return name, {"type": name, **fields}


def _block_stream(block: Mapping[str, object], size: int) -> tuple[dict[str, object], list[dict[str, object]]]:
    """Give the block a stream opens with, and the deltas that fill it."""
    match block.get("type"):
        case "text":
            pieces = _cut(as_text(block.get("text")), size)
            return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]
        case "thinking":
            pieces = _cut(as_text(block.get("thinking")), size)
            deltas: list[dict[str, object]] = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
            deltas.append({"type": "signature_delta", "signature": block.get("signature")})
            return {**block, "thinking": "", "signature": ""}, deltas
        case "compaction":
            delta = {key: block.get(key) for key in ("content", "encrypted_content")}
            return {**block, "content": None, "encrypted_content": None}, [{"type": "compaction_delta", **delta}]
        case _:
            pieces = ["", *_cut(json.dumps(block.get("input"), ensure_ascii=False), size)]
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


def _cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
