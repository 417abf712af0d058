"""C: where the cache is gone anyway, aged results become smaller on that very request, and nothing else changes."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from bodies import changed_literals, texts
from cases.agents import MINUTE, Agent, ChatAgent, Clock, Scene, Turn, file_or_output, restarted, scene
from cases.test_operations import serve
from cases.through import Gate
from click.testing import CliRunner
from support import settings

from coldpress.cli.main import main
from coldpress.measure.cache import PrefixCache
from coldpress.measure.cache_rules import OPENAI_STEPS
from coldpress.stores.sqlite import SqliteStore
from coldpress.testing import BreakOff, Disconnect, HttpError, Read, Script, Shell, StrictUpstream, task
from coldpress.testing.meter import Meter
from coldpress.testing.script import Fault

STEPS = task(*(Shell(f"make part_{number}") for number in range(20)))
"""A build in steps, one call a turn."""

WIDE = task(*(tuple(Shell(f"make part_{turn}_{call}") for call in range(4)) for turn in range(20)))
"""The same with four calls a turn."""

AGED_TURNS = 6


@pytest.fixture(autouse=True)
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory and a home without settings of anybody's."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def long_output(command: str) -> str:
    """Nearly as much as is shown whole at first sight: some 2,400 tokens."""
    return "\n".join(f"{command} {n:03}: object {n * 7919 % 10_007} of part {n % 13}, ok" for n in range(170))


def counted(body: bytes) -> int:
    """Tokens of a Messages request, as the strict upstream counts them."""
    return Meter(lambda: 0.0, automatic=PrefixCache(OPENAI_STEPS)).count_messages(json.loads(body))


def accepted(turns: Sequence[Turn]) -> None:
    """The upstream refused nothing: calls and results pair, marks are legal, no text is empty."""
    assert [turn.exchange.refusal for turn in turns] == [None] * len(turns)


def recalled(store: Path, sha: str) -> str:
    """What `coldpress recall` gives back."""
    done = CliRunner().invoke(main, ["recall", sha, "--store", str(store)])
    assert done.exit_code == 0, done.output
    return done.stdout_bytes.decode()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_c07_after_62_minutes_83k_stale_tokens_go_on_that_very_request(tmp_path: Path, stream: bool) -> None:
    """Idle for 62 minutes behind a mark for an hour: the prefix is paid in full, so this is the moment."""
    path = tmp_path / "store.sqlite3"
    with SqliteStore(path) as store, scene(WIDE, store=store) as stage:
        agent = Agent(stage, ttl="1h", stream=stream, output=long_output)
        before = agent.go(14)[-1]
        stage.clock.wait(62 * MINUTE)
        free, following, third = agent.go(3)[14:]
    accepted(agent.turns)
    assert [turn.cut for turn in agent.turns].count("cold") == 1
    assert free.entry.receipt.belief is not None
    assert (free.cut, free.entry.receipt.belief.state, free.entry.receipt.belief.why) == ("cold", "cold", "idle")
    assert free.read == 0, "the upstream had really lost it"
    stale = [text for text in texts(free.body) if text in texts(agent.turns[14 - AGED_TURNS].sent)]
    assert sum(map(len, stale)) > 0
    changed = changed_literals(free.body, free.sent)
    assert [old for old, _ in changed] == stale, "all that is aged, and nothing else"
    assert counted(free.body) - free.prompt > 83_000
    assert free.prompt < before.prompt
    # Later requests hold the same bytes, read the new prefix, and write only what is new.
    assert following.read == free.prompt
    assert third.read == following.prompt
    for turn in (following, third):
        assert changed_literals(turn.body, turn.sent) == changed
        assert turn.cut in ("does_not_pay", "waiting")
        assert turn.entry.receipt.reused == len(stale)
    lines = [line for line in free.entry.receipt.lines if line.reason == "aged"]
    assert [recalled(path, line.original) for line in lines] == stale
    assert [line.original for line in lines] == [hashlib.sha256(text.encode()).hexdigest() for text in stale]


@pytest.mark.parametrize(
    ("ttl", "pause_minutes", "cut"),
    [
        pytest.param("1h", 59, False, id="an hour's mark, 59 minutes"),
        pytest.param("1h", 62, True, id="an hour's mark, 62 minutes"),
        pytest.param("5m", 4, False, id="five minutes' mark, 4 minutes"),
        pytest.param("5m", 6, True, id="five minutes' mark, 6 minutes"),
    ],
)
def test_the_pause_that_makes_a_cache_cold_is_that_of_the_clients_marks(
    ttl: str, pause_minutes: int, cut: bool
) -> None:
    with scene(STEPS) as stage:
        agent = Agent(stage, ttl="1h" if ttl == "1h" else "5m")
        agent.go(11, pace_seconds=20)
        stage.clock.wait(pause_minutes * MINUTE)
        turn = agent.step()
    accepted(agent.turns)
    assert (turn.cut == "cold") == cut
    assert (turn.read == 0) == cut, "the belief is what the upstream does"
    assert (turn.sent != turn.body) == cut


def test_a_change_of_the_model_or_of_the_tools_is_a_cold_point_too() -> None:
    with scene(STEPS) as stage:
        agent = Agent(stage)
        agent.go(11)
        agent.model = "claude-opus-4-6"
        other = agent.go(1)[-1]
        assert (other.cut, other.read) == ("cold", 0)
        assert other.entry.receipt.belief is not None
        assert other.entry.receipt.belief.why == "model_changed"
        agent.go(4)
        agent.top = {"tools": [{"name": "Bash", "input_schema": {"type": "object", "properties": {}}}]}
        fewer = agent.step()
    accepted(agent.turns)
    assert fewer.entry.receipt.belief is not None
    assert (fewer.cut, fewer.entry.receipt.belief.why, fewer.read) == ("cold", "head_changed", 0)
    assert len(changed_literals(fewer.body, fewer.sent)) > len(changed_literals(other.body, other.sent))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_an_automatic_cache_on_the_chat_wire_has_cold_points_as_well(stream: bool) -> None:
    with scene(STEPS, provider="openai") as stage:
        agent = ChatAgent(stage, stream=stream)
        agent.go(12)
        stage.clock.wait(62 * MINUTE)
        free, following = agent.go(2)[12:]
    accepted(agent.turns)
    assert (free.cut, free.read) == ("cold", 0)
    assert len(changed_literals(free.body, free.sent, "openai_chat")) == 13 - AGED_TURNS - 1
    assert free.prompt < agent.turns[11].prompt
    step = OPENAI_STEPS.step_tokens
    assert following.read == free.prompt - free.prompt % step


def test_within_the_least_lifetime_that_is_promised_nothing_counts_as_cold() -> None:
    """Where five to ten minutes are promised and an hour is possible, 20 minutes prove nothing."""
    with scene(STEPS, provider="openai") as stage:
        agent = ChatAgent(stage)
        agent.go(11)
        stage.clock.wait(20 * MINUTE)
        turn = agent.step()
    assert turn.read == 0, "this upstream forgot after five minutes"
    assert turn.cut in ("waiting", "does_not_pay")
    assert turn.sent == turn.body


@pytest.mark.parametrize("kept", [True, False], ids=["with its ledger", "with an empty store"])
@pytest.mark.parametrize(
    ("pause_minutes", "cut"), [pytest.param(62, "cold", id="62 minutes"), pytest.param(10, "unknown_cache", id="10")]
)
def test_a_gateway_restarted_in_the_pause_believes_the_ledger_and_nothing_else(
    tmp_path: Path, kept: bool, pause_minutes: int, cut: str
) -> None:
    with SqliteStore(tmp_path / "store.sqlite3") as store, scene(STEPS, store=store) as stage:
        agent = Agent(stage)
        agent.go(12)
        stage.clock.wait(pause_minutes * MINUTE)
        with restarted(stage.upstream, stage.clock, store=store if kept else None) as again:
            agent.scene = again
            turn = agent.step()
            later = agent.step()
    accepted(agent.turns)
    assert turn.entry.receipt.belief is not None
    if kept:
        assert turn.cut == cut
        assert turn.entry.receipt.belief.idle_seconds == pause_minutes * MINUTE + 30
        assert (turn.sent != turn.body) == (cut == "cold")
    else:
        assert (turn.cut, turn.entry.receipt.belief.why) == ("unknown_cache", "restarted")
        assert turn.sent == turn.body
    assert later.read == turn.prompt


def test_coldpress_serve_finds_the_cold_point_of_a_conversation_that_another_process_began(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.sqlite3"
    clock = Clock(time.time() - 62 * MINUTE)
    with StrictUpstream(STEPS, clock=clock) as upstream:
        with SqliteStore(path, clock=clock) as store, restarted(upstream, clock, store=store) as stage:
            agent = Agent(stage)
            agent.go(12, pace_seconds=1)
        clock.now = time.time()
        with (
            serve("--store", str(path), "--port", "0", "--provider-url", f"anthropic={upstream.url}") as server,
            SqliteStore(path) as store,
        ):
            agent.scene = Scene(Gate(server.url, store), upstream, clock)
            turn, following = agent.go(2, pace_seconds=1)[12:]
    accepted(agent.turns)
    assert turn.entry.receipt.belief is not None
    assert (turn.cut, turn.entry.receipt.belief.why, turn.read) == ("cold", "idle", 0)
    assert len(changed_literals(turn.body, turn.sent)) == 13 - AGED_TURNS - 1
    assert following.read == turn.prompt


FAULTS: tuple[Fault, ...] = (HttpError(529), HttpError(500), HttpError(429), Disconnect(), BreakOff(0))


@pytest.mark.parametrize("fault", FAULTS, ids=["529", "500", "429", "no answer", "broken off"])
def test_a_request_that_failed_teaches_nothing_and_its_retry_is_the_same_bytes(fault: Fault) -> None:
    """The free moment falls on a request that fails: its decision stands, and its retry still finds a cold cache."""
    script = Script(turns=STEPS.turns, faults={12: fault})
    with scene(script) as stage:
        agent = Agent(stage)
        agent.go(12)
        stage.clock.wait(62 * MINUTE)
        failed = agent.fail()
        stage.clock.wait(5)
        retry = agent.step()
        following = agent.step()
        aged = stage.stats()["aged"]["count"]
    assert failed.cut == "cold"
    assert failed.entry.outcome is not None
    assert not failed.entry.outcome.usage.known
    assert failed.entry.outcome.money is None or failed.entry.outcome.money.bill_usd is None
    assert retry.sent == failed.sent
    assert changed_literals(retry.body, retry.sent) == changed_literals(failed.body, failed.sent) != []
    assert following.read == retry.prompt
    if isinstance(fault, HttpError):
        assert retry.entry.receipt.belief is not None
        assert (retry.entry.receipt.belief.why, retry.read) == ("idle", 0), "what was refused is in no cache"
    assert aged == len(changed_literals(failed.body, failed.sent)), "counted once"


def test_a_source_is_exact_at_a_cold_point_unless_the_user_asks_for_an_age() -> None:
    script = task(*(Read(f"src/part_{number}.py") for number in range(20)))
    with scene(script) as stage:
        agent = Agent(stage)
        agent.go(12)
        stage.clock.wait(62 * MINUTE)
        turn = agent.step()
    assert turn.sent == turn.body
    assert turn.entry.receipt.cut is None


def test_recall_results_failures_and_the_newest_turns_stay_exact_at_a_cold_point() -> None:
    def output(command: str) -> str:
        number = int(command.rpartition("_")[2])
        made = file_or_output(command)
        return f"{made}\nmake: *** [all] Error 2\nExit code 2" if number == 2 else made

    with scene(STEPS) as stage:
        agent = Agent(stage, output=output)
        agent.go(12)
        stage.clock.wait(62 * MINUTE)
        turn = agent.step()
    kept = {old for old, _ in changed_literals(turn.body, turn.sent)}
    exact = [number for number, text in enumerate(texts(turn.body)) if text not in kept]
    assert exact == [2, *range(13 - AGED_TURNS - 1, 12)]


@pytest.mark.parametrize("how", ["by its header", "by its provider"])
@pytest.mark.parametrize("operation", ["observe", "drain", "off"])
def test_only_press_makes_aged_results_smaller(how: str, operation: str) -> None:
    found = settings(operation=operation) if how == "by its provider" else settings()  # type: ignore[arg-type]
    with scene(STEPS, settings=found) as stage:
        agent = Agent(stage)
        if how == "by its header":
            agent.headers = {"x-coldpress-mode": operation}
        agent.go(12)
        stage.clock.wait(62 * MINUTE)
        turn = agent.step()
        stats = stage.stats()
    assert turn.sent == turn.body
    assert stats["aged"]["count"] == 0
    assert stats["cuts_applied"] == {}
    if operation == "off":
        assert stats["requests"] == 0
    else:
        assert turn.cut == operation
        assert turn.entry.receipt.cut is not None
        assert turn.entry.receipt.cut.removed_tokens > 5_000, "it says what would have gone"
        assert stats["cuts_declined"][operation] >= 1


def test_drain_keeps_the_edits_of_a_cold_point() -> None:
    with scene(STEPS) as stage:
        agent = Agent(stage)
        agent.go(11)
        stage.clock.wait(62 * MINUTE)
        cut = agent.go(1)[-1]
        agent.headers = {"x-coldpress-mode": "drain"}
        drained = agent.go(4)[-1]
    assert cut.cut == "cold"
    assert changed_literals(drained.body, drained.sent) == changed_literals(cut.body, cut.sent)
    assert drained.read == agent.turns[-2].prompt
