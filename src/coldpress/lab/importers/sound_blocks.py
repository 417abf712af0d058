"""Make a recorded content block one that a provider takes and that the lab can read, or say that it is none.

For importers that keep blocks as they were recorded. A sound block comes back as the same object, so nothing of it is
written anew.
"""

from __future__ import annotations

from collections import Counter

from coldpress.lab.importers.jsonvalues import JsonObject, text_in
from coldpress.lab.jsontext import compact_json

NO_BLOCK = "blocks of a broken form (left out)"
NO_FIELD = "fields of a wrong type (left out, or written as what they should be)"

_TEXTS = frozenset({"text", "thinking", "id", "name", "tool_use_id", "signature"})
"""Fields that hold a string wherever they stand."""

_NEEDED: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "thinking": ("thinking",),
    "tool_use": ("id", "name"),
    "server_tool_use": ("id", "name"),
    "mcp_tool_use": ("id", "name"),
    "tool_result": ("tool_use_id",),
}
"""Fields without which a block of a kind is none."""

_SAYS = {"true": True, "false": False}


def sound(block: JsonObject, notes: Counter[str]) -> JsonObject | None:
    """Give a block with fields of the right types.

    Args:
        block: as recorded.
        notes: counts what is left out, or is written in another shape.

    Returns:
        The same object where it is sound; `None` where it has no kind, or not what its kind needs.
    """
    kind = text_in(block, "type")
    needed = _NEEDED.get(kind or "", ())
    if not kind or not all(text_in(block, key) is not None for key in needed) or block.get("id") == "":
        notes[NO_BLOCK] += 1
        return None
    mended = {key: value for key, value in block.items() if _keeps(key, value, kind)}
    if kind == "tool_result":
        _mend_result(mended, notes)
    elif kind == "tool_use" and not isinstance(block.get("input"), dict):
        given = block.get("input")
        mended["input"] = {} if given is None else {"arguments": given}
    if mended == block:
        return block
    notes[NO_FIELD] += 1
    return mended


def _keeps(key: str, value: object, kind: str) -> bool:
    """Whether a field may stay; what a result says is mended instead."""
    if key in _TEXTS:
        return isinstance(value, str)
    if kind == "tool_result":
        return True
    if key == "is_error":
        return isinstance(value, bool)
    return key != "content" or isinstance(value, str | dict) or (isinstance(value, list) and all(map(_is_part, value)))


def _mend_result(block: JsonObject, notes: Counter[str]) -> None:
    if "is_error" in block and not isinstance(failed := block["is_error"], bool):
        said = _SAYS.get(failed.strip().lower()) if isinstance(failed, str) else None
        del block["is_error"]
        if said is not None:
            block["is_error"] = said
    content = block.get("content", "")
    if isinstance(content, list):
        parts = [{"type": "text", "text": one} if isinstance(one, str) else one for one in content]
        notes[NO_BLOCK] += sum(not _is_part(one) for one in parts)
        if not all(map(_is_part, content)):
            block["content"] = [one for one in parts if _is_part(one)]
    elif not isinstance(content, str):
        block["content"] = "" if content is None else compact_json(content)


def _is_part(part: object) -> bool:
    """Whether this can stand in the content of a block."""
    if not isinstance(part, dict) or not text_in(part, "type"):
        return False
    return isinstance(part.get("text", "" if part["type"] != "text" else None), str)
