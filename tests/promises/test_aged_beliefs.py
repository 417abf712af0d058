"""What is not known is not acted on; what replies report corrects what is believed; the modes of operation hold."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest
from bodies import changed_literals
from cases.talk import chat, chat_calls, chat_result, log, user
from provider import (
    LATER,
    MODEL,
    NO_CACHE,
    SOON,
    Json,
    Provider,
    Turn,
    bill_usd,
    flat,
    growing,
    marked,
    priced,
    saying,
    step,
    talk,
)
from support import Press, pressing

from coldpress.config import Settings
from coldpress.drive import Inbound
from coldpress.model.records import Operation, Outcome

STEPS = [step(n) for n in range(26)]
BODIES = growing(STEPS)
CUT = 10
BINDING = "claude-opus-5-5-20261101"
THOUGHT = {"type": "thinking", "thinking": "", "signature": "s" * 400}


def touched(turns: list[Turn]) -> list[int]:
    """The requests in which any old text was sent otherwise than it came."""
    return [number for number, turn in enumerate(turns) if turn.sent != turn.body]


# 4. Nothing unknown is acted on


@pytest.mark.parametrize(
    ("made", "provider", "pause", "why"),
    [
        pytest.param(priced(None), {}, LATER, "unpriced", id="no price, cold"),
        pytest.param(priced(None), {}, SOON, "unpriced", id="no price, warm"),
        pytest.param(priced(NO_CACHE), {"reports": "nothing"}, SOON, "unknown_usage", id="no usage, warm"),
        pytest.param(priced(NO_CACHE), {"reports": "nothing"}, LATER, "unknown_usage", id="no usage, after a pause"),
        pytest.param(priced(NO_CACHE), {"reports": "no reads"}, SOON, "unknown_usage", id="no reads, warm"),
        pytest.param(priced(NO_CACHE), {"reports": "no reads"}, LATER, "unknown_usage", id="no reads, after a pause"),
    ],
)
def test_what_is_not_known_is_not_acted_on(made: Settings, provider: dict[str, Any], pause: float, why: str) -> None:
    with pressing(made) as press:
        turns = talk(press, BODIES, Provider(**provider), pauses={CUT: pause})
    assert touched(turns) == []
    assert {turn.why for turn in turns[7:]} == {why}
    assert all(turn.cut and turn.cut.candidates > 0 and turn.cut.net_usd is None for turn in turns[7:])


def chat_bodies(count: int) -> list[bytes]:
    said: list[Json] = [{"role": "system", "content": "You are an agent. " * 1500}, {"role": "user", "content": "go"}]
    bodies = [chat(*said, model=MODEL)]
    for n in range(count):
        said += [chat_calls((f"t{n}", "Bash", {"command": f"make {n}"})), chat_result(f"t{n}", log(f"n{n}", 60))]
        bodies.append(chat(*said, model=MODEL))
    return bodies


@pytest.mark.parametrize("pause", [LATER, 3 * 3600.0, 48 * 3600.0])
def test_where_no_lifetime_is_known_no_pause_makes_a_cache_cold(pause: float) -> None:
    """The provider keeps prefixes for hours to days: whatever is cut is weighed as a rewrite of a warm cache."""
    with pressing(priced(flat(0.003625, 0.435))) as press:
        turns = talk(press, chat_bodies(14), Provider(chat_seconds=12 * 3600), name="openai_chat", pauses={CUT: pause})
    assert {turn.belief.state for turn in turns[1:]} == {"warm"}
    assert touched(turns) == []
    assert {turn.why for turn in turns[7:]} <= {"does_not_pay", "waiting"}


@pytest.mark.parametrize(
    ("pause", "forgets", "state", "why"),
    [
        pytest.param(LATER, False, "cold", "idle", id="the ledger tells of a long pause"),
        pytest.param(SOON, False, "unknown", "restarted", id="the ledger tells of a short pause"),
        pytest.param(LATER, True, "unknown", "restarted", id="the ledger is gone"),
        pytest.param(SOON, True, "unknown", "restarted", id="the ledger is gone, no pause"),
    ],
)
def test_after_a_restart_cold_needs_evidence(pause: float, forgets: bool, state: str, why: str) -> None:
    provider = Provider()
    with pressing(priced(NO_CACHE)) as press:
        talk(press, BODIES[:7], provider)
        with pressing(priced(NO_CACHE), None if forgets else press.store) as restarted:
            (turn,) = talk(restarted, [BODIES[CUT]], provider, pauses=[pause])
    assert (turn.belief.state, turn.belief.why) == (state, why)
    if state == "cold":
        assert (turn.why, touched([turn])) == ("cold", [0])
    else:
        assert (turn.why, touched([turn])) == ("unknown_cache", [])


def test_after_a_restart_and_one_reply_the_gate_decides_again() -> None:
    provider = Provider()
    with pressing(priced(NO_CACHE)) as press:
        talk(press, BODIES[:CUT], provider, operation="drain")
        with pressing(priced(NO_CACHE), press.store) as restarted:
            turns = talk(restarted, BODIES[CUT:], provider)
    assert [turn.why for turn in turns[:2]] == ["unknown_cache", "pays"]


# 7. Modes of operation


@pytest.mark.parametrize(
    ("operation", "why"), [("observe", "observe"), ("drain", "drain"), ("off", None)], ids=["observe", "drain", "off"]
)
@pytest.mark.parametrize("pause", [SOON, LATER], ids=["warm", "cold"])
def test_only_press_touches_old_results(operation: Operation, why: str | None, pause: float) -> None:
    with pressing(priced(NO_CACHE, operation)) as press:
        turns = talk(press, BODIES, Provider(), pauses={CUT: pause})
    assert all(turn.sent is turn.body for turn in turns)
    assert [turn.why for turn in turns[7:]] == [why] * len(turns[7:])
    with pressing(priced(NO_CACHE)) as press:
        would = talk(press, BODIES[: CUT + 1], Provider(), operation="observe", pauses={CUT: pause})[-1].cut
    if why is not None:
        told = turns[CUT].cut
        assert told is not None
        assert would is not None
        assert (told.applied, told.candidates, told.removed_tokens) == (0, CUT - 6, would.removed_tokens)
        assert told.net_usd is not None
        assert told.net_usd > 0


def test_a_subscription_is_observed_only() -> None:
    system = [{"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.63; cc_entrypoint=cli;"}]
    bodies = growing(STEPS, system=[*system, {"type": "text", "text": "You are an agent. " * 1500}])
    with pressing(priced(NO_CACHE)) as press:
        turns = talk(press, bodies, Provider(), pauses={CUT: LATER})
    assert all("subscription" in turn.prepared.receipt.notes for turn in turns)
    assert touched(turns) == []
    assert {turn.why for turn in turns[7:]} == {"observe"}


@pytest.mark.parametrize("operation", ["drain", "observe", "off"])
def test_what_stands_is_sent_while_draining_and_not_while_observing(operation: Operation) -> None:
    provider = Provider()
    with pressing(priced()) as press:
        cut = talk(press, BODIES[: CUT + 1], provider, pauses={CUT: LATER})[-1]
        assert cut.applied == CUT - 6
        (turn,) = talk(press, [BODIES[CUT + 1]], provider, operation=operation)
        views = dict(changed_literals(turn.body, turn.sent))
        assert views == (dict(changed_literals(cut.body, cut.sent)) if operation == "drain" else {})
        (later,) = talk(press, [BODIES[CUT + 2]], provider)
        assert set(dict(changed_literals(cut.body, cut.sent))) <= set(dict(changed_literals(later.body, later.sent)))


# 8. Binding models


def thinking(steps: list[list[Json]], *thoughts: int) -> list[bytes]:
    """A conversation with a model that binds, in which some steps begin with a thought."""
    thought = [
        [{**one[0], "content": [THOUGHT, *one[0]["content"]]}, *one[1:]] if number in thoughts else one
        for number, one in enumerate(steps)
    ]
    return growing(thought, model=BINDING)


BINDING_PRICES = flat(0.5, 6.25, 5.0, model=BINDING)


@pytest.mark.parametrize("pause", [SOON, LATER], ids=["warm", "cold"])
def test_nothing_in_front_of_kept_thinking_is_touched(pause: float) -> None:
    bodies = thinking(STEPS[:16], *range(16))
    with pressing(priced(BINDING_PRICES)) as press:
        turns = talk(press, bodies, Provider(), pauses={CUT: pause})
    assert touched(turns) == []
    assert {turn.why for turn in turns[7:]} == {"binding_model"}


def test_results_behind_the_last_thinking_may_go() -> None:
    bodies = thinking(STEPS[:16], 0, 1, 2)
    with pressing(priced(BINDING_PRICES)) as press:
        turn = talk(press, bodies[:13], Provider(), pauses={12: LATER})[-1]
    assert turn.why == "cold"
    assert [old for old, _ in changed_literals(turn.body, turn.sent)] == [log(f"n{n}", 60) for n in range(2, 6)]


def test_the_user_may_accept_to_lose_thinking() -> None:
    bodies = thinking(STEPS[:16], *range(16))
    with pressing(replace(priced(BINDING_PRICES), allow_thinking_loss=True)) as press:
        turn = talk(press, bodies[: CUT + 1], Provider(), pauses={CUT: LATER})[-1]
    assert (turn.why, turn.applied) == ("cold", CUT - 6)


def test_a_model_that_does_not_bind_keeps_nothing_back() -> None:
    bodies = [body.replace(BINDING.encode(), MODEL.encode()) for body in thinking(STEPS[:16], *range(16))]
    with pressing(priced()) as press:
        turn = talk(press, bodies[: CUT + 1], Provider(), pauses={CUT: LATER})[-1]
    assert (turn.why, turn.applied) == ("cold", CUT - 6)


NOTICED = {"transformations": ("thinking_dropped:prefix_changed",)}


@pytest.mark.parametrize("restart", [False, True])
def test_after_reasoning_was_dropped_nothing_new_is_edited_in_that_conversation(
    restart: bool, caplog: pytest.LogCaptureFixture
) -> None:
    provider = Provider()
    with pressing(priced()) as press:
        cut = talk(press, BODIES[: CUT + 1], provider, pauses={CUT: LATER})[-1]
        views = dict(changed_literals(cut.body, cut.sent))
        with caplog.at_level(logging.ERROR):
            talk(press, [BODIES[CUT + 1]], provider, told=NOTICED)
        assert [record for record in caplog.records if record.levelno >= logging.ERROR], "loudly"
        with pressing(priced(), press.store) as again:
            using = again if restart else press
            turns = talk(using, BODIES[CUT + 2 :], provider, pauses={4: LATER})
            for turn in turns:
                assert "stopped" in turn.prepared.receipt.notes
                assert dict(changed_literals(turn.body, turn.sent)) == views, "what stands stands, nothing is new"
            assert turns[4].why == "stopped", "cold as it was"
            other = talk(using, growing(STEPS, first=user("Another task."))[:13], Provider(), pauses={12: LATER})
            assert other[-1].why == "cold", "other conversations go on"


# 10. Beliefs corrected by reports


def waits(numbers: range, seconds: float = LATER) -> dict[int, float]:
    return dict.fromkeys(numbers, seconds)


def test_a_provider_that_keeps_prefixes_longer_than_it_says_is_believed_once_that_is_seen() -> None:
    provider = Provider(marked_seconds=3600.0)
    with pressing(priced(flat(0.003625, 0.435))) as press:
        turns = talk(press, BODIES, provider, pauses=waits(range(3, 27, 4)))
    cold = [number for number, turn in enumerate(turns) if turn.belief.state == "cold"]
    assert cold == [0, 3]
    assert touched(turns) == [], "the long life was seen before anything was old"


def test_a_false_cold_costs_one_rewrite_and_no_more() -> None:
    provider, plain = Provider(marked_seconds=3600.0), Provider(marked_seconds=3600.0)
    pauses = waits(range(CUT, 27, 3))
    with pressing(priced(flat(0.003625, 0.435))) as press:
        turns = talk(press, BODIES, provider, pauses=pauses)
    assert [number for number, turn in enumerate(turns) if turn.belief.state == "cold"] == [0, CUT]
    assert [number for number, turn in enumerate(turns) if turn.applied] == [CUT]
    untouched = []
    for number, body in enumerate(BODIES):
        plain.now += pauses.get(number, SOON)
        untouched.append(plain.bill(body))
    prices = flat(0.003625, 0.435)
    lost = bill_usd([turn.usage for turn in turns], prices) - bill_usd(untouched, prices)
    assert 0 < lost < bill_usd([untouched[CUT]], flat(0.435, 0.435))


def test_a_provider_that_never_caches_is_taken_to_after_two_misses() -> None:
    provider = Provider(marked_seconds=0.0)
    with pressing(priced(flat(0.003625, 0.435))) as press:
        turns = talk(press, BODIES, provider)
    assert [turn.belief.why for turn in turns[:5]] == [
        "first_request",
        "within_lifetime",
        "within_lifetime",
        "not_caching",
        "not_caching",
    ]
    assert {turn.why for turn in turns[7:]} == {"cold"}


def test_a_provider_that_begins_to_cache_is_believed_at_once() -> None:
    provider = Provider(marked_seconds=0.0)
    with pressing(priced(flat(0.003625, 0.435))) as press:
        talk(press, BODIES[:6], provider)
        caching = Provider()
        caching.now = provider.now
        turns = talk(press, BODIES[6:12], caching)
    assert [turn.belief.why for turn in turns[:2]] == ["not_caching", "not_caching"]
    assert {turn.belief.why for turn in turns[2:]} == {"within_lifetime"}


def test_a_refused_request_keeps_nothing_alive() -> None:
    """An answer of 529 leaves no entry behind: the pause counts from the request before."""
    provider = Provider()
    with pressing(priced()) as press:
        talk(press, BODIES[:CUT], provider)
        asked = _unanswered(press, BODIES[CUT], provider, after=280.0)
        assert asked.belief.state == "warm"
        (turn,) = talk(press, [BODIES[CUT]], provider, pauses=[280.0])
    assert (turn.belief.state, turn.belief.why) == ("cold", "idle")


def _unanswered(press: Press, body: bytes, provider: Provider, *, after: float) -> Turn:
    async def run() -> Turn:
        provider.now += after
        inbound = Inbound("refused", provider.now, "anthropic", "anthropic", body, None, {})
        prepared = await press.driver.prepare(inbound)
        press.driver.finish(Outcome("refused", 529, "complete", 1.0))
        return Turn(body, prepared, provider.bill(BODIES[0]))

    return asyncio.run(run())


# 11. Clients that rewrite, and conversations that begin in the middle


def cleared(said: list[Json], upto: int) -> list[Json]:
    """As a client does that takes old results out itself."""
    gone = "[Old tool result content cleared]"
    return [
        {**m, "content": [{**m["content"][0], "content": gone}]}
        if index < upto and m["content"][0]["type"] == "tool_result"
        else m
        for index, m in enumerate(said)
    ]


@pytest.mark.parametrize("restart", [False, True])
def test_behind_what_a_client_rewrites_aged_results_go_in_a_cold_cache(restart: bool) -> None:
    """The client clears two old results itself; the messages from there on are others than those sent before."""
    provider, prices = Provider(), flat(0.003625, 0.435)
    said = cleared(saying(STEPS), 5)
    with pressing(priced(prices)) as press, pressing(priced(prices), press.store) as other:
        talk(press, BODIES[:CUT], provider)
        (turn,) = talk(press, [marked(said[: 2 * CUT + 1])], provider, pauses=[LATER])
        assert (turn.why, turn.applied) == ("cold", 2)
        views = dict(changed_literals(turn.body, turn.sent))
        assert list(views) == [log("n2", 60), log("n3", 60)]
        (later,) = talk(other if restart else press, [marked(said[: 2 * CUT + 3])], provider)
        assert dict(changed_literals(later.body, later.sent)) == views
        (old,) = talk(press, [BODIES[CUT]], provider, operation="drain")
        assert old.sent is old.body, "the conversation as it was before knows nothing of that"


def test_behind_what_a_client_rewrites_aged_results_go_for_nothing_in_a_warm_cache() -> None:
    """The ledger knows of no other process that sent those messages: they are new to the provider."""
    provider = Provider()
    with pressing(priced(flat(0.003625, 0.435))) as press:
        talk(press, BODIES[:CUT], provider)
        (turn,) = talk(press, [marked(cleared(saying(STEPS), 5)[: 2 * CUT + 1])], provider)
    assert (turn.why, turn.applied) == ("pays", 2)
    assert turn.cut is not None
    assert turn.cut.rewrite_tokens == 0


BIG = [step(n, log(f"n{n}", 400)) for n in range(3)]


@pytest.mark.parametrize("pause", [SOON, LATER], ids=["warm", "cold"])
def test_results_from_before_we_came_get_first_sight_views_only_in_a_cold_cache(pause: float) -> None:
    """coldpress joins a conversation whose large outputs a model has seen already."""
    bodies = growing([*BIG, *STEPS[3:6]])
    provider = Provider()
    with pressing(priced(flat(0.003625, 0.435))) as press:
        first, second, third = talk(press, bodies[3:6], provider, pauses={2: pause})
        views = {old for old, _ in changed_literals(third.body, third.sent)}
    assert first.belief.state == "unknown"
    assert first.why in ("unknown_cache", "unknown_usage")
    own = log("n2", 400)  # at first sight on our first request
    for turn in (first, second):
        assert [old for old, _ in changed_literals(turn.body, turn.sent)] == [own]
    assert views == ({own, log("n0", 400), log("n1", 400)} if pause == LATER else {own})
    if pause == LATER:
        assert third.why == "cold"
