"""Results made up for the report's tests: a few recordings with figures that are easy to work out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from coldpress.lab.results import Bill, Loss, Turn

ARMS = ("control", "coldpress-source-20", "mask-10", "oracle-source-20")
TARIFFS = ("claude-opus-4-6", "deepseek-v4-pro")
SHARES = {"control": 1.0, "coldpress-source-20": 0.8, "mask-10": 1.25, "oracle-source-20": 0.75}
"""What an arm's bill is of the control's, in every recording."""

LOST = {"control": 0, "coldpress-source-20": 1, "mask-10": 4, "oracle-source-20": 2}
"""Edits lost in every recording, of 20."""

REQUESTS = 12


@dataclass
class Made:
    """Rows held in lists; given once each time, as a folder of files gives them."""

    all_bills: list[Bill] = field(default_factory=list)
    all_turns: list[Turn] = field(default_factory=list)
    all_losses: list[Loss] = field(default_factory=list)
    about: Mapping[str, object] = field(default_factory=dict)

    @property
    def bills(self) -> Iterator[Bill]:
        return iter(self.all_bills)

    @property
    def losses(self) -> Iterator[Loss]:
        return iter(self.all_losses)

    def turns(
        self, *, arm: str | None = None, tariff: str | None = None, recording: str | None = None
    ) -> Iterator[Turn]:
        wanted = {"arm": arm, "tariff": tariff, "recording": recording}
        asked = {name: value for name, value in wanted.items() if value is not None}
        return (one for one in self.all_turns if all(getattr(one, name) == value for name, value in asked.items()))


def bill(recording: str, arm: str, tariff: str, control_usd: float, **other: object) -> Bill:
    """A recording's bill; what is not given is worked out from the arm's share."""
    share = SHARES.get(arm, 0.9)
    values: dict[str, object] = {
        "kind": "claude-code", "task": "-app", "conversations": 1, "requests": REQUESTS,
        "bill_usd": control_usd * share, "control_usd": control_usd, "refetch_usd": 0.0, "refetches": LOST.get(arm, 0),
        "prompt_tokens": round(100_000 * share), "control_prompt_tokens": 100_000,
        "peak_tokens": round(20_000 * share), "control_peak_tokens": 20_000,
        "fresh_tokens": 1_000, "read_tokens": 80_000, "written_tokens": 10_000, "cuts": 2, "cold_cuts": 1,
        "compactions": 0, "edits": 25, "edits_of_results": 20, "edits_lost": LOST.get(arm, 0), "identifiers": 100,
        "identifiers_lost": 2 * LOST.get(arm, 0), "least_usd": control_usd * 0.75, "paid_usd": control_usd * 1.1,
    }  # fmt: skip
    return Bill(recording=recording, content=f"{recording}#", arm=arm, tariff=tariff, **{**values, **other})  # type: ignore[arg-type]


def turns(one: Bill) -> Iterable[Turn]:
    """The requests of a bill: equally dear, the sixth cold, the eighth a cut."""
    for number in range(one.requests):
        yield Turn(
            one.recording, one.content, one.arm, one.tariff, "main", False, number, 30.0 * number,
            one.bill_usd / one.requests, one.control_usd / one.requests, 100, 5_000 + 900 * number, 800,
            300 * number, number == 5, "gate" if number == 7 else "",
        )  # fmt: skip


def losses(one: Bill) -> Iterable[Loss]:
    """Half of the uses of a tool at each of two ages; what was lost is of the older ones."""
    for age, edits_lost in ((1, 0), (11, one.edits_lost)):
        yield Loss(
            one.recording, one.content, one.arm, one.tariff, "Read", age, one.edits_of_results // 2, edits_lost,
            one.identifiers // 2, 2 * edits_lost, edits_lost,
        )  # fmt: skip


def results(recordings: int = 6, arms: Iterable[str] = ARMS, tariffs: Iterable[str] = TARIFFS, **other: object) -> Made:
    """Recordings of 1, 2, 3 ... USD with every arm at every tariff."""
    made = Made()
    for number in range(recordings):
        for arm in arms:
            for tariff in tariffs:
                one = bill(f"session-{number}", arm, tariff, float(number + 1), **other)
                made.all_bills.append(one)
                made.all_turns.extend(turns(one))
                made.all_losses.extend(losses(one))
    return made
