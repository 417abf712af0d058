"""A mark is asked for where the client sets none among its messages and one is free, with the client's own lifetime."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from bodies import conversation

from coldpress.drive.beside import NOTHING
from coldpress.drive.exchange import Inbound
from coldpress.drive.marking import Marking
from coldpress.testing.anthropic_rules import check_messages_request
from coldpress.wire.registry import FormatName
from coldpress.wire.span import splice

MARK = {"type": "ephemeral"}
LONG = {"type": "ephemeral", "ttl": "1h"}
USER = {"role": "user", "content": [{"type": "text", "text": "look"}]}


def system(*marks: Mapping[str, str] | None) -> list[dict[str, object]]:
    blocks = ({"type": "text", "text": f"part {n}", "cache_control": mark} for n, mark in enumerate(marks))
    return [{key: value for key, value in block.items() if value is not None} for block in blocks]


def marked(fields: Mapping[str, object], *, on: bool = True, name: FormatName = "anthropic") -> bytes | None:
    """The body that would be sent; `None` where it is the client's."""
    body = json.dumps({"model": "m", "max_tokens": 9, "messages": [USER]} | dict(fields)).encode() + b" \n"
    inbound = Inbound("r", 0.0, "up", name, body, None, {})
    beside = Marking(lambda provider: on and provider == "up").beside(inbound, conversation(body, name))
    if beside == NOTHING:
        return None
    sent = splice(body, beside.additions)
    assert sent.startswith(body.rstrip()[:-1])
    return sent


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        pytest.param({}, MARK, id="no mark at all"),
        pytest.param({"system": "be brief"}, MARK, id="a bare system prompt"),
        pytest.param({"system": system(MARK)}, MARK, id="one on the system prompt"),
        pytest.param({"system": system(LONG, LONG)}, LONG, id="long ones: long"),
        pytest.param({"system": system(LONG, MARK)}, MARK, id="never longer than the one before it"),
        pytest.param({"tools": [{"name": "t", "input_schema": {}, "cache_control": LONG}]}, LONG, id="one on a tool"),
    ],
)
def test_a_mark_of_the_clients_lifetime_is_asked_for(fields: Mapping[str, object], wanted: object) -> None:
    sent = marked(fields)
    assert sent is not None
    assert json.loads(sent)["cache_control"] == wanted
    assert check_messages_request(json.loads(sent)) is None


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"system": system(MARK, MARK, MARK)}, id="one must be left for an edit"),
        pytest.param({"cache_control": MARK}, id="the client asks for it by itself"),
        pytest.param(
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": MARK}]}]},
            id="the client marks its messages",
        ),
        pytest.param({"messages": []}, id="nothing to mark"),
    ],
)
def test_what_the_client_marks_is_left_to_it(fields: Mapping[str, object]) -> None:
    assert marked(fields) is None


def test_it_is_off_unless_the_settings_say_so_and_there_is_none_elsewhere() -> None:
    assert marked({}, on=False) is None
    assert marked({}, name="openai_chat") is None
