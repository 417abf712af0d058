"""See a Gemini request as the provider does: its turns and parts, and what of each the model is shown."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from coldpress.testing.jsonview import as_object, as_text, objects

CALL: Final = "functionCall"
ANSWER: Final = "functionResponse"
SIGNATURE: Final = "thoughtSignature"

MEDIA: Final = ("inlineData", "fileData")
DATA: Final = ("text", CALL, ANSWER, *MEDIA, "executableCode", "codeExecutionResult", "toolCall", "toolResponse")
"""What a part can be; it is exactly one of them."""

ABOUT: Final = (SIGNATURE, "thought", "videoMetadata", "mediaResolution", "partMetadata")
"""What else a part may say of itself."""

_SNAKE: Final[Mapping[str, str]] = {
    "function_call": CALL,
    "function_response": ANSWER,
    "thought_signature": SIGNATURE,
    "inline_data": "inlineData",
    "file_data": "fileData",
    "executable_code": "executableCode",
    "code_execution_result": "codeExecutionResult",
    "system_instruction": "systemInstruction",
    "generation_config": "generationConfig",
    "tool_config": "toolConfig",
    "safety_settings": "safetySettings",
    "cached_content": "cachedContent",
    "thinking_config": "thinkingConfig",
    "include_thoughts": "includeThoughts",
    "function_declarations": "functionDeclarations",
}
"""The API takes either spelling of a field."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a turn.

    Attributes:
        path: where it stands, in the words of Google's errors.
        role: of its turn.
        fields: as sent, in camel case.
    """

    path: str
    role: str
    fields: Mapping[str, object]

    @property
    def data(self) -> list[str]:
        """Which kinds of data it holds; one, unless it is wrong."""
        return [name for name in self.fields if name in DATA]

    @property
    def called(self) -> str:
        """The function that it calls; empty where it calls none."""
        return as_text(as_object(self.fields.get(CALL)).get("name"))

    @property
    def shown(self) -> str:
        """What the model reads of it; ids and signatures play no part, a picture stands here as its digest."""
        call, answer = as_object(self.fields.get(CALL)), as_object(self.fields.get(ANSWER))
        if call:
            return f"call {call.get('name')} {compact(as_object(call.get('args')))}"
        if answer:
            media = "".join(_digest(compact(part)) for part in objects(answer.get("parts")))
            return f"result {answer.get('name')} {compact(as_object(answer.get('response')))}{media}"
        if "text" in self.fields:
            return f"{self.role}: {as_text(self.fields['text'])}"
        return f"{self.role}: {_digest(compact(self.fields))}"

    @property
    def media(self) -> int:
        """How many pictures and files it holds."""
        inside = objects(as_object(self.fields.get(ANSWER)).get("parts"))
        return sum(name in camel(part) for part in (self.fields, *inside) for name in MEDIA)


@dataclass(frozen=True, slots=True)
class Content:
    """One turn: who speaks, and its parts."""

    path: str
    role: str
    parts: tuple[Part, ...]

    def holding(self, name: str) -> list[Part]:
        """Its parts that hold this kind of data."""
        return [part for part in self.parts if name in part.fields]


def camel(fields: Mapping[str, object]) -> Mapping[str, object]:
    """Give an object's fields by their names in camel case; unknown names stay."""
    return {_SNAKE.get(name, name): value for name, value in fields.items()}


def contents_of(request: Mapping[str, object]) -> list[Content]:
    """List the turns of a request; one without a role is the user's."""
    found = []
    for place, given in enumerate(objects(request.get("contents"))):
        path, role = f"contents[{place}]", as_text(given.get("role")) or "user"
        parts = enumerate(objects(given.get("parts")))
        found.append(Content(path, role, tuple(Part(f"{path}.parts[{n}]", role, camel(part)) for n, part in parts)))
    return found


def head_shown(request: Mapping[str, object]) -> Iterator[str]:
    """Give what stands before the turns: tools, then the system instruction."""
    for tool in objects(request.get("tools")):
        yield compact(tool)
    for part in objects(as_object(request.get("systemInstruction")).get("parts")):
        yield f"system: {as_text(part.get('text'))}"


def calls_made(contents: Sequence[Content]) -> int:
    """How many turns of the model call functions."""
    return sum(bool(content.holding(CALL)) for content in contents)


def compact(value: Mapping[str, object]) -> str:
    """Write an object as a caller means it, whatever the order of its members."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
