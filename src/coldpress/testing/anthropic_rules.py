"""Refuse what the Messages API refuses: wrong shapes, empty text, bad ids, calls and results that do not pair."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from coldpress.testing.anthropic_marks import check_marks
from coldpress.testing.anthropic_view import (
    JoinedTurn,
    Placed,
    joined_turns,
    message_blocks,
    system_blocks,
    tool_blocks,
)
from coldpress.testing.jsonview import as_text, objects
from coldpress.testing.refusal import Refusal

_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,200}")
_MAX_MESSAGES = 100_000
_ONLY_IN = {
    "tool_use": "assistant",
    "server_tool_use": "assistant",
    "thinking": "assistant",
    "redacted_thinking": "assistant",
    "tool_result": "user",
}


def check_messages_request(body: Mapping[str, object], *, counting: bool = False) -> Refusal | None:
    """Give the first rule the request breaks, or `None`. Signatures and sizes are checked elsewhere.

    Args:
        body: the decoded request.
        counting: for `count_tokens`, which takes no `max_tokens`.
    """
    required = ("model", "messages") if counting else ("model", "max_tokens", "messages")
    for name in required:
        if name not in body:
            return Refusal(f"{name}: Field required")
    for rule in _RULES:
        if (refusal := rule(body)) is not None:
            return refusal
    return None


def _check_head(body: Mapping[str, object]) -> Refusal | None:
    if not as_text(body.get("model")):
        return Refusal("model: Input should be a valid string")
    limit = body.get("max_tokens", 0)
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        return Refusal("max_tokens: Input should be a valid integer greater than or equal to 0")
    names = [as_text(placed.block.get("name")) for placed in tool_blocks(body)]
    for placed, name in zip(tool_blocks(body), names, strict=True):
        if "input_schema" in placed.block and not _NAME.fullmatch(name):
            return Refusal(f"{placed.path}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$'")
        if name and names.count(name) > 1:
            return Refusal("tools: Tool names must be unique.")
    return None


def _check_messages(body: Mapping[str, object]) -> Refusal | None:
    messages = body.get("messages")
    if not isinstance(messages, list):
        return Refusal("messages: Input should be a valid list")
    if not messages:
        return Refusal("messages: at least one message is required")
    if len(messages) > _MAX_MESSAGES:
        return Refusal(f"messages: List should have at most {_MAX_MESSAGES} items, not {len(messages)}")
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            return Refusal(f"messages.{index}: Input should be a valid dictionary")
        role = message.get("role")
        if role not in ("user", "assistant", "system"):
            return Refusal(f"messages: Unexpected role {role!r}. Allowed roles are 'user' or 'assistant'.")
        content = message.get("content")
        if not isinstance(content, str | list):
            return Refusal(f"messages.{index}.content: Input should be a valid list")
        if not content and not (role == "assistant" and index == len(messages) - 1):
            return Refusal(
                f"messages.{index}: all messages must have non-empty content except for the optional final "
                "assistant message"
            )
    return None


def _check_blocks(body: Mapping[str, object]) -> Refusal | None:
    for placed in [*system_blocks(body), *(placed for blocks in message_blocks(body) for placed in blocks)]:
        if not placed.kind:
            return Refusal(f"{placed.path}.type: Field required")
        if (owner := _ONLY_IN.get(placed.kind)) is not None and placed.role != owner:
            return Refusal(f"{placed.path}: `{placed.kind}` blocks can only be in `{owner}` messages")
        if (refusal := _check_text(placed.path, placed.block)) is not None:
            return refusal
        if placed.kind == "tool_result":
            for index, part in enumerate(objects(placed.block.get("content"))):
                if (refusal := _check_text(f"{placed.path}.content.{index}", part)) is not None:
                    return refusal
        if placed.kind == "thinking" and not placed.block.get("thinking") and not placed.block.get("signature"):
            return Refusal(f"{placed.path}.thinking: each thinking block must contain thinking")
    return _check_ending(body)


def _check_text(path: str, block: Mapping[str, object]) -> Refusal | None:
    if block.get("type") != "text":
        return None
    text = block.get("text")
    if not isinstance(text, str):
        return Refusal(f"{path}.text.text: Input should be a valid string")
    if not text:
        return Refusal(f"{path}: text content blocks must be non-empty")
    if not text.strip():
        return Refusal(f"{path}: text content blocks must contain non-whitespace text")
    return None


def _check_ending(body: Mapping[str, object]) -> Refusal | None:
    last = message_blocks(body)[-1]
    if last and last[-1].role == "assistant" and last[-1].kind == "text":
        text = as_text(last[-1].block.get("text"))
        if text != text.rstrip():
            return Refusal("messages: final assistant content cannot end with trailing whitespace")
    return None


def _check_ids(body: Mapping[str, object]) -> Refusal | None:
    seen: set[str] = set()
    for placed in (placed for blocks in message_blocks(body) for placed in blocks):
        field = {"tool_use": "id", "server_tool_use": "id", "tool_result": "tool_use_id"}.get(placed.kind)
        if field is None:
            continue
        value = as_text(placed.block.get(field))
        if not _ID.fullmatch(value):
            return Refusal(f"{placed.path}.{placed.kind}.{field}: String should match pattern '^[a-zA-Z0-9_-]+$'")
        if placed.kind != "tool_use":
            continue
        if value in seen:
            return Refusal(f"{placed.path}: `tool_use` ids must be unique")
        seen.add(value)
        if not _NAME.fullmatch(as_text(placed.block.get("name"))):
            return Refusal(f"{placed.path}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$'")
        if not isinstance(placed.block.get("input"), dict):
            return Refusal(f"{placed.path}.tool_use.input: Input should be a valid dictionary")
    return None


def _check_pairs(body: Mapping[str, object]) -> Refusal | None:
    turns = joined_turns(body)
    for index, turn in enumerate(turns):
        before = turns[index - 1] if index else None
        after = turns[index + 1] if index + 1 < len(turns) else None
        if turn.role == "assistant":
            refusal = _check_answered(turn, after) or _check_server_tools(turn, closed=after is not None)
        else:
            refusal = _check_results(turn, before)
        if refusal is not None:
            return refusal
    return None


def _check_answered(turn: JoinedTurn, after: JoinedTurn | None) -> Refusal | None:
    """Every call is answered in the next user turn, in the block of results that opens it."""
    calls = [placed for placed in turn.blocks if placed.kind == "tool_use"]
    if not calls:
        return None
    opening: list[str] = []
    for placed in after.blocks if after is not None else ():
        if placed.kind != "tool_result":
            break
        opening.append(as_text(placed.block.get("tool_use_id")))
    lost = [as_text(call.block.get("id")) for call in calls if call.block.get("id") not in opening]
    if not lost:
        return None
    return Refusal(
        f"messages.{calls[0].message}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(lost)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def _check_results(turn: JoinedTurn, before: JoinedTurn | None) -> Refusal | None:
    """Every result answers a call of the turn before, once."""
    calls = {placed.block.get("id") for placed in (before.blocks if before else ()) if placed.kind == "tool_use"}
    answered: set[str] = set()
    for placed in turn.blocks:
        if placed.kind != "tool_result":
            continue
        identifier = as_text(placed.block.get("tool_use_id"))
        if identifier not in calls:
            return Refusal(
                f"{placed.path}: unexpected `tool_use_id` found in `tool_result` blocks: {identifier}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        if identifier in answered:
            return Refusal(
                f"{placed.path}: each tool_use must have a single result. Found multiple `tool_result` blocks with "
                f"id: {identifier}"
            )
        answered.add(identifier)
    return None


def _check_server_tools(turn: JoinedTurn, *, closed: bool) -> Refusal | None:
    """The provider's own tools are called and answered inside one assistant turn."""
    open_calls: dict[str, Placed] = {}
    for placed in turn.blocks:
        if placed.kind in ("server_tool_use", "mcp_tool_use"):
            open_calls[as_text(placed.block.get("id"))] = placed
        elif placed.kind.endswith("_tool_result"):
            identifier = as_text(placed.block.get("tool_use_id"))
            if open_calls.pop(identifier, None) is None:
                return Refusal(
                    f"{placed.path}: unexpected `tool_use_id` found in `{placed.kind}` blocks: {identifier}. Each "
                    f"`{placed.kind}` block must have a corresponding `server_tool_use` block before it."
                )
    if closed and open_calls:
        identifier, placed = next(iter(open_calls.items()))
        name = as_text(placed.block.get("name"))
        return Refusal(
            f"{placed.path}: `{name}` tool use with id `{identifier}` was found without a corresponding "
            f"`{name}_tool_result` block"
        )
    return None


_RULES: tuple[Callable[[Mapping[str, object]], Refusal | None], ...] = (
    _check_head,
    _check_messages,
    check_marks,
    _check_blocks,
    _check_ids,
    _check_pairs,
)
