"""Read Gemini bodies (`POST .../models/MODEL:generateContent`): turns of parts, bare or in the envelope of Code Assist.

A part holds one thing. Both spellings of its fields are read, `functionCall` and `function_call`: SDKs differ, and the
API takes either. Results answer the calls of the turn before by id, else by name and order, where as many answers came
as calls are open. Only string leaves inside `response` are text, and never those of a part that is signed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from coldpress.model.conversation import (
    Block,
    CallId,
    Opaque,
    Role,
    Span,
    Text,
    TextLiteral,
    ToolCall,
    ToolName,
    ToolResult,
)
from coldpress.wire.format import Source, Turn
from coldpress.wire.span import Misread

_ROLES: Final[dict[str, Role]] = {"user": "user", "function": "user", "model": "assistant", "system": "system"}

_CAMEL: Final[dict[str, str]] = {
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "thought_signature": "thoughtSignature",
    "inline_data": "inlineData",
    "file_data": "fileData",
    "executable_code": "executableCode",
    "code_execution_result": "codeExecutionResult",
    "tool_call": "toolCall",
    "tool_response": "toolResponse",
}
_PAYLOADS: Final = frozenset(("text", *_CAMEL.values())) - {"thoughtSignature"}
"""What a part can be; anything else in it describes it."""

_OUTPUT_KEYS: Final = frozenset(("output", "content", "result", "error", "stdout", "stderr", "text", "message"))
"""Where tools put what they gave back. `output` and `error` are Google's own (google-genai 3.6.1,
`FunctionResponse.response`), `result` is what its automatic calling writes, `content` is MCP's."""

_NOT_TEXT: Final = frozenset(
    (
        *("id", "name", "type", "role", "mimeType", "mime_type", "uri", "url", "data", "blob", "$ref", "signature"),
        *("thoughtSignature", "thought_signature", "inlineData", "inline_data", "fileData", "file_data"),
    )
)
"""Members of a structured answer that name things, or hold media."""

MOST_LEAVES: Final = 256
"""So many string leaves of one response are text, in the order of their sorted keys; the others are never touched."""

DEEPEST: Final = 12
"""Levels inside `response` that are searched for text."""

_EXIT_KEYS: Final = ("exit_code", "exitCode", "returncode")
_FAILED_KEYS: Final = ("is_error", "isError")
_OUTCOME_KEYS: Final = frozenset(("error", "success", "status", *_EXIT_KEYS, *_FAILED_KEYS))
_NO_ERROR: Final = (None, False, "")


class _Answer(NamedTuple):
    """A function response, before it is known what it answers."""

    id: str
    name: str | None
    fields: Mapping[str, Span]
    part: Span
    signed: bool


def read_blocks(source: Source, span: Span, turn: Turn) -> tuple[Role, tuple[Block, ...]]:
    """Read one turn into its role and blocks, noting calls in `turn`.

    Raises:
        Misread: the turn is not an object, or it or a part of it repeats a key, maybe in another spelling.
    """
    fields = source.members(span)
    role = _ROLES.get(source.string(fields.get("role")) or "user", "other")
    turn.begin(role)
    parts = fields.get("parts")
    if not source.is_array(parts):
        return role, () if parts is None else (Opaque("parts", parts),)
    read = [_part(source, part, role) for part in source.elements(parts)]
    for call in read:
        if isinstance(call, ToolCall):
            turn.add(call)
    answers = [one for one in read if isinstance(one, _Answer)]
    answered = deque(_paired(answers, turn) if answers else ())
    return role, tuple([_result(source, one, answered.popleft()) if isinstance(one, _Answer) else one for one in read])


def _part(source: Source, span: Span, role: Role) -> Block | _Answer:
    if not source.is_object(span):
        return Opaque("not an object", span)
    fields = _spelt(source.members(span))
    held = [key for key in fields if key in _PAYLOADS]
    if len(held) != 1:
        return Opaque("several" if held else next(iter(fields), "untyped"), span)
    kind, value = held[0], fields[held[0]]
    signed = "thoughtSignature" in fields
    thought = "thought" in fields and source.raw(fields["thought"]) not in (b"false", b"null")
    if kind == "text" and source.is_string(value) and not signed and not thought:
        return Text(source.literal(value, 0))
    if kind == "functionCall" and role == "assistant" and source.is_object(value):
        inner = source.members(value)
        return ToolCall(_id(source, inner), ToolName(source.string(inner.get("name")) or ""), inner.get("args"))
    if kind == "functionResponse" and role == "user" and source.is_object(value):
        inner = source.members(value)
        return _Answer(_id(source, inner), source.string(inner.get("name")), inner, span, signed or thought)
    return Opaque("thought" if thought else _medium(source, span) or kind, span)


def _medium(source: Source, span: Span) -> str:
    """Say what a part holds: `image`, which counts as one; empty where it is anything else."""
    fields = _spelt(source.members(span)) if source.is_object(span) else {}
    media = fields.get("inlineData") or fields.get("fileData")
    if media is None or not source.is_object(media):
        return ""
    inner = source.members(media)
    said = source.string(inner.get("mimeType") or inner.get("mime_type")) or ""
    return "image" if said.startswith("image/") else ""


