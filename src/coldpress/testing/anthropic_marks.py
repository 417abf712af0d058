"""Rules for Anthropic cache marks: how many, where, and in which order of lifetimes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, cast

from coldpress.measure.cache_rules import MAX_MARKS
from coldpress.testing.anthropic_view import THINKING, Placed, render_order
from coldpress.testing.jsonview import as_object, as_text, objects
from coldpress.testing.refusal import Refusal

Ttl = Literal["5m", "1h"]


def mark_of(block: Mapping[str, object]) -> Ttl | None:
    """Give the lifetime a block's mark asks for; `None` without a mark."""
    control = block.get("cache_control")
    if not isinstance(control, dict):
        return None
    return cast("Ttl", control.get("ttl", "5m"))


def marks(body: Mapping[str, object]) -> dict[str, Ttl]:
    """List the marks in force by the path of the marked top-level block, in prompt order.

    A mark on a part of a tool result counts for the whole result. The top-level `cache_control` is a mark on the last
    block that may carry one.
    """
    found: dict[str, Ttl] = {}
    last = None
    for placed in render_order(body):
        for _, block in _with_parts(placed):
            if (ttl := mark_of(block)) is not None:
                found[placed.path] = ttl
        if placed.kind not in THINKING and not _is_empty_text(placed.block):
            last = placed.path
    automatic = mark_of(body)
    if automatic is not None and last is not None and last not in found:
        found[last] = automatic
    return found


def check_marks(body: Mapping[str, object]) -> Refusal | None:
    """Refuse a fifth mark, a mark where none may stand, and a long-lived mark behind a short-lived one."""
    if body.get("cache_control") is not None and (refusal := _check_place("request", body)) is not None:
        return refusal
    for placed in render_order(body):
        for path, block in _with_parts(placed):
            if block.get("cache_control") is not None and (refusal := _check_place(path, block)) is not None:
                return refusal
    count = sum(mark_of(block) is not None for placed in render_order(body) for _, block in _with_parts(placed))
    in_force = marks(body)
    own = marks({key: value for key, value in body.items() if key != "cache_control"})
    automatic = len(in_force) > len(own)
    if count + automatic > MAX_MARKS:
        return Refusal(
            f"A maximum of {MAX_MARKS} blocks with cache_control may be provided. Found {count + automatic}."
        )
    short = None
    for path, ttl in in_force.items():
        if ttl == "1h" and short is not None:
            return Refusal(
                f"{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block. Note that blocks are processed in the following order: `tools`, "
                "`system`, `messages`."
            )
        short = path if ttl == "5m" else short
    return None


def _check_place(path: str, block: Mapping[str, object]) -> Refusal | None:
    control = as_object(block.get("cache_control"))
    if control.get("type") != "ephemeral":
        return Refusal(f"{path}.cache_control.type: Input should be 'ephemeral'")
    if control.get("ttl", "5m") not in ("5m", "1h"):
        return Refusal(f"{path}.cache_control.ephemeral.ttl: Input should be '5m' or '1h'")
    if block.get("type") in THINKING:
        return Refusal(f"{path}.{block.get('type')}.cache_control: Extra inputs are not permitted")
    if _is_empty_text(block):
        return Refusal(f"{path}.text: cache_control cannot be set for empty text blocks")
    return None


def _is_empty_text(block: Mapping[str, object]) -> bool:
    return block.get("type") == "text" and not as_text(block.get("text"))


def _with_parts(placed: Placed) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Give a block and the parts inside its content, which may carry marks too."""
    yield placed.path, placed.block
    if placed.kind == "tool_result":
        for index, part in enumerate(objects(placed.block.get("content"))):
            yield f"{placed.path}.content.{index}", part
