"""What summaries cost is in the books once, whatever became of them: refused, awaited, unpriced or put in place."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import replace

import pytest
from cases.agents import Turn
from cases.compacting import STEPS, agent, asking, pressure, reasons, settings, settled, small, summarising, writes

from coldpress.stores.base import LedgerEntry, Store
from coldpress.testing import BreakOff, Say, Script
from coldpress.testing import Turn as Answer

TRUE = {"message": 2, "text": "Wrote reports/part_0.txt", "quotes": ["reports/part_0.txt"]}
INVENTED = {"message": 2, "text": "Always run the other script first."}


def answering(*answers: str) -> Script:
    """A summariser that gives these answers one after the other, and then the last one again."""
    left = deque(answers)
    return Script(answer=lambda _asked: Answer((Say(left.popleft() if len(left) > 1 else left[0]),)))


def entries(store: Store, turns: list[Turn]) -> list[LedgerEntry]:
    found = [store.receipt(turn.entry.receipt.request_id) for turn in turns]
    return [entry for entry in found if entry is not None]


def test_every_summary_is_in_the_money_of_the_request_that_tells_of_it_and_nowhere_else() -> None:
    refused, taken = json.dumps({"constraints": [INVENTED]}), json.dumps({"artifacts": [TRUE]})
    with (
        summarising(answering(refused, taken)) as model,
        small(writes(), settings(asking(model.upstream.url))) as stage,
    ):
        one = agent(stage, "anthropic")
        for _ in range(STEPS - 1):
            one.go(1)
            settled(stage)
        found, totals = entries(stage.gate.store, one.turns), stage.gate.store.totals()
        asked = len(model.questions)
    told = {entry.receipt.request_id: entry for entry in found}
    assert {"summary_awaited", "summarised"} <= {reasons(turn) for turn in one.turns}
    assert any("nothing_held" in pressure(turn).refused for turn in one.turns if turn.entry.receipt.pressure)
    assert any(pressure(turn).summariser == "example-small" for turn in one.turns if turn.entry.receipt.pressure)
    costs = []
    for entry in told.values():
        assert entry.outcome is not None
        assert entry.outcome.money is not None
        spent = entry.receipt.pressure.summariser_usd if entry.receipt.pressure else 0.0
        assert entry.outcome.money.summariser_usd == spent
        costs += [spent] if spent else []
    assert asked >= 2
    assert asked - len(costs) in (0, 1), "each is told once; the last one may still be waiting to be"
    assert totals.compactions.summariser.usd == pytest.approx(sum(cost for cost in costs if cost))
    assert totals.money.summariser.usd == pytest.approx(totals.compactions.summariser.usd, abs=1e-9)
    assert totals.money.summariser.unpriced == totals.compactions.summariser.unpriced == 0


def test_half_an_answer_leaves_unknown_what_was_saved() -> None:
    script = replace(answering(json.dumps({"artifacts": [TRUE]})), faults={0: BreakOff(after=20)})
    with summarising(script) as model, small(writes(), settings(asking(model.upstream.url))) as stage:
        one = agent(stage, "anthropic")
        for _ in range(STEPS - 1):
            one.go(1)
            settled(stage)
        kept, totals = entries(stage.gate.store, one.turns), stage.gate.store.totals()
    unknown = [entry for entry in kept if entry.receipt.pressure and entry.receipt.pressure.summariser_usd is None]
    assert unknown
    for entry in unknown:
        assert entry.outcome is not None
        assert entry.outcome.money is not None
        assert "summariser" in entry.outcome.money.unpriced
        assert entry.outcome.money.net_usd is None
    assert totals.money.summariser.unpriced == totals.compactions.summariser.unpriced == len(unknown)
    assert totals.money.net.unpriced >= len(unknown)
