"""An SDK's exception about a prompt that is too long teaches a session the window, as the gateway learns it."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx
import openai
import pytest
from compacting import FORMATS, MODEL, run, written

from coldpress import Session
from coldpress.model.records import Finding
from coldpress.testing import Rules, Say, Script, StrictUpstream, Turn
from coldpress.wire.registry import FormatName

WINDOW_TOKENS = 12_000


class Sdk:
    """Both SDKs as one function that sends messages."""

    def __init__(self, name: FormatName, url: str) -> None:
        self.name = name
        self._anthropic = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        self._openai = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)

    def send(self, messages: Any) -> Any:
        if self.name == "anthropic":
            return self._anthropic.messages.create(model=MODEL, max_tokens=100, messages=messages)
        return self._openai.chat.completions.create(model=MODEL, messages=messages)


@pytest.mark.parametrize("name", FORMATS)
def test_a_session_learns_the_window_from_the_exception(name: FormatName) -> None:
    with (
        StrictUpstream(Script(closing=Turn((Say("ok"),))), rules=Rules(window_tokens=WINDOW_TOKENS)) as upstream,
        Session(MODEL, format=name) as session,
    ):
        sdk, refused = Sdk(name, upstream.url), 0
        for count in range(24):
            messages = written(name, [run(n) for n in range(count)])
            try:
                reply = sdk.send(session.compact(messages))
            except (anthropic.BadRequestError, openai.BadRequestError) as error:
                refused += 1
                session.observe(error)
                reply = sdk.send(session.compact(messages))
                assert session.last is not None and session.last.pressure is not None
                assert session.last.pressure.window_tokens == WINDOW_TOKENS
            session.observe(reply)
        assert refused == 1
        told = [found for entry in session.receipts() if entry.outcome for found in entry.outcome.findings]
        assert [found for found in told if found.kind == "window_overflow"] == [
            Finding("window_overflow", tokens=WINDOW_TOKENS)
        ]


class WithoutBody(Exception):
    """What a library makes of a provider's error that keeps its words only."""

    status_code = 400


@pytest.mark.parametrize(
    ("error", "learned"),
    [
        pytest.param(
            WithoutBody("AnthropicException - prompt is too long: 9000 tokens > 8000 maximum"), True, id="words"
        ),
        pytest.param(WithoutBody("messages: at least one message is required"), False, id="another mistake"),
        pytest.param(ConnectionError("prompt is too long: 9000 tokens > 8000 maximum"), False, id="no answer"),
        pytest.param(
            openai.BadRequestError(
                "no", response=httpx.Response(400, request=httpx.Request("POST", "http://x")), body={"message": {1, 2}}
            ),
            False,
            id="a body that is no JSON",
        ),
    ],
)
def test_only_a_refusal_for_length_teaches_it(error: Exception, learned: bool) -> None:
    messages = written("anthropic", [run(n) for n in range(12)])
    with Session(MODEL, format="anthropic") as session:
        session.compact(messages)
        session.observe(error)
        session.compact(messages)
        assert session.last is not None
        assert (session.last.pressure is not None) == learned
