"""What counts as a summary, and what a model or a server may send instead."""

from __future__ import annotations

import json

import pytest

from coldpress.engine.summary.reply import Reason, Refused, read
from coldpress.model.summary import Item, Summary

ITEM = {"text": "never touch prod", "message": 3, "quotes": ["never touch prod"]}
REPLY = {"constraints": [ITEM], "questions": [{"text": "why?", "message": "m2"}]}
MEANT = Summary(constraints=(Item("never touch prod", 3, ("never touch prod",)),), questions=(Item("why?", 2),))
TEXT = json.dumps(REPLY)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(TEXT, id="plain"),
        pytest.param(f"\n  {json.dumps(REPLY, indent=2)}\n", id="indented"),
        pytest.param(f"```json\n{TEXT}\n```", id="fenced"),
        pytest.param(f"```\n{TEXT}\n```\n", id="fenced without a language"),
        pytest.param(f"Here is the summary:\n\n```json\n{TEXT}\n```\nThat is all.", id="fenced with prose around"),
        pytest.param(json.dumps({**REPLY, "mood": ["good"], "goal": []}), id="a section that is not in the schema"),
        pytest.param(TEXT.replace("3", '"[m3]"', 1), id="a citation as it is shown"),
    ],
)
def test_a_summary(text: str) -> None:
    assert read(text) == MEANT


def test_items_stand_in_the_order_of_their_messages() -> None:
    items = [{"text": text, "message": number} for text, number in (("late", 9), ("early", 2), ("late too", 9))]
    assert read(json.dumps({"plan": items})) == Summary(plan=(Item("early", 2), Item("late", 9), Item("late too", 9)))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "empty", id="nothing"),
        pytest.param(" \n", "empty", id="blanks"),
        pytest.param("{}", "empty", id="an empty object"),
        pytest.param('{"goal": [], "plan": []}', "empty", id="empty sections"),
        pytest.param("I'm sorry, but I can't help with that.", "refused", id="a refusal"),
        pytest.param("I cannot summarise this conversation.", "refused", id="another refusal"),
        pytest.param("The response was blocked by our content policy.", "refused", id="a filter"),
        pytest.param("[REDACTED]", "refused", id="a stand-in"),
        pytest.param('{"refusal": "no"}', "refused", id="a refusal as JSON"),
        pytest.param(
            '{"goal": [{"text": "I can\'t help with this request.", "message": 1}]}', "refused", id="in the form asked"
        ),
        pytest.param('{"error": {"message": "overloaded"}}', "error_like", id="an error as JSON"),
        pytest.param('{"type": "error", "goal": []}', "error_like", id="an error event"),
        pytest.param('{"detail": "Not found"}', "error_like", id="an error of a web framework"),
        pytest.param("<!DOCTYPE html><title>502</title>", "error_like", id="a page"),
        pytest.param("<html><body>Bad gateway", "error_like", id="another page"),
        pytest.param("502 Bad Gateway", "error_like", id="a status line"),
        pytest.param("upstream connect error or disconnect", "error_like", id="a proxy"),
        pytest.param('Oops\nTraceback (most recent call last):\n  File "a.py", line 1', "error_like", id="a stack"),
        pytest.param("TypeError: x\n    at f (/srv/a.js:1:2)", "error_like", id="a stack of another language"),
        pytest.param("The user wants X and did Y.", "not_json", id="free prose"),
        pytest.param(TEXT[:-10], "not_json", id="cut off"),
        pytest.param("[1, 2]", "not_json", id="a list"),
        pytest.param('{"summary": "did Y"}', "not_json", id="another shape"),
        pytest.param('{"goal": "did Y"}', "not_json", id="a section that is no list"),
        pytest.param('{"goal": ["did Y"]}', "not_json", id="items without a source"),
        pytest.param('{"goal": [{"text": "x", "message": "the third"}]}', "not_json", id="no number of a message"),
        pytest.param(
            '{"goal": [{"text": "x", "message": 1, "quotes": [1]}]}', "not_json", id="a quote that is no text"
        ),
        pytest.param(f"```\n{TEXT}\n```\nor\n```\n{TEXT}\n```", "not_json", id="two answers"),
        pytest.param("[" * 100_00, "not_json", id="nested without end"),
        pytest.param("x" * 64_001, "too_long", id="without end"),
        pytest.param('{"goal": [{"text": "' + "x" * 70_000 + '", "message": 1}]}', "too_long", id="long JSON"),
    ],
)
def test_no_summary(text: str, reason: Reason) -> None:
    assert read(text) == Refused(reason)


def test_the_bound_can_be_set() -> None:
    assert read(TEXT, max_chars=len(TEXT)) == MEANT
    assert read(TEXT, max_chars=len(TEXT) - 1) == Refused("too_long")
