"""What the lab sends for a recorded session is what a running gateway sends for it: the same bytes, every request."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest
from support import settings
from wired import Passed, Reported, Run, differences, recorded_in, replay, replay_recorded, set_up, through_a_gateway
from written import messages_api, write

from coldpress.config import Settings
from coldpress.demo.play import play, recording_path
from coldpress.engine.policy import DEFAULT_POLICY, with_source_age
from coldpress.lab.arm_files import Arm, named_arms, parse_arm, with_budget
from coldpress.lab.importers.any import Kind, kind_of
from coldpress.lab.importers.dialogue import message, text_block
from coldpress.lab.importers.raw_log import export_lines
from coldpress.lab.importers.recording import Recording
from coldpress.lab.importers.recording import read_file as read_recording
from coldpress.lab.recorded import Recorded
from coldpress.lab.replay import Replay, Sent
from coldpress.lab.replay_service import Service
from coldpress.lab.tariffs import Tariff
from coldpress.measure.prices import prices_for
from coldpress.measure.rates import Prices
from coldpress.measure.tokens import estimate
from coldpress.model.trajectory import Turn
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore

REQUESTS = 19
AGE = 5
"""Turns: the recording has a pause of seven minutes before its sixteenth request, and reads before it."""

EAGER = parse_arm(
    "".join(
        f"[[rules]]\nmatch = 'kind:{kind}'\nmode = 'mask'\nage = 3\n"
        for kind in ("source", "shell", "search", "listing")
    ),
    "all-from-3",
)
"""Masks more than coldpress does by itself, so that some goes while the cache is warm, since it pays."""

WARM = {"pays", "mark"}
PRESSED = {"first sight", "pressure", "compaction", "summary"}
FORMATS: dict[Kind, set[str]] = {
    "claude-code": {"cold"},
    "pi": {"cold"},
    "mini-swe-agent": {"cold"},
    "codex": {"cold"},
    "openhands": {"cold"},
    "swe-agent": set(),  # the format has no times
    "tau-bench": set(),
    "chat": {"cold"},
}
"""With what occurs in each beside `WARM`."""


def arm(name: str) -> Arm:
    return EAGER if name == EAGER.name else named_arms()[name]


@functools.cache
def own() -> Recording:
    return read_recording(recording_path())


def assert_alike(run: Run) -> None:
    found = differences(run)
    assert not found, "\n".join([f"{len(found)} differences, the first of them:", *found[:6]])
    assert run.gateway, "or this test says nothing"


@pytest.mark.parametrize(
    ("name", "occur"),
    [
        pytest.param("coldpress", {"first sight", "cold"}, id="defaults"),
        pytest.param("coldpress-source-5", {"first sight", "cold", "waiting"}, id="reads from 5 turns on"),
        pytest.param(EAGER.name, {"cold", "pays", "mark"}, id="everything from 3 turns on"),
        pytest.param("pressure-50", {"first sight", "pressure", "compaction", "summary"}, id="a budget"),
    ],
)
def test_a_recording_of_our_own(name: str, occur: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run = replay(recording_path(), arm(name), monkeypatch)
    assert_alike(run)
    assert occur <= run.occurred, f"or this test says little: {run.seen}"
    assert run.seen["changed"] > len(run.gateway) / 2


@pytest.mark.parametrize("name", [EAGER.name, "pressure-50"])
@pytest.mark.parametrize("kind", FORMATS)
def test_each_format(kind: Kind, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run"
    write(own(), kind, path)
    assert kind_of(path) == kind
    run = replay(path, arm(name), monkeypatch)
    assert_alike(run)
    assert len(run.gateway) == REQUESTS
    assert (PRESSED if name == "pressure-50" else WARM | FORMATS[kind]) <= run.occurred, (
        f"or this test says little: {run.seen}"
    )


def test_a_list_of_messages_in_anthropics_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.json"
    path.write_text(messages_api(own()), encoding="utf-8")
    run = replay(path, EAGER, monkeypatch)
    assert_alike(run)
    assert run.occurred >= WARM, f"or this test says little: {run.seen}"


@pytest.mark.parametrize("name", ["codex-rollout.jsonl", "codex-rollout-compacted.jsonl"])
def test_a_rollout_that_codex_wrote(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = replay(Path(__file__).parent.parent / "data" / name, arm("pressure-50"), monkeypatch)
    assert_alike(run)


@pytest.mark.parametrize("kind", ["store", "raw-log"])
@pytest.mark.parametrize("name", [EAGER.name, "pressure-50"])
def test_a_raw_log_sends_again_what_the_gateway_sent(
    name: str, kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = with_budget(arm(name), window=0.6)  # the upstream counts fewer tokens than the lab
    logged = logged_by_a_gateway(recording_path(), chosen, tmp_path / "store.sqlite3", monkeypatch)
    path = logged.path
    if kind == "raw-log":
        path = tmp_path / "log.jsonl"
        path.write_text("".join(export_lines(logged.path)), encoding="utf-8")
    assert kind_of(path) == kind
    run = Run(tuple(logged.again(path)), logged.passed)
    assert_alike(run)
    assert len(run.gateway) == REQUESTS
    assert (PRESSED if name == "pressure-50" else {"cold"}) <= run.occurred, f"or this test says little: {run.seen}"


@dataclass(frozen=True)
class Logged:
    """A store with the raw log of a run, and what the gateway sent then."""

    path: Path
    settings: Settings
    service: Service
    passed: tuple[Passed, ...]

    def again(self, path: Path) -> list[Sent]:
        """Replay a raw log of the same run with the settings of then; the provider reports what it did then."""
        recorded = recorded_in(path)
        sent: list[Sent] = []
        reported = Reported(step.turn.usage for step in recorded.steps(self.service))
        Replay(recorded, self.service).run(self.settings, see=sent.append, answering=reported)
        return sent


def logged_by_a_gateway(run: Path, arm: Arm, path: Path, monkeypatch: pytest.MonkeyPatch) -> Logged:
    """Send a recorded run through a gateway that keeps a raw log; the upstream reports what its own cache says."""
    recorded = recorded_in(run)
    service, chosen = set_up(recorded, arm)
    chosen = replace(chosen, store=replace(chosen.store, raw_log=True))
    with closing(SqliteStore(path, raw_log=True)) as store:
        passed = through_a_gateway(list(recorded.steps(service)), chosen, store, monkeypatch)
    return Logged(path, chosen, service, tuple(passed))


def test_what_earlier_conversations_tell_of_later_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty conversations end, eight hours later one begins: forecasts go by the recorded times, not by ours."""
    first, *_ = turns = own().trajectory.turns
    start = first.sent_at or 0.0
    earlier = [
        replace(own().trajectory, name=f"earlier {number}", turns=tuple(chat(first, start + 60 * number, number)))
        for number in range(20)
    ]
    moved = (replace(turn, sent_at=(turn.sent_at or 0.0) + PAUSE, replied_at=None) for turn in turns)
    later = replace(own().trajectory, name="later", turns=tuple(moved))
    heads = (own().head,) * (len(earlier) + 1)
    recorded = Recorded("run", [*earlier, later], functools.cache(estimate), recorded_heads=heads)
    run = replay_recorded(recorded, EAGER, monkeypatch)
    assert_alike(run)
    expected = {one.receipt.cut.requests for one in run.gateway if one.receipt.cut is not None}
    assert expected != {settings().expected_applications}, "or this test says little"


