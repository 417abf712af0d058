"""Refuse what the Gemini API refuses: unknown fields, empty turns, calls and answers that do not match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from coldpress.testing.gemini_view import ABOUT, ANSWER, CALL, DATA, SIGNATURE, Content, Part, camel, contents_of
from coldpress.testing.jsonview import as_object, as_text, objects
from coldpress.testing.refusal import Refusal

_ROLES: Final = ("user", "model", "function")
_FIELDS: Final = frozenset(
    (
        *("model", "contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig"),
        *("cachedContent", "labels", "serviceTier", "store", "session_id"),
    )
)
_SAME_NUMBER: Final = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)


def check_gemini_request(request: Mapping[str, object]) -> Refusal | None:
    """Give the first rule a request breaks, or `None`. Sizes and signatures are checked elsewhere.

    Args:
        request: without an envelope, in camel case.
    """
    for rule in _RULES:
        if (refusal := rule(request)) is not None:
            return refusal
    return None


def _check_fields(request: Mapping[str, object]) -> Refusal | None:
    unknown = [name for name in request if name not in _FIELDS]
    if unknown:
        return Refusal(f'Invalid JSON payload received. Unknown name "{unknown[0]}": Cannot find field.')
    if not objects(request.get("contents")):
        return Refusal("* GenerateContentRequest.contents: contents is not specified\n")
    if request.get("cachedContent") is not None:
        return Refusal("CachedContent not found (or permission denied)", status=403)
    return None


def _check_turns(request: Mapping[str, object]) -> Refusal | None:
    for content in contents_of(request):
        where = f"* GenerateContentRequest.{content.path}"
        if content.role not in _ROLES:
            return Refusal("Please use a valid role: user, model.")
        if not content.parts:
            return Refusal(f"{where}.parts: contents.parts must not be empty.\n")
        for part in content.parts:
            if (refusal := _check_part(part)) is not None:
                return refusal
    return None


def _check_part(part: Part) -> Refusal | None:
    unknown = [name for name in part.fields if name not in DATA and name not in ABOUT]
    if unknown:
        return _unknown(unknown[0], part.path)
    if len(part.data) > 1:
        return Refusal(f"Invalid value at '{part.path}' (oneof), oneof field 'data' is already set. Cannot set twice.")
    if not part.data:
        return Refusal(
            f"* GenerateContentRequest.{part.path}.data: required oneof field 'data' must have one initialized field\n"
        )
    kind = part.data[0]
    if kind in ("text", SIGNATURE) and not isinstance(part.fields[kind], str):
        return Refusal(f"Invalid value at '{part.path}.text' (TYPE_STRING)")
    if kind not in (CALL, ANSWER):
        return None
    inner = as_object(part.fields[kind])
    snake = "function_call" if kind == CALL else "function_response"
    if not as_text(inner.get("name")):
        return Refusal(f"* GenerateContentRequest.{part.path}.{snake}.name: Name cannot be empty.\n")
    held = "args" if kind == CALL else "response"
    if held in inner and not isinstance(inner[held], dict):
        return Refusal(f"Invalid value at '{part.path}.{snake}.{held}' (type.googleapis.com/google.protobuf.Struct)")
    return _check_answer(inner, part) if kind == ANSWER else None


def _check_answer(answer: Mapping[str, object], part: Part) -> Refusal | None:
    if "response" not in answer:
        return Refusal(f"* GenerateContentRequest.{part.path}.function_response.response: required field is not set\n")
    for inner in objects(answer.get("parts")):
        if not {"inlineData", "fileData"} & set(camel(inner)):
            return _unknown(next(iter(inner), ""), f"{part.path}.function_response.parts")
    return None


def _check_pairs(request: Mapping[str, object]) -> Refusal | None:
    """The turn behind one with calls answers them all and nothing else; answers stand nowhere but there."""
    contents = contents_of(request)
    for place, content in enumerate(contents):
        calls, answers = content.holding(CALL), content.holding(ANSWER)
        before = contents[place - 1] if place else None
        if calls and content.role != "model":
            return Refusal("Please ensure that function call turn is a turn of the model.")
        if calls and (before is None or before.role == "model"):
            return Refusal(
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            )
        if answers and (before is None or not before.holding(CALL)):
            return Refusal("Please ensure that function response turn comes immediately after a function call turn.")
        if calls:
            after = contents[place + 1].holding(ANSWER) if place + 1 < len(contents) else []
            if (refusal := _check_answered(calls, after)) is not None:
                return refusal
    return None


def _check_answered(calls: Sequence[Part], answers: Sequence[Part]) -> Refusal | None:
    """As many answers as calls, to the same functions; ids, where both sides have them, say the same."""
    if len(calls) != len(answers):
        return Refusal(_SAME_NUMBER)
    if Counter(part.called for part in calls) != Counter(_named(part, "name") for part in answers):
        return Refusal(
            "Please ensure that function response names are equal to the names of the function call parts they answer."
        )
    called = Counter(as_text(as_object(part.fields[CALL]).get("id")) for part in calls)
    answered = Counter(_named(part, "id") for part in answers)
    if "" not in called and "" not in answered and called != answered:
        return Refusal("Please ensure that function response ids are equal to the ids of the function call parts.")
    return None


def _named(answer: Part, field: str) -> str:
    return as_text(as_object(answer.fields[ANSWER]).get(field))


def _unknown(name: str, path: str) -> Refusal:
    return Refusal(f"Invalid JSON payload received. Unknown name \"{name}\" at '{path}': Cannot find field.")


def last_turn(contents: Sequence[Content]) -> int:
    """Index of the newest turn in which the user says something: from there on the model is in one turn of its own."""
    said = [n for n, turn in enumerate(contents) if turn.role == "user" and len(turn.holding(ANSWER)) < len(turn.parts)]
    return said[-1] if said else 0


_RULES: tuple[Callable[[Mapping[str, object]], Refusal | None], ...] = (_check_fields, _check_turns, _check_pairs)