def _spelt(fields: dict[str, Span]) -> dict[str, Span]:
    """Give a part's fields by their names in camel case.

    Raises:
        Misread: one stands there in both spellings.
    """
    if fields.keys().isdisjoint(_CAMEL):
        return fields
    spelt = {_CAMEL.get(key, key): span for key, span in fields.items()}
    if len(spelt) != len(fields):
        raise Misread("a part holds one field in two spellings")
    return spelt


def _paired(answers: Sequence[_Answer], turn: Turn) -> list[ToolCall | None]:
    """Find the call that each answer is to; `None` where that is missing or in doubt.

    Calls have ids or not, as the model gave them, and some clients make up ids for their answers alone. What no id
    decides goes by name and order, which says nothing unless each name was called as often as it was answered: the
    API asks for as many answers as calls.
    """
    ids = {call.id for call in turn.calls if call.id}
    found: list[ToolCall | None] = [turn.answer(one.id) if one.id in ids else None for one in answers]
    waiting = [index for index, one in enumerate(answers) if one.id not in ids]
    if not waiting:
        return found
    open_calls = [index for index in range(len(turn.calls)) if index not in turn.answered]
    names = Counter(answers[index].name or "" for index in waiting)
    if "" in names or names != Counter(turn.calls[index].name for index in open_calls):
        return found
    matched: dict[int, int] = {}
    for index in waiting:
        matched[index] = next(
            at for at in open_calls if turn.calls[at].name == answers[index].name and at not in matched.values()
        )
    if any(answers[index].id and turn.calls[at].id for index, at in matched.items()):
        return found  # two different ids cannot mean one call
    for index, at in matched.items():
        turn.answered.add(at)
        found[index] = turn.calls[at]
    return found


def _result(source: Source, answer: _Answer, call: ToolCall | None) -> ToolResult:
    others: list[Opaque] = []
    media = answer.fields.get("parts")
    if source.is_array(media):
        others = [Opaque(_medium(source, part) or "media", part) for part in source.elements(media)]
    response = answer.fields.get("response")
    if not source.is_object(response):
        return ToolResult(CallId(answer.id), call, (), None, (*others, Opaque("no response", answer.part)))
    fields = source.members(response)
    if answer.signed:
        texts: tuple[TextLiteral, ...] = ()
        others.append(Opaque("signed", answer.part))
    else:
        texts = _texts(source, fields)
    return ToolResult(CallId(answer.id), call, texts, _failed(source, fields), tuple(others))


def _texts(source: Source, response: Mapping[str, Span]) -> tuple[TextLiteral, ...]:
    """Locate the texts of a response, in the order they stand in; each is numbered in the order of sorted keys.

    Clients may write the members of one object in another order the next time. That makes no other message of it
    (`Source.digest`), so it must not make the number of a text another's.
    """
    told = {key: span for key, span in response.items() if key in _OUTPUT_KEYS}
    numbered: list[TextLiteral] = []
    for leaf in _leaves(source, told or response, DEEPEST):
        if len(numbered) == MOST_LEAVES:
            break
        numbered.append(source.literal(leaf, len(numbered)))
    return tuple(sorted(numbered, key=_place))


def _place(literal: TextLiteral) -> int:
    return literal.span.start


def _leaves(source: Source, fields: Mapping[str, Span], depth: int) -> Iterator[Span]:
    for key in sorted(fields):
        if key not in _NOT_TEXT:
            yield from _strings(source, fields[key], depth - 1)


def _strings(source: Source, span: Span, depth: int) -> Iterator[Span]:
    if source.is_string(span):
        yield span
    elif depth <= 0:
        return
    elif source.is_array(span):
        for element in source.elements(span):
            yield from _strings(source, element, depth - 1)
    elif source.is_object(span):
        yield from _leaves(source, source.members(span), depth)


def _failed(source: Source, response: Mapping[str, Span]) -> bool:
    """Whether a response says on its top level that the call failed: by `error`, or as tools with an exit code do.

    These are members of the wire's own object, of which nobody sees more than the texts later on.
    """
    if response.keys().isdisjoint(_OUTCOME_KEYS):
        return False
    if "error" in response and source.value(response["error"]) not in _NO_ERROR:
        return True
    if any(_small(source, response, key) not in (0, None, False, "0", "") for key in _EXIT_KEYS):
        return True
    if any(_small(source, response, key) is True for key in _FAILED_KEYS):
        return True
    return _small(source, response, "success") is False or _small(source, response, "status") in ("error", "failed")


def _small(source: Source, fields: Mapping[str, Span], key: str) -> object:
    span = fields.get(key)
    return source.value(span) if span is not None and len(span) < 64 else None


def _id(source: Source, fields: Mapping[str, Span]) -> CallId:
    return CallId(source.string(fields.get("id")) or "")
