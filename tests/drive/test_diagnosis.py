"""A provider is asked why its cache was missed where the settings say so, and never over what the client asks."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from bodies import conversation
from cases.talk import assistant, dump, messages, user
from provider import START, growing, step
from support import pressing

from coldpress.drive import Inbound
from coldpress.drive.beside import NOTHING, Beside
from coldpress.drive.diagnosis import BETA, Diagnosis, is_question
from coldpress.drive.insight import Insight
from coldpress.model.native import Declined, NativeAsked
from coldpress.model.records import Outcome
from coldpress.model.usage import Usage
from coldpress.stores.base import Store
from coldpress.stores.memory import MemoryStore
from coldpress.wire.addition import Addition
from coldpress.wire.registry import FormatName
from coldpress.wire.span import Span, splice

ASKED = NativeAsked(asked=("diagnostics",))
SAID = [user("Make it."), assistant("I will."), user("Go on.")]


def responses(*, items: int = 3, **top: Any) -> bytes:
    said = [{"type": "message", "role": "user", "content": f"Part {n}."} for n in range(items)]
    return dump({"model": "gpt-6-sol", "input": said, "store": False, **top})


def inbound(body: bytes, name: FormatName, provider: str = "") -> Inbound:
    served = provider or ("anthropic" if name == "anthropic" else "openai")
    return Inbound("r", START, served, name, body, None, {})


def beside(
    body: bytes, name: FormatName, last: str | None = "msg_01", *, on: bool = True, provider: str = ""
) -> Beside:
    asking = Diagnosis(lambda _: on, lambda *_: last)
    return asking.beside(inbound(body, name, provider), conversation(body, name))


def sent(body: bytes, found: Beside) -> Any:
    """What goes out, which holds every byte of the client's in its order."""
    out = splice(body, found.additions)
    (one,) = found.additions
    assert out == body[: one.span.start] + one.literal + body[one.span.end :]
    assert one.span.start == one.span.end
    assert is_question(one)
    return json.loads(out)


@pytest.mark.parametrize("last", ["msg_01AbC", None])
def test_anthropic_is_asked_from_the_first_request_on(last: str | None) -> None:
    body = messages(*SAID)
    found = beside(body, "anthropic", last)
    assert sent(body, found) == {**json.loads(body), "diagnostics": {"previous_message_id": last}}
    assert (found.betas, found.asked) == ((BETA,), ASKED)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, {"comparison_response_id": "resp_7"}, id="without options"),
        pytest.param(
            {"prompt_cache_options": {"ttl": "12h", "mode": "explicit"}},
            {"ttl": "12h", "mode": "explicit", "comparison_response_id": "resp_7"},
            id="beside the client's own",
        ),
        pytest.param({"prompt_cache_options": {}}, {"comparison_response_id": "resp_7"}, id="in an empty object"),
    ],
)
@pytest.mark.parametrize("behind", [True, False], ids=["behind the input", "in front of it"])
def test_responses_is_asked_beside_the_clients_own_options(
    options: dict[str, Any], expected: dict[str, str], behind: bool
) -> None:
    body = responses(**options)
    if not behind:
        body = dump({**options, **json.loads(body)})
    found = beside(body, "openai_responses", "resp_7")
    assert sent(body, found) == {**json.loads(body), "prompt_cache_options": expected}
    assert (found.betas, found.asked) == ((), ASKED)


LONG = "x" * 201


