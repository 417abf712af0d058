"""P: calls and their results are never parted, renamed or reordered, whatever shape the client's history has."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bodies import changed_literals, pressed, texts
from cases.talk import (
    assistant,
    chat,
    chat_calls,
    chat_result,
    dump,
    listing,
    log,
    messages,
    result,
    text,
    use,
    user,
)
from cases.through import KEY, gateway
from support import failed_quietly, pressing

from coldpress.testing import StrictUpstream
from coldpress.wire.registry import FormatName


def bones(body: bytes) -> list[Any]:
    """Roles, block types, call ids and tool names, in order."""
    found: list[Any] = []
    for message in json.loads(body)["messages"]:
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        found.append(
            (
                message["role"],
                [(b.get("type"), b.get("id"), b.get("tool_use_id"), b.get("name")) for b in blocks],
                [(c["id"], c["function"]["name"]) for c in message.get("tool_calls") or ()],
                message.get("tool_call_id"),
            )
        )
    return found


def sent_for(body: bytes, name: FormatName = "anthropic") -> bytes:
    with pressing() as press:
        prepared = press(body, name)
        assert not failed_quietly(prepared)
        assert press(body, name).body == prepared.body, "the same again"
    assert bones(prepared.body) == bones(body)
    return prepared.body


A, B, C = log("a"), log("b"), log("c")


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        pytest.param(
            (assistant(use("a")), assistant(use("b")), user(result("a", A), result("b", B))),
            2,
            id="two model messages, then both results",
        ),
        pytest.param(
            (assistant(use("a")), assistant(use("b")), user(result("b", B), result("a", A))),
            2,
            id="results in the other order",
        ),
        pytest.param(
            (assistant(use("a"), use("b")), user(result("a", A)), user(result("b", B))),
            2,
            id="results in two messages",
        ),
        pytest.param(
            (assistant(use("b")), user(result("a", A), result("b", B))), 1, id="only the call of the second survives"
        ),
        pytest.param((assistant(use("a")), user(result("b", B))), 0, id="a result of no call, a call of no result"),
        pytest.param(
            (assistant(use("a")), user(result("a", A)), assistant("ok"), user(result("a", B))),
            0,
            id="a result that comes a turn too late is not taken for another's",
        ),
    ],
)
def test_p01_a_call_and_its_result_stay_together(listed: tuple[Any, ...], expected: int) -> None:
    body = messages(user("go"), *listed)
    assert pressed(body, sent_for(body)) == expected


@pytest.mark.parametrize("failing", [None, 0, 2, 4])
@pytest.mark.parametrize("missing", [None, 3])
def test_p03_every_id_of_a_parallel_batch_is_kept(failing: int | None, missing: int | None) -> None:
    calls = [use(f"t{n}") for n in range(5)]
    answers = [result(f"t{n}", log(str(n)), is_error=n == failing) for n in range(5) if n != missing]
    body = messages(user("go"), assistant(*calls), user(*answers))
    assert pressed(body, sent_for(body)) == len(answers) - (failing is not None)


def test_p03_every_id_of_a_parallel_batch_is_kept_in_a_chat() -> None:
    calls = chat_calls(*((f"c{n}", "Bash", {"command": f"make {n}"}) for n in range(5)))
    body = chat({"role": "user", "content": "go"}, calls, *(chat_result(f"c{n}", log(str(n))) for n in (4, 0, 3, 1)))
    assert pressed(body, sent_for(body, "openai_chat"), "openai_chat") == 4


SEARCH_RESULT = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {"type": "web_search_result", "url": "https://example.org", "title": "t", "encrypted_content": "x" * 9000}
    ],
}
SERVER_USE = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param([SEARCH_RESULT, {**SEARCH_RESULT, "tool_use_id": "srvtoolu_2"}], id="two results, no call"),
        pytest.param([SERVER_USE], id="a call, no result"),
        pytest.param([SERVER_USE, SEARCH_RESULT], id="a healthy pair"),
        pytest.param([{"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_9", "content": {}}], id="other"),
    ],
)
def test_p05_server_tools_are_left_alone_and_healthy_pairs_beside_them_are_pressed(blocks: list[Any]) -> None:
    body = messages(user("go"), assistant(*blocks, text("so"), use("t1")), user(result("t1", A)))
    sent = sent_for(body)
    assert pressed(body, sent) == 1
    assert json.loads(sent)["messages"][1] == json.loads(body)["messages"][1]


@pytest.mark.parametrize(
    "orphan",
    [
        pytest.param([result("z", A), text("go on")], id="before a text"),
        pytest.param([text("go on"), result("z", A)], id="behind a text"),
        pytest.param([result("z", A), result("", B), text("go on")], id="two, one without an id"),
        pytest.param([{"type": "tool_result", "content": A}], id="no id at all"),
    ],
)
def test_p07_an_orphaned_result_of_the_clients_goes_on_as_it_is(orphan: list[Any]) -> None:
    body = messages(user("go"), assistant("just words"), user(*orphan))
    with pressing() as press:
        assert press(body).body is body
    both = messages(user("go"), assistant(use("t1")), user(result("t1", C), *orphan))
    ((old, _),) = changed_literals(both, sent_for(both))
    assert old == C


def test_p09_a_responses_request_with_an_unanswered_call_goes_on_as_it_is() -> None:
    items = [{"type": "function_call", "call_id": "call_P", "name": "shell", "arguments": "{}"}, {"role": "user"}]
    body = dump({"model": "gpt-5", "input": [*items, {"type": "function_call_output", "call_id": "Q", "output": A}]})
    with StrictUpstream() as upstream, gateway(upstream.url) as gate:
        gate.post("/v1/responses", body)
        assert upstream.exchanges[-1].request.raw == body
        assert upstream.exchanges[-1].request.target == "/v1/responses"


@pytest.mark.parametrize("answered", [(), ("c1",), ("c2",)])
def test_p09_an_unanswered_call_stays_as_the_client_sent_it(answered: tuple[str, ...]) -> None:
    calls = chat_calls(("c1", "Bash", {"command": "a"}), ("c2", "Bash", {"command": "b"}))
    body = chat({"role": "user", "content": "go"}, calls, *(chat_result(call, A) for call in answered))
    assert pressed(body, sent_for(body, "openai_chat"), "openai_chat") == len(answered)


@pytest.mark.parametrize("name", ["Task", "t" * 200, "mcp__server__do-it", "Bash"])
@pytest.mark.parametrize(
    "arguments",
    [
        "{}",
        '{ "n" : 1.0,"big":123456789012345678901234567890 }',
        '{"nested":{"a":[[]],"t":"\\u00e9 \\/ é"}}',
        '{"k":""}',
    ],
)
def test_p11_names_and_inputs_keep_their_bytes(name: str, arguments: str) -> None:
    other = '{"type":"tool_use","id":"x","name":"' + name + '","input":' + arguments + "}"
    body = messages(user("go"), assistant("HERE", use("t1")), user(result("x", A), result("t1", B)))
    body = body.replace(b'{"type":"text","text":"HERE"}', other.encode())
    sent = sent_for(body)
    assert other.encode() in sent
    assert pressed(body, sent) >= 1


def test_p13_of_two_results_for_one_call_the_first_counts_and_the_second_stays() -> None:
    for extra in ([result("t1", A), result("t1", B)], [result("t1", A), text("x"), result("t1", B)]):
        body = messages(user("go"), assistant(use("t1")), user(*extra))
        ((old, _),) = changed_literals(body, sent_for(body))
        assert old == A


def test_p13_of_two_results_for_one_call_the_first_counts_in_a_chat_too() -> None:
    calls = chat_calls(("c1", "Bash", {"command": "a"}))
    body = chat({"role": "user", "content": "go"}, calls, chat_result("c1", A), chat_result("c1", B))
    ((old, _),) = changed_literals(body, sent_for(body, "openai_chat"), "openai_chat")
    assert old == A


def test_p13_two_calls_with_one_id_in_a_turn_leave_their_results_in_doubt_and_exact() -> None:
    body = messages(user("go"), assistant(use("t1"), use("t1")), user(result("t1", A), result("t1", B)))
    assert sent_for(body) == body


def test_p13_an_id_used_again_in_a_later_turn_is_another_call() -> None:
    turns = [user("go"), assistant(use("t1")), user(result("t1", A)), assistant(use("t1")), user(result("t1", B))]
    with pressing() as press:
        first, second = press.all([messages(*turns[:3]), messages(*turns)])
        shas = [line.original for sent in (first, second) for line in sent.receipt.lines]
        assert [press.store.recall(sha) for sha in shas] == [A, B]
    assert pressed(messages(*turns), second.body) == 2


@pytest.mark.parametrize(
    "content",
    [
        pytest.param([{"type": "tool_reference", "tool_name": "W"}], id="nothing but a reference"),
        pytest.param([{"type": "tool_reference", "tool_name": "W"}, text(A)], id="a reference and a text"),
        pytest.param([text(A), {"type": "tool_reference", "tool_name": "W"}, text(B)], id="a reference between texts"),
    ],
)
def test_p15_tools_and_references_to_them_are_never_taken_away(content: list[Any]) -> None:
    tools = ("Bash", "W", "tool_search")
    searched = messages(user("go"), assistant(use("t1", "tool_search")), user(result("t1", content)), tools=tools)
    assert sent_for(searched).count(b'{"type":"tool_reference","tool_name":"W"}') == 1
    body = messages(user("go"), assistant(use("t1", "Bash", command="make")), user(result("t1", content)), tools=tools)
    sent = sent_for(body)
    assert pressed(body, sent) == len(texts(body))
    assert json.loads(sent)["tools"] == json.loads(body)["tools"]
    assert sent.count(b'{"type":"tool_reference","tool_name":"W"}') == 1


def test_p_what_a_strict_provider_accepts_it_accepts_pressed() -> None:
    body = messages(
        user("go"),
        assistant(use("t1"), use("t2", "Read", file_path="a.py")),
        user(result("t2", listing()), result("t1", [text(A)]), "and now?"),
    )
    with StrictUpstream() as upstream, gateway(upstream.url) as gate:
        assert gate.post("/v1/messages", body, KEY).status == 200
        assert pressed(body, upstream.inference[-1].request.body) == 2
