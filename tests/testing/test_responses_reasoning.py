"""Reasoning on the Responses wire is sealed, bound to what was said before it, and comes with what it led to."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.wires import Json, outputs, post, responses, user

from coldpress.testing import Rules, Shell, StrictUpstream, task
from coldpress.testing.responses_seal import Sealer

STEPS = task(Shell("git log"), Shell("ls"), Shell("pwd"), thinking=True)
PATH = "/v1/responses"
GO = user("go")


def turns(upstream: StrictUpstream, count: int, **more: object) -> list[Json]:
    """Go some turns into the task, and give all items so far."""
    said = [GO]
    for number in range(count):
        reply = post(upstream.url, PATH, responses(*said, **more))
        assert reply.status == 200, reply.body
        assert "input_transformations" not in reply.json
        said += [*reply.json["output"], *outputs(reply.json["output"], f"output {number}")]
    return said


def changed(items: list[Json], kind: str, **fields: object) -> list[Json]:
    """Change the first item of a kind."""
    first = next(place for place, item in enumerate(items) if item.get("type") == kind)
    return [*items[:first], {**items[first], **fields}, *items[first + 1 :]]


def withheld(reply: Json) -> list[tuple[str, str]]:
    return [(one["id"], one["reason"]) for one in reply.get("input_transformations", [])]


@given(st.dictionaries(st.text(), st.text()), st.data())
def test_a_seal_gives_back_what_it_holds_and_notices_any_changed_character(
    content: dict[str, str], data: st.DataObject
) -> None:
    sealer = Sealer(b"key")
    sealed = sealer.seal(content)
    assert sealer.open(sealed) == content
    assert Sealer(b"another").open(sealed) is None
    place = data.draw(st.integers(0, len(sealed.rstrip("=")) - 2))
    other = "A" if sealed[place] != "A" else "B"
    assert sealer.open(sealed[:place] + other + sealed[place + 1 :]) is None
    assert sealer.open(sealed[: place // 4 * 4]) is None


def test_the_text_cannot_be_read_from_outside() -> None:
    sealed = Sealer(b"key").seal({"text": "secret plan"})
    assert sealed.startswith("gAAAA")
    assert "secret" not in sealed


@pytest.mark.parametrize(
    ("kind", "fields", "bind", "count"),
    [
        pytest.param("function_call_output", {"output": "[masked]"}, True, 2, id="an output was changed, and it binds"),
        pytest.param(
            "function_call_output", {"output": "[masked]"}, False, 0, id="an output was changed, and it does not"
        ),
        pytest.param("message", {"id": "msg_other", "status": "incomplete"}, True, 0, id="what the model is not shown"),
        pytest.param(
            "function_call", {"arguments": '{"command":"git log"}'}, True, 2, id="arguments were spelled anew"
        ),
    ],
)
def test_a_changed_prefix(kind: str, fields: Json, bind: bool, count: int) -> None:
    """The reasoning before the change stays, and all behind it is withheld, listed, and not billed."""
    with StrictUpstream(STEPS, rules=Rules(bind_reasoning=bind)) as upstream:
        said = turns(upstream, 3)
        reasoning = [item["id"] for item in said if item.get("type") == "reasoning"]
        whole = post(upstream.url, PATH, responses(*said)).json
        reply = post(upstream.url, PATH, responses(*changed(said, kind, **fields))).json
    assert withheld(whole) == []
    assert withheld(reply) == [(named, "prefix_mismatch") for named in reasoning[3 - count :]]
    assert [one["type"] for one in reply.get("input_transformations", [])] == ["reasoning"] * count
    assert (reply["usage"]["input_tokens"] < whole["usage"]["input_tokens"]) == (count > 0)


def test_the_streamed_answer_lists_it_too() -> None:
    with StrictUpstream(STEPS, rules=Rules(bind_reasoning=True)) as upstream:
        said = changed(turns(upstream, 2), "function_call_output", output="[masked]")
        events = post(upstream.url, PATH, responses(*said, stream=True)).events
    assert len(withheld(events[-1]["response"])) == 1
    assert "input_transformations" not in events[0]["response"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        pytest.param({"model": "gpt-6.1-sol"}, "model_mismatch", id="another model"),
        pytest.param({"instructions": "Be kind."}, "prefix_mismatch", id="other instructions"),
        pytest.param({"tools": []}, "prefix_mismatch", id="other tools"),
    ],
)
def test_what_stands_before_all_items_binds_too(more: Json, why: str) -> None:
    with StrictUpstream(STEPS, rules=Rules(bind_reasoning=True)) as upstream:
        said = turns(upstream, 1)
        assert withheld(post(upstream.url, PATH, responses(*said, **more)).json) == [(said[1]["id"], why)]


@pytest.mark.parametrize(
    ("model", "context", "count"),
    [
        pytest.param("gpt-5.6-sol", None, 0, id="newer models see all turns"),
        pytest.param("gpt-5.3-codex", None, 2, id="older ones the current turn"),
        pytest.param("gpt-5.3-codex", "all_turns", 0, id="an older one, told to see all"),
        pytest.param("gpt-5.6-sol", "current_turn", 2, id="a newer one, told not to"),
    ],
)
def test_reasoning_of_past_turns(model: str, context: str | None, count: int) -> None:
    more: Json = {"model": model, "reasoning": {} if context is None else {"context": context}}
    with StrictUpstream(STEPS, rules=Rules(bind_reasoning=True)) as upstream:
        said = turns(upstream, 2, **more)
        reply = post(upstream.url, PATH, responses(*said, user("and now?"), **more)).json
        own = [*said, user("and now?"), *reply["output"], *outputs(reply["output"], "x")]
        after = post(upstream.url, PATH, responses(*own, **more)).json
    assert withheld(reply) == withheld(after)
    assert [why for _, why in withheld(reply)] == ["turn_boundary"] * count


@pytest.mark.parametrize(
    ("fields", "says", "status"),
    [
        pytest.param(
            {"encrypted_content": "gAAAAfake"},
            "could not be verified. Reason: Encrypted content could",
            400,
            id="foreign",
        ),
        pytest.param({"id": "rs_other"}, "item_id did not match the target item id", 400, id="another id"),
        pytest.param({"encrypted_content": None}, "not found. Items are not persisted", 404, id="nothing sealed"),
    ],
)
def test_seals_are_checked(fields: Json, says: str, status: int) -> None:
    with StrictUpstream(STEPS) as upstream:
        said = changed(turns(upstream, 1), "reasoning", **fields)
        reply = post(upstream.url, PATH, responses(*said))
    assert reply.status == status
    assert says in reply.json["error"]["message"]
    with StrictUpstream(STEPS, rules=Rules(check_signatures=False)) as upstream:
        assert post(upstream.url, PATH, responses(*said)).status == 200


def test_an_item_that_keeps_its_id_keeps_its_reasoning() -> None:
    with StrictUpstream(STEPS) as upstream:
        said = turns(upstream, 1)
        bare = [item for item in said if item.get("type") != "reasoning"]
        reply = post(upstream.url, PATH, responses(*bare))
        nameless = [{k: v for k, v in item.items() if k != "id"} for item in bare]
        assert post(upstream.url, PATH, responses(*nameless)).status == 200
    assert reply.status == 400
    assert f"without its required 'reasoning' item: '{said[1]['id']}'" in reply.json["error"]["message"]


def test_the_rule_can_be_switched_alone() -> None:
    assert dataclasses.replace(Rules(), bind_reasoning=True).bind_thinking is False
