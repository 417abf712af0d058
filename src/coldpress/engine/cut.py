"""Weigh all aged results of a request together and give the batch that is made smaller now, or why none is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from coldpress.engine.aged import Aged
from coldpress.engine.belief import Held
from coldpress.engine.gate import Ruling, Terms, settle
from coldpress.measure.economics import Prompt, Removal, suffixes
from coldpress.measure.rates import Unpriced
from coldpress.model.records import Cut, CutReason, Operation

Choose = Callable[[Sequence[Aged], Prompt, Sequence[Removal], Terms], Ruling]
"""Says which of the results that may go now go, all behind a start: given them in the order of the prompt, the prompt,
what each of them frees, and what is known of prices and cache. It may be asked twice on one request, where a read can
end elsewhere the second time."""


def by_gate(_: Sequence[Aged], prompt: Prompt, removals: Sequence[Removal], terms: Terms) -> Ruling:
    """Let the gate choose, whatever the results are."""
    return settle(prompt, removals, terms)


@dataclass(frozen=True, slots=True)
class Weighed:
    """What was decided: the aged results that become smaller now, none of them or a run up to the last."""

    chosen: tuple[Aged, ...]
    cut: Cut


def weigh(
    candidates: Sequence[Aged],
    ends: Sequence[int],
    held: Held,
    terms: Terms | Cut,
    *,
    scale: float,
    floor: int = 0,
    readable: tuple[int, ...] | None = None,
    operation: Operation = "press",
    stopped: bool = False,
    choose: Choose = by_gate,
) -> Weighed:
    """Decide which aged results of a request become smaller now.

    Args:
        candidates: what could, in the order of the messages.
        ends: tokens of the prompt up to the end of each message, as `coldpress.engine.layout.message_ends` gives them.
        held: what the provider is believed to hold.
        terms: prices, forecast and rule; or why there are none, and then only what no gate holds back can go.
        scale: the provider's tokens for one of ours.
        floor: index of the first message that may be edited without losing reasoning that is bound to it.
        readable: where a read can end, in tokens; `None` for anywhere.
        operation: only `press` makes edits; the others say what `press` would have done.
        stopped: the provider dropped reasoning after an edit in this conversation, which is why it drains.
        choose: says what goes.
    """
    if not candidates:
        return Weighed((), Cut("nothing_aged"))
    free = [aged for aged in candidates if aged.seen.message >= floor]
    if not free:
        return Weighed((), Cut("binding_model", candidates=len(candidates)))
    if held.belief.state != "cold":
        free = [aged for aged in free if not aged.view.only_cold]
    if not free:
        return Weighed((), Cut("waiting", candidates=len(candidates)))
    prompt, removals = priced(free, ends, held, scale=scale, readable=readable)
    if isinstance(terms, Cut):
        ruling = Ruling(None, replace(terms, candidates=len(free)))
    else:
        ruling = choose(free, prompt, removals, replace(terms, state=held.belief.state))
    first = next((place for place, aged in enumerate(free) if aged.view.ungated), None)
    chosen: tuple[Aged, ...] = tuple(free[ruling.start :]) if ruling.start is not None else ()
    cut = ruling.cut
    if first is not None and (ruling.start is None or ruling.start > first):
        # What stands behind the first that is ordered is written again anyway, so all that may go goes with it.
        behind = zip(free[first:], removals[first:], strict=True)
        taken = [pair for pair in behind if pair[0].view.ungated or not isinstance(terms, Cut)]
        chosen = tuple(aged for aged, _ in taken)
        cut = _ordered(cut, sum(removal.removed_tokens for _, removal in taken))
        if not isinstance(terms, Cut):
            cut = _with_net(cut, prompt, removals, terms, first)
    if chosen and operation != "press":
        return Weighed((), _withheld(cut, operation, stopped=stopped))
    return Weighed(chosen, replace(cut, applied=len(chosen)))


def priced(
    candidates: Sequence[Aged],
    ends: Sequence[int],
    held: Held,
    *,
    scale: float,
    readable: tuple[int, ...] | None,
) -> tuple[Prompt, list[Removal]]:
    """Put a request and what could go from it in the terms of `coldpress.measure.economics`.

    Arguments are those of `weigh`.
    """
    removals = [
        Removal(
            before_tokens=ends[aged.seen.message],
            removed_tokens=max(0, round(aged.view.freed_tokens * scale)),
            waited=aged.waited,
        )
        for aged in candidates
    ]
    return Prompt(ends[-1], ends[held.messages] if held.messages else 0, readable), removals


def _ordered(cut: Cut, removed_tokens: int) -> Cut:
    return replace(cut, reason="ordered", removed_tokens=removed_tokens, rewrite_tokens=0, net_usd=None)


def _with_net(cut: Cut, prompt: Prompt, removals: Sequence[Removal], terms: Terms, first: int) -> Cut:
    """Say what it costs or saves to take out everything from `first` on, where that is known."""
    if isinstance(terms.routes, Unpriced) or terms.requests is None:
        return cut
    found = suffixes(prompt, removals, terms.routes, requests=terms.requests, long=terms.long)
    if isinstance(found, Unpriced):
        return cut
    return replace(cut, rewrite_tokens=found[first].rewrite_tokens, net_usd=found[first].net_usd)


def _withheld(cut: Cut, operation: Operation, *, stopped: bool) -> Cut:
    declined: CutReason
    match operation:
        case "drain":
            declined = "stopped" if stopped else "drain"
        case _:
            declined = "observe"
    return replace(cut, reason=declined, applied=0)
