"""Write a scripted turn as a Gemini answer: one document, or the chunks of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from coldpress.measure.tokens import estimate
from coldpress.model.usage import Usage
from coldpress.testing.gemini_signatures import Signatures, follow
from coldpress.testing.gemini_view import CALL, SIGNATURE, Part
from coldpress.testing.jsonview import as_text
from coldpress.testing.script import Call, Say, StopReason, Think
from coldpress.testing.script import Part as Scripted

_FINISH: Final[Mapping[StopReason, str]] = {"max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}


@dataclass(frozen=True, slots=True)
class GeminiAnswer:
    """A finished answer.

    Attributes:
        id: of the response.
        model: that gave it.
        parts: as they are written, signatures included.
        stop_reason: why it ended.
        usage: what was billed, `output` included.
        tool_prompt_tokens: of `usage.fresh`, what tools on the server's side put into the prompt.
        enclosed: whether it goes in the envelope of Code Assist.
    """

    id: str
    model: str
    parts: tuple[Mapping[str, object], ...]
    stop_reason: StopReason
    usage: Usage
    tool_prompt_tokens: int = 0
    enclosed: bool = False

    @property
    def blocked(self) -> bool:
        """Whether the prompt was refused: there is no candidate at all."""
        return self.stop_reason == "refusal" and not self.parts


def build_parts(
    said: Sequence[Scripted], signatures: Signatures, prefix: bytes, *, thoughts: bool
) -> tuple[Mapping[str, object], ...]:
    """Give the parts of an answer: calls have no ids, and of several only the first is signed.

    Args:
        said: what the model says and calls, with intents already resolved.
        signatures: sign what was thought.
        prefix: names all that stands before.
        thoughts: whether the request asks to be told what the model thinks.
    """
    parts: list[Mapping[str, object]] = []
    thought = called = False
    for one in said:
        match one:
            case Say(text):
                written: dict[str, object] = {"text": text}
            case Think(text):
                thought = True
                if not thoughts:
                    continue
                written = {"text": text, "thought": True}
            case Call():
                written = {CALL: {"name": one.tool, "args": dict(one.arguments)}}
            case _:
                raise TypeError(f"{one!r} is no call of a tool the client offers: resolve it first")
        part = Part("", "model", written)
        if (CALL in written and not called) or "thought" in written:
            written = {**written, SIGNATURE: signatures.sign(part, prefix)}
        called = called or CALL in written
        prefix = follow(prefix, part.shown)
        parts.append(written)
    if thought and parts and not called and SIGNATURE not in parts[-1]:
        # What was thought before a text is signed behind it, on a part of its own that says nothing.
        parts.append({"text": "", SIGNATURE: signatures.sign(Part("", "model", {"text": ""}), prefix)})
    return tuple(parts)


def output_usage(said: Sequence[Scripted]) -> Usage:
    """Tokens of an answer; what was thought counts whether or not it is told."""
    thought = sum(estimate(one.text) for one in said if isinstance(one, Think))
    text = sum(estimate(one.text) for one in said if isinstance(one, Say))
    calls = sum(estimate(f"{one.tool} {dict(one.arguments)}") for one in said if isinstance(one, Call))
    return Usage(output=thought + text + calls, reasoning=thought)


def gemini_document(answer: GeminiAnswer, *, omit_usage: bool) -> dict[str, object]:
    """Write the answer as one JSON document."""
    usage = None if omit_usage else _usage_fields(answer, answer.usage.output or 0)
    if answer.blocked:
        return _document(answer, {"promptFeedback": {"blockReason": "SAFETY"}}, usage)
    return _document(answer, {"candidates": [_candidate(answer.parts, _finish(answer))]}, usage)


def gemini_chunks(answer: GeminiAnswer, *, omit_usage: bool, characters: int) -> list[dict[str, object]]:
    """Write the answer as chunks, each a whole response; counts are those so far, and the last chunk says why it ends.

    Args:
        answer: to write.
        omit_usage: leave the counts out.
        characters: how much text one chunk holds; calls come whole.
    """
    if answer.blocked:
        return [gemini_document(answer, omit_usage=omit_usage)]
    pieces = list(_cut(answer.parts, characters)) or [{"text": ""}]
    thought, output = answer.usage.reasoning or 0, answer.usage.output or 0
    chunks = []
    for number, piece in enumerate(pieces, start=1):
        last = number == len(pieces)
        so_far = output if last else thought + (output - thought) * number // len(pieces)
        candidate = _candidate([piece], _finish(answer) if last else None)
        usage = None if omit_usage else _usage_fields(answer, so_far)
        chunks.append(_document(answer, {"candidates": [candidate]}, usage))
    return chunks


def _document(
    answer: GeminiAnswer, held: Mapping[str, object], usage: Mapping[str, object] | None
) -> dict[str, object]:
    counted = {} if usage is None else {"usageMetadata": usage}
    written = {**held, **counted, "modelVersion": answer.model, "responseId": answer.id}
    return {"response": written, "traceId": f"trace_{answer.id}"} if answer.enclosed else written


def _candidate(parts: Sequence[Mapping[str, object]], finish: str | None) -> dict[str, object]:
    ended = {} if finish is None else {"finishReason": finish}
    return {"content": {"parts": list(parts), "role": "model"}, **ended, "index": 0}


def _finish(answer: GeminiAnswer) -> str:
    return _FINISH.get(answer.stop_reason, "STOP")


def _usage_fields(answer: GeminiAnswer, output: int) -> dict[str, object]:
    """Write counts as Google does: cached tokens are inside the prompt's, thoughts beside the candidates', no zeros."""
    usage, thought = answer.usage, answer.usage.reasoning or 0
    prompt = (usage.prompt or 0) - answer.tool_prompt_tokens
    counts = {
        "promptTokenCount": prompt,
        "candidatesTokenCount": output - thought,
        "totalTokenCount": prompt + answer.tool_prompt_tokens + output,
        "cachedContentTokenCount": usage.read or 0,
        "toolUsePromptTokenCount": answer.tool_prompt_tokens,
        "thoughtsTokenCount": thought,
    }
    return {name: count for name, count in counts.items() if count}


def _cut(parts: Sequence[Mapping[str, object]], characters: int) -> Iterator[Mapping[str, object]]:
    for part in parts:
        text = as_text(part.get("text"))
        if SIGNATURE in part or not text:
            yield part  # what is signed comes whole, so that it can be kept whole
            continue
        for start in range(0, len(text), characters):
            yield {**part, "text": text[start : start + characters]}
