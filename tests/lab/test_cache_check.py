"""What a recorded run put before the cache is rebuilt from habits of its client, and the simulated bill is close."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.lab.cache_check import Check, Session, check_session, together
from coldpress.lab.cache_clients import CLAUDE_CODE, CLIENTS, PI, Client
from coldpress.lab.cache_losses import bill_error_interval, expected_bills, held_out_bills
from coldpress.lab.cache_prompts import Prompt, prompts
from coldpress.lab.importers.any import kind_of, read_file
from coldpress.measure.tokens import estimate
from coldpress.model.trajectory import Trajectory, Turn
from coldpress.model.usage import Usage

HEAD = 5000
SONNET, OPUS = "claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101"


def message(role: str, *blocks: dict[str, object]) -> str:
    return json.dumps({"role": role, "content": list(blocks)}, separators=(",", ":"))


def said(text: str = "go on") -> str:
    return message("user", {"type": "text", "text": text})


def results(*names: str) -> str:
    return message("user", *({"type": "tool_result", "tool_use_id": name, "content": name * 40} for name in names))


def calls(*names: str, thinking: bool = False) -> str:
    thought: list[dict[str, object]] = [{"type": "thinking", "thinking": "hm " * 30}] if thinking else []
    return message("assistant", *thought, *({"type": "tool_use", "id": n, "name": "Bash", "input": {}} for n in names))


def answers(text: str = "done", *, thinking: bool = False) -> str:
    thought: list[dict[str, object]] = [{"type": "thinking", "thinking": "hm " * 30}] if thinking else []
    return message("assistant", *thought, {"type": "text", "text": text})


def turn(
    added: str, reply: str, *, prompt: int, at: float, model: str = OPUS, read: int = HEAD, life: str = "short"
) -> Turn:
    """One request of `prompt` tokens at second `at`, answered a second later; the first one's read sizes the head."""
    written = prompt - read
    usage = Usage(
        fresh=0, read=read, write_short=written if life == "short" else 0, write_long=written if life == "long" else 0
    )
    tools = tuple(block["id"] for block in json.loads(reply)["content"] if block["type"] == "tool_use")
    return Turn((added,), reply, model, at, at + 1, usage, tools=tools)


def run(*turns: Turn, name: str = "s", side: bool = False, shared: int = 0) -> Trajectory:
    return Trajectory(name, "session", side, turns, shared)


def simulated(*trajectories: Trajectory, client: Client = CLAUDE_CODE) -> list[Usage]:
    return [request.simulated for request in check_session("s", trajectories, client, len).requests]


def loop(*, second_at: float = 10, life: str = "short") -> Trajectory:
    return run(
        turn(said("task"), calls("a"), prompt=10_000, at=0, life=life),
        turn(results("a"), answers(), prompt=12_000, at=second_at, life=life),
    )


@pytest.mark.parametrize(
    ("trajectory", "expected"),
    [
        pytest.param(loop(), Usage(1, 9999, 2000, 0), id="what was marked is read, what came behind it is written"),
        pytest.param(loop(second_at=302), Usage(1, 0, 11_999, 0), id="after five minutes nothing is left"),
        pytest.param(loop(second_at=302, life="long"), Usage(1, 9999, 0, 2000), id="an hour's marks outlive them"),
    ],
)
def test_second_request(trajectory: Trajectory, expected: Usage) -> None:
    assert simulated(trajectory)[1] == expected


def test_the_opening_is_not_foretold() -> None:
    session = check_session("s", [loop()], CLAUDE_CODE, len)
    assert [request.scored for request in session.requests] == [False, True]
    assert session.tokens("read") == (HEAD, 9999)


@pytest.mark.parametrize(
    ("first", "second", "model", "read"),
    [
        pytest.param(True, True, OPUS, 9990, id="thinking stays on"),
        pytest.param(True, False, OPUS, HEAD, id="thinking is turned off: the messages go"),
        pytest.param(False, True, OPUS, HEAD, id="thinking is turned on: the messages go"),
        pytest.param(True, False, "claude-opus-4-6", 9999, id="a model that thinks as it likes tells nothing"),
    ],
)
def test_thinking(first: bool, second: bool, model: str, read: int) -> None:
    trajectory = run(
        turn(said("task"), calls("a", thinking=first), prompt=10_000, at=0, model=model),
        turn(results("a"), answers(thinking=second), prompt=12_000, at=10, model=model),
    )
    assert simulated(trajectory)[1].read == read


def test_where_a_client_thinks_silently_it_stays_on() -> None:
    trajectory = run(
        turn(said("task"), calls("a", thinking=True), prompt=10_000, at=0),
        turn(results("a"), answers(), prompt=12_000, at=10),
    )
    assert simulated(trajectory, client=PI)[1].read == 9990


