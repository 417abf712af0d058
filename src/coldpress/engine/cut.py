"""Weigh all aged results of a request together and give the batch that is made smaller now, or why none is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from coldpress.engine.aged import Aged
from coldpress.engine.belief import Held
from coldpress.engine.gate import Ruling, Terms, settle
from coldpress.measure.economics import Prompt, Removal
from coldpress.model.records import Cut, CutReason, Operation


@dataclass(frozen=True, slots=True)
class Weighed:
    """What was decided: the aged results that become smaller now, none of them or a run up to the last."""

    chosen: tuple[Aged, ...]
    cut: Cut


def weigh(
    candidates: Sequence[Aged],
    ends: Sequence[int],
    held: Held,
    terms: Terms,
    *,
    scale: float,
    floor: int = 0,
    readable: tuple[int, ...] | None = None,
    operation: Operation = "press",
    stopped: bool = False,
) -> Weighed:
    """Decide which aged results of a request become smaller now.

    Args:
        candidates: what could, in the order of the messages.
        ends: tokens of the prompt up to the end of each message, as `coldpress.engine.layout.message_ends` gives them.
        held: what the provider is believed to hold.
        terms: prices, forecast and rule.
        scale: the provider's tokens for one of ours.
        floor: index of the first message that may be edited without losing reasoning that is bound to it.
        readable: where a read can end, in tokens; `None` for anywhere.
        operation: only `press` makes edits; the others say what `press` would have done.
        stopped: the provider dropped reasoning after an edit in this conversation, which is why it drains.
    """
    if not candidates:
        return Weighed((), Cut("nothing_aged"))
    free = [aged for aged in candidates if aged.seen.message >= floor]
    if not free:
        return Weighed((), Cut("binding_model", candidates=len(candidates)))
    removals = [
        Removal(
            before_tokens=ends[aged.seen.message],
            removed_tokens=round(aged.view.freed_tokens * scale),
            waited=aged.waited,
        )
        for aged in free
    ]
    prompt = Prompt(tokens=ends[-1], cached_tokens=ends[held.messages] if held.messages else 0, readable=readable)
    ruling = settle(prompt, removals, replace(terms, state=held.belief.state))
    return _weighed(free, ruling, "stopped" if stopped and operation == "drain" else operation)


def _weighed(free: Sequence[Aged], ruling: Ruling, operation: Operation | Literal["stopped"]) -> Weighed:
    if ruling.start is None:
        return Weighed((), ruling.cut)
    if operation != "press":
        declined: CutReason = "observe" if operation == "off" else operation
        return Weighed((), replace(ruling.cut, reason=declined, applied=0))
    return Weighed(tuple(free[ruling.start :]), ruling.cut)