PAUSE = 8 * 3600


def chat(like: Turn, start: float, number: int) -> Iterator[Turn]:
    """A conversation of a few words, one in four with twenty requests; a forecast needs some that long."""
    for index in range(20 if number % 4 == 0 else 1):
        asked = message("user", (text_block(f"agent {number}, part {index}"),))
        said = message("assistant", (text_block("Yes."),))
        yield replace(like, added=(asked,), reply=said, sent_at=start + index, replied_at=start + index + 0.5, tools=())


def test_a_gateway_as_people_run_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The built-in settings, with reads from 5 turns on: list prices, no provider but Anthropic's, none set up."""
    found = settings(policy=with_source_age(DEFAULT_POLICY, AGE), source_age=AGE, press_subscription=True)
    played = play(own(), found, MemoryStore(), operation="press", progress=lambda done, of: None)
    first = own().trajectory.turns[0]
    prices = prices_for(first.model, provider="anthropic", at=datetime.fromtimestamp(first.sent_at or 0, UTC))
    assert isinstance(prices, Prices)
    # That player waits a few milliseconds for a reply, so replies take no time here.
    tariff = Tariff("as recorded", replace(prices, model=first.model), 300, 3600)
    service = Service(tariff, "anthropic", lives_from="request")
    sent: list[Sent] = []
    Replay(Recorded("demo", [own().trajectory], estimate, recorded_heads=(own().head,)), service).run(
        found, see=sent.append, answering=Reported(one.usage for one in played)
    )
    assert [one.received for one in sent] == [one.sent for one in played], "the client sends the same"
    assert [one.sent for one in sent] == [one.received for one in played]
    assert sum(one.sent != one.received for one in sent) > len(sent) / 2
    why = Counter(one.receipt.cut.reason for one in sent if one.receipt.cut is not None)
    assert why["cold"] == 1, "a batch of aged results goes in the pause, or this test says little"
    assert [one.receipt.cut for one in sent] == [one.receipt.cut if one.receipt else None for one in played]


REAL = {
    "claude-code": "claude-code/entire-a4_7cfcb669b1_0.jsonl",
    "pi": "pi/pi-before-compaction.jsonl",
    "codex": "codex/agent-sessions-small.jsonl",
    "mini-swe-agent": "mini-swe-agent/django__django-14404.traj.json",
    "openhands": "openhands/resolver-1.json",
    "swe-agent": "swe-agent/trajectories__demonstrations__ctf__crypto__BabyEncryption.traj",
    "tau-bench": "tau-bench/airline-task17-trial3.json",
}
"""One session of each kind that other people recorded, a small one."""

PI_LINES = 100


@pytest.mark.parametrize("name", ["coldpress-source-5", "pressure-50"])
@pytest.mark.parametrize("kind", REAL)
def test_real_sessions(kind: Kind, name: str, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shared / "trajectories" / "dev" / REAL[kind]
    if kind == "pi":  # there is a long one only
        with path.open(encoding="utf-8") as lines:
            path = tmp_path / "pi.jsonl"
            path.write_text("".join(islice(lines, PI_LINES)), encoding="utf-8")
    assert kind_of(path) == kind
    assert_alike(replay(path, arm(name), monkeypatch))