@pytest.mark.parametrize(
    ("spoken_after", "read"),
    [
        pytest.param(60, 12_999, id="the client has asked for the user's next words meanwhile"),
        pytest.param(3, 11_999, id="a fast user leaves it no time"),
    ],
)
def test_a_final_reply_is_read(spoken_after: float, read: int) -> None:
    last = answers("x" * 2000)
    trajectory = run(
        turn(said("task"), calls("a"), prompt=10_000, at=0),
        turn(results("a"), last, prompt=12_000, at=10, read=9999),
        # Half of what is new is the reply, half the user's text.
        turn(message("user", {"type": "text", "text": "x" * 2000}), answers(), prompt=14_000, at=11 + spoken_after),
    )
    assert simulated(trajectory)[2].read == pytest.approx(read, abs=5)


def test_what_the_client_asks_by_itself_is_not_compared() -> None:
    trajectory = run(turn(said("task"), answers(), prompt=10_000, at=0), turn(said(), answers(), prompt=10_100, at=60))
    assert len(simulated(trajectory)) == 2


def test_a_client_that_was_ended_writes_its_reminders_anew() -> None:
    ended = said(f"{CLAUDE_CODE.restart} see you")
    trajectory = run(turn(said("task"), answers(), prompt=10_000, at=0), turn(ended, answers(), prompt=12_000, at=60))
    assert simulated(trajectory)[1].read == HEAD


def test_a_client_whose_head_names_its_start_loses_everything_with_it() -> None:
    again = replace(turn(said(), answers(), prompt=12_000, at=60), restarted=True)
    goes_on = turn(said(), answers(), prompt=12_500, at=70)
    trajectory = run(turn(said("task"), answers(), prompt=10_000, at=0), again, goes_on)
    assert [usage.read for usage in simulated(trajectory, client=PI)[1:]] == [0, 11_999]


@pytest.mark.parametrize(
    ("asked", "reads"),
    [
        pytest.param((True, None, None), [9999, 11_999], id="what is not said goes on"),
        pytest.param((True, False, None), [HEAD, 11_999], id="turned off: the messages go, once"),
        pytest.param((True, False, True), [HEAD, 9999], id="turned on again: what it had written is still there"),
    ],
)
def test_thinking_as_the_recording_says_it(asked: tuple[bool | None, ...], reads: list[int]) -> None:
    model = "claude-opus-4-6"
    turns = [
        turn(said("task"), calls("a"), prompt=10_000, at=0, model=model),
        turn(results("a"), calls("b"), prompt=12_000, at=10, model=model),
        turn(results("b"), answers(), prompt=12_500, at=20, model=model),
    ]
    told_so = [replace(one, thinking=thinking) for one, thinking in zip(turns, asked, strict=True)]
    assert [usage.read for usage in simulated(run(*told_so))[1:]] == reads


def test_what_follows_a_compaction_keeps_the_setting() -> None:
    model = "claude-opus-4-6"
    before = run(replace(turn(said("task"), answers(), prompt=10_000, at=0, model=model), thinking=True))
    after = run(
        turn(said("summary"), calls("a"), prompt=9000, at=10, model=model),
        replace(turn(results("a"), answers(), prompt=9500, at=20, model=model), thinking=True),
        name="s#2",
    )
    found = check_session("s", [before, after], CLAUDE_CODE, len).requests
    assert (found[2].simulated.read, found[2].notes) == (8999, ())


def test_a_history_that_shrank_was_edited() -> None:
    trajectory = run(
        turn(said("task"), calls("a"), prompt=10_000, at=0),
        turn(results("a" * 100), calls("b"), prompt=40_000, at=10),
        turn(results("b"), answers(), prompt=20_000, at=20),
    )
    session = check_session("s", [trajectory], CLAUDE_CODE, len)
    assert session.requests[2].notes == ("edited",)
    # What stands before the first result is read: the task, and the call that a mark stood on.
    assert 9999 < (session.requests[2].simulated.read or 0) < 12_000


@pytest.mark.parametrize(
    ("model", "steps", "read"),
    [
        pytest.param(SONNET, 3, 9990, id="old thinking goes: what stands before it is read"),
        pytest.param(SONNET, 12, HEAD, id="unless it is more than twenty blocks back"),
        pytest.param(OPUS, 12, 15_990, id="later models keep it"),
    ],
)
def test_old_thinking(model: str, steps: int, read: int) -> None:
    turns = [turn(said("task"), calls("0", thinking=True), prompt=10_000, at=0, model=model)]
    for step in range(1, steps + 1):
        reply = calls(str(step), thinking=True) if step < steps else answers(thinking=True)
        turns.append(turn(results(str(step - 1)), reply, prompt=10_000 + step * 500, at=step * 5.0, model=model))
    prompt, at = 10_100 + steps * 500, steps * 5.0 + 3
    turns.append(turn(said("now"), answers(thinking=True), prompt=prompt, at=at, model=model))
    assert simulated(run(*turns))[-1].read == read


