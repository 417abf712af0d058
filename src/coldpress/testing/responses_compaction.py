"""Compact a Responses conversation the way the provider does: one sealed item stands for all before it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Final

from coldpress.testing.jsonview import as_object, as_text, objects
from coldpress.testing.responses_seal import Sealer
from coldpress.testing.responses_view import CALLS, Item, call_id, is_from_model, kind_of, plain_text

_LINE_CHARS: Final = 160
_SUMMARY_CHARS: Final = 4000
_USUAL_SHARE: Final = 0.8
"""The provider does not publish its threshold where a request names none; this is our assumption."""

_OUR_CALL: Final = re.compile(r"call_(\d{8})_\d\d")


def last_compaction(items: Sequence[Item]) -> int:
    """Index of the item that stands for everything before it; 0 where there is none."""
    return max((index for index, item in enumerate(items) if kind_of(item) == "compaction"), default=0)


def wants_compaction(items: Sequence[Item]) -> bool:
    """Whether the request asks for a compaction and nothing else."""
    return bool(items) and kind_of(items[-1]) == "compaction_trigger"


def compact_threshold(body: Mapping[str, object], window_tokens: int) -> int | None:
    """Tokens from which the provider compacts by itself; `None` where the request does not let it."""
    for entry in objects(body.get("context_management")):
        if entry.get("type") == "compaction":
            named = entry.get("compact_threshold")
            return named if isinstance(named, int) else int(window_tokens * _USUAL_SHARE)
    return None


def compaction_item(items: Sequence[Item], *, identifier: str, sealer: Sealer) -> dict[str, object]:
    """Make the item that stands for these: a digest of each, and how many turns with calls they held."""
    content = {"id": identifier, "text": _summary(items, sealer), "turns": calls_made(items, sealer)}
    return {"id": identifier, "type": "compaction", "encrypted_content": sealer.seal(content)}


def calls_made(items: Sequence[Item], sealer: Sealer) -> int:
    """Count the turns with tool calls, those inside the last compaction item included.

    Calls that this upstream gave name their turn in their ids, so that clients may put outputs between parallel calls.
    """
    made = 0
    turns: set[str] = set()
    before: Item | None = None
    for place, item in enumerate(items):
        if kind_of(item) == "compaction":
            turns.clear()
            counted = as_object(sealer.open(as_text(item.get("encrypted_content")))).get("turns")
            made = counted if isinstance(counted, int) else made
        elif kind_of(item) in CALLS:
            ours = _OUR_CALL.match(call_id(item))
            goes_on = before is not None and is_from_model(before) and kind_of(before) in CALLS
            if ours:
                turns.add(ours[1])
            elif not goes_on:
                turns.add(f"at {place}")
        before = item
    return made + len(turns)


def _summary(items: Sequence[Item], sealer: Sealer) -> str:
    lines = []
    for item in items[last_compaction(items) :]:
        kind = kind_of(item)
        if kind == "compaction":
            lines.append(as_text(as_object(sealer.open(as_text(item.get("encrypted_content")))).get("text")))
        elif text := plain_text(item):
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            lines.append(f"{as_text(item.get('role')) or kind}: {text[:_LINE_CHARS]} #{digest[:8]}")
    return "\n".join(lines)[-_SUMMARY_CHARS:]