@pytest.mark.parametrize(
    ("body", "name", "last", "why"),
    [
        pytest.param(
            messages(*SAID, diagnostics={"previous_message_id": "msg_9"}), "anthropic", "msg_1", "client", id="a"
        ),
        pytest.param(messages(*SAID, diagnostics=None), "anthropic", "msg_1", "client", id="null is the client's too"),
        pytest.param(
            responses(prompt_cache_options={"comparison_response_id": "resp_1"}),
            "openai_responses",
            "resp_7",
            "client",
            id="client compares",
        ),
        pytest.param(
            responses(prompt_cache_options=None), "openai_responses", "resp_7", "client", id="options are no object"
        ),
        pytest.param(responses(), "openai_responses", None, "first_request", id="nothing to compare with"),
        pytest.param(responses(), "openai_responses", LONG, "first_request", id="a name that is none"),
        pytest.param(responses(), "openai_responses", "resp\n1", "first_request", id="a name with a line end"),
        pytest.param(responses(model="gpt-5.3-codex"), "openai_responses", "resp_7", "model", id="an older model"),
        pytest.param(responses(previous_response_id="resp_1"), "openai_responses", "resp_7", "stateful", id="stateful"),
        pytest.param(
            dump({"model": "gpt-6-sol", "messages": [{"role": "user", "content": "Go."}]}),
            "openai_chat",
            "chatcmpl-1",
            "format",
            id="a wire without it",
        ),
    ],
)
def test_it_is_left_out_with_a_reason(body: bytes, name: FormatName, last: str | None, why: str) -> None:
    found = beside(body, name, last)
    assert found == Beside(asked=NativeAsked(declined=(Declined("diagnostics", why),)))


def test_it_is_off_unless_the_settings_switch_it_on() -> None:
    assert beside(messages(*SAID), "anthropic", on=False) is NOTHING


@pytest.mark.parametrize(
    ("literal", "asks"),
    [
        (b',"diagnostics":{"previous_message_id":null}', True),
        (b'"comparison_response_id":"resp_1"', True),
        (b',"comparison_response_id":"resp_1"', True),
        (b',"context_management":{"edits":[]}', False),
        (b',{"type":"memory_20250818","name":"memory"}', False),
    ],
)
def test_what_is_part_of_the_prompt_is_no_question(literal: bytes, asks: bool) -> None:
    assert is_question(Addition(Span(5, 5), literal)) is asks


def replies(bodies: list[bytes], ids: list[str | None], store: Store, *, provider: str = "anthropic") -> Insight:
    """Send requests, each answered under a name; gives what the driver knows then."""
    with pressing(store=store) as press:

        async def run() -> None:
            for n, (body, name) in enumerate(zip(bodies, ids, strict=True)):
                request, at = f"{provider}{n}", START + 10.0 * n
                await press.driver.prepare(Inbound(request, at, provider, "anthropic", body, None, {}))
                usage = Usage(fresh=0, read=0, write_short=6_000, output=1)
                press.driver.finish(Outcome(request, 200, "complete", 1.0, usage, reply_id=name))

        asyncio.run(run())
        store_of = press.driver._insight
        return store_of


STEPS = [step(n) for n in range(4)]


def test_the_reply_before_is_that_of_the_longest_request_this_one_goes_on_from() -> None:
    bodies = growing(STEPS)
    fork = growing([STEPS[0], step(70), step(71)])
    insight = replies([*bodies[:3], *fork[2:3]], ["msg_0", "msg_1", "msg_2", "msg_fork"], MemoryStore())

    def last(body: bytes, provider: str = "anthropic") -> str | None:
        return insight.last_reply(inbound(body, "anthropic", provider), conversation(body, "anthropic"))

    assert last(bodies[3]) == "msg_2"
    assert last(fork[3]) == "msg_fork"
    assert last(bodies[3], "deepseek-anthropic") is None
    assert last(growing([step(80), step(81)], first=user("Another task."))[2]) is None
    newest = "msg_fork"
    assert last(growing(STEPS, first=user("The same task, told otherwise."))[3]) == newest


def test_the_reply_before_is_known_after_a_restart_from_the_same_provider_alone() -> None:
    bodies, store = growing(STEPS), MemoryStore()
    replies(bodies[:3], ["msg_0", "msg_1", "msg_2"], store)
    with pressing(store=store) as press:
        insight = press.driver._insight
        told = conversation(bodies[3], "anthropic")
        assert insight.last_reply(inbound(bodies[3], "anthropic"), told) == "msg_2"
        assert insight.last_reply(inbound(bodies[3], "anthropic", "deepseek-anthropic"), told) is None
