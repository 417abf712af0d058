"""Refuse what the Chat Completions API refuses: unknown roles, missing fields, tool calls that are not answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from coldpress.testing.jsonview import as_array, as_object, as_text, objects
from coldpress.testing.refusal import Refusal

_ROLES = ("system", "assistant", "user", "function", "tool", "developer")


def check_chat_request(body: Mapping[str, object]) -> Refusal | None:
    """Give the first rule the request breaks, or `None`. Sizes are checked elsewhere."""
    for rule in _RULES:
        if (refusal := rule(body)) is not None:
            return refusal
    return None


def _invalid(message: str, param: str, code: str | None = None) -> Refusal:
    return Refusal(message, param=param, code=code)


def _check_shape(body: Mapping[str, object]) -> Refusal | None:
    if not as_text(body.get("model")):
        return Refusal("you must provide a model parameter")
    messages = body.get("messages")
    if messages is None:
        return _invalid("Missing required parameter: 'messages'.", "messages", "missing_required_parameter")
    if not isinstance(messages, list):
        return _invalid("Invalid type for 'messages': expected an array of objects.", "messages", "invalid_type")
    if not messages:
        return _invalid(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
            "messages",
            "empty_array",
        )
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            return _invalid(
                f"Invalid type for 'messages[{index}]': expected an object.", f"messages[{index}]", "invalid_type"
            )
        if message.get("role") not in _ROLES:
            listed = ", ".join(f"'{role}'" for role in _ROLES)
            return _invalid(
                f"Invalid value: '{message.get('role')}'. Supported values are: {listed}.",
                f"messages[{index}].role",
                "invalid_value",
            )
    return None


def _check_content(body: Mapping[str, object]) -> Refusal | None:
    for index, message in enumerate(objects(body.get("messages"))):
        content, role = message.get("content"), message.get("role")
        where = f"messages[{index}].content"
        if content is None and role == "assistant" and (message.get("tool_calls") or message.get("function_call")):
            continue
        if not isinstance(content, str | list):
            got = "null" if content is None else type(content).__name__
            return _invalid(f"Invalid value for 'content': expected a string, got {got}.", where, "invalid_type")
        for place, part in enumerate(as_array(content)):
            kind = as_text(as_object(part).get("type"))
            if not kind:
                return _invalid(f"Missing required parameter: '{where}[{place}].type'.", f"{where}[{place}].type")
            if kind == "text" and not isinstance(as_object(part).get("text"), str):
                return _invalid(
                    f"Invalid type for '{where}[{place}].text': expected a string.", f"{where}[{place}].text"
                )
            if role == "tool" and kind != "text":
                return _invalid(
                    f"Invalid value: '{kind}'. Messages with role 'tool' support only content of type 'text'.",
                    f"{where}[{place}].type",
                    "invalid_value",
                )
    return None


def _check_calls(body: Mapping[str, object]) -> Refusal | None:
    for index, message in enumerate(objects(body.get("messages"))):
        calls = objects(message.get("tool_calls"))
        if "tool_calls" in message and message.get("tool_calls") is not None and not calls:
            return _invalid(
                f"Invalid 'messages[{index}].tool_calls': empty array.", f"messages[{index}].tool_calls", "empty_array"
            )
        if len({as_text(call.get("id")) for call in calls}) < len(calls):
            return _invalid(
                f"Invalid 'messages[{index}].tool_calls': ids must be unique.",
                f"messages[{index}].tool_calls",
                "invalid_value",
            )
        for place, call in enumerate(calls):
            where = f"messages[{index}].tool_calls[{place}]"
            if not as_text(call.get("id")):
                return _invalid(
                    f"Missing required parameter: '{where}.id'.", f"{where}.id", "missing_required_parameter"
                )
            function = as_object(call.get("function"))
            if call.get("type", "function") == "function" and not isinstance(function.get("arguments"), str):
                return _invalid(
                    f"Invalid type for '{where}.function.arguments': expected a string.",
                    f"{where}.function.arguments",
                    "invalid_type",
                )
    return None


def _check_pairs(body: Mapping[str, object]) -> Refusal | None:
    """The results of a message's calls stand directly behind it, in any order, with nothing between."""
    waiting: list[str] = []
    expected: set[str] = set()
    caller = -1
    messages = objects(body.get("messages"))
    for index, message in enumerate(messages):
        if message.get("role") == "tool":
            identifier = as_text(message.get("tool_call_id"))
            if not expected:
                return _invalid(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'.",
                    f"messages.[{index}].role",
                )
            if identifier not in waiting:
                return _invalid(
                    f"Invalid parameter: 'tool_call_id' of '{identifier}' not found in 'tool_calls' of previous "
                    "message.",
                    f"messages.[{index}].tool_call_id",
                )
            waiting.remove(identifier)
            continue
        if waiting:
            return _unanswered(waiting, caller)
        waiting = [as_text(call.get("id")) for call in objects(message.get("tool_calls"))]
        expected, caller = set(waiting), index
    return _unanswered(waiting, caller) if waiting else None


def _unanswered(waiting: list[str], caller: int) -> Refusal:
    return _invalid(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(waiting)}",
        f"messages.[{caller}].role",
    )


_RULES: tuple[Callable[[Mapping[str, object]], Refusal | None], ...] = (
    _check_shape,
    _check_calls,
    _check_content,
    _check_pairs,
)
