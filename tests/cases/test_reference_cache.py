"""C03 and C05 for what goes by its purpose: a view that stands is bettered in the cold alone, and nothing moves."""

from __future__ import annotations

import asyncio
import itertools
import json
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Literal

import pytest
from bodies import changed_literals, conversation, messages_bytes, without_marks
from cases.exposed import FORMATS, Mode
from cases.exposed import conversation as exposing
from cases.talk import log
from cases.test_reference_thinking import parts
from drive.offloading import settings as offloading
from promises.test_intent import Agent, asking, play
from provider import NO_CACHE, SOON, Provider, flat, priced
from support import Press, failed_quietly, pressing

from coldpress.config import Settings
from coldpress.drive import Inbound, Prepared
from coldpress.engine.policy import Policy, Rule
from coldpress.measure.rates import Prices, Rates
from coldpress.model.records import Outcome
from coldpress.stores.memory import MemoryStore
from coldpress.testing import Say, Script, StrictUpstream, Turn
from coldpress.wire.registry import FormatName

HITS = [
    f"src/part_{n % 9}.py:{n}:    {'retry_budget = 1' if n % 40 == 7 else f'other_{n} = thing({n})'}"
    for n in range(900)
]
TEXT = "\n".join(HITS)
SUMMARY = f"The budget is set in one place:\n{HITS[7]}"

Later = Literal["keyword", "model", "mask"]
RULES: dict[str, Rule] = {
    "deterministic": Rule("*", ("deterministic",), first_pass=True),
    "keyword": Rule("*", ("keyword",), ungated=True),
    "model": Rule("*", ("model",)),
    "mask": Rule("*", ("mask",), age=1),
}


MONTH = 30 * 24 * 3600.0
FREE_READS = flat(0.003, 3.75, 3.0)
"""Nothing that is warm is worth a rewrite of what stands behind it."""

CHEAP = (Prices("small-model", ((0, Rates(0.001, 0.001, 0.001, 0.001, 0.001, "test", "undated")),)),)


async def sent(press: Press, bodies: list[bytes], name: FormatName, provider: Provider, pause: float) -> list[Prepared]:
    """Send requests, each so long after the last, and tell of the bills."""
    found = []
    for body in bodies:
        provider.now += pause
        number = f"r{id(press)}-{next(press.numbers)}"
        served = "anthropic" if name == "anthropic" else "openai"
        prepared = await press.driver.prepare(Inbound(number, provider.now, served, name, body, None, {}))
        assert not failed_quietly(prepared)
        usage = provider.bill(prepared.body, name)
        press.driver.finish(Outcome(number, 200, "complete", 0.0, usage))
        found.append(prepared)
    return found


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("deterministic", "keyword"),
        ("deterministic", "model"),
        ("keyword", "model"),
        ("keyword", "mask"),
    ],
)
def test_c03_a_view_that_stands_is_bettered_on_a_cold_turn_alone(first: str, later: Later, name: FormatName) -> None:
    bodies = exposing(
        name, TEXT, "WebFetch", said="Where is retry_budget set?", pattern="retry_budget", more=6, then=log("t", 90)
    )
    store = MemoryStore()

    async def played() -> tuple[list[Prepared], list[Prepared], list[Prepared]]:
        provider = Provider()
        with ExitStack() as stack:
            upstream = stack.enter_context(StrictUpstream(Script(closing=Turn((Say(SUMMARY),)))))
            offload = offloading("openai", upstream.url, pricing=CHEAP)

            def under(rule: str, prices: Prices) -> Press:
                found = priced(prices, policy=Policy((RULES[rule],)), offload=offload, expected_applications=6.0)
                return stack.enter_context(pressing(found, store))

            before = under(first, NO_CACHE)
            made = await sent(before, bodies[:3], name, provider, SOON)
            after = under(later, FREE_READS)
            warm = await sent(after, bodies[3:5], name, provider, SOON)
            cold = await sent(after, bodies[5:6], name, provider, MONTH)
            cold += await sent(after, bodies[6:], name, provider, SOON)
            await before.driver.give_up()
            await after.driver.give_up()
        return made, warm, cold

    made, warm, cold = asyncio.run(played())
    texts = [changed_literals(body, one.body, name) for body, one in zip(bodies, (*made, *warm, *cold), strict=True)]
    (stood,) = texts[2]
    assert texts[3:5] == [[stood]] * 2
    (bettered,) = texts[5]
    assert bettered != stood
    assert len(bettered[1]) < len(stood[1])
    assert texts[6:] == [[bettered]] * len(texts[6:])


