"""Through the driver, each miss is put down to who caused it, with its tokens and price; and belief learns of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from cases.talk import log, result, user
from compacting import windowed
from provider import CHEAP_READS, LATER, START, Json, Provider, Turn, growing, marked, priced, saying, step, talk
from support import Press, pressing

from coldpress.config import Settings
from coldpress.drive import Inbound
from coldpress.engine.policy import Policy, Rule
from coldpress.model.misses import Attribution
from coldpress.model.native import Applied
from coldpress.model.records import Miss, Outcome
from coldpress.model.usage import Usage

ABOVE_READ_USD = (3.75 - 0.3) / 1_000_000
"""What one token of `CHEAP_READS` costs more written than read."""

STEPS = [step(n) for n in range(8)]
ORDERED = Policy((Rule("grep*", ("keyword",), ungated=True), Rule("read*", ("source",), age=2, ungated=True)))
KEPT = Policy((Rule("*", ("exact",)),))


def found(press: Press, turn: Turn) -> Attribution | None:
    entry = press.store.receipt(turn.prepared.receipt.request_id)
    assert entry is not None
    assert entry.outcome is not None
    return entry.outcome.attribution


def both_priced() -> Settings:
    """Two models at one price."""
    made = priced(policy=KEPT)
    prices = (CHEAP_READS, replace(CHEAP_READS, model="another-model"))
    return replace(made, providers=tuple(replace(provider, pricing=prices) for provider in made.providers))


def last_of(
    bodies: list[bytes],
    *,
    using: Settings | None = None,
    pauses: Mapping[int, float] | None = None,
    told: Mapping[str, Any] | None = None,
    new_caches: bool = False,
    operation: Any = None,
) -> tuple[Attribution | None, Turn]:
    """Send requests, and give what was made of the last one; all before it missed nothing."""
    provider = Provider()
    with pressing(using or priced(policy=KEPT)) as press:
        before = talk(press, bodies[:-1], provider, pauses=pauses)
        assert [found(press, turn) for turn in before] == [None] * len(before)
        if new_caches:
            provider = Provider()
            provider.now = START + 10.0 * len(before)
        pause = {0: (pauses or {}).get(len(before), 10.0)}
        (turn,) = talk(press, bodies[-1:], provider, pauses=pause, told=told, operation=operation)
        return found(press, turn), turn


def changed(how: Callable[[Json], None], steps: int = 6) -> list[bytes]:
    """The requests of a conversation, the last one with something changed."""
    listed = growing(STEPS)[: steps + 1]
    read = json.loads(listed[-1])
    how(read)
    return [*listed[:-1], json.dumps(read, separators=(",", ":")).encode()]


def another_model(body: Json) -> None:
    body["model"] = "another-model"


def another_tool(body: Json) -> None:
    body["tools"][0]["description"] = "Runs a command."


def another_system(body: Json) -> None:
    body["system"][0]["text"] += " Be brief."


def thinking(body: Json) -> None:
    body["thinking"] = {"type": "enabled", "budget_tokens": 2_000}


def another_result(body: Json) -> None:
    body["messages"][2]["content"][0] = result("t0", log("another", 10))


@pytest.mark.parametrize(
    ("how", "why", "most_read"),
    [
        pytest.param(another_model, "model", 0, id="model"),
        pytest.param(another_tool, "tools", 0, id="a description of a tool"),
        pytest.param(another_system, "system", 100, id="system prompt"),
        pytest.param(thinking, "settings", 6_000, id="reasoning switched on"),
        pytest.param(another_result, "messages", 6_000, id="an earlier result"),
    ],
)
def test_what_the_client_changes_is_the_clients(how: Callable[[Json], None], why: str, most_read: int) -> None:
    attributed, turn = last_of(changed(how), using=both_priced())
    assert attributed is not None
    assert (attributed.cause, attributed.why, attributed.told) == ("client", why, False)
    assert (turn.usage.read or 0) <= most_read
    assert attributed.tokens is not None
    # What is new in this request would have been written anyway, and so would a result that is another one now.
    assert 0.75 * (turn.usage.write_short or 0) < attributed.tokens < (turn.usage.write_short or 0)
    assert attributed.usd == pytest.approx(attributed.tokens * ABOVE_READ_USD)


def test_a_pause_that_no_entry_outlives_is_times() -> None:
    attributed, turn = last_of(growing(STEPS)[:6], pauses={5: LATER})
    assert turn.belief.state == "cold"
    held = (turn.usage.prompt or 0) - 1_342  # the newest step
    assert attributed == Attribution("time", "expired", held, pytest.approx(held * ABOVE_READ_USD))


def test_an_entry_that_is_gone_too_early_is_the_providers() -> None:
    attributed, turn = last_of(growing(STEPS)[:6], new_caches=True)
    assert turn.belief.state == "warm"
    assert attributed is not None
    assert (attributed.cause, attributed.why) == ("provider", "evicted")


def test_what_the_provider_clears_by_itself_is_the_providers() -> None:
    told = {"applied": (Applied("clear_tool_uses", cleared_tokens=4_000, cleared_tool_uses=3),)}
    attributed, _ = last_of(growing(STEPS)[:6], new_caches=True, told=told)
    assert attributed is not None
    assert (attributed.cause, attributed.why) == ("provider", "provider_edit")


@pytest.mark.parametrize(
    "bodies",
    [
        pytest.param(growing(STEPS)[:1], id="a first request"),
        pytest.param([*growing(STEPS)[:7], growing(STEPS)[6]], id="the same again"),
        pytest.param([*growing(STEPS)[:7], marked(saying([*STEPS[:3], step(90)]))], id="taken back and gone on"),
        pytest.param([*growing(STEPS)[:7], marked([user("Else.")])], id="another conversation"),
    ],
)
def test_nothing_is_missed_where_all_is_read_that_was_kept(bodies: list[bytes]) -> None:
    attributed, _ = last_of(bodies)
    assert attributed is None


def read(number: int, lines: int) -> list[Json]:
    """A read of the beginning of one file."""
    shown = "".join(f"{n:6}\tvalue_{n} = compute({n}, 'a.py')\n" for n in range(1, lines))
    return step(number, shown, tool="Read", file_path="a.py", offset=1, limit=lines)


def test_a_result_that_is_made_smaller_in_a_warm_cache_is_ours() -> None:
    """Two reads of one file: the second covers the first, which goes while both are in the cache."""
    with pressing(priced(policy=ORDERED)) as press:
        steps = [read(0, 120), read(1, 240), *(step(n, f"done {n}") for n in range(2, 6))]
        turns = talk(press, growing(steps), Provider())
        causes = [found(press, turn) for turn in turns]
    (number,) = (n for n, turn in enumerate(turns) if turn.why == "ordered" and turn.applied)
    assert [n for n, one in enumerate(causes) if one is not None] == [number]
    one, cut, usage = causes[number], turns[number].cut, turns[number].usage
    assert one is not None
    assert cut is not None
    tokens = (turns[number - 1].usage.prompt or 0) - cut.removed_tokens - (usage.read or 0)
    assert one == Attribution("us", "edit", tokens, pytest.approx(tokens * ABOVE_READ_USD))
    assert tokens > 3_000


def test_an_edit_with_little_behind_it_misses_nothing_worth_the_name() -> None:
    lines = (f"src/{n}.py:{n}: {'retry_budget' if n % 40 == 7 else 'other'}\n" for n in range(240))
    search = step(0, "".join(lines), tool="Grep", said="Where is the retry_budget set?", pattern="retry_budget")
    with pressing(priced(policy=ORDERED)) as press:
        turns = talk(press, growing([search, *(step(n, f"done {n}") for n in range(1, 5))]), Provider())
        causes = [found(press, turn) for turn in turns]
    assert [turn.why for turn in turns].count("ordered") == 1
    assert causes == [None] * len(turns)


def test_results_that_are_masked_once_the_cache_has_gone_are_not_ours() -> None:
    bodies = growing(STEPS)
    with pressing(priced()) as press:
        turns = talk(press, bodies, Provider(), pauses={8: LATER})
        attributed = found(press, turns[8])
    assert turns[8].applied
    assert attributed is not None
    assert (attributed.cause, attributed.why) == ("time", "expired")


def test_results_that_are_masked_in_a_cache_that_was_held_after_all_are_ours() -> None:
    """It was believed to be gone; the reply reads all that stands in front of the edit, and more than the head."""
    bodies = growing([*(step(n, log(f"n{n}", 60), tool="Read", file_path=f"/a{n}.py") for n in range(4)), *STEPS])
    with pressing(priced()) as press:
        turns = talk(press, bodies, Provider(marked_seconds=3_600.0), pauses={len(bodies) - 1: LATER})
        attributed = found(press, turns[-1])
    assert turns[-1].belief.state == "cold"
    assert turns[-1].applied
    assert attributed is not None
    assert (attributed.cause, attributed.why) == ("us", "edit")


def test_a_result_that_is_given_back_exact_is_ours() -> None:
    """The client asks for one request without us, behind others with us."""
    bodies = growing(
        [step(n, json.dumps([{"id": i, "name": f"n{n}"} for i in range(300)], indent=2)) for n in range(6)]
    )
    attributed, turn = last_of(bodies, using=priced(), operation="observe")
    assert not turn.prepared.changed
    assert attributed is not None
    assert (attributed.cause, attributed.why) == ("us", "edit")


def test_messages_that_give_way_to_a_summary_are_ours() -> None:
    settings = windowed(20_000)
    with pressing(settings) as press:
        turns = talk(
            press, growing([step(n, said=" ".join(f"w{n}_{i}" for i in range(300))) for n in range(14)]), Provider()
        )
        causes = {n: found(press, turn) for n, turn in enumerate(turns)}
    summarised = [
        n
        for n, turn in enumerate(turns)
        if (pressure := turn.prepared.receipt.pressure) is not None and pressure.reason == "summarised"
    ]
    assert summarised
    first = causes[summarised[0]]
    assert first is not None
    assert (first.cause, first.why, first.usd) == ("us", "summary", None)


def test_after_a_restart_a_miss_within_the_lifetime_is_nobodys() -> None:
    provider = Provider()
    with pressing(priced(policy=KEPT)) as press:
        talk(press, growing(STEPS)[:5], provider)
        store = press.store
    gone = Provider()
    gone.now = provider.now
    with pressing(priced(policy=KEPT), store) as press:
        (turn,) = talk(press, growing(STEPS)[5:6], gone)
        attributed = found(press, turn)
    assert attributed is not None
    assert (attributed.cause, attributed.why, attributed.told) == ("unknown", "untold", False)
    assert attributed.tokens == (turn.usage.prompt or 0) - 1_342


def test_after_a_restart_what_is_read_is_no_miss() -> None:
    provider = Provider()
    with pressing(priced(policy=KEPT)) as press:
        talk(press, growing(STEPS)[:5], provider)
        store = press.store
    with pressing(priced(policy=KEPT), store) as press:
        (turn,) = talk(press, growing(STEPS)[5:6], provider)
        assert found(press, turn) is None


def test_a_provider_that_does_not_say_what_it_read_has_no_misses() -> None:
    with pressing(priced(policy=KEPT)) as press:
        turns = talk(press, growing(STEPS)[:5], Provider(reports="no reads", marked_seconds=0.0))
        assert [found(press, turn) for turn in turns] == [None] * 5


def test_what_is_told_goes_before_what_follows() -> None:
    told = {"miss": Miss("tools_changed", 7_000)}
    attributed, _ = last_of(growing(STEPS)[:6], new_caches=True, told=told)
    assert attributed == Attribution("client", "tools", 7_000, pytest.approx(7_000 * ABOVE_READ_USD), told=True)


def test_a_reason_that_is_told_of_a_full_read_is_no_miss() -> None:
    attributed, _ = last_of(growing(STEPS)[:6], told={"miss": Miss("messages_changed", 7_000)})
    assert attributed is None


def test_an_unpriced_miss_has_tokens_and_no_price() -> None:
    attributed, _ = last_of(growing(STEPS)[:6], using=priced(None, policy=KEPT), new_caches=True)
    assert attributed is not None
    assert attributed.tokens
    assert attributed.usd is None


def ask(press: Press, number: int, body: bytes, at: float, usage: Usage, **told: Any) -> str:
    """Send one request at a time, and tell the driver a usage; gives the belief that it was decided on."""

    async def run() -> str:
        prepared = await press.driver.prepare(Inbound(f"q{number}", at, "anthropic", "anthropic", body, None, {}))
        press.driver.finish(Outcome(f"q{number}", 200, "complete", 0.0, usage, **told))
        assert prepared.receipt.belief is not None
        return prepared.receipt.belief.state

    return asyncio.run(run())


def read_and_written(read: int, written: int) -> Usage:
    return Usage(fresh=0, read=read, write_short=written, output=10)


@pytest.mark.parametrize(
    ("told", "state"),
    [
        pytest.param({}, "cold", id="nothing told: the longer lifetime is given up"),
        pytest.param({"miss": Miss("tools_changed", 6_000)}, "warm", id="the client changed a tool: nothing learned"),
        pytest.param({"miss": Miss("previous_message_not_found")}, "cold", id="no diagnosis: as if nothing was told"),
    ],
)
def test_a_miss_that_is_explained_says_nothing_of_the_lifetime(told: dict[str, Any], state: str) -> None:
    """A read after 900 s proved that prefixes are kept longer than documented; a miss after 600 s takes that back.

    Not where what was not read was sent otherwise.
    """
    bodies = growing(STEPS)
    with pressing(priced(policy=KEPT)) as press:
        at = START
        ask(press, 0, bodies[0], at, read_and_written(0, 6_000))
        assert ask(press, 1, bodies[1], at + 900, read_and_written(6_000, 1_000)) == "cold"
        assert ask(press, 2, bodies[2], at + 910, read_and_written(7_000, 1_000)) == "warm"
        ask(press, 3, bodies[3], at + 1_510, read_and_written(0, 9_000), **told)
        ask(press, 4, bodies[4], at + 1_520, read_and_written(9_000, 1_000))
        assert ask(press, 5, bodies[5], at + 2_120, read_and_written(10_000, 1_000)) == state


def test_explained_misses_do_not_make_a_provider_one_that_keeps_nothing() -> None:
    bodies = growing(STEPS)
    told = {"miss": Miss("tools_changed", 6_000)}
    with pressing(priced(policy=KEPT)) as press:
        ask(press, 0, bodies[0], START, read_and_written(0, 6_000))
        for n in (1, 2, 3):
            ask(press, n, bodies[n], START + 10.0 * n, read_and_written(0, 6_000 + 1_000 * n), **told)
        assert ask(press, 4, bodies[4], START + 40.0, read_and_written(9_000, 1_000)) == "warm"


def test_what_goes_where_a_provider_keeps_nothing_is_not_ours() -> None:
    """Its replies tell of writes and never of a read: after two of them results go, since nothing is lost by that."""
    with pressing(priced()) as press:
        turns = talk(press, growing([step(n) for n in range(14)]), Provider(marked_seconds=0.0))
        causes = [found(press, turn) for turn in turns]
    assert any(turn.applied for turn in turns)
    assert {(one.cause, one.why) for one in causes if one is not None} == {("provider", "evicted")}
