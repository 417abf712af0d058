"""Compaction over HTTP: masks where they are enough, summaries where they are not, each in its own conversation."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest
from bodies import changed_literals, without_marks
from cases.agents import MINUTE, Agent, Clock
from cases.compacting import (
    BUDGET,
    TARGET,
    TRIGGER,
    URGENT,
    WINDOW,
    WIRES,
    Wire,
    accepted,
    agent,
    asking,
    bulk,
    literal,
    long,
    pressure,
    reads,
    reasons,
    settings,
    settled,
    small,
    spoken,
    summarising,
    summary_text,
    until,
    writes,
)
from click.testing import CliRunner

from coldpress.cli.main import main
from coldpress.engine.budget import BudgetRule, Budgets
from coldpress.measure.cache import PrefixCache
from coldpress.measure.cache_rules import OPENAI_STEPS
from coldpress.stores.sqlite import SqliteStore
from coldpress.testing import Asked, Rules, Say, Shell
from coldpress.testing import Turn as Answer
from coldpress.testing.meter import Meter

FORMATS = {"anthropic": "anthropic", "openai": "openai_chat"}


def counted(body: bytes, wire: Wire) -> int:
    """Tokens of a request, as the strict upstream counts them."""
    meter, read = Meter(lambda: 0.0, automatic=PrefixCache(OPENAI_STEPS)), json.loads(body)
    return meter.count_messages(read) if wire == "anthropic" else meter.count_chat(read)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", WIRES)
def test_masks_that_reach_the_target_finish_the_run_and_nobody_is_asked_for_a_summary(wire: Wire, stream: bool) -> None:
    budget = replace(BUDGET, keep_turns=2)
    with summarising() as model, small(reads(), settings(asking(model.upstream.url), budget), wire=wire) as stage:
        one = agent(stage, wire, output=long, stream=stream)
        first = until(one, "masked")
        one.go(26 - len(one.turns))
    accepted(one.turns)
    assert model.questions == []
    assert counted(one.turns[-1].body, wire) > 1.1 * WINDOW, "without coldpress it would have overflowed"
    assert {reasons(turn) for turn in one.turns} == {"", "masked"}
    assert pressure(first).before_tokens >= TRIGGER
    assert pressure(first).after_tokens <= TARGET
    assert pressure(first).cleared == len(changed_literals(first.body, first.sent, FORMATS[wire]))  # type: ignore[arg-type]
    following = one.turns[one.turns.index(first) + 1]
    assert following.read > 0.9 * (first.prompt - 1024), "the next request reads what this one wrote"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_summary_is_written_behind_the_requests_and_stands_byte_for_byte_once_it_is_used(
    wire: Wire, stream: bool
) -> None:
    """Nothing but the test lets the summariser answer, so a request that waited for it would never end."""
    with summarising(held=True) as model, small(writes(), settings(asking(model.upstream.url)), wire=wire) as stage:
        one = agent(stage, wire, stream=stream)
        awaited = until(one, "summary_awaited")
        assert model.asked.wait(10)
        again = one.go(2)[-2:]
        assert [reasons(turn) for turn in again] == ["summary_awaited"] * 2
        assert [turn.sent for turn in (awaited, *again)] == [turn.body for turn in (awaited, *again)], "as they came"
        assert not model.free.is_set()
        model.free.set()
        used = until(one, "summarised", most=6)
        later = one.go(4)[-4:]
        text = summary_text(stage, used)
    accepted(one.turns)
    assert len(model.questions) == 1
    assert TRIGGER <= pressure(awaited).before_tokens < URGENT
    assert pressure(used).after_tokens <= TARGET
    assert (pressure(used).summariser, pressure(used).generation) == ("example-small", 1)
    assert pressure(used).summariser_usd is not None
    assert pressure(used).summariser_usd > 0
    needle = literal(text, used.sent)
    before = without_marks(used.sent).partition(needle)[0]
    assert needle not in again[-1].sent
    assert [without_marks(turn.sent).partition(needle)[0] for turn in later] == [before] * 4
    assert "reports/part_0.txt" in text
    assert later[0].read >= used.prompt - OPENAI_STEPS.step_tokens
    assert {reasons(turn) for turn in later} == {""}


@pytest.mark.parametrize("wire", WIRES)
def test_the_summariser_is_shown_the_whole_text_of_messages_that_hold_no_user(wire: Wire) -> None:
    """R07: what goes is the model's own calls and their results, and nothing else."""
    with summarising() as model, small(writes(), settings(asking(model.upstream.url)), wire=wire) as stage:
        used = until(agent(stage, wire), "summarised")
        (asked,) = model.texts
    gone = pressure(used).summarised
    assert gone >= 2
    # One message asks and one answers, so half of them are calls; the task stands in front.
    for step in range(gone // 2):
        assert bulk(f"r{step}") in asked.replace("\\n", "\n")
        assert f"written: cat > reports/part_{step}.txt" in asked
    assert "Find the bug and repair it." in asked


def test_a_cold_point_uses_a_summary_that_is_ready_below_the_trigger() -> None:
    wider = BudgetRule(model="claude-haiku-*", window_tokens=30_000)
    with summarising(held=True) as model:
        found = settings(asking(model.upstream.url), budgets=Budgets(BUDGET, (wider,)))
        with small(writes(), found, rules=Rules()) as stage:
            one = Agent(stage, output=lambda asked: "ok")
            until(one, "summary_awaited")
            one.model = "claude-haiku-4-5"
            one.go(1)
            model.free.set()
            settled(stage)
            warm = one.go(1)[-1]
            stage.clock.wait(62 * MINUTE)
            cold = one.go(1)[-1]
            following = one.go(1)[-1]
    accepted(one.turns)
    assert len(model.questions) == 1
    assert (reasons(warm), warm.sent) == ("", warm.body), "below the trigger a warm cache is left alone"
    assert pressure(cold).reason == "summarised"
    assert pressure(cold).before_tokens < pressure(cold).trigger_tokens
    assert cold.entry.receipt.belief is not None
    assert (cold.entry.receipt.belief.state, cold.read) == ("cold", 0)
    assert following.read == cold.prompt


def test_c07_holds_with_compaction_on_and_goes_together_with_a_summary_that_is_ready() -> None:
    """62 minutes behind a mark for an hour: what is stale goes on that very request, in one event, and once."""
    script = writes(lines=30)
    with summarising() as model, small(script, settings(asking(model.upstream.url))) as stage:
        one = Agent(stage, output=lambda asked: bulk(asked.splitlines()[0], 30))
        awaited = until(one, "summary_awaited")
        settled(stage)
        stage.clock.wait(62 * MINUTE)
        cold, following, third = one.go(3)[-3:]
    accepted(one.turns)
    assert awaited.sent == awaited.body
    assert (pressure(cold).reason, cold.read) == ("summarised", 0)
    assert cold.cut == "pressure"
    assert (following.read, third.read) == (cold.prompt, following.prompt)
    assert [reasons(turn) for turn in (following, third)] == ["", ""]
    assert {following.cut, third.cut} <= {None, "waiting", "does_not_pay", "nothing_aged"}
    assert len(model.questions) == 1


def branching(asked: Asked) -> Answer | None:
    """Take other steps once the user asks for them."""
    said = spoken(asked.body)
    ways = [word for word in ("EAST", "WEST") if f"go {word}" in said]
    if not ways:
        return None
    done = said.count("Stage ") + 100 * len(ways)
    return Answer((Say(f"Stage {done}."), Shell(f"cat > {ways[-1]}/part_{done}.txt\n{bulk(f'{ways[-1]}{done}')}")))


@pytest.mark.parametrize("wire", WIRES)
def test_a_summary_of_messages_that_the_user_has_taken_back_is_never_used(wire: Wire) -> None:
    script = replace(writes(), answer=branching)
    with summarising() as model, small(script, settings(asking(model.upstream.url)), wire=wire) as stage:
        one = agent(stage, wire)
        until(one, "summary_awaited")
        kept = 5 if wire == "anthropic" else 6  # behind the result of the second call
        one.said = [*one.said[:kept], {"role": "user", "content": "go EAST"}]
        at = len(one.turns)
        used = until(one, "summarised")
        text = summary_text(stage, used)
    accepted(one.turns)
    assert len(model.questions) == 2
    assert pressure(used).summariser == "example-small"
    assert "EAST/part_" in model.texts[1]
    assert "reports/part_9.txt" in model.texts[0], "of the branch that was left"
    for turn in one.turns[at:]:
        assert b"reports/part_9.txt" not in turn.sent
    assert "reports/part_9.txt" not in text


@pytest.mark.parametrize("same_task", [False, True], ids=["two tasks", "one task, run twice"])
@pytest.mark.parametrize("wire", WIRES)
def test_two_conversations_at_once_each_get_a_summary_of_their_own(wire: Wire, same_task: bool) -> None:
    script = replace(writes(), answer=branching)
    with summarising(held=True) as model, small(script, settings(asking(model.upstream.url)), wire=wire) as stage:
        pair = {"EAST": agent(stage, wire), "WEST": agent(stage, wire)}
        for way, one in pair.items():
            if same_task:
                one.go(1)
                one.said.append({"role": "user", "content": f"go {way}"})
            else:
                one.said[-1] = {"role": "user", "content": f"go {way}"}
        for one in pair.values():
            until(one, "summary_awaited")
        model.free.set()
        used = {way: until(one, "summarised") for way, one in pair.items()}
    assert [pressure(turn).summariser for turn in used.values()] == ["example-small"] * 2
    assert len(model.questions) == 2
    for way, other in (("EAST", b"WEST"), ("WEST", b"EAST")):
        accepted(pair[way].turns)
        assert f"{way}/part_".encode() in used[way].sent
        for turn in pair[way].turns:
            assert other not in turn.sent


def test_a_budget_for_a_task_or_a_model_holds_for_it_alone_and_the_header_stays_here() -> None:
    rules = (BudgetRule(task="review", window_tokens=WINDOW), BudgetRule(model="claude-haiku-*", window_tokens=WINDOW))
    found = settings(budgets=Budgets(replace(BUDGET, window_tokens=10 * WINDOW), rules))
    with small(writes(), found, rules=Rules()) as stage:
        told, silent, haiku = Agent(stage), Agent(stage), Agent(stage, model="claude-haiku-4-5")
        told.headers = {"x-coldpress-task": "Review"}
        silent.headers = {"x-coldpress-task": "writing"}
        for one in (told, silent, haiku):
            one.output = lambda asked: "ok"
        used = [until(told, "summarised"), until(haiku, "summarised")]
        silent.go(len(told.turns) + 2)
        for exchange in stage.upstream.exchanges:
            assert [name for name, _ in exchange.request.headers if name.startswith("x-coldpress")] == []
    assert [pressure(turn).window_tokens for turn in used] == [WINDOW, WINDOW]
    assert {reasons(turn) for turn in silent.turns} == {""}


@pytest.mark.parametrize("model", ["nobody-knows-1", "claude-sonnet-4-6"])
def test_a_window_that_nobody_knows_is_left_alone_and_nothing_is_claimed_of_it(model: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """The same run under a model whose window is in the price list, small enough only by the settings."""
    known = model.startswith("claude")
    path = tmp_path / "store.sqlite3"
    budget = replace(BUDGET, window_tokens=None)
    rules = (BudgetRule(model="claude-*", window_tokens=WINDOW),)
    with SqliteStore(path, clock=Clock()) as store:
        found = settings(budgets=Budgets(budget, rules))
        with small(writes(), found, store=store, rules=Rules()) as stage:
            one = Agent(stage, model=model, output=lambda asked: "ok")
            one.go(24)
    accepted(one.turns)
    assert any(map(reasons, one.turns)) is known
    assert all(turn.sent == turn.body for turn in one.turns) is not known
    for command in (("doctor",), ("ledger", "compactions")):
        done = CliRunner().invoke(main, [*command, "--store", str(path)])
        assert done.exit_code in (0, 1), done.output
        assert ("summarised" in done.stdout) is (known and command[0] == "ledger"), done.stdout


def test_many_requests_above_the_trigger_at_one_time_are_all_answered() -> None:
    """Copies of one conversation that ask at once share one summary; none is lost and none is refused."""
    with summarising() as model, small(writes(), settings(asking(model.upstream.url))) as stage:
        one = Agent(stage, output=lambda asked: "ok")
        until(one, "summary_awaited")
        copies = [Agent(stage, output=lambda asked: "ok", said=list(one.said)) for _ in range(4)]
        threads = [threading.Thread(target=lambda each=each: each._ask(each._client([]))) for each in copies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        refusals = {exchange.refusal for exchange in stage.upstream.inference}
    assert refusals == {None}
    assert len(model.questions) == 1