@pytest.mark.parametrize("mode", ["keyword", "model"])
@pytest.mark.parametrize("name", FORMATS)
def test_c03_a_view_is_not_made_anew_for_other_tools_words_or_a_restart(mode: Mode, name: FormatName) -> None:
    """What its marker would say now, and what was said since, play no part: not even in a cold cache."""
    more: Any = {"said": "Where is retry_budget set?", "pattern": "retry_budget", "more": 4}
    bodies, others = exposing(name, TEXT, "WebFetch", **more), exposing(name, TEXT, "WebFetch", tools=("Read",), **more)
    store = MemoryStore()

    async def played() -> list[Prepared]:
        provider, found = Provider(), list[Prepared]()
        with StrictUpstream(Script(closing=Turn((Say(SUMMARY),)))) as upstream:
            other = Rule("*", (mode,), ungated=mode == "keyword", rerun="Anew.")
            for rule, part in ((RULES[mode], bodies[:3]), (other, others[3:])):
                offload = offloading("openai", upstream.url, pricing=CHEAP)
                with pressing(priced(NO_CACHE, policy=Policy((rule,)), offload=offload), store) as press:
                    found += await sent(press, part, name, provider, MONTH)
                    await press.driver.give_up()
        return found

    views = [
        changed_literals(body, one.body, name)
        for body, one in zip((*bodies[:3], *others[3:]), asyncio.run(played()), strict=True)
    ]
    (stood,) = views[2]
    assert views[3:] == [[stood]] * len(views[3:])


# C05: what stands in front stays, byte for byte, and holds nothing of this moment.


def purposeful(policy: Policy) -> Settings:
    """The built-in plugins of the reference on, with a rule."""
    found = asking("schema_translator", "intent")
    return replace(found, policy=policy)


GREPS = Policy((Rule("grep*", ("keyword",), ungated=True), Rule("*", ("exact",))))


@pytest.mark.parametrize("name", FORMATS)
def test_c05_nothing_is_added_but_inside_tools_and_calls_and_the_prefix_grows(name: FormatName) -> None:
    agent = Agent(name)
    bodies: list[bytes] = []
    with pressing(purposeful(GREPS)) as press:
        sent_ones: list[Prepared] = []
        for turn in range(5):
            bodies.append(agent.body)
            sent_ones += play(press, agent, range(turn, turn + 1))
    bodies_sent = [one.body for one in sent_ones]
    assert len({tools(body, name) for body in bodies_sent}) == 1
    for body, out in zip(bodies, bodies_sent, strict=True):
        assert parts(out, name)[0] == parts(body, name)[0]
    for one, following in itertools.pairwise(bodies_sent):
        assert without_marks(following).startswith(without_marks(messages_bytes(one, name)))


def tools(body: bytes, name: FormatName) -> bytes:
    """The tools of a request, as they are written."""
    found = conversation(body, name).tools
    assert found is not None
    return body[found.start : found.end]


@pytest.mark.parametrize("name", FORMATS)
def test_c05_what_is_sent_knows_nothing_of_the_time_the_request_or_the_process(name: FormatName) -> None:
    runs = []
    for skipped in (0, 40):
        with pressing(purposeful(GREPS)) as press:
            for _ in range(skipped):
                next(press.numbers)  # other names and other times
            runs.append([one.body for one in play(press, Agent(name), range(5))])
    assert runs[0] == runs[1]


@pytest.mark.parametrize("name", FORMATS)
def test_c05_a_tool_more_leaves_the_bytes_of_the_others(name: FormatName) -> None:
    with pressing(asking("schema_translator", "intent")) as press:
        few, many = (press(Agent(name, tools=offered).body, name).body for offered in (("Grep",), ("Grep", "Bash")))
    start = few.index(b'"tools":[') + len(b'"tools":[')
    first = few[start : few.index(b'"Grep"') + len(b'"Grep"')]
    assert first in many
    (mine,), (theirs, _) = (json.loads(body)["tools"] for body in (few, many))
    assert json.dumps(mine) == json.dumps(theirs)


def test_c05_a_long_log_between_calls_changes_no_call_in_front_of_it() -> None:
    agent = Agent("anthropic")
    with pressing(asking()) as press:
        before = play(press, agent, range(3))[-1].body
        agent.called("call_9", "Bash", '{"command": "make"}', log("z", 900))
        after = press(agent.body).body
    assert without_marks(after).startswith(without_marks(messages_bytes(before)))
