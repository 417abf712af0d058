"""Signatures of the Gemini wire: on which part they come, and that none is taken with another part or prefix."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from testing.gemini import THOUGHTS, answered, ask, model_turn, path, refusal, request, said
from testing.wires import Json, post

from coldpress.testing import Rules, Say, Script, Shell, StrictUpstream, Think, Turn, task

STEPS = task(Shell("git log"), (Shell("ls"), Shell("pwd")), thinking=True, done="That is all.")


def turn(upstream: StrictUpstream, *contents: Json, **more: Any) -> Json:
    reply = ask(upstream, *contents, **more)
    assert reply.status == 200, reply.body
    found: Json = reply.json["candidates"][0]["content"]
    return found


def test_thoughts_and_the_first_of_several_calls_are_signed() -> None:
    with StrictUpstream(STEPS) as upstream:
        first = turn(upstream, said("go"))
        second = turn(upstream, said("go"), *answered(first, "x"))
    assert [sorted(part) for part in second["parts"]] == [
        ["text", "thought", "thoughtSignature"],
        ["text"],
        ["functionCall", "thoughtSignature"],
        ["functionCall"],
    ]
    assert "id" not in second["parts"][2]["functionCall"]


def test_a_thought_before_a_text_is_signed_behind_it_on_a_part_that_says_nothing() -> None:
    script = Script(closing=Turn((Think("hm"), Say("So it is."))))
    with StrictUpstream(script) as upstream:
        told = turn(upstream, said("go"), generationConfig={})["parts"]
        assert [sorted(part) for part in told] == [["text"], ["text", "thoughtSignature"]]
        assert told[1]["text"] == ""
        assert refusal(upstream, said("go"), model_turn(*told), said("and now?")) == ""


def shorter_thought(part: Json) -> None:
    part["text"] = part["text"][:4]


def other_argument(part: Json) -> None:
    part["functionCall"]["args"]["command"] = "rm"


@pytest.mark.parametrize(
    ("place", "change", "why"),
    [
        pytest.param(0, shorter_thought, "Corrupted thought signature", id="a shortened thought"),
        pytest.param(2, other_argument, "Corrupted thought signature", id="another argument"),
        pytest.param(2, lambda part: part.update(thoughtSignature="c2ln"), "Corrupted", id="a signature of others"),
        pytest.param(2, lambda part: part.pop("thoughtSignature"), "missing a thought_signature", id="no signature"),
        pytest.param(0, lambda part: part.pop("thoughtSignature"), "", id="a thought may lose its own"),
        pytest.param(
            2, lambda part: part.update(thoughtSignature="skip_thought_signature_validator"), "", id="the way around"
        ),
        pytest.param(2, lambda part: part["functionCall"].update(id="made up"), "", id="an id of the client's own"),
    ],
)
def test_a_part_comes_back_as_it_was_signed(place: int, change: Callable[[Json], object], why: str) -> None:
    with StrictUpstream(STEPS) as upstream:
        first = copy.deepcopy(turn(upstream, said("go")))
        change(first["parts"][place])
        contents = answered(first, "x")
        contents[1]["parts"][0]["functionResponse"].pop("id", None)
        found = refusal(upstream, said("go"), *contents)
        assert (why in found) if why else not found


def test_an_older_turn_may_lack_signatures_and_older_models_want_none() -> None:
    with StrictUpstream(STEPS) as upstream:
        first = turn(upstream, said("go"))
        for part in first["parts"]:
            part.pop("thoughtSignature", None)
        assert "missing" in refusal(upstream, said("go"), *answered(first, "x"))
        assert refusal(upstream, said("go"), *answered(first, "x"), said("and on")) == ""
        body = request(said("go"), *answered(first, "x"))
        assert post(upstream.url, path(model="gemini-2.5-flash"), body).status == 200


@pytest.mark.parametrize("bind", [False, True])
def test_with_binding_the_prefix_must_be_the_same_too(bind: bool) -> None:
    with StrictUpstream(STEPS, rules=Rules(bind_thinking=bind)) as upstream:
        first = turn(upstream, said("go"))
        second = turn(upstream, said("go"), *answered(first, "x" * 50))
        changed = [said("go"), *answered(first, "x" * 20), *answered(second, "y")]
        found = refusal(upstream, *changed)
        assert ("bound to a different conversation" in found) is bind


def test_thoughts_are_told_only_where_they_are_asked_for() -> None:
    with StrictUpstream(STEPS) as upstream:
        told = turn(upstream, said("go"), generationConfig=THOUGHTS)
        other = turn(upstream, said("go"), generation_config={"thinkingConfig": {"include_thoughts": True}})
        kept = turn(upstream, said("go"), generationConfig={})
        counts = [exchange.usage for exchange in upstream.exchanges]
    assert [part.get("thought") for part in told["parts"]] == [True, None, None]
    assert other == told
    assert [part.get("thought") for part in kept["parts"]] == [None, None]
    assert counts[0] is not None and counts[2] is not None
    assert counts[0].reasoning == counts[2].reasoning
