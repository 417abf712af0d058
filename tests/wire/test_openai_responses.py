"""Every item of a Responses request is read for what it is: what may be pressed, what failed, what is carried."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldpress.model.conversation import Conversation, Opaque, Role, Text, ToolCall, ToolResult
from coldpress.wire.prefix import Reader


def responses(*items: Any, **top: Any) -> Conversation:
    body = json.dumps({"model": "gpt-5-codex", "input": list(items), **top}).encode()
    return Reader[None](seed=1).read(body, "openai_responses", None).conversation


def only_result(*items: Any) -> tuple[Conversation, ToolResult]:
    found = responses(*items)
    ((_, result),) = (one for message in found.messages for one in message.results)
    return found, result


def call(call_id: str | None = "k1", name: str = "exec_command", **more: Any) -> dict[str, Any]:
    named = {} if call_id is None else {"call_id": call_id}
    return {"type": "function_call", "name": name, "arguments": '{"cmd":"ls"}', **named, **more}


def output(call_id: str | None = "k1", text: Any = "r", **more: Any) -> dict[str, Any]:
    named = {} if call_id is None else {"call_id": call_id}
    return {"type": "function_call_output", "output": text, **named, **more}


EXIT_0 = {"type": "exit", "exit_code": 0}
EXIT_2 = {"type": "exit", "exit_code": 2}
TIMEOUT = {"type": "timeout"}


@pytest.mark.parametrize(
    ("item", "name", "arguments"),
    [
        pytest.param(call(), "exec_command", '{"cmd":"ls"}', id="function_call"),
        pytest.param(call(namespace="mcp__github", name="get_issue"), "mcp__github__get_issue", None, id="of a server"),
        pytest.param(call(namespace="mcp__github__", name="get_issue"), "mcp__github__get_issue", None, id="joined"),
        pytest.param(call(namespace="multi_agent_v1", name="spawn_agent"), "spawn_agent", None, id="of a namespace"),
        pytest.param(
            {"type": "custom_tool_call", "call_id": "k", "name": "apply_patch", "input": '*** Begin Patch\n"x"'},
            "apply_patch",
            '*** Begin Patch\n"x"',
            id="custom_tool_call",
        ),
        pytest.param(
            {"type": "shell_call", "call_id": "k", "action": {"commands": ["ls", "pwd"], "timeout_ms": 1}},
            "shell",
            '{"commands": ["ls", "pwd"], "timeout_ms": 1}',
            id="shell_call",
        ),
        pytest.param(
            {"type": "local_shell_call", "id": "lsh", "call_id": "k", "action": {"type": "exec", "command": ["ls"]}},
            "local_shell",
            '{"type": "exec", "command": ["ls"]}',
            id="local_shell_call",
        ),
        pytest.param(
            {"type": "apply_patch_call", "call_id": "k", "operation": {"type": "delete_file", "path": "a"}},
            "apply_patch",
            '{"type": "delete_file", "path": "a"}',
            id="apply_patch_call",
        ),
        pytest.param(
            {"type": "computer_call", "call_id": "k", "action": {"type": "click"}},
            "computer",
            '{"type": "click"}',
            id="computer_call",
        ),
        pytest.param({"type": "function_call"}, "function", "{}", id="a call that names nothing"),
    ],
)
def test_calls(item: dict[str, Any], name: str, arguments: str | None) -> None:
    found = responses(item)
    (block,) = found.messages[0].blocks
    assert isinstance(block, ToolCall) and found.messages[0].role == "assistant"
    assert block.name == name
    assert arguments is None or found.arguments(block) == arguments


PARTS = [
    {"type": "input_text", "text": "one"},
    {"type": "input_image", "image_url": "data:"},
    {"type": "input_text", "text": "two"},
    {"type": "input_file", "file_id": "f"},
    {"type": "part_of_the_future", "text": "not ours"},
]


@pytest.mark.parametrize("kind", ["function_call", "custom_tool_call"])
@pytest.mark.parametrize(
    ("content", "texts", "others"),
    [
        pytest.param("plain", [(0, "plain")], [], id="a string"),
        pytest.param(
            PARTS, [(0, "one"), (2, "two")], ["input_image", "input_file", "part_of_the_future"], id="a list of parts"
        ),
        pytest.param([], [], [], id="an empty list"),
        pytest.param(None, [], [], id="null"),
        pytest.param({"odd": 1}, [], [], id="an object"),
        pytest.param([1, "x"], [], ["not an object", "not an object"], id="parts that are none"),
    ],
)
def test_texts_of_outputs(kind: str, content: Any, texts: list[tuple[int, str]], others: list[str]) -> None:
    made = {"type": kind, "call_id": "k1", "name": "x", "arguments": "{}", "input": "x"}
    found, result = only_result(made, {"type": f"{kind}_output", "call_id": "k1", "output": content})
    assert [(t.part, found.text(t)) for t in result.texts] == texts
    assert [other.kind for other in result.others] == others
    assert result.call is not None and result.failed is None


@pytest.mark.parametrize(
    ("outcomes", "failed"),
    [
        pytest.param([EXIT_0], False, id="exit 0"),
        pytest.param([EXIT_0, EXIT_0], False, id="exit 0 twice"),
        pytest.param([EXIT_2], True, id="exit 2"),
        pytest.param([TIMEOUT], True, id="timeout"),
        pytest.param([EXIT_0, TIMEOUT], True, id="the second ran out of time"),
        pytest.param([None, EXIT_2], True, id="one does not say, the other failed"),
        pytest.param([EXIT_0, None], None, id="one does not say"),
        pytest.param([{"type": "exit"}], None, id="exit without a code"),
        pytest.param([{"type": "exit", "exit_code": None}], None, id="exit code null"),
        pytest.param([{"type": "vanished"}], None, id="an outcome of the future"),
        pytest.param([], None, id="no output"),
    ],
)
def test_shell_outputs(outcomes: list[Any], failed: bool | None) -> None:
    printed = [{"stdout": f"out {n}", "stderr": f"err {n}", "outcome": o} for n, o in enumerate(outcomes)]
    found, result = only_result(
        {"type": "shell_call", "call_id": "k", "action": {"commands": ["a"]}},
        {"type": "shell_call_output", "call_id": "k", "output": printed},
    )
    assert result.failed is failed
    expected = [(2 * n + at, f"{stream} {n}") for n in range(len(outcomes)) for at, stream in enumerate(("out", "err"))]
    assert [(t.part, found.text(t)) for t in result.texts] == expected
    assert len({t.part for t in result.texts}) == len(result.texts)


@pytest.mark.parametrize("printed", ["text", {"stdout": "x"}, [1], [{"stdout": 1, "stderr": None}], None])
def test_odd_shell_outputs_hold_no_text(printed: Any) -> None:
    _, result = only_result(
        {"type": "shell_call", "call_id": "k", "action": {}},
        {"type": "shell_call_output", "call_id": "k", "output": printed},
    )
    assert (result.texts, result.failed) == ((), None)


def test_what_a_local_shell_gave_is_carried_and_names_its_call_by_id() -> None:
    _, result = only_result(
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "k", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "local_shell_call_output", "id": "k", "output": '{"output":"a","metadata":{"exit_code":0}}'},
    )
    assert result.call is not None and result.call.name == "local_shell"
    assert result.texts == () and [o.kind for o in result.others] == ["local_shell_call_output"]


@pytest.mark.parametrize("named", [{"id": "lsh_1"}, {"call_id": "k"}, {"id": "x", "call_id": "k"}])
def test_a_local_shell_call_is_found_by_either_of_its_ids(named: dict[str, str]) -> None:
    _, result = only_result(
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "k", "action": {}},
        {"type": "local_shell_call_output", "output": "{}", **named},
    )
    assert result.call is not None


@pytest.mark.parametrize(("status", "failed"), [("completed", False), ("failed", True), ("incomplete", True)])
def test_patches_tell_whether_they_failed(status: str, failed: bool) -> None:
    _, result = only_result(
        {"type": "apply_patch_call", "call_id": "k", "operation": {}, "status": "completed"},
        {"type": "apply_patch_call_output", "call_id": "k", "status": status, "output": "Success"},
    )
    assert result.failed is failed


@pytest.mark.parametrize(
    ("status", "failed"), [("completed", None), ("in_progress", None), ("incomplete", True), (None, None), (1, None)]
)
def test_an_incomplete_result_failed(status: Any, failed: bool | None) -> None:
    _, result = only_result(call(), output(status=status))
    assert result.failed is failed


def test_an_incomplete_shell_output_failed_whatever_its_commands_say() -> None:
    shell = {"type": "shell_call_output", "call_id": "k", "output": [{"stdout": "x", "outcome": EXIT_0}]}
    _, result = only_result({"type": "shell_call", "call_id": "k"}, {**shell, "status": "incomplete"})
    assert result.failed is True


@pytest.mark.parametrize(
    ("item", "role"),
    [
        ({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gAAA"}, "assistant"),
        ({"type": "compaction", "id": "cmp", "encrypted_content": "gAAA"}, "assistant"),
        ({"type": "context_compaction", "encrypted_content": "gAAA"}, "assistant"),
        ({"type": "web_search_call", "id": "ws", "action": {}}, "assistant"),
        ({"type": "file_search_call", "id": "fs", "results": []}, "assistant"),
        ({"type": "code_interpreter_call", "id": "ci", "outputs": []}, "assistant"),
        ({"type": "image_generation_call", "id": "ig", "result": "AA"}, "assistant"),
        ({"type": "mcp_call", "id": "mcp", "output": "text of a server", "error": None}, "assistant"),
        ({"type": "mcp_list_tools", "id": "mcpl", "tools": []}, "assistant"),
        ({"type": "mcp_approval_request", "id": "mcpr"}, "assistant"),
        ({"type": "mcp_approval_response", "approval_request_id": "mcpr", "approve": True}, "tool"),
        ({"type": "tool_search_call", "call_id": "k", "arguments": {}}, "assistant"),
        ({"type": "tool_search_output", "call_id": "k", "tools": []}, "tool"),
        ({"type": "program", "call_id": "k", "code": "x"}, "assistant"),
        ({"type": "program_output", "call_id": "k", "result": "x"}, "tool"),
        ({"type": "additional_tools", "role": "developer", "tools": []}, "other"),
        ({"type": "configuration_update", "reasoning": {}}, "other"),
        ({"type": "compaction_trigger"}, "other"),
        ({"type": "item_reference", "id": "rs"}, "other"),
        ({"type": "a_call_of_the_future", "text": "not ours"}, "assistant"),
        ({"type": "a_call_of_the_future_output", "output": "not ours"}, "tool"),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else value,
)
def test_other_items_are_carried_with_the_role_of_who_wrote_them(item: dict[str, Any], role: Role) -> None:
    found = responses(item)
    message = found.messages[0]
    assert message.role == role
    assert message.blocks == (Opaque(item["type"]),)
    assert json.loads(found.body[message.span.start : message.span.end]) == item


def test_a_reference_may_leave_its_type_out() -> None:
    assert responses({"id": "msg_1"}).messages[0].blocks == (Opaque("item_reference"),)


@pytest.mark.parametrize(
    ("item", "role", "texts"),
    [
        pytest.param({"role": "user", "content": "hi"}, "user", ["hi"], id="an easy message"),
        pytest.param(
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "a"}, {"type": "input_image"}],
            },
            "user",
            ["a"],
            id="with an image",
        ),
        pytest.param(
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "b"}]},
            "assistant",
            ["b"],
            id="the model's",
        ),
        pytest.param(
            {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
            "assistant",
            [],
            id="a refusal",
        ),
        pytest.param({"role": "developer", "content": "d"}, "system", ["d"], id="the developer's"),
        pytest.param({"role": "critic", "content": "c"}, "other", ["c"], id="a role of the future"),
    ],
)
def test_messages(item: dict[str, Any], role: Role, texts: list[str]) -> None:
    found = responses(item)
    assert found.messages[0].role == role
    assert [found.text(b.literal) for b in found.messages[0].blocks if isinstance(b, Text)] == texts


def test_input_may_be_a_bare_text() -> None:
    found = Reader[None](seed=1).read(b'{"input": "hi"}', "openai_responses", None).conversation
    assert [(m.role, found.text(b.literal)) for m in found.messages for b in m.blocks if isinstance(b, Text)] == [
        ("user", "hi")
    ]


def test_tools_of_a_server_are_offered_under_the_name_their_calls_have() -> None:
    tools = [
        {"type": "namespace", "name": "mcp__github", "tools": [{"type": "function", "name": "get_issue"}]},
        {"type": "namespace", "name": "multi_agent_v1", "tools": [{"type": "function", "name": "wait_agent"}]},
        {"type": "function", "name": "exec_command"},
        {"type": "web_search"},
    ]
    found = responses(call(namespace="mcp__github", name="get_issue"), tools=tools)
    assert found.head.tools == ("mcp__github__get_issue", "wait_agent", "exec_command", "web_search")
