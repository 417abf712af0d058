"""Refuse what the Responses API refuses of the shape of a request: fields that are missing, wrong or empty."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from coldpress.testing.jsonview import as_array, as_object, as_text, objects
from coldpress.testing.refusal import Refusal
from coldpress.testing.responses_reasoning import not_kept
from coldpress.testing.responses_view import CALLS, OUTPUTS, Item, input_items, kind_of

_ROLES: Final = ("assistant", "system", "developer", "user")
_INPUT_PARTS: Final = ("input_text", "input_image", "input_file", "input_audio")
_OUTPUT_PARTS: Final = ("output_text", "refusal")
_RESULT_PARTS: Final = ("input_text", "input_image", "input_file")
_KINDS: Final = (
    "message",
    "reasoning",
    *CALLS,
    *OUTPUTS,
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
    "tool_search_call",
    "tool_search_output",
    "program",
    "program_output",
    "item_reference",
    "compaction",
    "compaction_trigger",
    "configuration_update",
    "additional_tools",
)
_PREFIXES: Final[Mapping[str, str]] = {"message": "msg", "reasoning": "rs", "function_call": "fc"}
_STRINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "function_call": ("call_id", "name", "arguments"),
    "custom_tool_call": ("call_id", "name", "input"),
    "custom_tool_call_output": ("call_id",),
    "shell_call": ("call_id",),
    "shell_call_output": ("call_id",),
    "local_shell_call": ("call_id",),
    "local_shell_call_output": ("output",),
    "apply_patch_call": ("call_id",),
    "apply_patch_call_output": ("call_id", "status"),
    "compaction": ("encrypted_content",),
}
"""Fields an item must have, as strings."""

_MAY_BE_EMPTY: Final = ("arguments", "input", "output")
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")
_MAX_ID_CHARS: Final = 64
_MIN_OUTPUT_TOKENS: Final = 16
_BREAKPOINTS_TTL: Final = ("30m", "12h")


def check_responses_request(body: Mapping[str, object], *, compacting: bool = False) -> Refusal | None:
    """Give the first rule of shape the request breaks, or `None`. Sizes, seals and pairs are checked elsewhere.

    Args:
        body: the request.
        compacting: it came to `/responses/compact`, which takes less.
    """
    rules = (*_SHAPE_RULES, _check_compacting) if compacting else _SHAPE_RULES
    return next((refusal for rule in rules if (refusal := rule(body)) is not None), None)


def _invalid(message: str, param: str, code: str | None = None) -> Refusal:
    return Refusal(message, param=param, code=code)


def _missing(where: str) -> Refusal:
    return _invalid(f"Missing required parameter: '{where}'.", where, "missing_required_parameter")


def _wrong_type(where: str, expected: str, value: object) -> Refusal:
    names = {
        dict: "an object",
        list: "an array",
        bool: "a boolean",
        int: "an integer",
        type(None): "null",
        str: "a string",
    }
    got = names.get(type(value), "a number")
    return _invalid(f"Invalid type for '{where}': expected {expected}, but got {got} instead.", where, "invalid_type")


def _wrong_value(where: str, value: object, supported: Sequence[str]) -> Refusal:
    listed = ", ".join(f"'{one}'" for one in supported[:-1])
    listed = f"{listed}, and '{supported[-1]}'" if listed else f"'{supported[-1]}'"
    return _invalid(f"Invalid value: '{value}'. Supported values are: {listed}.", where, "invalid_value")


def _empty_string(where: str) -> Refusal:
    return _invalid(
        f"Invalid '{where}': empty string. Expected a string with minimum length 1, but got an empty string instead.",
        where,
        "empty_string",
    )


def _check_request(body: Mapping[str, object]) -> Refusal | None:
    if not as_text(body.get("model")):
        return _missing("model")
    given = body.get("input")
    if given is None and not (body.get("previous_response_id") or body.get("prompt") or body.get("conversation")):
        return _invalid(
            "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided.",
            "input",
            "missing_required_parameter",
        )
    if given is not None and not isinstance(given, str | list):
        return _wrong_type("input", "a string or an array", given)
    if body.get("previous_response_id") and body.get("conversation"):
        return _invalid(
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing "
            "one of: 'previous_response_id' or 'conversation'.",
            "previous_response_id",
            "mutually_exclusive_parameters",
        )
    limit = body.get("max_output_tokens")
    if isinstance(limit, int) and limit < _MIN_OUTPUT_TOKENS:
        return _invalid(
            f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {_MIN_OUTPUT_TOKENS}, but "
            f"got {limit} instead.",
            "max_output_tokens",
            "integer_below_min_value",
        )
    return None


def _check_tools(body: Mapping[str, object]) -> Refusal | None:
    for index, tool in enumerate(objects(body.get("tools"))):
        where = f"tools[{index}]"
        if not as_text(tool.get("type")):
            return _missing(f"{where}.type")
        named = tool.get("type") in ("function", "custom", "namespace")
        if named and not _NAME.fullmatch(as_text(tool.get("name"))):
            return _missing(f"{where}.name")
    return None


def _check_caching(body: Mapping[str, object]) -> Refusal | None:
    options = as_object(body.get("prompt_cache_options"))
    if options.get("ttl", "30m") not in _BREAKPOINTS_TTL:
        return _wrong_value("prompt_cache_options.ttl", options.get("ttl"), _BREAKPOINTS_TTL)
    if options.get("mode", "implicit") not in ("implicit", "explicit"):
        return _wrong_value("prompt_cache_options.mode", options.get("mode"), ("implicit", "explicit"))
    for index, entry in enumerate(objects(body.get("context_management"))):
        if entry.get("type") != "compaction":
            return _wrong_value(f"context_management[{index}].type", entry.get("type"), ("compaction",))
    return None


def _check_items(body: Mapping[str, object]) -> Refusal | None:
    for index, item in enumerate(as_array(body.get("input"))):
        where = f"input[{index}]"
        if not isinstance(item, dict):
            return _wrong_type(where, "an object", item)
        known: Item = as_object(item)
        if kind_of(known) not in _KINDS:
            return (
                _wrong_value(f"{where}.type", kind_of(known), _KINDS) if kind_of(known) else _missing(f"{where}.type")
            )
        refusal = _check_fields(known, where) or _check_id(known, where) or _check_content(known, where)
        if refusal is not None:
            return refusal
        if kind_of(known) == "item_reference" and body.get("store") is False:
            return not_kept(as_text(known.get("id")))
        if kind_of(known) == "compaction_trigger" and index < len(as_array(body.get("input"))) - 1:
            return _invalid("A 'compaction_trigger' item must be the last item of 'input'.", where, "invalid_value")
    return None


def _check_fields(item: Item, where: str) -> Refusal | None:
    for name in _STRINGS.get(kind_of(item), ()):
        value = item.get(name)
        if name not in item:
            return _missing(f"{where}.{name}")
        if not isinstance(value, str):
            return _wrong_type(f"{where}.{name}", "a string", value)
        if not value and name not in _MAY_BE_EMPTY:
            return _empty_string(f"{where}.{name}")
    if kind_of(item) == "function_call" and not _NAME.fullmatch(as_text(item.get("name"))):
        return _invalid(
            f"Invalid '{where}.name': string does not match pattern. Expected a string that matches the pattern "
            "'^[a-zA-Z0-9_-]+$'.",
            f"{where}.name",
            "invalid_value",
        )
    if kind_of(item) == "function_call_output" and not (as_text(item.get("call_id")) or as_text(item.get("name"))):
        return _empty_string(f"{where}.call_id") if "call_id" in item else _missing(f"{where}.call_id")
    return None


def _check_id(item: Item, where: str) -> Refusal | None:
    named = item.get("id")
    if named is None:
        return _missing(f"{where}.id") if kind_of(item) == "item_reference" else None
    if not isinstance(named, str):
        return _wrong_type(f"{where}.id", "a string", named)
    if len(named) > _MAX_ID_CHARS:
        return _invalid(
            f"Invalid '{where}.id': string too long. Expected a string with maximum length {_MAX_ID_CHARS}, but got a "
            f"string with length {len(named)} instead.",
            f"{where}.id",
            "string_above_max_length",
        )
    prefix = _PREFIXES.get(kind_of(item), "")
    if not named.startswith(prefix):
        return _invalid(
            f"Invalid '{where}.id': '{named}'. Expected an ID that begins with '{prefix}'.",
            f"{where}.id",
            "invalid_value",
        )
    return None


def _check_content(item: Item, where: str) -> Refusal | None:
    match kind_of(item):
        case "message":
            if item.get("role") not in _ROLES:
                return _wrong_value(f"{where}.role", item.get("role"), _ROLES)
            parts = _OUTPUT_PARTS if item.get("role") == "assistant" else _INPUT_PARTS
            return _check_parts(item, f"{where}.content", parts)
        case "function_call_output" | "custom_tool_call_output":
            return _check_parts(item, f"{where}.output", _RESULT_PARTS)
        case "shell_call_output":
            return _check_shell_output(item, f"{where}.output")
        case "reasoning" if not isinstance(item.get("summary"), list):
            return _missing(f"{where}.summary")
        case _:
            return None


def _check_parts(item: Item, where: str, supported: Sequence[str]) -> Refusal | None:
    """Content is a string, which may be empty, or parts of the kinds that belong to it."""
    field = where.rpartition(".")[2]
    if field not in item:
        return _missing(where)
    content = item[field]
    if isinstance(content, str):
        return None
    if not isinstance(content, list):
        return _wrong_type(where, "one of a string or array of objects", content)
    for place, part in enumerate(content):
        kind = as_text(as_object(part).get("type"))
        if not kind:
            return _missing(f"{where}[{place}].type")
        if kind not in supported:
            return _wrong_value(f"{where}[{place}]", kind, supported)
        if kind in ("input_text", "output_text") and not isinstance(part.get("text"), str):
            return _wrong_type(f"{where}[{place}].text", "a string", part.get("text"))
    return None


def _check_shell_output(item: Item, where: str) -> Refusal | None:
    if not isinstance(item.get("output"), list):
        return _wrong_type(where, "an array of objects", item.get("output"))
    for place, command in enumerate(objects(item.get("output"))):
        for name in ("stdout", "stderr"):
            if not isinstance(command.get(name), str):
                return _wrong_type(f"{where}[{place}].{name}", "a string", command.get(name))
        outcome = as_object(command.get("outcome"))
        if outcome.get("type") not in ("exit", "timeout"):
            return _wrong_value(f"{where}[{place}].outcome.type", outcome.get("type"), ("exit", "timeout"))
        if outcome.get("type") == "exit" and not isinstance(outcome.get("exit_code"), int):
            return _missing(f"{where}[{place}].outcome.exit_code")
    return None


def _check_compacting(body: Mapping[str, object]) -> Refusal | None:
    for index, item in enumerate(input_items(body)):
        where = f"input[{index}]"
        if kind_of(item) == "configuration_update":
            return _wrong_value(
                f"{where}.type", "configuration_update", [k for k in _KINDS if k != "configuration_update"]
            )
        length = len(as_array(item.get("content"))) if kind_of(item) == "reasoning" else 0
        if length:
            return _invalid(
                f"Invalid '{where}.content': array too long. Expected an array with maximum length 0, but got an array "
                f"with length {length} instead.",
                f"{where}.content",
                "array_above_max_length",
            )
    return None


_SHAPE_RULES: tuple[Callable[[Mapping[str, object]], Refusal | None], ...] = (
    _check_request,
    _check_tools,
    _check_caching,
    _check_items,
)
