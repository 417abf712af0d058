"""Read what a provider says it did to a prompt by itself: what it cleared, and the summaries that it wrote.

Shapes: anthropic 2.14.0 (`BetaContextManagementResponse`, `BetaCompactionIterationUsage`), openai 3.57.0
(`ResponseCompactionItem`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from coldpress.model.native import Applied, Primitive

COMPACTION_WORD: Final = b'"compaction"'
"""Stands in every reply that carries a summary; in the text of one the quotes would be escaped."""

_MOST: Final = 50
_CLEARED: Final[dict[str, Primitive]] = {
    "clear_tool_uses_20250919": "clear_tool_uses",
    "clear_thinking_20251015": "clear_thinking",
}


class _Edit(msgspec.Struct):
    type: str | None = None
    cleared_input_tokens: int | None = None
    cleared_tool_uses: int | None = None
    cleared_thinking_turns: int | None = None


class _Management(msgspec.Struct):
    applied_edits: list[_Edit] | None = None


class _Item(msgspec.Struct):
    type: str | None = None


_MANAGEMENT: Final = msgspec.json.Decoder(_Management)
_ITEMS: Final = msgspec.json.Decoder(list[_Item])


def applied_edits(raw: bytes | msgspec.Raw) -> tuple[Applied, ...]:
    """Read `context_management` of a Messages reply: what was cleared, in order; edits of other types are left out.

    Raises:
        msgspec.MsgspecError: it has another shape.
    """
    return tuple(_edits((_MANAGEMENT.decode(raw).applied_edits or ())[:_MOST]))


def compaction_items(raw: bytes | msgspec.Raw) -> tuple[Applied, ...]:
    """Give the summaries among the `output` of a Responses reply; their tokens stand within the reply's own.

    Raises:
        msgspec.MsgspecError: it has another shape.
    """
    if COMPACTION_WORD not in bytes(raw):
        return ()
    return tuple(Applied("compaction") for item in _ITEMS.decode(raw) if item.type == "compaction")[:_MOST]


def _edits(edits: Iterable[_Edit]) -> Iterator[Applied]:
    for edit in edits:
        primitive = _CLEARED.get(edit.type or "")
        if primitive is not None:
            yield Applied(
                primitive,
                cleared_tokens=_count(edit.cleared_input_tokens),
                cleared_tool_uses=_count(edit.cleared_tool_uses),
                cleared_thinking_turns=_count(edit.cleared_thinking_turns),
            )


def _count(number: int | None) -> int | None:
    return number if number is not None and number >= 0 else None
