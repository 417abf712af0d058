"""The strict upstream compares a request with the one before it, and says why that prefix was not in the cache."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import anthropic
import pytest
from testing.wires import Json, Reply, answered, messages, post, user

from coldpress.model.records import Miss
from coldpress.testing import Aside, Say, Script, Shell, StrictUpstream, Turn, task

BETA = "cache-diagnosis-2026-04-07"
EDITING = "context-management-2025-06-27"
MARK = {"cache_control": {"type": "ephemeral"}}
SYSTEM = [{"type": "text", "text": "Be brief, and careful with the files. " * 200, **MARK}]
STEPS = task(*(Shell(f"step {number}") for number in range(9)))
LOG = "a line of a log\n" * 500


def ask(upstream: StrictUpstream, said: list[Json], previous: str | None, **more: Any) -> Reply:
    body = messages(*said, **{"system": SYSTEM, **MARK, "diagnostics": {"previous_message_id": previous}, **more})
    return post(upstream.url, "/v1/messages", body, {"anthropic-beta": f"{BETA},{EDITING}"})


class Talk:
    """Two turns, and what is sent next; tests change that."""

    def __init__(self, upstream: StrictUpstream, **fields: Any) -> None:
        self.upstream = upstream
        self.fields = fields
        self.said: list[Json] = [user("go")]
        self.last: str | None = None
        for _ in range(2):
            reply = self.send()
            self.said += answered(reply["content"], LOG)

    def send(self) -> Json:
        reply = ask(self.upstream, self.said, self.last, **self.fields)
        assert reply.status == 200, reply.body
        self.last = reply.json["id"]
        self.usage: Json = reply.json["usage"]
        return reply.json

    @property
    def cached(self) -> int:
        return int(self.usage["cache_read_input_tokens"] + self.usage["cache_creation_input_tokens"])


def nothing(talk: Talk) -> None:
    pass


def another_model(talk: Talk) -> None:
    talk.fields["model"] = "claude-opus-4-8"


def another_speed(talk: Talk) -> None:
    talk.fields["speed"] = "fast"


def another_system(talk: Talk) -> None:
    talk.fields["system"] = [{**SYSTEM[0], "text": "Be long."}]


def another_tool(talk: Talk) -> None:
    talk.fields["tools"] = [{"name": "Read", "input_schema": {"type": "object"}}]


def another_result(talk: Talk) -> None:
    talk.said = deepcopy(talk.said)
    talk.said[2]["content"][0]["content"] = "pressed"


def fewer_messages(talk: Talk) -> None:
    del talk.said[1:3]


def another_choice(talk: Talk) -> None:
    talk.fields["tool_choice"] = {"type": "any"}


def a_lost_id(talk: Talk) -> None:
    talk.last = "msg_of_somebody_else"


def no_id(talk: Talk) -> None:
    talk.last = None


def moved_marks(talk: Talk) -> None:
    talk.said = deepcopy(talk.said)
    talk.said[2]["content"][0]["cache_control"] = MARK["cache_control"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (nothing, None),
        (moved_marks, None),
        (no_id, None),
        (another_model, "model_changed"),
        (another_speed, "model_changed"),
        (another_system, "system_changed"),
        (another_tool, "tools_changed"),
        (another_result, "messages_changed"),
        (fewer_messages, "messages_changed"),
        (another_choice, "unavailable"),
        (a_lost_id, "previous_message_not_found"),
    ],
)
def test_why_the_cache_was_missed(change: Callable[[Talk], None], reason: str | None) -> None:
    with StrictUpstream(STEPS) as upstream:
        talk = Talk(upstream)
        cached = talk.cached
        change(talk)
        reply = talk.send()
    assert "diagnostics" in reply
    if reason is None:
        assert reply["diagnostics"] is None
        return
    told = reply["diagnostics"]["cache_miss_reason"]
    assert told.pop("type") == reason
    if reason in ("unavailable", "previous_message_not_found"):
        assert told == {}
    else:
        assert told == {"cache_missed_input_tokens": cached - reply["usage"]["cache_read_input_tokens"]}
        assert told["cache_missed_input_tokens"] > 1000


def test_a_prefix_that_was_forgotten_is_no_change() -> None:
    now = 0.0
    with StrictUpstream(STEPS, clock=lambda: now) as upstream:
        talk = Talk(upstream)
        now = 4000.0
        reply = talk.send()
    assert reply["usage"]["cache_read_input_tokens"] == 0
    assert reply["diagnostics"] is None


def test_what_the_server_clears_itself_is_no_change_of_the_clients() -> None:
    edit = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "tool_uses", "value": 2},
        "keep": {"type": "tool_uses", "value": 1},
    }
    with StrictUpstream(STEPS) as upstream:
        talk = Talk(upstream, context_management={"edits": [edit]})
        talk.said += answered(talk.send()["content"], LOG)
        reply = talk.send()
    assert reply["context_management"]["applied_edits"]
    assert reply["diagnostics"] is None


def test_only_those_who_ask_with_the_beta_are_told() -> None:
    asked = messages(user("go"), diagnostics={"previous_message_id": None})
    with StrictUpstream() as upstream:
        without_beta = post(upstream.url, "/v1/messages", asked)
        plain = post(upstream.url, "/v1/messages", messages(user("go")), {"anthropic-beta": BETA})
    assert without_beta.status == 400
    assert without_beta.json["error"]["message"] == "diagnostics: Extra inputs are not permitted"
    assert "diagnostics" not in plain.json


def test_what_is_scripted_goes_before_what_is_found() -> None:
    script = Script(closing=Turn((Say("hi"),), aside=Aside(miss=Miss("tools_changed", 7))))
    with StrictUpstream(script) as upstream:
        reply = ask(upstream, [user("go")], "msg_unknown").json
    told = {"type": "tools_changed", "cache_missed_input_tokens": 7}
    assert reply["diagnostics"] == {"cache_miss_reason": told}


@pytest.mark.parametrize("stream", [False, True], ids=["document", "stream"])
def test_the_official_sdk_is_told(stream: bool) -> None:
    with StrictUpstream(STEPS) as upstream:
        talk = Talk(upstream, model="claude-opus-4-8")
        client = anthropic.Anthropic(base_url=upstream.url, api_key="any", max_retries=0)
        asked: Json = {
            "model": "claude-opus-4-8",
            "max_tokens": 100,
            "messages": talk.said,
            "system": "Another.",
            "tools": messages()["tools"],
            "betas": [BETA],
            "diagnostics": {"previous_message_id": talk.last},
        }
        if stream:
            with client.beta.messages.stream(**asked) as streaming:
                reply: Any = streaming.get_final_message()
        else:
            reply = client.beta.messages.create(**asked)
    assert type(reply.diagnostics.cache_miss_reason).__name__ == "BetaCacheMissSystemChanged"
    assert reply.diagnostics.cache_miss_reason.cache_missed_input_tokens == talk.cached
