"""The ledger's money is the provider's bill: every token once, at the right model's price, and nothing made up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from bodies import changed_literals
from cases.agents import AT, MINUTE, Agent, ChatAgent, Clock, Json, Scene, Turn, file_or_output, restarted, scene
from cases.through import gateway, send
from click.testing import CliRunner
from support import settings

from coldpress.cli.main import main
from coldpress.model.usage import Usage
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore
from coldpress.testing import (
    Aside,
    BreakOff,
    Delivery,
    ErrorEvent,
    HttpError,
    Say,
    Script,
    Shell,
    Step,
    StrictUpstream,
    task,
)
from coldpress.testing import Turn as Answer
from coldpress.testing.script import Fault
from coldpress.testing.server import LoopbackServer, Receive, Scope, Send

SONNET = {"fresh": 3.0, "read": 0.3, "write_short": 3.75, "write_long": 6.0, "output": 15.0}
OPUS_5 = {"fresh": 5.0, "read": 0.5, "write_short": 6.25, "write_long": 10.0, "output": 25.0}
CODEX = {"fresh": 1.75, "read": 0.175, "output": 14.0}
"""USD per million tokens, as published for November 2026."""

COMPACTION = Step("compaction", Usage(fresh=5_000, read=75_000, write_short=0, write_long=0, output=300))
ADVICE = Step("advisor_message", Usage(fresh=823, read=0, write_short=0, write_long=0, output=1_612), "claude-opus-5")
STEPS = task(*(Shell(f"make part_{number}") for number in range(24)))


@pytest.fixture(autouse=True)
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory and a home without settings of anybody's."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def usd(usage: Usage, prices: Mapping[str, float]) -> float:
    """What usage costs, worked out by hand."""
    return sum((getattr(usage, bucket) or 0) * price for bucket, price in prices.items()) / 1_000_000


def bill(turn: Turn, prices: Mapping[str, float]) -> float:
    """What a turn costs by what the upstream billed."""
    assert turn.exchange.usage is not None
    return usd(turn.exchange.usage, prices)


def ledger(store: Path, *arguments: str) -> Any:
    """What `coldpress ledger` prints as JSON."""
    done = CliRunner().invoke(main, ["ledger", *arguments, "--store", str(store), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_steps_are_billed_once_each_at_the_price_of_the_model_that_took_them(tmp_path: Path, stream: bool) -> None:
    path = tmp_path / "store.sqlite3"
    script = Script(closing=Answer((Say("word " * 50),), aside=Aside((COMPACTION, ADVICE))))
    with SqliteStore(path) as store, scene(script, store=store) as stage:
        turn = Agent(stage, stream=stream).step()
        shown = ledger(path, "show", turn.entry.receipt.request_id)
        totals = ledger(path, "totals")
    own, outcome = turn.exchange.usage, turn.entry.outcome
    assert own is not None
    assert outcome is not None
    assert outcome.money is not None
    expected = usd(own, SONNET) + usd(ADVICE.usage, OPUS_5)
    assert usd(own, SONNET) > usd(COMPACTION.usage, SONNET) > 0.03, "compaction is in the bill of the asked model"
    assert outcome.money.bill_usd == pytest.approx(expected)
    assert outcome.context_tokens == (own.prompt or 0) - (COMPACTION.usage.prompt or 0)
    assert shown["cost_usd"] == pytest.approx(expected)
    assert shown["outcome"]["others"] == [["claude-opus-5", asdict(ADVICE.usage)]]
    assert totals["money"]["bill"] == {"usd": pytest.approx(expected), "replies": 1, "unpriced": 0}
    assert totals["usage"]["output"]["tokens"] == own.output


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_the_next_turn_after_a_compaction_step_expects_what_was_really_shown(stream: bool) -> None:
    """80,000 tokens of a compaction are billed and are no part of the prompt that is read again."""
    turns = list(STEPS.turns)
    turns[4] = Answer(turns[4].parts, aside=Aside((COMPACTION,)))
    with scene(Script(turns=tuple(turns))) as stage:
        following = Agent(stage, stream=stream).go(6)[5]
    assert following.entry.receipt.belief is not None
    assert following.entry.receipt.belief.read_tokens == following.read < 20_000


def _answer(usage: Json) -> bytes:
    message = {"role": "assistant", "content": "ok"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    top = {"id": "gen-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return json.dumps({**top, "usage": usage}).encode()


@contextmanager
def canned(body: bytes) -> Iterator[str]:
    """An upstream that answers everything with the same document."""

    async def app(scope: Scope, receive: Receive, send_: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send_({"type": "http.response.start", "status": 200, "headers": headers})
        await send_({"type": "http.response.body", "body": body})

    server = LoopbackServer(app)
    server.start()
    try:
        yield server.url
    finally:
        server.stop()


CHAT_USAGE: Json = {"prompt_tokens": 9_000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 4_000}}


@pytest.mark.parametrize(
    ("more", "billed"),
    [
        pytest.param({"cost": 0.0125}, 0.0125, id="credits"),
        pytest.param({"cost": 0.0}, 0.0, id="free"),
        pytest.param(
            {"cost": 0.001, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.02}}, 0.021, id="own key"
        ),
        pytest.param({"cost": 0.001, "is_byok": True}, None, id="own key, nothing said of the provider's part"),
    ],
)
def test_what_openrouter_says_it_charges_is_the_bill(more: Json, billed: float | None) -> None:
    store, clock = MemoryStore(), Clock()
    body = json.dumps({"model": "nobody/knows-9", "messages": [{"role": "user", "content": "hi"}]}).encode()
    with (
        canned(_answer({**CHAT_USAGE, **more})) as url,
        gateway(url, settings(), store=store, name="openrouter", clock=clock) as gate,
    ):
        stage = Scene(gate, StrictUpstream(), clock)
        reply = send(gate.url, "POST", "/v1/chat/completions", body, (("content-type", "application/json"),))
        entry = stage.ended(reply.request_id)
        totals = stage.stats()["money"]["bill"]
    assert entry.outcome is not None
    assert entry.outcome.money is not None
    assert entry.outcome.money.bill_usd == (None if billed is None else pytest.approx(billed))
    assert (totals["replies"], totals["unpriced"]) == ((0, 1) if billed is None else (1, 0))


def test_where_a_provider_reports_nothing_all_is_unknown_and_nothing_is_spent_on_a_guess() -> None:
    script = Script(turns=STEPS.turns, delivery=Delivery(omit_usage=True))
    with scene(script, provider="openai") as stage:
        agent = ChatAgent(stage)
        agent.go(12)
        stage.clock.wait(62 * MINUTE)
        turn = agent.step()
        stats = stage.stats()
    assert turn.read == 0, "it was cold, but nobody said so"
    assert (turn.cut, turn.sent) == ("unknown_usage", turn.body)
    for turn in agent.turns:
        assert turn.entry.outcome is not None
        assert turn.entry.outcome.usage == Usage()
        assert turn.entry.outcome.money is not None
        assert turn.entry.outcome.money.bill_usd is turn.entry.outcome.money.net_usd is None
        assert turn.entry.outcome.money.unpriced != ()
    assert (stats["usage"]["answered"], stats["usage"]["unknown"]) == (13, 13)
    for name in ("bill", "gross", "rewrite", "net"):
        assert stats["money"][name] == {"usd": 0.0, "replies": 0, "unpriced": 13}


def test_a_model_without_a_price_is_unpriced_and_its_aged_results_stay() -> None:
    with scene(STEPS) as stage:
        agent = Agent(stage, model="claude-of-nobody")
        agent.go(12)
        stage.clock.wait(62 * MINUTE)
        turn = agent.step()
        money = stage.stats()["money"]["bill"]
    assert (turn.read, turn.cut, turn.sent) == (0, "unpriced", turn.body)
    assert turn.entry.outcome is not None
    assert turn.entry.outcome.usage.known
    assert turn.entry.outcome.money is not None
    assert turn.entry.outcome.money.bill_usd is None
    assert money == {"usd": 0.0, "replies": 0, "unpriced": 13}


FAILING: tuple[Fault, ...] = (HttpError(529), HttpError(400), BreakOff(0), BreakOff(4), ErrorEvent(0), ErrorEvent(5))


@pytest.mark.parametrize("fault", FAILING, ids=repr)
def test_replies_that_fail_change_no_belief(fault: Fault) -> None:
    """Three in a row, in a conversation that is warm: the cache stays what the last good reply made of it."""
    script = Script(turns=STEPS.turns, faults=dict.fromkeys((6, 7, 8), fault))
    with scene(script) as stage:
        agent = Agent(stage, stream=True)
        agent.go(6)
        failed = [agent.fail() for _ in range(3)]
        turn = agent.step()
        totals = stage.stats()
    for each in failed:
        assert each.entry.outcome is not None
        assert each.entry.outcome.ended != "complete" or each.entry.outcome.status in (400, 529)
    belief = turn.entry.receipt.belief
    assert belief is not None
    # A reply that told its usage before it broke was billed and is believed; of the others nothing is known.
    told = isinstance(fault, BreakOff | ErrorEvent) and fault.after > 0
    expected = turn.read if told else agent.turns[5].prompt
    assert (belief.state, belief.why, belief.read_tokens) == ("warm", "within_lifetime", expected)
    assert (turn.read > agent.turns[5].prompt) == (not isinstance(fault, HttpError))
    answered = totals["usage"]["answered"]
    assert answered == (7 if isinstance(fault, HttpError) else 10)
    assert totals["money"]["bill"]["replies"] + totals["money"]["bill"]["unpriced"] == answered


LARGE = 3


def output(command: str) -> str:
    """One output is so large that it is pressed when it is first seen."""
    made = file_or_output(command)
    return "\n".join(f"{made}\n{line}" for line in range(4)) if command.endswith(f"_{LARGE}") else made


def play(agent: Agent | ChatAgent) -> list[Turn]:
    """Ten turns, a pause that costs the cache, ten more."""
    agent.go(10)
    agent.scene.clock.wait(62 * MINUTE)
    return agent.go(10)


def test_stats_count_what_was_done_and_the_command_line_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    with SqliteStore(path) as store, scene(STEPS, store=store) as stage:
        turns = play(Agent(stage, output=output))
        stats = stage.stats()
        told = ledger(path, "totals")
        listed = ledger(path, "list", "--limit", "100")["requests"]
    assert told == stats
    changed = [len(changed_literals(turn.body, turn.sent)) for turn in turns]
    lines = [line.reason for turn in turns for line in turn.entry.receipt.lines]
    assert stats["first_sight"]["count"] == lines.count("pressed") == 1
    assert stats["aged"]["count"] == lines.count("aged") == 4
    assert stats["reuses"] == sum(turn.entry.receipt.reused for turn in turns)
    assert stats["applications"] == sum(changed), "every text that went out smaller, once for each request"
    assert stats["applications"] == stats["transformations"]["count"] + stats["reuses"]
    assert stats["body_bytes"] == sum(len(turn.body) for turn in turns)
    assert stats["sent_bytes"] == sum(len(turn.sent) for turn in turns)
    assert stats["cuts_applied"] == {"cold": 1}
    for bucket in ("fresh", "read", "write_short", "write_long", "output"):
        billed = [getattr(turn.exchange.usage, bucket) for turn in turns]
        assert stats["usage"][bucket] == {"tokens": sum(billed), "replies": len(turns)}
    assert stats["money"]["bill"]["usd"] == pytest.approx(sum(bill(turn, SONNET) for turn in turns))
    for name in ("bill", "gross", "rewrite", "summariser", "net"):
        assert (stats["money"][name]["replies"], stats["money"][name]["unpriced"]) == (len(turns), 0)
    sums = stats["money"]
    earned = sums["gross"]["usd"] - sums["rewrite"]["usd"] - sums["summariser"]["usd"]
    assert sums["net"]["usd"] == pytest.approx(earned)
    assert sums["net"]["usd"] == pytest.approx(sum(entry["net_usd"] for entry in listed))
    for entry, turn in zip(reversed(listed), turns, strict=True):
        assert entry["belief"]["read_tokens"] == pytest.approx(turn.read, abs=2)
        assert entry["outcome"]["usage"]["read"] == turn.read
    free = next(turn for turn in turns if turn.cut == "cold")
    shown = CliRunner().invoke(main, ["ledger", "show", free.entry.receipt.request_id, "--store", str(path)]).stdout
    assert "believed cold: idle" in shown
    assert "0 tokens expected, 0 reported, +0" in shown
    assert "applied: cold" in shown


@pytest.mark.parametrize("wire", ["messages", "chat"])
def test_net_is_what_the_same_conversation_costs_less_than_without_us(wire: str) -> None:
    """Played twice against the same kind of upstream, pressed and only observed; both bills are the upstream's."""
    prices = SONNET if wire == "messages" else CODEX
    bills, nets = list[float](), list[float]()
    for operation in ("observe", "press"):
        found = settings(operation=operation)  # type: ignore[arg-type]
        with scene(STEPS, settings=found, provider="anthropic" if wire == "messages" else "openai") as stage:
            agent = Agent(stage, output=output) if wire == "messages" else ChatAgent(stage, output=output)
            turns = play(agent)
            nets.append(stage.stats()["money"]["net"]["usd"])
        bills.append(sum(bill(turn, prices) for turn in turns))
    assert nets[0] == 0
    saved = bills[0] - bills[1]
    assert saved > 0.15 * bills[0]
    # Our count of removed tokens is fitted to the real provider's, which this upstream is not.
    assert nets[1] == pytest.approx(saved, rel=0.1)


