"""What a driver believes of a cache goes by what was sent: here or elsewhere, to which model, on which branch."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from cases.talk import assistant, chat_calls, chat_result, log, result, use, user
from cases.talk import chat as request
from provider import (
    CHEAP_READS,
    LATER,
    MODEL,
    SOON,
    Json,
    Provider,
    Turn,
    bill_usd,
    growing,
    marked,
    priced,
    saying,
    step,
    talk,
)
from support import Press, failed_quietly, pressing

from coldpress.config import Settings
from coldpress.drive import Inbound
from coldpress.model.records import Operation, Outcome
from coldpress.model.usage import Usage
from coldpress.stores.memory import MemoryStore
from coldpress.wire.registry import FormatName

STEPS = [step(n) for n in range(60)]
WIRES: list[FormatName] = ["anthropic", "openai_chat"]
OTHER = "other-model"


def chat(number: int) -> bytes:
    """The request of the same conversation after so many steps, on the chat wire."""
    said: list[Json] = [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": "Make it."}]
    for n in range(number):
        said += [chat_calls((f"t{n}", "Bash", {"command": f"make t{n}"})), chat_result(f"t{n}", log(f"n{n}", 60))]
    return request(*said, model=MODEL)


def bodies(wire: FormatName, count: int) -> list[bytes]:
    return growing(STEPS)[:count] if wire == "anthropic" else [chat(n) for n in range(count)]


def read_share(turn: Turn) -> float:
    assert turn.usage.prompt
    return (turn.usage.read or 0) / turn.usage.prompt


def priced_twice(operation: Operation = "press") -> Settings:
    """Two models at one price."""
    both = (CHEAP_READS, replace(CHEAP_READS, model=OTHER))
    found = priced(operation=operation)
    return replace(found, providers=tuple(replace(provider, pricing=both) for provider in found.providers))


@contextmanager
def two_gateways() -> Iterator[tuple[Press, Press]]:
    store = MemoryStore()
    with pressing(priced(), store) as one, pressing(priced(), store) as two:
        yield one, two


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_that_is_sent_again_gets_no_batch(wire: FormatName) -> None:
    """What followed the first sending goes by what was sent then; a batch at the same message would change it."""
    provider, listed = Provider(), bodies(wire, 12)
    with pressing(priced_twice()) as press:
        talk(press, listed[:9], provider, name=wire)
        before = talk(press, listed[9:11], provider, name=wire)
        body = before[0].body.replace(MODEL.encode(), OTHER.encode())
        (again,) = talk(press, [body], provider, name=wire)
        assert again.belief.state == "cold"
        assert again.sent == before[0].sent.replace(MODEL.encode(), OTHER.encode())
        with pressing(priced_twice(), press.store) as restarted:
            for using in (press, restarted):
                (later,) = talk(using, [before[1].body], provider, name=wire)
                assert later.sent == before[1].sent


def test_a_pause_in_one_gateway_is_no_pause_where_another_served_the_conversation() -> None:
    listed, provider = growing(STEPS), Provider()
    with two_gateways() as (one, two):
        talk(one, listed[:4], provider)
        talk(two, listed[4:44], provider)  # more than six minutes
        (turn,) = talk(one, listed[44:45], provider)
    assert turn.belief.state == "unknown"
    assert turn.applied == 0
    assert read_share(turn) > 0.9


def test_a_pause_of_both_gateways_is_a_cold_point_all_the_same() -> None:
    listed, provider = growing(STEPS), Provider()
    with two_gateways() as (one, two):
        talk(one, listed[:4], provider)
        talk(two, listed[4:20], provider)
        (turn,) = talk(one, listed[20:21], provider, pauses=[LATER])
    assert (turn.belief.state, turn.why) == ("cold", "cold")


def test_text_that_another_gateway_sent_is_not_taken_to_be_free() -> None:
    listed, provider = growing(STEPS), Provider()
    with pressing(priced()) as alone:
        talk(alone, listed[:20], Provider(), operation="drain")
        (known,) = talk(alone, listed[20:21], Provider(), operation="observe")
    with two_gateways() as (one, two):
        talk(one, listed[:8], provider)
        talk(two, listed[8:20], provider, operation="drain")
        (turn,) = talk(one, listed[20:21], provider, operation="observe")
    assert turn.belief.state == "warm"
    assert turn.cut is not None
    assert known.cut is not None
    assert turn.cut.rewrite_tokens == pytest.approx(known.cut.rewrite_tokens, rel=0.1)


@pytest.mark.parametrize("rewound_to", [6, 12, 19])
def test_a_branch_is_not_called_cold_while_another_goes_on_from_it(rewound_to: int) -> None:
    """Its own request was long ago, but every request since then has read what it sent, which may keep that alive."""
    listed, provider = growing(STEPS), Provider()
    with pressing(priced()) as press:
        turns = talk(press, listed[:50], provider)
        assert not any(turn.why == "cold" for turn in turns)
        said = [*saying(STEPS[:rewound_to]), assistant("Hm."), user("No, another way.")]
        (turn,) = talk(press, [marked(said, marks=3)], provider, operation="observe")
        assert turn.belief.state == "unknown"
        (turn,) = talk(press, [marked(said, marks=3)], provider, operation="observe", pauses=[LATER])
        assert turn.belief.state == "cold"


def test_branches_of_one_task_do_not_make_each_other_look_uncached() -> None:
    """Three short branches start at once beside a long one: each reads all there is of it, which is little."""
    long = [step(n, log(f"n{n}", 400), tool="Task") if n > 8 else step(n) for n in range(40)]
    listed, provider = growing(long), Provider()
    with pressing(priced()) as press:
        talk(press, listed[:32], provider, pauses=[2.0] * 32)
        short = [
            marked([user("Make the build pass."), assistant(use(f"x{i}")), user(result(f"x{i}", "ok"))])
            for i in range(3)
        ]

        async def at_once() -> None:
            for number, body in enumerate(short):
                inbound = Inbound(f"b{number}", provider.now, "anthropic", "anthropic", body, None, {})
                await press.driver.prepare(inbound)
            for number, body in enumerate(short):
                press.driver.finish(Outcome(f"b{number}", 200, "complete", 1.0, provider.bill(body)))

        asyncio.run(at_once())
        (turn,) = talk(press, listed[32:33], provider)
    assert (turn.belief.state, turn.belief.why) == ("warm", "within_lifetime")
    assert turn.applied == 0


@pytest.mark.parametrize("between", [3, 40])
def test_a_model_that_comes_back_within_its_lifetime_finds_its_prefix(between: int) -> None:
    """However many requests went to another model meanwhile."""
    listed, others, provider = growing(STEPS), growing(STEPS, model=OTHER), Provider()
    with pressing(priced(None)) as press:
        talk(press, listed[:10], provider)
        talk(press, others[10 : 10 + between], provider, pauses=[1.0] * between)
        (turn,) = talk(press, listed[10 + between : 11 + between], provider)
    assert turn.belief.state != "cold"
    assert (turn.usage.read or 0) > 0


@pytest.mark.parametrize("period", [1, 3, 8])
def test_a_conversation_that_goes_to_and_fro_between_two_models_loses_next_to_nothing(period: int) -> None:
    """A cut breaks the prefix of each of them, and both come back to theirs."""
    steps = [step(n, log(f"n{n}", 40), tool="Bash" if n % 3 == 0 else "Task") for n in range(50)]
    models = [MODEL if n // period % 2 == 0 else OTHER for n in range(51)]
    listed = [marked(saying(steps[:n]), model=model) for n, model in enumerate(models)]
    operations: tuple[Operation, ...] = ("press", "drain")
    bills = []
    for operation in operations:
        with pressing(priced_twice(operation)) as press:
            bills.append(bill_usd([turn.usage for turn in talk(press, listed, Provider())], CHEAP_READS))
    assert bills[0] <= 1.03 * bills[1]


@pytest.mark.parametrize("restart", [False, True])
def test_a_long_lifetime_that_no_reply_has_told_of_is_read_off_the_marks(restart: bool) -> None:
    """The newest reply broke off, or wrote nothing: the client's own marks say how long its prefixes live."""
    hour = {"type": "ephemeral", "ttl": "1h"}

    def body(number: int) -> bytes:
        said = saying(STEPS[:number])
        said[-1] = {**said[-1], "content": [{**said[-1]["content"][0], "cache_control": hour}]}
        return marked(said, marks=0, system=[{"type": "text", "text": "x " * 9000, "cache_control": hour}])

    provider = Provider()
    with pressing(priced(None)) as press, pressing(priced(None), press.store) as fresh:
        for number in range(10):
            asyncio.run(send(press, body(number), provider, Outcome("", 200, "client_gone", 1.0, Usage())))
        provider.now += 1200.0
        (turn,) = talk(fresh if restart else press, [body(10)], provider)
    assert turn.belief.state == ("unknown" if restart else "warm")
    assert read_share(turn) > 0.8


async def send(press: Press, body: bytes, provider: Provider, outcome: Outcome) -> None:
    provider.now += SOON
    name = f"r{next(press.numbers)}-{id(press)}"
    prepared = await press.driver.prepare(Inbound(name, provider.now, "anthropic", "anthropic", body, None, {}))
    assert not failed_quietly(prepared)
    provider.bill(prepared.body)
    press.driver.finish(replace(outcome, request_id=name))


def test_a_repeat_that_was_refused_leaves_the_first_sending_in_memory() -> None:
    listed = growing(STEPS)
    cuts = []
    for refused in (False, True):
        provider = Provider()
        with pressing(priced()) as press:
            talk(press, listed[:16], provider, operation="drain")
            if refused:
                asyncio.run(send(press, listed[15], provider, Outcome("", 529, "complete", 1.0)))
            (turn,) = talk(press, listed[16:17], provider, operation="observe")
        cuts.append(turn.cut)
    assert cuts[0] is not None
    assert cuts[0] == cuts[1]
