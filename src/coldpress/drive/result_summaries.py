"""Have single results summarised by a cheaper model: ask the gate before anything is paid, and write down what came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from coldpress.drive.offload import Bill, Failed, Made, Offload, Wanted
from coldpress.drive.reads import Reads
from coldpress.engine.aged import Aged, Due
from coldpress.engine.aged_view import View, guidance_of
from coldpress.engine.belief import Held
from coldpress.engine.cut import priced
from coldpress.engine.exactness import is_diff, judge
from coldpress.engine.gate import Terms, settle, worth
from coldpress.engine.session import Seen, Session
from coldpress.measure.economics import Removal
from coldpress.measure.rates import Unpriced
from coldpress.measure.tokens import estimate
from coldpress.model.conversation import Conversation, ToolResult
from coldpress.model.edits import Standing
from coldpress.model.records import Cut, Line, Offloaded

N = TypeVar("N", int, float)

SMALLEST_BYTES: Final = 2_048
"""A shorter result is not worth a call: four fifths of recorded tool outputs are, and hold a fifth of all bytes."""


@dataclass(frozen=True, slots=True)
class Unwritten:
    """A result that its rule would have summarised, and that nobody has summarised yet."""

    due: Due
    wanted: Wanted
    waited: int


@dataclass(frozen=True, slots=True)
class Sought:
    """Summaries that a request could use.

    Attributes:
        wanted: those that are worth paying for, going by the best case of each; none where the gate declines.
        record: for the ledger.
        declined: what the gate said of the best case, where nothing is asked for.
    """

    wanted: tuple[Wanted, ...]
    record: Offloaded
    declined: Cut | None = None


class ResultSummaries:
    """Summaries of single results. `ask` and `close` belong to one event loop; all else is safe from any thread.

    Args:
        offload: asks the model.
    """

    def __init__(self, offload: Offload) -> None:
        self._offload = offload

    @property
    def patience_seconds(self) -> float:
        """How much longer a request may take since summaries are waited for."""
        return self._offload.timeout_seconds

    def summary(self, conversation: Conversation, seen: Seen, text: str) -> tuple[str, int] | None:
        """Give the summary of a result, and how many statements were taken out of it; may read the store."""
        wanted = self._wanted(conversation, seen, text)
        made = self._offload.kept([wanted.identity]).get(wanted.identity) if wanted is not None else None
        return (made.text, made.dropped) if made is not None else None

    def unwritten(self, conversation: Conversation, session: Session, due: Sequence[Due]) -> tuple[Unwritten, ...]:
        """List the results among these that wait for a summary, in order; may read the store."""
        found: list[Unwritten] = []
        for one in due:
            if one.mode == "model":
                wanted = self._wanted(conversation, one.seen, conversation.text(one.seen.literal))
                if wanted is not None:
                    found.append(Unwritten(one, wanted, session.age(one.seen.message) - one.since))
        kept = self._offload.kept([one.wanted.identity for one in found]) if found else {}
        return tuple(one for one in found if one.wanted.identity not in kept)

    def sought(
        self,
        unwritten: Sequence[Unwritten],
        others: Sequence[Aged],
        reads: Reads,
        held: Held,
        terms: Terms | Cut,
        *,
        scale: float,
        floor: int,
    ) -> Sought:
        """Ask the gate on the best case: every summary as cheap as it can be, and as short as nothing.

        Args:
            unwritten: results without a summary.
            others: everything else that could become smaller now.
            reads: where a read can end.
            held: what the provider is believed to hold.
            terms: of the gate, or the reason why there are none.
            scale: the provider's tokens for one of ours.
            floor: index of the first message that may be edited without losing reasoning that is bound to it.
        """
        record = Offloaded(wanted=len(unwritten))
        free = [one for one in unwritten if one.due.seen.message >= floor]
        costs = [self._offload.expected_usd(estimate(one.wanted.text)) for one in free]
        if not free:
            return _declined(record, Cut("binding_model", candidates=len(unwritten)))
        if isinstance(terms, Cut):
            return _declined(record, replace(terms, candidates=len(free)))
        if any(isinstance(cost, Unpriced) for cost in costs):
            return Sought((), replace(record, why="unpriced"), Cut("unpriced", candidates=len(free)))
        cases = [
            (_best_case(one), one, cost)
            for one, cost in zip(free, costs, strict=True)
            if not isinstance(cost, Unpriced) and worth(Removal(0, _tokens(one, scale), 0, cost), terms)
        ]
        if not cases:
            return _declined(record, Cut("does_not_pay", candidates=len(free), requests=terms.requests))
        together = sorted([*((aged, None, 0.0) for aged in others), *cases], key=lambda case: _place_of(case[0]))
        prompt, removals = priced(
            [aged for aged, _, _ in together], reads.ends, held, scale=scale, readable=reads.hopeful
        )
        with_cost: list[Removal] = [
            removal._replace(summariser_usd=cost) for removal, (_, _, cost) in zip(removals, together, strict=True)
        ]
        ruling = settle(prompt, with_cost, replace(terms, state=held.belief.state))
        chosen = [] if ruling.start is None else [one for _, one, _ in together[ruling.start :] if one is not None]
        if not chosen:
            why = ruling.cut.reason if ruling.start is None else "does_not_pay"
            return _declined(record, replace(ruling.cut, reason=why, applied=0))
        return Sought(tuple(one.wanted for one in chosen), replace(record, why="asked"))

    async def ask(self, sought: Sought) -> Offloaded:
        """Have summaries written, and say what came of it; what earlier requests did not wait for is billed here."""
        answers = (await self._offload.ask(sought.wanted)).values()
        return recorded(sought.record, (*answers, *self._offload.take_unbilled()))

    async def close(self) -> None:
        """Give up what is being written."""
        await self._offload.close()

    def _wanted(self, conversation: Conversation, seen: Seen, text: str) -> Wanted | None:
        """Say what would have to be summarised; `None` where nothing may be, or it is not worth a call."""
        result = conversation.messages[seen.message].blocks[seen.key.block]
        if len(seen.literal.span) < SMALLEST_BYTES or not isinstance(result, ToolResult) or result.call is None:
            return None
        if judge(seen.classified, text, wire_failed=result.failed) != "ok" or is_diff(text) or "\0" in text:
            return None
        asked = guidance_of(conversation, seen, result.call)
        return self._offload.wanted(seen.key, tool=seen.tool, arguments=seen.arguments, text=text, guidance=asked.text)


def _declined(record: Offloaded, cut: Cut) -> Sought:
    """Ask for nothing, for the reason that a cut tells."""
    return Sought((), replace(record, why=f"preflight:{cut.reason}"), cut)


def recorded(record: Offloaded, answers: Iterable[Made | Failed | Bill]) -> Offloaded:
    """Put answers into the record of what was wanted: unknown tokens and costs make the sums unknown."""
    for answer in answers:
        if isinstance(answer, Bill) or answer.asked:
            record = replace(
                record,
                calls=record.calls + 1,
                input_tokens=_sum(record.input_tokens, answer.usage.prompt),
                output_tokens=_sum(record.output_tokens, answer.usage.output),
                usd=_sum(record.usd, answer.usd),
            )
        if isinstance(answer, Made) and answer.cached:
            record = replace(record, reused=record.reused + 1)
        if isinstance(answer, Failed):
            record = replace(record, refused=(*record.refused, answer.reason))
    return record


def with_kept(record: Offloaded | None, chosen: Sequence[Aged], asked_for: Sequence[Wanted]) -> Offloaded | None:
    """Count the summaries that are shown from now on though nobody was asked for them here: they were kept."""
    new = {wanted.key for wanted in asked_for}
    kept = sum(aged.view.standing.mode == "model" and aged.seen.key not in new for aged in chosen)
    if not kept:
        return record
    known = record or Offloaded(wanted=0, why="applied")
    return replace(known, wanted=known.wanted + kept, reused=known.reused + kept)


def _sum(before: N | None, more: N | None) -> N | None:
    return None if before is None or more is None else before + more


def _tokens(one: Unwritten, scale: float) -> int:
    return round(estimate(one.wanted.text) * scale)


def _best_case(one: Unwritten) -> Aged:
    """Take a result away altogether: no summary frees more."""
    seen, rule = one.due.seen, one.due.rule
    line = Line(seen.tool, seen.classified.kind, "model", "exposed", rule.match, "", len(one.wanted.text.encode()), 0)
    view = View(Standing(seen.key, "", "model"), estimate(one.wanted.text), line)
    return Aged(seen, view, one.waited)


def _place_of(aged: Aged) -> int:
    return aged.seen.literal.span.start