def test_net_of_a_warm_cut_has_what_it_wrote_again_taken_off() -> None:
    """Large outputs, then a long tail of small ones: a cut that pays, and its price is in the net."""

    def large_then_small(command: str) -> str:
        return file_or_output(command) if int(command.rpartition("_")[2]) < 8 else f"{command}: ok"

    bills, sums = list[float](), list[Json]()
    for operation in ("observe", "press"):
        found = settings(operation=operation)  # type: ignore[arg-type]
        with scene(STEPS, settings=found, provider="openai") as stage:
            turns = ChatAgent(stage, output=large_then_small).go(24)
            sums.append(stage.stats()["money"])
        bills.append(sum(bill(turn, CODEX) for turn in turns))
    assert [turn.cut for turn in turns].count("pays") >= 1
    assert sums[1]["rewrite"]["usd"] > 0.2 * sums[1]["gross"]["usd"]
    assert sums[1]["net"]["usd"] == pytest.approx(bills[0] - bills[1], rel=0.1)


def leaves(found: Any, at: str = "") -> dict[str, float]:
    """Every number in nested objects, by its path."""
    if isinstance(found, dict):
        return {path: leaf for key, value in found.items() for path, leaf in leaves(value, f"{at}/{key}").items()}
    return {at: found} if isinstance(found, int | float) else {}


