"""The strict upstream refuses what the Gemini API refuses, in its words and its shape."""

from __future__ import annotations

import json

import pytest
from testing.gemini import MODEL, answer, ask, call, model_turn, path, refusal, request, said, user_turn
from testing.wires import Json, exchange, post

from coldpress.testing import Rules, StrictUpstream

LOOSE = Rules(check_signatures=False)
NUMBER = "number of function response parts is equal to the number of function call parts"


@pytest.mark.parametrize(
    ("contents", "why"),
    [
        pytest.param([], "contents is not specified", id="nothing"),
        pytest.param([{"role": "assistant", "parts": [{"text": "x"}]}], "valid role", id="another wire's role"),
        pytest.param([{"role": "user", "parts": []}], "parts must not be empty", id="no parts"),
        pytest.param([user_turn({})], "must have one initialized field", id="an empty part"),
        pytest.param([user_turn({"thought": True})], "must have one initialized field", id="only said about"),
        pytest.param([user_turn({"text": "x", **answer()})], "already set", id="two kinds in one part"),
        pytest.param([user_turn({"text": 5})], "TYPE_STRING", id="a number for a text"),
        pytest.param([user_turn({"text": "x", "cache_control": {}})], "Unknown name", id="another wire's field"),
        pytest.param([said("x"), model_turn(call(""))], "Name cannot be empty", id="a call of nothing"),
        pytest.param(
            [said("x"), model_turn({"functionCall": {"name": "a", "args": "{}"}})], "Struct", id="arguments as a text"
        ),
        pytest.param(
            [said("x"), model_turn(call()), user_turn({"functionResponse": {"name": "run_shell_command"}})],
            "required field",
            id="an answer without response",
        ),
        pytest.param(
            [said("x"), model_turn(call()), user_turn(answer(response="text"))], "Struct", id="a response as a text"
        ),
        pytest.param([said("x"), model_turn(call())], NUMBER, id="no answer at all"),
        pytest.param([said("x"), model_turn(call()), said("y")], NUMBER, id="another turn instead"),
        pytest.param([said("x"), model_turn(call(), call()), user_turn(answer())], NUMBER, id="too few"),
        pytest.param([said("x"), model_turn(call()), user_turn(answer(), answer())], NUMBER, id="too many"),
        pytest.param(
            [said("x"), model_turn(call(), call()), user_turn(answer()), user_turn(answer())], NUMBER, id="in two turns"
        ),
        pytest.param(
            [said("x"), model_turn(call()), user_turn(answer("other"))], "names", id="to a function nobody called"
        ),
        pytest.param(
            [said("x"), model_turn(call(id="1")), user_turn(answer(id="2"))], "ids", id="to a call nobody made"
        ),
        pytest.param([said("x"), user_turn(answer())], "immediately after a function call turn", id="orphaned"),
        pytest.param([model_turn(call()), user_turn(answer())], "immediately after a user turn", id="called first"),
        pytest.param([user_turn(call()), user_turn(answer())], "turn of the model", id="called by the user"),
    ],
)
def test_refused(contents: list[Json], why: str) -> None:
    with StrictUpstream(rules=LOOSE) as upstream:
        assert why in refusal(upstream, *contents)


@pytest.mark.parametrize(
    "contents",
    [
        pytest.param([said("x")], id="a question"),
        pytest.param([{"parts": [{"text": "x"}]}], id="no role"),
        pytest.param([said("x"), model_turn(call()), user_turn(answer())], id="without ids"),
        pytest.param([said("x"), model_turn(call(id="1")), user_turn(answer(id="1"))], id="with ids"),
        pytest.param([said("x"), model_turn(call(id="1")), user_turn(answer())], id="with the caller's id only"),
        pytest.param(
            [said("x"), model_turn(call("b"), call("a")), user_turn(answer("a"), answer("b"))], id="in another order"
        ),
        pytest.param([said("x"), model_turn(call()), user_turn(answer(), {"text": "and"})], id="with a text beside"),
        pytest.param([said("x"), model_turn(call()), {"role": "function", "parts": [answer()]}], id="of old clients"),
        pytest.param(
            [
                said("x"),
                model_turn({"function_call": {"name": "a"}}),
                user_turn({"function_response": {"name": "a", "response": {}}}),
            ],
            id="in the other spelling",
        ),
        pytest.param(
            [user_turn({"text": "x"}, {"inlineData": {"mimeType": "image/png", "data": "aGk="}})], id="a picture"
        ),
    ],
)
def test_served(contents: list[Json]) -> None:
    with StrictUpstream(rules=LOOSE) as upstream:
        assert refusal(upstream, *contents) == ""


def test_top_level_fields_are_known_ones() -> None:
    with StrictUpstream(rules=LOOSE) as upstream:
        assert 'Unknown name "messages"' in refusal(upstream, said("x"), messages=[])
        assert "CachedContent not found" in refusal(upstream, said("x"), cachedContent="cachedContents/none")


def test_a_longer_prompt_than_the_window_is_refused_in_words_that_we_know() -> None:
    with StrictUpstream(rules=Rules(window_tokens=2000)) as upstream:
        reply = ask(upstream, said("a sentence that is read. " * 1000))
    assert reply.status == 400
    assert reply.json["error"]["status"] == "INVALID_ARGUMENT"
    assert "exceeds the maximum number of tokens allowed (2000)" in reply.json["error"]["message"]


@pytest.mark.parametrize("headers", [{}, {"x-goog-api-key": "k"}], ids=["without", "with"])
def test_a_key_is_wanted(headers: dict[str, str]) -> None:
    with StrictUpstream(rules=Rules(require_key=True)) as upstream:
        reply = post(upstream.url, path(), request(said("x")), headers)
        assert reply.status == (200 if headers else 401)
        if not headers:
            assert reply.json["error"]["status"] == "UNAUTHENTICATED"


def test_what_is_no_json_and_what_is_nowhere() -> None:
    with StrictUpstream() as upstream:
        assert post(upstream.url, path(), b"{").json["error"]["status"] == "INVALID_ARGUMENT"
        nowhere = post(upstream.url, path("embedContent"), request(said("x")))
        assert (nowhere.status, nowhere.json["error"]["status"]) == (404, "NOT_FOUND")
        listed = exchange(upstream.url, "GET", "/v1beta/models")
        assert listed.json["models"][0]["name"].startswith("models/")


def test_code_assist_names_the_model_in_the_envelope() -> None:
    with StrictUpstream() as upstream:
        inner = request(said("x"))
        for body, status in (({"model": MODEL, "project": "p", "request": inner}, 200), ({"request": inner}, 400)):
            assert post(upstream.url, "/v1internal:generateContent", body).status == status
        enclosed = json.loads(
            post(upstream.url, "/v1internal:generateContent", {"model": MODEL, "request": inner}).body
        )
        assert enclosed["response"]["candidates"][0]["content"]["role"] == "model"
