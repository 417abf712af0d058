"""Refuse a Responses conversation that does not hold together: open calls, orphaned outputs, reasoning on its own."""

from __future__ import annotations

from collections.abc import Sequence

from coldpress.testing.jsonview import as_text
from coldpress.testing.refusal import Refusal
from coldpress.testing.responses_view import CALLS, OUTPUTS, Item, call_id, is_from_model, kind_of


def check_pairs(items: Sequence[Item]) -> Refusal | None:
    """Check what a conversation must hold as a whole; `items` begin with the history that the server kept.

    Every call has an output behind it and the other way round, ids are not repeated, and what reasoning led to follows
    it.
    """
    return _check_repeated(items) or _check_followed(items) or _check_answered(items)


def _check_repeated(items: Sequence[Item]) -> Refusal | None:
    seen: set[str] = set()
    for item in items:
        named = as_text(item.get("id"))
        # The output of a local shell call carries the id of its call.
        if not named or kind_of(item) == "local_shell_call_output":
            continue
        if named in seen:
            return Refusal(
                f"Duplicate item found with id {named}. Remove duplicate items from your input and try again.",
                param="input",
            )
        seen.add(named)
    return None


def _check_followed(items: Sequence[Item]) -> Refusal | None:
    for index, item in enumerate(items):
        follower = items[index + 1] if index + 1 < len(items) else None
        if kind_of(item) == "reasoning" and (follower is None or not is_from_model(follower)):
            return Refusal(
                f"Item '{as_text(item.get('id'))}' of type 'reasoning' was provided without its required following "
                "item.",
                param="input",
            )
    return None


def _check_answered(items: Sequence[Item]) -> Refusal | None:
    waiting: list[tuple[str, str, str]] = []
    for item in items:
        kind = kind_of(item)
        if kind in CALLS:
            waiting.append((kind, call_id(item), as_text(item.get("name"))))
        elif kind in OUTPUTS:
            answered = _answered(item, waiting)
            if answered is None:
                return Refusal(
                    f"No tool call found for {_words(OUTPUTS[kind])} output with call_id {call_id(item)}.",
                    param="input",
                )
            waiting.remove(answered)
    if waiting:
        return Refusal(f"No tool output found for {_words(waiting[0][0])} {waiting[0][1]}.", param="input")
    return None


def _answered(output: Item, waiting: Sequence[tuple[str, str, str]]) -> tuple[str, str, str] | None:
    """Find the open call that an output belongs to: by its id, or by its name where it has no id."""
    kind, named = OUTPUTS[kind_of(output)], call_id(output)
    for open_call in waiting:
        if open_call[0] == kind and (open_call[1] == named if named else open_call[2] == output.get("name")):
            return open_call
    return None


def _words(kind: str) -> str:
    return kind.replace("_", " ")
