"""Edit a prompt the way Anthropic does before its model sees it: clear old tool results and old thinking.

The client's own history stays whole. Signatures are checked on that; what is counted and cached is the edited prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from coldpress.testing.anthropic_view import THINKING, Placed
from coldpress.testing.jsonview import as_array, as_object, as_text, objects

EDITING_BETA: Final = "context-management-2025-06-27"
CLEAR_TOOL_USES: Final = "clear_tool_uses_20250919"
CLEAR_THINKING: Final = "clear_thinking_20251015"
PLACEHOLDER: Final = "[Old tool result cleared]"
"""Anthropic says that there is such a text, and not which."""

_TRIGGER_TOKENS: Final = 100_000
_KEEP_TOOL_USES: Final = 3
_KEEP_THINKING_TURNS: Final = 1

Count = Callable[[Placed], int]


@dataclass(frozen=True, slots=True)
class Edited:
    """What is left of a prompt.

    Attributes:
        shown: the blocks that the model is shown, each under the path it was sent at.
        applied: the answer's `applied_edits`; edits that changed nothing are not listed.
    """

    shown: tuple[Placed, ...]
    applied: tuple[Mapping[str, object], ...] = ()


def edits(body: Mapping[str, object]) -> list[Mapping[str, object]]:
    """List the edits that a request asks for, in order."""
    return objects(as_object(body.get("context_management")).get("edits"))


def edit_prompt(body: Mapping[str, object], prompt: Sequence[Placed], count: Count) -> Edited:
    """Apply the clearing edits of a request to its prompt, in their order.

    Args:
        body: the request.
        prompt: what the model would be shown without them.
        count: tokens of one block.
    """
    edited = Edited(tuple(prompt))
    for edit in edits(body):
        match edit.get("type"):
            case "clear_thinking_20251015":
                edited = _clear_thinking(edit, edited, count)
            case "clear_tool_uses_20250919":
                edited = _clear_tool_uses(edit, edited, count)
            case _:
                continue
    return edited


def _clear_thinking(edit: Mapping[str, object], edited: Edited, count: Count) -> Edited:
    """Take out the thinking of all but the newest assistant turns that hold any."""
    keep = edit.get("keep", {"type": "thinking_turns", "value": _KEEP_THINKING_TURNS})
    if keep == "all" or as_object(keep).get("type") == "all":
        return edited
    kept = _number(as_object(keep).get("value"), _KEEP_THINKING_TURNS)
    turns = list(dict.fromkeys(placed.message for placed in edited.shown if placed.kind in THINKING))
    cleared = set(turns[: max(len(turns) - kept, 0)])
    gone = [placed for placed in edited.shown if placed.kind in THINKING and placed.message in cleared]
    if not gone:
        return edited
    told = {
        "type": CLEAR_THINKING,
        "cleared_thinking_turns": len(cleared),
        "cleared_input_tokens": sum(count(placed) for placed in gone),
    }
    shown = tuple(placed for placed in edited.shown if placed not in gone)
    return Edited(shown, (*edited.applied, told))


@dataclass(frozen=True, slots=True)
class _Clearing:
    """One edit of the kind `clear_tool_uses_20250919`, with the defaults filled in."""

    counts_uses: bool
    above: int
    keep: int
    least: int
    excluded: frozenset[str]
    inputs: bool | frozenset[str]

    def clears_input(self, name: str) -> bool:
        """Whether the arguments of this tool go with its result."""
        return self.inputs if isinstance(self.inputs, bool) else name in self.inputs


def _read_clearing(edit: Mapping[str, object]) -> _Clearing:
    trigger, named = as_object(edit.get("trigger")), edit.get("clear_tool_inputs")
    return _Clearing(
        counts_uses=trigger.get("type") == "tool_uses",
        above=_number(trigger.get("value"), _TRIGGER_TOKENS),
        keep=_number(as_object(edit.get("keep")).get("value"), _KEEP_TOOL_USES),
        least=_number(as_object(edit.get("clear_at_least")).get("value"), 0),
        excluded=frozenset(as_text(name) for name in as_array(edit.get("exclude_tools"))),
        inputs=named if isinstance(named, bool) else frozenset(as_text(name) for name in as_array(named)),
    )


def _clear_tool_uses(edit: Mapping[str, object], edited: Edited, count: Count) -> Edited:
    """Put a short text in the place of old results, whenever the prompt has grown past the trigger.

    The server remembers nothing between requests, and yet promises that requests after a clearing can read the prefix
    that was written then. So the history is gone through as it grew: at each place where the model was asked, what the
    prompt of then called for is cleared, and stays so.
    """
    clearing = _read_clearing(edit)
    shown = list(edited.shown)
    calls: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    cleared: set[int] = set()
    tokens = freed = 0
    for index, placed in enumerate(edited.shown):
        tokens += count(placed)
        if placed.kind == "tool_use":
            calls[as_text(placed.block.get("id"))] = index
        elif placed.kind == "tool_result" and (call := calls.get(as_text(placed.block.get("tool_use_id")))) is not None:
            pairs.append((call, index))
        if not _was_asked(edited.shown, index):
            continue
        if (len(pairs) - len(cleared) if clearing.counts_uses else tokens) <= clearing.above:
            continue
        old = [pair for pair in pairs[: max(len(pairs) - clearing.keep, 0)] if pair[1] not in cleared]
        less = {place: block for pair in old for place, block in _cleared(shown, pair, clearing)}
        saved = sum(count(shown[place]) - count(block) for place, block in less.items())
        if saved <= 0 or saved < clearing.least:
            continue
        for place, block in less.items():
            shown[place] = block
        cleared |= {result for _, result in old if result in less}
        tokens, freed = tokens - saved, freed + saved
    if not cleared:
        return edited
    told = {"type": CLEAR_TOOL_USES, "cleared_tool_uses": len(cleared), "cleared_input_tokens": freed}
    return Edited(tuple(shown), (*edited.applied, told))


def _cleared(shown: Sequence[Placed], pair: tuple[int, int], clearing: _Clearing) -> Iterator[tuple[int, Placed]]:
    """Give what stands in the place of a call and its result afterwards; nothing where the tool is excluded."""
    call, result = pair
    name = as_text(shown[call].block.get("name"))
    if name in clearing.excluded:
        return
    yield result, replace(shown[result], block={**shown[result].block, "content": PLACEHOLDER})
    if clearing.clears_input(name):
        yield call, replace(shown[call], block={**shown[call].block, "input": {}})


def _was_asked(shown: Sequence[Placed], index: int) -> bool:
    """Whether the model was asked when the prompt ended here: at the end, and before each turn of its own."""
    if index + 1 == len(shown):
        return True
    return shown[index + 1].role == "assistant" and shown[index].role != "assistant"


def _number(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise
