"""Write the rows of one cell: a recording with one arm at one tariff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from coldpress.lab.evidence import Evidence, losses
from coldpress.lab.results import Bill, Loss, Turn
from coldpress.lab.runs import Billed, Step
from coldpress.model.usage import Usage

_APPLIED: Final = ("masked", "masked_short", "summarised")


@dataclass(frozen=True, slots=True)
class About:
    """What the rows of a recording have in common; see `Bill`."""

    recording: str
    content: str
    kind: str
    task: str
    paid_usd: float | None


def bill_of(about: About, arm: str, tariff: str, billed: Billed) -> Bill:
    """Sum a run up."""
    steps = billed.steps
    used = sum((step.looked.evidence for step in steps), Evidence())
    cuts = [step for step in steps if _cut(step)]
    return Bill(
        recording=about.recording,
        content=about.content,
        kind=about.kind,
        task=about.task,
        arm=arm,
        tariff=tariff,
        conversations=len({step.conversation for step in steps}),
        requests=len(steps),
        bill_usd=sum(billed.usds) + billed.refetched.usd,
        control_usd=sum(billed.controls_usd),
        refetch_usd=billed.refetched.usd,
        refetches=billed.refetched.count,
        prompt_tokens=sum(usage.prompt or 0 for usage in billed.usages),
        control_prompt_tokens=sum(usage.prompt or 0 for usage in billed.controls),
        peak_tokens=max((usage.prompt or 0 for usage in billed.usages), default=0),
        control_peak_tokens=max((usage.prompt or 0 for usage in billed.controls), default=0),
        fresh_tokens=sum(usage.fresh or 0 for usage in billed.usages),
        read_tokens=sum(usage.read or 0 for usage in billed.usages),
        written_tokens=sum(_written(usage) for usage in billed.usages),
        cuts=len(cuts),
        cold_cuts=sum(_is_cold(step) for step in cuts),
        compactions=sum(_is_compacted(step) for step in steps),
        edits=used.edits,
        edits_of_results=used.edits_of_results,
        edits_lost=used.edits_lost,
        identifiers=used.identifiers,
        identifiers_lost=used.identifiers_lost,
        paid_usd=about.paid_usd,
    )


def turns_of(about: About, arm: str, tariff: str, billed: Billed) -> tuple[Turn, ...]:
    """Write the requests of a run, in the order of time."""
    began = billed.steps[0].at if billed.steps else 0.0
    rows = zip(billed.steps, billed.usages, billed.controls, billed.usds, billed.controls_usd, strict=True)
    return tuple(
        Turn(
            recording=about.recording,
            content=about.content,
            arm=arm,
            tariff=tariff,
            conversation=step.conversation,
            side_chain=step.side_chain,
            number=number,
            at_seconds=step.at - began,
            usd=usd,
            control_usd=control_usd,
            fresh_tokens=usage.fresh or 0,
            read_tokens=usage.read or 0,
            written_tokens=_written(usage),
            removed_tokens=(control.prompt or 0) - (usage.prompt or 0),
            cold=2 * (control.read or 0) < (control.prompt or 0),
            cut=_cut(step),
        )
        for number, (step, usage, control, usd, control_usd) in enumerate(rows)
    )


def losses_of(about: About, arm: str, tariff: str, billed: Billed) -> tuple[Loss, ...]:
    """Write what later calls used of results, by tool and age."""
    return losses(
        (step.looked for step in billed.steps),
        recording=about.recording,
        content=about.content,
        arm=arm,
        tariff=tariff,
        refetched=billed.refetched.uses,
    )


def _written(usage: Usage) -> int:
    return (usage.write_short or 0) + (usage.write_long or 0)


def _cut(step: Step) -> str:
    """Give the word for an applied cut, empty where nothing old was newly hidden."""
    cut = step.receipt.cut if step.receipt is not None else None
    return cut.reason if cut is not None and cut.applied else ""


def _is_cold(step: Step) -> bool:
    belief = step.receipt.belief if step.receipt is not None else None
    return belief is not None and belief.state == "cold"


def _is_compacted(step: Step) -> bool:
    pressure = step.receipt.pressure if step.receipt is not None else None
    return pressure is not None and pressure.reason in _APPLIED