def test_conversations_of_one_recording_share_their_head() -> None:
    compacted = run(turn(said("summary"), answers(), prompt=9000, at=30), name="s#2")
    agent = run(turn(said("look"), answers(), prompt=8000, at=20, read=0), name="s#3", side=True)
    twin = run(turn(said("look there"), answers(), prompt=8000, at=20.5, read=0), name="s#4", side=True)
    later = run(turn(said("look again"), answers(), prompt=8000, at=40, read=0), name="s#5", side=True)
    read = {
        r.chain: r.simulated.read
        for r in check_session("s", [loop(), compacted, agent, twin, later], CLAUDE_CODE, len).requests
    }
    assert read["s#2"] == HEAD
    # Two at once find nothing of each other; what came later reads the head of both.
    assert (read["s#3"], read["s#4"], read["s#5"]) == (0, 0, 4800)


def test_a_fork_reads_what_it_shares() -> None:
    whole = run(
        turn(said("task"), calls("a"), prompt=10_000, at=0),
        turn(results("a"), answers(), prompt=12_000, at=10),
        turn(said("left"), answers(), prompt=13_000, at=12),
    )
    fork = run(*whole.turns[:2], turn(said("right"), answers(), prompt=13_000, at=20), name="s#2", shared=2)
    found = check_session("s", [whole, fork], CLAUDE_CODE, len).requests
    assert [request.chain for request in found] == ["s", "s", "s", "s#2"]
    assert (found[3].simulated.read or 0) >= 11_999


def test_what_is_not_known_is_left_out_or_unpriced() -> None:
    silent = replace(turn(results("a"), answers(), prompt=11_000, at=10), usage=Usage())
    trajectory = run(
        turn(said("task"), calls("a"), prompt=10_000, at=0, model="claude-unheard-of"),
        silent,
        turn(said(), answers(), prompt=12_000, at=20, model="claude-unheard-of"),
    )
    check = together([check_session("s", [trajectory], CLAUDE_CODE, len)])
    assert len(check.scored) == check.unpriced == 1
    assert check.bill_error is None


SIZES = st.lists(st.tuples(st.integers(50, 60_000), st.booleans(), st.integers(1, 14)), min_size=1, max_size=8)


@given(sizes=SIZES)
def test_every_prompt_has_the_size_that_was_reported(sizes: list[tuple[int, bool, int]]) -> None:
    turns, asked = [], ["first"]
    for at, (prompt, thinking, width) in enumerate(sizes):
        names = [f"{at}-{i}" for i in range(width)]
        added = results(*asked) if at else said("task")
        turns.append(turn(added, calls(*names, thinking=thinking), prompt=prompt, at=at * 9, read=min(HEAD, prompt)))
        asked = names
    for prompt, (size, _, _) in zip(told(prompts([run(*turns)], CLAUDE_CODE, len)), sizes, strict=True):
        assert sum(piece.tokens for piece in prompt.pieces) == size
        assert min(piece.tokens for piece in prompt.pieces) >= 0


def told(found: Sequence[Prompt]) -> list[Prompt]:
    return [prompt for prompt in found if prompt.reported is not None]


@pytest.fixture(scope="module")
def recorded(shared: Path) -> dict[str, tuple[Session, ...]]:
    """Every recording whose client's habits are known, by folder."""
    folders = ("claude-code", "claude-code-long", "pi", "mini-swe-agent")
    return {
        folder: tuple(
            check_session(path.stem, read_file(path).trajectories, CLIENTS[kind_of(path)], estimate)
            for path in sorted((shared / "trajectories" / "dev" / folder).iterdir())
        )
        for folder in folders
    }


def test_claude_code_recordings(recorded: dict[str, tuple[Session, ...]]) -> None:
    check = together(recorded["claude-code"] + recorded["claude-code-long"])
    assert len(check.sessions) == 37
    assert check.bill_error == pytest.approx(0, abs=0.03)
    assert (check.median_read_error or 1) < 0.02


def test_every_prefix_that_the_pi_recording_lost_is_foretold(recorded: dict[str, tuple[Session, ...]]) -> None:
    (session,) = recorded["pi"]
    restarted = [request for request in session.scored if "restarted" in request.notes]
    assert len(restarted) == 8
    assert not any(request.reported.read for request in restarted)
    assert not any(request.lost or request.lived_on for request in session.scored)


def test_all_recordings(recorded: dict[str, tuple[Session, ...]]) -> None:
    check: Check = together([session for sessions in recorded.values() for session in sessions])
    assert check.bill_error == pytest.approx(0, abs=0.03)
    bills = bill_error_interval([expected_bills(session, 0.0) for session in check.sessions], seed=166)
    assert bills is not None
    assert bills.value == pytest.approx(check.bill_error)
    assert -0.03 < bills.low < bills.high < 0.03
    for folds in (2, len(check.sessions)):
        expected = bill_error_interval(held_out_bills(check.sessions, folds=folds), seed=166)
        assert expected is not None
        assert expected.value == pytest.approx(0, abs=0.03)
    assert check.unpriced == 0
    assert (check.median_read_error or 1) < 0.02
    assert check.plain_bill_error == pytest.approx(0, abs=0.01)
    assert sum(request.lost for request in check.scored) < 0.01 * len(check.scored)