def test_sums_only_grow_and_go_on_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    clock = Clock()
    seen: list[dict[str, float]] = []
    with StrictUpstream(STEPS, clock=clock) as upstream:
        agent: Agent | None = None
        for _ in range(3):
            with SqliteStore(path, clock=clock) as store, restarted(upstream, clock, store=store) as stage:
                begun = leaves(stage.stats())
                if agent is None:
                    agent = Agent(stage, output=output)
                agent.scene = stage
                assert not seen or {k: v for k, v in begun.items() if "stored" not in k} == {
                    k: v for k, v in seen[-1].items() if "stored" not in k
                }
                agent.go(6)
                seen.append(leaves(stage.stats()))
            clock.wait(62 * MINUTE)
    assert agent is not None
    for before, after in pairwise(seen):
        growing = {path for path in before if "/stored" not in path}
        assert {path for path in growing if after[path] < before[path] - 1e-12} - {"/money/net/usd"} == set()
    assert seen[-1]["/requests"] == 18
    assert seen[-1]["/lineages"] == 1
    assert seen[-1]["/applications"] == sum(len(changed_literals(turn.body, turn.sent)) for turn in agent.turns)
    assert seen[-1]["/money/bill/usd"] == pytest.approx(sum(bill(turn, SONNET) for turn in agent.turns))
    assert seen[-1]["/since"] == AT
