"""A refresh reads the very prompt that was sent: nothing of it changes but how the answer is asked for."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from strategies import TEXTS

from coldpress.wire.registry import FormatName
from coldpress.wire.span import Misread
from coldpress.wire.warming import refresh_body

MESSAGES = b'"messages":[{"role":"user", "content" :"caf\\u00e9"}]'


@pytest.mark.parametrize(
    ("name", "body", "wanted"),
    [
        pytest.param(
            "anthropic",
            b'{"max_tokens": 64000 ,"stream":true,' + MESSAGES + b"}",
            b'{"max_tokens": 0 ,"stream":false,' + MESSAGES + b"}",
            id="messages",
        ),
        pytest.param(
            "openai_chat",
            b'{"stream":true,"stream_options":{"include_usage":true},' + MESSAGES + b"}",
            b'{"stream":false,"stream_options":null,' + MESSAGES + b',"prompt_cache_options":{"prewarm":true}}',
            id="chat",
        ),
        pytest.param(
            "openai_responses",
            b'{"prompt_cache_options":{"ttl":"30m"},"input":"x"}',
            b'{"prompt_cache_options":{"ttl":"30m","prewarm":true},"input":"x"}',
            id="responses, with options of the client's",
        ),
        pytest.param(
            "openai_responses",
            b'{"prompt_cache_options":{ },"input":"x"}',
            b'{"prompt_cache_options":{ "prewarm":true},"input":"x"}',
            id="with empty ones",
        ),
        pytest.param(
            "openai_responses",
            b'{"prompt_cache_options":{"prewarm":false},"input":"x"}',
            b'{"prompt_cache_options":{"prewarm":true},"input":"x"}',
            id="with a prewarm of its own",
        ),
    ],
)
def test_the_prompt_stays_as_it_was(name: FormatName, body: bytes, wanted: bytes) -> None:
    assert refresh_body(body, name) == wanted


@pytest.mark.parametrize(
    ("name", "body"),
    [
        pytest.param("anthropic", b'{"messages":[]}', id="no bound on the answer"),
        pytest.param("gemini", b'{"contents":[]}', id="nothing of the kind"),
    ],
)
def test_where_it_cannot_be_asked_for_there_is_none(name: FormatName, body: bytes) -> None:
    assert refresh_body(body, name) is None


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"prompt_cache_options":3}', b'{"a":1,"a":2}'])
def test_what_cannot_be_read_is_not_sent_again(body: bytes) -> None:
    with pytest.raises(Misread):
        refresh_body(body, "openai_responses")


@given(TEXTS)
def test_every_other_member_comes_out_as_it_went_in(value: str) -> None:
    told = {"before": value, "max_tokens": 5, "messages": value, "stream": True, "after": value}
    body = json.dumps(told).encode()
    asked = refresh_body(body, "anthropic")
    assert asked is not None
    assert json.loads(asked) == json.loads(body) | {"max_tokens": 0, "stream": False}
