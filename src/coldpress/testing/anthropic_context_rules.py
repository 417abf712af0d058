"""Refuse what Anthropic refuses of context editing and compaction: missing betas, wrong edits, misplaced blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from coldpress.testing.anthropic_compaction import COMPACT, ON_DEMAND_BETA, THRESHOLD_BETA, holds_summary, on_demand
from coldpress.testing.anthropic_editing import CLEAR_THINKING, CLEAR_TOOL_USES, EDITING_BETA, edits
from coldpress.testing.anthropic_view import joined_turns, message_blocks, tool_blocks
from coldpress.testing.jsonview import as_object, as_text
from coldpress.testing.refusal import Refusal

DIAGNOSIS_BETA: Final = "cache-diagnosis-2026-04-07"
_MIN_TRIGGER_TOKENS: Final = 50_000
_COMPACTS: Final = re.compile(r"(fable|mythos)-5(?![-.][2-9]\b)|opus-(4[-.][6-9]|5)|sonnet-(4[-.][6-9]|5)|haiku-5[-.]5")
"""Models that compact on demand, as listed in November 2026."""

_Check = Callable[[object], str | None]


def check_context(body: Mapping[str, object], betas: str | None) -> Refusal | None:
    """Give the first rule a request breaks by what it asks of its context, or `None`.

    Args:
        body: the decoded request, of the right shape but for these fields.
        betas: the request's `anthropic-beta`; `None` takes all of them as given.
    """
    given = None if betas is None else {name.strip() for name in betas.split(",")}
    for rule in (_check_fields, _check_edits, _check_on_demand, _check_summaries):
        if (refusal := rule(body, given)) is not None:
            return refusal
    return _check_memory(body)


def check_finished(body: Mapping[str, object]) -> Refusal | None:
    """Refuse to summarise a conversation that ends in the middle of a turn, or that is none."""
    if not on_demand(body):
        return None
    turns = joined_turns(body)
    if not turns:
        return Refusal(
            "messages: there is no `user` or `assistant` content to summarize",
            code="compaction_nothing_to_summarize",
        )
    last = turns[-1]
    waiting = [placed.block.get("id") for placed in last.blocks if placed.kind.endswith("tool_use")]
    answered = {placed.block.get("tool_use_id") for placed in last.blocks}
    if last.role == "assistant" and any(identifier not in answered for identifier in waiting):
        return Refusal(
            f"messages.{last.blocks[0].message}: a compaction request cannot end on an `assistant` turn that is not "
            "finished",
            code="compaction_incomplete_turn",
        )
    return None


def _check_fields(body: Mapping[str, object], given: set[str] | None) -> Refusal | None:
    needed = (
        ("context_management", {EDITING_BETA, THRESHOLD_BETA}),
        ("compaction", {ON_DEMAND_BETA}),
        ("diagnostics", {DIAGNOSIS_BETA}),
    )
    for name, betas in needed:
        value = body.get(name)
        if value is None:
            continue
        if given is not None and not betas & given:
            return Refusal(f"{name}: Extra inputs are not permitted")
        if not isinstance(value, dict):
            return Refusal(f"{name}: Input should be a valid dictionary")
    return None


def _check_edits(body: Mapping[str, object], given: set[str] | None) -> Refusal | None:
    listed = as_object(body.get("context_management")).get("edits", [])
    if not isinstance(listed, list) or len(edits(body)) != len(listed):
        return Refusal("context_management.edits: Input should be a valid list")
    for index, edit in enumerate(edits(body)):
        path, kind = f"context_management.edits.{index}", as_text(edit.get("type"))
        known = [tag for tag, beta in _TAGS.items() if given is None or beta in given]
        if kind not in known:
            tags = ", ".join(f"'{tag}'" for tag in known)
            return Refusal(
                f"{path}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {tags}"
            )
        for field, value in edit.items():
            if field == "type":
                continue
            if (check := _FIELDS[kind].get(field)) is None:
                return Refusal(f"{path}.{kind}.{field}: Extra inputs are not permitted")
            if (wrong := check(value)) is not None:
                return Refusal(f"{path}.{kind}.{field}{wrong}")
        if kind == CLEAR_THINKING and index:
            return Refusal(f"context_management.edits: `{CLEAR_THINKING}` must be the first edit")
        if kind == CLEAR_THINKING and as_object(body.get("thinking")).get("type") not in ("enabled", "adaptive"):
            return Refusal(f"`{CLEAR_THINKING}` strategy requires `thinking` to be enabled or adaptive")
    return None


def _check_on_demand(body: Mapping[str, object], given: set[str] | None) -> Refusal | None:
    if not on_demand(body):
        return None
    asked, model = as_object(body.get("compaction")), as_text(body.get("model"))
    if asked.get("type") != "summarize":
        return Refusal("compaction.type: Input should be 'summarize'")
    if not isinstance(asked.get("instructions"), str | None):
        return Refusal("compaction.instructions: Input should be a valid string")
    if body.get("context_management") is not None:
        return Refusal("compaction: cannot be combined with `context_management`")
    if not _COMPACTS.search(model):
        return Refusal(f"compaction: '{model}' does not support compaction")
    return None


def _check_summaries(body: Mapping[str, object], given: set[str] | None) -> Refusal | None:
    """Compaction blocks stand where they may, and come with what lets them in."""
    found = [placed for blocks in message_blocks(body) for placed in blocks if placed.kind == "compaction"]
    signed = False
    for placed in found:
        if given is not None and not given & {THRESHOLD_BETA, ON_DEMAND_BETA}:
            return Refusal(
                f"{placed.path}: Input tag 'compaction' found using 'type' does not match any of the expected tags"
            )
        if placed.block.get("content") == "":
            return Refusal(f"{placed.path}.compaction.content: String should have at least 1 character")
        if placed.role != "assistant":
            return _misplaced(placed.path)
        if not holds_summary(placed):
            continue
        if placed.block.get("signature"):
            signed = True
            if given is not None and ON_DEMAND_BETA not in given:
                return Refusal(f"{placed.path}.compaction.signature: Extra inputs are not permitted")
        elif not any(edit.get("type") == COMPACT for edit in edits(body)):
            return Refusal(
                f"{placed.path}: `compaction` blocks require a `{COMPACT}` edit in `context_management.edits`"
            )
    if signed and sum(holds_summary(placed) for placed in found) > 1:
        return Refusal(
            "messages: more than one `compaction` block has content. Send only the block the conversation returned "
            "last.",
            code="compaction_block_ambiguous",
        )
    first = next((placed for blocks in message_blocks(body) for placed in blocks), None)
    moved = [placed for placed in found if placed.block.get("signature") and placed != first and holds_summary(placed)]
    return _misplaced(moved[0].path) if moved else None


def _misplaced(path: str) -> Refusal:
    return Refusal(
        f"{path}: the `compaction` block must be the first block of the conversation",
        code="compaction_block_misplaced",
    )


def _check_memory(body: Mapping[str, object]) -> Refusal | None:
    for placed in tool_blocks(body):
        if placed.kind == "memory_20250818" and placed.block.get("name") != "memory":
            return Refusal(f"{placed.path}.memory_20250818.name: Input should be 'memory'")
    return None


def _of_type(*kinds: str, least: int = 0) -> _Check:
    """Check a count that says what it counts, such as `{"type": "tool_uses", "value": 3}`."""

    def check(value: object) -> str | None:
        kind, number = as_object(value).get("type"), as_object(value).get("value")
        if kind not in kinds:
            return f": Input should have a type of {' or '.join(kinds)}"
        if not isinstance(number, int) or isinstance(number, bool):
            return f".{kind}.value: Input should be a valid integer"
        if number < least:
            return f".{kind}.value: Input should be greater than or equal to {least}"
        return None

    return check


def _thinking_keep(value: object) -> str | None:
    if value == "all" or as_object(value).get("type") == "all":
        return None
    return _of_type("thinking_turns", least=1)(value)


def _names(value: object) -> str | None:
    if value is None or (isinstance(value, list) and all(isinstance(name, str) for name in value)):
        return None
    return ": Input should be a valid list of strings"


def _or_absent(check: _Check) -> _Check:
    return lambda value: None if value is None else check(value)


_TAGS: Final[Mapping[str, str]] = {
    CLEAR_TOOL_USES: EDITING_BETA,
    CLEAR_THINKING: EDITING_BETA,
    COMPACT: THRESHOLD_BETA,
}
_FIELDS: Final[Mapping[str, Mapping[str, _Check]]] = {
    CLEAR_TOOL_USES: {
        "trigger": _of_type("input_tokens", "tool_uses", least=1),
        "keep": _of_type("tool_uses"),
        "clear_at_least": _or_absent(_of_type("input_tokens")),
        "exclude_tools": _names,
        "clear_tool_inputs": lambda value: None if isinstance(value, bool) else _names(value),
    },
    CLEAR_THINKING: {"keep": _thinking_keep},
    COMPACT: {
        "trigger": _or_absent(_of_type("input_tokens", least=_MIN_TRIGGER_TOKENS)),
        "instructions": lambda value: None if isinstance(value, str | None) else ": Input should be a valid string",
        "pause_after_compaction": lambda value: (
            None if isinstance(value, bool) else ": Input should be a valid boolean"
        ),
    },
}
