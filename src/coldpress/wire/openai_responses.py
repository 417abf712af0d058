"""Read OpenAI Responses bodies (`POST .../responses`): a row of items, each a message of ours.

Calls and their results are items of their own, and a result may come late: it answers a call of its own turn, else one
that no other result has answered. What a model wrote (messages, reasoning, calls) has the role of the assistant, so
that a run of such items is one turn. Items and parts that hold no text of a tool are carried.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

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
from coldpress.wire.format import ROLES, Source, Turn, read_content
from coldpress.wire.head import name_in_namespace

CALLS: Final = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "shell_call": "action",
    "local_shell_call": "action",
    "apply_patch_call": "operation",
    "computer_call": "action",
}
"""Types of the items by which a model calls a tool that the client runs, each with the key of its arguments."""

_OUTPUT: Final = "_output"
_RESULTS: Final = frozenset(call + _OUTPUT for call in CALLS)

_ROLES: Final[dict[str, Role]] = {
    "mcp_approval_response": "tool",  # it answers an item of the model, and goes where that goes
    "tool_search_output": "tool",
    "program_output": "tool",
    "item_reference": "other",
    "configuration_update": "other",
    "additional_tools": "other",
    "compaction_trigger": "other",
}
"""Roles of items that a client gives. Others are taken to be the model's: then nothing in front is at first sight."""

_TEXTS: Final = ("input_text", "output_text", "text")


def read_blocks(source: Source, span: Span, turn: Turn) -> tuple[Role, tuple[Block, ...]]:
    """Read one item into its role and blocks, noting calls in `turn`.

    Raises:
        Misread: the item is not an object, or repeats a key.
    """
    if source.is_string(span):
        return _begun(turn, "user"), (Text(source.literal(span, 0)),)
    fields = source.members(span)
    kind = source.string(fields.get("type")) or ("message" if "role" in fields else "item_reference")
    if kind == "message":
        return _message(source, fields, turn)
    if kind in CALLS:
        return _begun(turn, "assistant"), (_call(source, fields, kind, turn),)
    if kind in _RESULTS:
        return _begun(turn, "tool"), (_result(source, fields, kind, turn),)
    role = _ROLES.get(kind, "tool" if kind.endswith(_OUTPUT) else "assistant")
    return _begun(turn, role), (Opaque(kind, span),)


def tool_name(kind: str, name: str | None, namespace: str | None) -> str:
    """Name the tool that an item of a type in `CALLS` calls; one that is the provider's own by that type.

    >>> tool_name("function_call", "read", None), tool_name("local_shell_call", None, None)
    ('read', 'local_shell')
    """
    return name_in_namespace(namespace or "", name) if name else kind.removesuffix("_call")


def _begun(turn: Turn, role: Role) -> Role:
    turn.begin(role, keeps_calls=True)
    return role


def _message(source: Source, fields: dict[str, Span], turn: Turn) -> tuple[Role, tuple[Block, ...]]:
    role = _begun(turn, ROLES.get(source.string(fields.get("role")) or "", "other"))
    texts, others = read_content(source, fields.get("content"), _TEXTS)
    return role, (*(Text(literal) for literal in texts), *others)


def _call(source: Source, fields: dict[str, Span], kind: str, turn: Turn) -> ToolCall:
    arguments = fields.get(CALLS[kind])
    call = ToolCall(
        CallId(source.string(fields.get("call_id")) or ""),
        ToolName(tool_name(kind, source.string(fields.get("name")), source.string(fields.get("namespace")))),
        arguments,
        quoted=source.is_string(arguments),
    )
    # The result of a local shell names its call by `id`. Clients that keep two ids in one write `call_id|id`.
    item = source.string(fields.get("id")) if kind == "local_shell_call" else None
    turn.add(call, *(alias for alias in (item, _first_half(call.id)) if alias))
    return call


def _name(source: Source, fields: dict[str, Span]) -> str:
    name = source.string(fields.get("name")) or ""
    return name_in_namespace(source.string(fields.get("namespace")) or "", name) if name else ""


def _result(source: Source, fields: dict[str, Span], kind: str, turn: Turn) -> ToolResult:
    call_id = source.string(fields.get("call_id")) or ""
    if not call_id and kind == "local_shell_call_output":
        call_id = source.string(fields.get("id")) or ""
    call = _answered(turn, call_id, _name(source, fields))
    failed: bool | None = True if source.string(fields.get("status")) in ("incomplete", "failed") else None
    texts: tuple[TextLiteral, ...] = ()
    others: tuple[Opaque, ...] = ()
    output = fields.get("output")
    match kind:
        case "function_call_output" | "custom_tool_call_output":
            texts, others = read_content(source, output, _TEXTS)
        case "shell_call_output":
            texts, others, by_outcome = _shell_output(source, output)
            failed = failed or by_outcome
        case "apply_patch_call_output":
            texts, others = read_content(source, output, _TEXTS)
            failed = source.string(fields.get("status")) != "completed"
        case _ if output is not None:
            # A screenshot; or the output of a local shell, which has to stay JSON inside its string.
            others = (Opaque(kind, output),)
    return ToolResult(call.id if call is not None else CallId(call_id), call, texts, failed, others)


def _answered(turn: Turn, call_id: str, name: str) -> ToolCall | None:
    """Find the call of a result by its id, by the first half of an id written as two, or by the name that stands in."""
    if not call_id:
        return turn.answer("", name or None) or (turn.answer_by_name(name) if name else None)
    half = _first_half(call_id)
    return turn.answer_any(half if half and not turn.knows(call_id) else call_id)


def _first_half(call_id: str) -> str:
    return call_id.partition("|")[0] if "|" in call_id else ""


def _shell_output(
    source: Source, output: Span | None
) -> tuple[tuple[TextLiteral, ...], tuple[Opaque, ...], bool | None]:
    """Read what commands printed: of the n-th, `stdout` is part 2n and `stderr` 2n + 1; and whether one failed."""
    if not source.is_array(output):
        others = () if output is None else (Opaque("shell_call_output", output),)
        return (), others, None
    texts: list[TextLiteral] = []
    opaque: list[Opaque] = []
    failures: list[bool | None] = []
    for index, span in enumerate(source.elements(output)):
        if not source.is_object(span):
            opaque.append(Opaque("not an object", span))
            continue
        fields = source.members(span)
        texts += _streams(source, fields, 2 * index)
        failures.append(_failed(source, fields.get("outcome")))
    failed = True if True in failures else None if None in failures or not failures else False
    return tuple(texts), tuple(opaque), failed


def _streams(source: Source, fields: dict[str, Span], part: int) -> Iterator[TextLiteral]:
    for place, key in enumerate(("stdout", "stderr")):
        stream = fields.get(key)
        if source.is_string(stream):
            yield source.literal(stream, part + place)


def _failed(source: Source, outcome: Span | None) -> bool | None:
    """Whether a command failed: by a timeout, or an exit code that is not 0; `None` where its outcome does not say."""
    if not source.is_object(outcome):
        return None
    fields = source.members(outcome)
    match source.string(fields.get("type")):
        case "timeout":
            return True
        case "exit":
            code = source.value(fields["exit_code"]) if "exit_code" in fields else None
            return None if code is None else code != 0
        case _:
            return None
