"""Usage comes from a real prefix cache: what was sent before is read, a changed byte is not."""

from __future__ import annotations

from typing import Any

import pytest
from testing.wires import Json, chat, messages, post, user

from coldpress.model.usage import Usage
from coldpress.testing import Rules, Script, StrictUpstream
from coldpress.testing.chat_wire import CacheFields, ChatAnswer, usage_fields

LONG_TEXT = "The quick brown fox jumps over the lazy dog. " * 200
MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def marked(text: str, mark: Json = MARK) -> Json:
    return {"role": "user", "content": [{"type": "text", "text": text, **mark}]}


def usage_of(upstream: StrictUpstream, body: Json) -> Json:
    path = "/v1/messages" if "max_tokens" in body else "/v1/chat/completions"
    reply = post(upstream.url, path, body)
    assert reply.status == 200, reply.body
    found: Json = reply.json["usage"]
    return found


FIRST = [marked(LONG_TEXT)]
NEXT = [user(LONG_TEXT), {"role": "assistant", "content": "yes"}, marked("and now?")]


def test_a_growing_conversation_reads_what_it_wrote() -> None:
    with StrictUpstream() as upstream:
        one, two = usage_of(upstream, messages(*FIRST)), usage_of(upstream, messages(*NEXT))
    written = one["cache_creation_input_tokens"]
    assert written > 1500
    assert (one["input_tokens"], one["cache_read_input_tokens"]) == (0, 0)
    assert two["cache_read_input_tokens"] == written
    assert 0 < two["cache_creation_input_tokens"] < 20


def test_a_changed_old_byte_shows_as_lost_reads() -> None:
    changed = [user("X" + LONG_TEXT[1:]), *NEXT[1:]]
    with StrictUpstream() as upstream:
        usage_of(upstream, messages(*FIRST))
        assert usage_of(upstream, messages(*changed))["cache_read_input_tokens"] == 0


@pytest.mark.parametrize(
    ("mark", "pause", "hits"),
    [
        pytest.param(MARK, 299, True, id="five minutes are not over"),
        pytest.param(MARK, 301, False, id="five minutes are over"),
        pytest.param(HOUR, 3599, True, id="an hour is not over"),
        pytest.param(HOUR, 3601, False, id="an hour is over"),
    ],
)
def test_entries_age_by_the_given_clock(mark: Json, pause: float, hits: bool) -> None:
    clock = Clock()
    with StrictUpstream(clock=clock) as upstream:
        usage_of(upstream, messages(marked(LONG_TEXT, mark)))
        clock.now = pause
        again = usage_of(upstream, messages(marked(LONG_TEXT, mark)))
    assert (again["cache_read_input_tokens"] > 0) is hits


def test_long_writes_are_reported_apart() -> None:
    with StrictUpstream() as upstream:
        body = messages(marked("now"), system=[{"type": "text", "text": LONG_TEXT, **HOUR}])
        split = usage_of(upstream, body)["cache_creation"]
    assert split["ephemeral_1h_input_tokens"] > 1500
    assert 0 < split["ephemeral_5m_input_tokens"] < 20


def test_the_billing_line_of_claude_code_does_not_break_the_cache() -> None:
    def asking(line: str) -> Json:
        system = [{"type": "text", "text": f"x-anthropic-billing-header: cch={line};"}, {"type": "text", "text": "s"}]
        return messages(*FIRST, system=system)

    with StrictUpstream() as upstream:
        usage_of(upstream, asking("1"))
        assert usage_of(upstream, asking("2"))["cache_creation_input_tokens"] == 0


def test_two_models_do_not_share_a_cache() -> None:
    with StrictUpstream() as upstream:
        usage_of(upstream, messages(*FIRST))
        other = usage_of(upstream, {**messages(*FIRST), "model": "claude-sonnet-4-6"})
    assert other["cache_read_input_tokens"] == 0


