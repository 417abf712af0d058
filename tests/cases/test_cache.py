"""C: what was sent once keeps its bytes, nothing volatile is added, and a client's own volatility is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from bodies import messages_bytes, pressed, texts
from cases.talk import TOOLS, assistant, chat, chat_calls, chat_result, dump, log, messages, result, use, user
from cases.through import KEY, gateway
from support import Press, pressing, settings

from coldpress.drive import Inbound
from coldpress.engine.policy import DEFAULT_POLICY, Policy, Rule
from coldpress.testing import StrictUpstream
from coldpress.wire.registry import FormatName

COLOURED = "\n".join(f"\x1b[32m{line}\x1b[0m" for line in log("a").split("\n"))
LOSSLESS = Policy((Rule("kind:shell", ("lossless",), first_pass=True),))


def turns(count: int, *, name: str = "a", make: Callable[[str], str] = log, **top: Any) -> list[bytes]:
    """Growing requests, one more call with a large result each."""
    said: list[Any] = [user(f"do {name}")]
    bodies = []
    for number in range(count):
        said += [assistant(use(f"t{number}")), user(result(f"t{number}", make(f"{name}{number}")))]
        bodies.append(messages(*said, **top))
    return bodies


@pytest.mark.parametrize(
    ("first", "later"),
    [
        pytest.param(LOSSLESS, DEFAULT_POLICY, id="a stronger policy"),
        pytest.param(DEFAULT_POLICY, LOSSLESS, id="a weaker policy"),
        pytest.param(DEFAULT_POLICY, Policy(()), id="no policy at all"),
        pytest.param(Policy(()), DEFAULT_POLICY, id="a policy where there was none"),
    ],
)
@pytest.mark.parametrize("restart", [False, True], ids=["while it runs", "after a restart"])
def test_c03_a_view_once_sent_stays_although_a_better_one_could_be_made(
    first: Policy, later: Policy, restart: bool
) -> None:
    bodies = turns(9, make=lambda name: COLOURED.replace("one", name))
    with pressing(settings(policy=first)) as press:
        before = press.all(bodies[:5])[-1].body
        if restart:
            with pressing(settings(policy=later), press.store) as again:
                after = again.all(bodies[5:])[-1].body
        else:
            press.driver._settings = settings(policy=later)
            after = press.all(bodies[5:])[-1].body
    assert texts(after)[:5] == texts(before)
    assert after.startswith(messages_bytes(before)[:-4])


def test_c05_nothing_is_added_anywhere_and_every_request_is_the_beginning_of_the_next() -> None:
    bodies = turns(6)
    with pressing() as press:
        sent = [p.body for p in press.all(bodies)]
    for body, now in zip(bodies, sent, strict=True):
        assert pressed(body, now) > 0
    for now, following in pairwise(sent):
        assert following.startswith(messages_bytes(now))


def test_c05_what_is_sent_knows_nothing_of_the_time_the_request_or_the_process() -> None:
    bodies = turns(3)

    async def at(press: Press, when: float, tag: str) -> list[bytes]:
        inbound = [Inbound(f"{tag}{n}", when + n, "anthropic", "anthropic", b, None, {}) for n, b in enumerate(bodies)]
        return [(await press.driver.prepare(one)).body for one in inbound]

    with pressing() as one, pressing() as other:
        assert asyncio.run(at(one, 1.0, "a")) == asyncio.run(at(other, 1_900_000_000.0, "b"))


VOLATILE = [
    "You are an agent. Current time 12:03:44. Be kind.",
    "You are an agent. Current time 12:04:01. Be kind.",
    "You are an agent. Current time 23:59:59. Be kind.",
]


def messages_first(system: str, said: list[Any]) -> bytes:
    return messages(*said, system=[{"type": "text", "text": system}])


def system_first(system: str, said: list[Any]) -> bytes:
    body = json.loads(messages(*said))
    return dump({"model": body["model"], "system": system, "tools": body["tools"], "messages": said, "max_tokens": 9})


def in_a_chat(system: str, said: list[Any]) -> bytes:
    return chat({"role": "system", "content": system}, *said)


@pytest.mark.parametrize("write", [messages_first, system_first, in_a_chat])
def test_c11_a_clock_in_the_system_prompt_is_told_and_not_rewritten(write: Callable[[str, list[Any]], bytes]) -> None:
    name: FormatName = "openai_chat" if write is in_a_chat else "anthropic"
    said: list[Any] = [{"role": "user", "content": "go"}]
    with pressing() as press:
        for number, system in enumerate(VOLATILE):
            if name == "openai_chat":
                said += [
                    chat_calls((f"c{number}", "Bash", {"command": "make"})),
                    chat_result(f"c{number}", log(system)),
                ]
            else:
                said += [assistant(use(f"t{number}")), user(result(f"t{number}", log(system)))]
            body = write(system, said)
            prepared = press(body, name)
            assert pressed(body, prepared.body, name) == number + 1, "the conversation is the same one"
            assert ("volatile_head" in prepared.receipt.notes) == (number > 0)
            again = press(body, name)
            assert again.body == prepared.body
            assert "volatile_head" not in again.receipt.notes, "the same clock time is no change"


def test_c11_a_steady_system_prompt_is_not_called_volatile() -> None:
    with pressing() as press:
        assert {note for p in press.all(turns(4)) for note in p.receipt.notes} == set()


def test_c13_one_system_prompt_and_two_first_turns_are_two_conversations() -> None:
    system = [{"type": "text", "text": "long " * 1600}]
    mine, yours = turns(3, name="mine", system=system), turns(3, name="yours", system=system)
    with pressing() as alone:
        expected = {b: p.body for bodies in (mine, yours) for b, p in zip(bodies, alone.all(bodies), strict=True)}
    with pressing() as press:
        mixed = [body for pair in zip(mine, yours, strict=True) for body in pair]
        sent = press.all(mixed)
        assert [p.body for p in sent] == [expected[body] for body in mixed]
        assert len({p.receipt.lineage for p in sent}) == 2
        assert press.driver.stats()["lineages"] == 2


def test_c13_the_same_words_under_another_system_prompt_are_counted_apart() -> None:
    one, other = (turns(1, system=[{"type": "text", "text": t}])[0] for t in ("be kind", "be quick"))
    with pressing() as press:
        lineages = {p.receipt.lineage for p in press.all([one, other])}
    assert len(lineages) == 2


def test_c13_tools_and_beta_headers_of_one_conversation_never_reach_another() -> None:
    bodies = {
        "beta-a": messages(user("a"), tools=("Bash",)),
        "beta-b": messages(user("b"), tools=TOOLS),
        None: messages(user("c"), tools=("Read",)),
    }
    with StrictUpstream() as upstream, gateway(upstream.url) as gate:
        for beta, body in bodies.items():
            gate.post("/v1/messages", body, KEY + ((("anthropic-beta", beta),) if beta else ()))
            received = upstream.inference[-1].request
            assert received.raw == body
            assert received.header("anthropic-beta") == beta
