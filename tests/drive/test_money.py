"""A reply is priced by the prompts that were sent: each step's own length, and every edit with its true size."""

from __future__ import annotations

import pytest
from cases.talk import listing, log
from hypothesis import given
from hypothesis import strategies as st
from provider import CHEAP_READS, LATER, MODEL, Provider, growing, priced, step, talk
from support import pressing

from coldpress.drive.accounts import Removed, money
from coldpress.engine.policy import DEFAULT_POLICY, with_source_age
from coldpress.measure.prices import cost_usd
from coldpress.measure.rates import Prices, Rates
from coldpress.measure.tokens import estimate
from coldpress.model.records import Outcome
from coldpress.model.usage import Usage
from coldpress.stores.memory import MemoryStore
from coldpress.wire.usage import UsageFields
from coldpress.wire.usage_fields import Step, WireUsage

LOW, HIGH = (Rates(f, f / 10, f * 1.25, f * 2, f * 5, "test", "2026-11-30") for f in (3.0, 6.0))
CLIFF = Prices(MODEL, ((0, LOW), (200_000, HIGH)))
REFUSAL = "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead."


def reply(prompts: list[int]) -> Outcome:
    """A reply of one step for each prompt, as the wire tells it."""
    steps = [
        Step("message", None, tokens, 10, cache_read_input_tokens=0, cache_creation_input_tokens=0)
        for tokens in prompts
    ]
    fields = UsageFields("anthropic")
    fields.merge(WireUsage(input_tokens=prompts[-1], output_tokens=10 * len(prompts), iterations=steps))
    bill = fields.bill(MODEL)
    return Outcome("r", 200, "complete", 1.0, bill.usage, bill.others, bill.context_tokens)


@given(st.lists(st.integers(1, 200_000), min_size=1, max_size=6))
def test_steps_below_a_cliff_are_not_priced_as_one_prompt_above_it(prompts: list[int]) -> None:
    worked_out = money(reply(prompts), CLIFF, lambda _: CLIFF, Removed(), None)
    each = [cost_usd(Usage(tokens, 0, 0, None, 10), CLIFF) for tokens in prompts]
    assert worked_out.bill_usd == pytest.approx(sum(usd for usd in each if isinstance(usd, float)))
    assert worked_out.net_usd == pytest.approx(0, abs=1e-12)


@given(st.integers(150_000, 200_000), st.integers(0, 100_000))
def test_what_edits_keep_below_a_cliff_is_saved_on_every_step(tokens: int, removed: int) -> None:
    worked_out = money(reply([tokens, tokens]), CLIFF, lambda _: CLIFF, Removed(tail=removed), None)
    without = cost_usd(Usage(2 * tokens + removed, 0, 0, None, 20), CLIFF, prompt_tokens=tokens + removed)
    assert isinstance(without, float)
    assert worked_out.bill_usd is not None
    assert worked_out.net_usd == pytest.approx(without - worked_out.bill_usd)


def test_the_exact_text_in_the_place_of_a_refusal_counts_as_what_it_adds() -> None:
    """Else nothing behind it would have a place in the prompt, and no request after it a price."""
    text = listing("f", 120)
    steps = [step(0, text, tool="Read", file_path="f.py"), *(step(n) for n in range(1, 9))]
    steps += [step(9, REFUSAL, tool="Read", file_path="f.py"), step(10)]
    provider = Provider()
    with pressing(priced(CHEAP_READS, policy=with_source_age(DEFAULT_POLICY, 4))) as press:
        turns = talk(press, growing(steps), provider, pauses={9: LATER})
        before, restored = turns[9].prepared.receipt, turns[10].prepared.receipt
        assert [line.reason for line in restored.lines if line.mode == "restore"] == ["restored"]
    entry = press.store.receipt(turns[11].prepared.receipt.request_id)
    added = estimate(text) - estimate(REFUSAL)
    assert before.removed_tokens is not None
    assert restored.removed_tokens == pytest.approx(before.removed_tokens - added, rel=0.02)
    assert restored.prompt_tokens == pytest.approx(turns[10].usage.prompt, rel=0.05)
    assert entry is not None
    assert entry.outcome is not None
    assert entry.outcome.money is not None
    assert entry.outcome.money.unpriced == ()
    assert entry.outcome.money.net_usd is not None


def test_after_a_restart_what_stands_is_not_taken_to_be_written_anew() -> None:
    """Nothing is known of the cache then, but the reply tells that it was read, and so would the removed text be."""
    bodies, provider, store = growing([step(n, log(f"n{n}", 700)) for n in range(12)]), Provider(), MemoryStore()
    found = []
    for chunk in (bodies[:11], bodies[11:12], bodies[12:]):
        with pressing(priced(), store) as press:
            turns = talk(press, chunk, provider)
        found += [store.receipt(turn.prepared.receipt.request_id) for turn in turns]
    nets = [entry.outcome.money.net_usd for entry in found if entry and entry.outcome and entry.outcome.money]
    states = [entry.receipt.belief.state for entry in found if entry and entry.receipt.belief]
    assert states[-3:] == ["warm", "unknown", "unknown"]
    assert all(net is not None for net in nets)
    assert nets[-2] == pytest.approx(nets[-3], rel=0.25)
    assert nets[-1] == pytest.approx(nets[-3], rel=0.25)
