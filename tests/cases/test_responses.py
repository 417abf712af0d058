"""Requests of Responses: only what a tool printed is pressed; what the server or the client compacts is let alone."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bodies import changed_literals, conversation, literals, texts
from cases.captures import Captured, captured, grown
from cases.items import COMPACTION, TRIGGER, Item, headed, ran, responses, said, sealed
from cases.talk import DEDUPE_LOGS, log
from support import failed_quietly, pressing
from support import settings as made

from coldpress.engine.policy import DEFAULT_POLICY, Policy, Rule
from coldpress.model.conversation import Opaque

NAME = "openai_responses"
LOG = headed(log())
CLIENTS = {"codex", "codex-chatgpt", "openai-sdk-responses", "pi-responses"}


def changes(body: bytes, **options: Any) -> list[tuple[str, str]]:
    with pressing(made(**options)) as press:
        prepared = press(body, NAME)
    assert not failed_quietly(prepared)
    return changed_literals(body, prepared.body, NAME)


@pytest.fixture(scope="module")
def requests(shared: Path) -> tuple[Captured, ...]:
    found = tuple(captured(shared / "captures", (NAME,)))
    assert {request.client for request in found} == CLIENTS
    return found


def test_real_requests_are_read_whole(requests: tuple[Captured, ...]) -> None:
    paired = Counter[str]()
    for request in requests:
        found = conversation(request.body, NAME)
        assert len(found.messages) == len(json.loads(request.body)["input"])
        results = [result for message in found.messages for _, result in message.results]
        assert all(result.call is not None for result in results)
        paired[request.client] += len(results)
        blocks = [block.kind for message in found.messages for block in message.blocks if isinstance(block, Opaque)]
        assert set(blocks) <= {"reasoning"}
    assert set(paired) == CLIENTS and min(paired.values()) >= 3


@pytest.mark.parametrize("large", [False, True], ids=["as captured", "with large results"])
def test_real_requests_are_observed_byte_for_byte(requests: tuple[Captured, ...], large: bool) -> None:
    for request in requests:
        body = grown(request, ascii_only=False).body if large else request.body
        with pressing(made("observe")) as press:
            prepared = press(body, NAME)
        assert prepared.body is body
        assert not [note for note in prepared.receipt.notes if note.startswith("pass_through")]


@pytest.mark.parametrize("ascii_only", [True, False])
def test_real_requests_differ_only_inside_pressed_results(requests: tuple[Captured, ...], ascii_only: bool) -> None:
    pressed = Counter[str]()
    for request in requests:
        body = grown(request, ascii_only=ascii_only).body
        with pressing() as press:
            prepared = press(body, NAME)
            pairs = changed_literals(body, prepared.body, NAME)
            originals = {press.store.recall(line.original) for line in prepared.receipt.lines if line.original}
        assert {old for old, _ in pairs} <= originals
        assert all(len(new) < len(old) for old, new in pairs)
        pressed[request.client] += len(pairs)
    assert set(+pressed) == CLIENTS


@pytest.mark.parametrize(
    ("items", "pressed"),
    [
        pytest.param(ran("k", "make", LOG), 1, id="a log of Codex"),
        pytest.param(ran("k", "make", [{"type": "input_text", "text": LOG}]), 1, id="in a part"),
        pytest.param(ran("k", "make", headed(log(), code=2)), 0, id="a run that failed"),
        pytest.param(ran("k", "cat src/a.c", LOG), 0, id="a file read through the shell"),
        pytest.param(ran("k", "sed -n '1,600p' src/a.c", LOG), 0, id="lines of a file"),
        pytest.param(ran("k", "apply_patch <<'EOF'\n*** Begin Patch\nEOF", LOG), 0, id="a patch through the shell"),
        pytest.param(
            ran("k", "make", headed("Total output lines: 9000\n\na…812 tokens truncated…b\n" + log())), 0, id="cut"
        ),
        pytest.param(
            (
                {"type": "custom_tool_call", "call_id": "k", "name": "apply_patch", "input": "*** Begin Patch"},
                {"type": "custom_tool_call_output", "call_id": "k", "output": LOG},
            ),
            0,
            id="a patch",
        ),
        pytest.param(
            (
                {"type": "shell_call", "call_id": "k", "action": {"commands": ["make"]}},
                {
                    "type": "shell_call_output",
                    "call_id": "k",
                    "output": [
                        {"stdout": log("a"), "stderr": log("b"), "outcome": {"type": "exit", "exit_code": 0}},
                        {"stdout": log("c"), "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
                    ],
                },
            ),
            3,
            id="three streams of a shell",
        ),
        pytest.param(
            (
                {"type": "shell_call", "call_id": "k", "action": {"commands": ["make"]}},
                {
                    "type": "shell_call_output",
                    "call_id": "k",
                    "output": [{"stdout": log("a"), "stderr": "", "outcome": {"type": "timeout"}}],
                },
            ),
            0,
            id="a shell that ran out of time",
        ),
        pytest.param(
            (
                {"type": "apply_patch_call", "call_id": "k", "operation": {"type": "update_file", "path": "a"}},
                {"type": "apply_patch_call_output", "call_id": "k", "status": "completed", "output": LOG},
            ),
            0,
            id="the provider's own patch",
        ),
        pytest.param(
            (
                {"type": "local_shell_call", "call_id": "k", "action": {"type": "exec", "command": ["make"]}},
                {"type": "local_shell_call_output", "id": "k", "output": json.dumps({"output": log()})},
            ),
            0,
            id="a local shell",
        ),
        pytest.param((said("x"), {**ran("k", "make", LOG)[1]}), 0, id="P07: an orphan"),
        pytest.param((*ran("k", "make", LOG), said("done", "assistant"), said("go on")), 0, id="seen already"),
    ],
)
def test_what_is_pressed(items: tuple[Item, ...], pressed: int) -> None:
    assert len(changes(responses(said("go"), *items))) == pressed


SCRIPT = {"type": "custom_tool_call", "call_id": "k", "name": "exec", "input": "text(await tools.exec_command({cmd}))"}
WALL = "Wall time 3.7 seconds\nOutput:\n"


@pytest.mark.parametrize(
    ("parts", "pressed"),
    [
        pytest.param([f"Script completed\n{WALL}", log(lines=1500)], 1, id="it completed"),
        pytest.param([f"Script failed\n{WALL}", log(lines=1500)], 0, id="it failed"),
        pytest.param([f"Script terminated\n{WALL}", log(lines=1500)], 0, id="it was stopped"),
        pytest.param([f"Script completed\n{WALL}" + log(lines=1500)], 1, id="in one text"),
        pytest.param([f"Script failed\n{WALL}" + log(lines=1500)], 0, id="in one text that failed"),
        pytest.param(
            [f"Script completed\n{WALL}" + json.dumps({"exit_code": 2, "output": log(lines=1500)})],
            0,
            id="its command failed",
        ),
    ],
)
def test_a_script_of_codex_is_pressed_where_a_rule_says_so_unless_it_failed(parts: list[str], pressed: int) -> None:
    output = [{"type": "input_text", "text": text} for text in parts]
    body = responses(said("go"), SCRIPT, {"type": "custom_tool_call_output", "call_id": "k", "output": output})
    assert changes(body) == [], "it may have read or changed anything"
    rule = Rule("exec", ("deterministic",), first_pass=True)
    assert len(changes(body, policy=Policy((rule, *DEFAULT_POLICY.rules)))) == pressed


def test_t07_what_the_server_compacted_stays_untouched_and_in_order() -> None:
    old = [said("task"), *ran("k0", "make", LOG), sealed(), *ran("k1", "make b", headed(log("b")))]
    body = responses(*old, COMPACTION, said("go on"), *ran("k2", "make c", headed(log("c"))))
    assert [before for before, _ in changes(body)] == [headed(log("c"))]


@pytest.mark.parametrize("block", ["compaction", "compaction_summary", "context_compaction"])
def test_t07_no_view_points_at_a_result_that_the_server_does_not_look_at(block: str) -> None:
    first, again = ran("k1", "make", LOG), ran("k2", "make", LOG)
    options: dict[str, Any] = {"policy": DEDUPE_LOGS}
    ((_, repeat),) = changes(responses(said("task"), *first, said("so", "assistant"), *again), **options)
    assert len(repeat) < 600, "a repeat points at the first"
    behind = responses(said("task"), *first, {**COMPACTION, "type": block}, *again)
    assert all(len(new) > 600 for _, new in changes(behind, **options))


def test_t07_only_the_items_of_a_stateful_request_are_ours_and_they_go_as_they_came() -> None:
    output = ran("k1", "make", LOG)[1]
    body = responses(output, previous_response_id="resp_1")
    with pressing() as press:
        prepared = press(body, NAME)
    assert prepared.body is body
    assert "pass_through:stateful" in prepared.receipt.notes


def test_a_request_that_ends_with_the_trigger_goes_as_it_came() -> None:
    items = [said("task"), *ran("k1", "make", LOG)]
    with pressing() as press:
        prepared = press(responses(*items, TRIGGER), NAME)
        assert not prepared.changed and "client_compaction" in prepared.receipt.notes
        assert press(responses(*items), NAME).changed
        assert press(responses(*items, TRIGGER, COMPACTION, *ran("k2", "make b", headed(log("b")))), NAME).changed


CHECKPOINT = "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary for another model."


@pytest.mark.parametrize(
    ("tools", "is_compaction"),
    [pytest.param((), True, id="no tools"), pytest.param(("exec_command",), False, id="tools")],
)
def test_codexs_own_summary_is_told_from_a_user_who_speaks_of_it(tools: tuple[str, ...], is_compaction: bool) -> None:
    body = responses(said("task"), *ran("k1", "make", LOG), said(CHECKPOINT), tools=tools)
    with pressing() as press:
        prepared = press(body, NAME)
    assert ("client_compaction" in prepared.receipt.notes) == is_compaction
    assert prepared.changed != is_compaction


def test_p09_an_unanswered_call_stays_and_the_others_are_pressed() -> None:
    body = responses(said("go"), ran("call_P", "ls", "")[0], *ran("k1", "make", LOG))
    ((old, _),) = changes(body)
    assert old == LOG


def test_n07_what_the_command_itself_left_out_is_no_saving_of_ours() -> None:
    body = responses(said("go"), *ran("k1", "make 2>&1 | head -5", headed(log(lines=5))))
    with pressing() as press:
        prepared = press(body, NAME)
    receipt = prepared.receipt
    assert (prepared.body is body, receipt.sent_bytes, receipt.removed_tokens or 0) == (True, len(body), 0)
    assert not [line for line in receipt.lines if line.reason == "pressed"]


def test_a_late_result_is_pressed_like_any_other() -> None:
    asked, given = ran("k1", "make", LOG)
    body = responses(said("go"), asked, said("meanwhile"), sealed(), *ran("k2", "ls", "a"), given)
    assert texts(body, NAME) == ["a", LOG]
    assert len(literals(conversation(body, NAME))) == 2
    assert [old for old, _ in changes(body)] == [LOG]