def test_chat_reads_in_whole_steps() -> None:
    with StrictUpstream() as upstream:
        one = usage_of(upstream, chat(user(LONG_TEXT)))
        two = usage_of(upstream, chat(user(LONG_TEXT), {"role": "assistant", "content": "yes"}, user("and now?")))
    assert one["prompt_tokens_details"]["cached_tokens"] == 0
    cached = two["prompt_tokens_details"]["cached_tokens"]
    assert cached % 128 == 0
    assert one["prompt_tokens"] - 128 < cached <= one["prompt_tokens"]
    assert two["total_tokens"] == two["prompt_tokens"] + two["completion_tokens"]


def test_the_chat_cache_forgets_the_text_behind_a_change() -> None:
    changed = LONG_TEXT[:6000] + "X" + LONG_TEXT[6001:]
    with StrictUpstream() as upstream:
        one = usage_of(upstream, chat(user(LONG_TEXT)))
        two = usage_of(upstream, chat(user(changed)))
    assert 1024 <= two["prompt_tokens_details"]["cached_tokens"] < one["prompt_tokens"] * 0.75


def test_deepseek_reports_hits_and_misses_and_keeps_them_for_hours() -> None:
    clock = Clock()
    with StrictUpstream(rules=Rules(dialect="deepseek"), clock=clock) as upstream:
        usage_of(upstream, chat(user(LONG_TEXT)))
        clock.now = 3 * 3600
        again = usage_of(upstream, chat(user(LONG_TEXT)))
    assert again["prompt_cache_hit_tokens"] > 1500
    assert again["prompt_cache_hit_tokens"] + again["prompt_cache_miss_tokens"] == again["prompt_tokens"]


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        pytest.param("/v1/messages", messages(user(LONG_TEXT)), "prompt is too long: ", id="Messages"),
        pytest.param("/v1/chat/completions", chat(user(LONG_TEXT)), "maximum context length is 1000 tokens", id="chat"),
    ],
)
def test_the_window_is_a_limit_and_nothing_is_billed(path: str, body: Json, says: str) -> None:
    with StrictUpstream(rules=Rules(window_tokens=1000)) as upstream:
        reply = post(upstream.url, path, body)
        assert upstream.exchanges[-1].usage is None
        assert post(upstream.url, path, {**body, "messages": [user("short")]}).status == 200
    assert reply.status == 400
    assert says in reply.json["error"]["message"]
    assert reply.json["error"]["type"] == "invalid_request_error"
    assert reply.json["error"].get("code") == ("context_length_exceeded" if "chat" in path else None)


def test_count_tokens_agrees_with_what_is_billed() -> None:
    body: dict[str, Any] = messages(*NEXT)
    with StrictUpstream(Script()) as upstream:
        counted = post(upstream.url, "/v1/messages/count_tokens", body).json["input_tokens"]
        usage_of(upstream, body)
        billed = upstream.exchanges[-1].usage
    assert billed is not None
    assert billed.prompt == counted
    assert [exchange.number for exchange in upstream.exchanges] == [None, 0]


def test_a_picture_is_not_counted_by_its_base64() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 400_000}}
    with StrictUpstream() as upstream:
        body = messages({"role": "user", "content": [picture, {"type": "text", "text": "what is it?"}]})
        assert usage_of(upstream, body)["input_tokens"] < 2000


@pytest.mark.parametrize(
    ("cache_fields", "details", "own"),
    [
        pytest.param("usual", True, True, id="all fields of the dialect"),
        pytest.param("own", False, True, id="DeepSeek's own two"),
        pytest.param("none", False, False, id="nothing of the cache"),
    ],
)
def test_usage_says_of_the_cache_what_the_rules_say(cache_fields: CacheFields, details: bool, own: bool) -> None:
    answer = ChatAnswer(
        "c", "m", "Hi.", "", (), "end_turn", Usage(fresh=6, read=64, output=2), "deepseek", cache_fields
    )
    fields = usage_fields(answer)
    assert ("prompt_tokens_details" in fields) is details
    assert ({"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 6}.items() <= fields.items()) is own
    assert fields["prompt_tokens"] == 70
