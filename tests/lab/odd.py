"""One short run, as each program records it, with a place for a text that is odd."""

from __future__ import annotations

import json
from collections.abc import Callable

TEXT = "ODD"
"""What stands in every text, name, id and argument, to be replaced by what is odd."""

FIRST = "2026-01-01T00:00:01Z"
"""The time of the first thing said, where the program writes ISO 8601."""

_CHAT = [
    {"role": "system", "content": f"Be {TEXT}."},
    {"role": "user", "content": f"Mend {TEXT}."},
    {
        "role": "assistant",
        "content": f"I look {TEXT}.",
        "tool_calls": [
            {
                "id": f"c{TEXT}",
                "type": "function",
                "function": {"name": f"read{TEXT}", "arguments": json.dumps({"path": f"a{TEXT}.py"})},
            }
        ],
    },
    {"role": "tool", "tool_call_id": f"c{TEXT}", "content": f"x = 1 {TEXT}"},
    {"role": "assistant", "content": f"Done {TEXT}."},
]


def _lines(*found: object) -> str:
    return "".join(json.dumps(one) + "\n" for one in found)


def blocks() -> list[list[dict[str, object]]]:
    """The run's messages after the system's, in Anthropic's form."""
    call = {"type": "tool_use", "id": f"c{TEXT}", "name": f"read{TEXT}", "input": {"path": f"a{TEXT}.py"}}
    result = {"type": "tool_result", "tool_use_id": f"c{TEXT}", "content": f"x = 1 {TEXT}", "is_error": False}
    return [
        [{"type": "text", "text": f"Mend {TEXT}."}],
        [{"type": "text", "text": f"I look {TEXT}."}, call],
        [result],
        [{"type": "text", "text": f"Done {TEXT}."}],
    ]


def claude_code(said: list[list[dict[str, object]]] | None = None) -> str:
    lines = []
    for at, content in enumerate(said or blocks()):
        kind = "assistant" if at % 2 else "user"
        message = {"role": kind, "content": content, **({"id": f"m{at}", "model": "claude-opus-4-6"} if at % 2 else {})}
        parent = f"u{at - 1}" if at else None
        line = {"type": kind, "uuid": f"u{at}", "parentUuid": parent, "sessionId": "s", "message": message}
        lines.append({**line, "timestamp": FIRST if at == 0 else f"2026-01-01T00:01:0{at}Z"})
    return _lines(*lines)


def anthropic_chat(said: list[list[dict[str, object]]] | None = None) -> str:
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": content} for at, content in enumerate(said or blocks())]
    return json.dumps({"messages": messages})


def coldpress(said: list[list[dict[str, object]]] | None = None) -> str:
    given = said or blocks()
    turns = [
        {
            "sent_at": 10.0 * at + 1,
            "replied_at": 10.0 * at + 5,
            "added": [{"role": "user", "content": given[at]}],
            "reply": {"role": "assistant", "content": given[at + 1]},
        }
        for at in (0, 2)
    ]
    head = {"format": "coldpress recording 1", "session": "s", "model": "claude-opus-4-6", "system": f"Be {TEXT}."}
    tool = {"name": f"read{TEXT}", "description": TEXT, "input_schema": {"type": "object"}}
    return json.dumps({**head, "max_tokens": 1000, "tools": [tool], "turns": turns})


def _pi() -> str:
    def entry(at: int, message: dict[str, object]) -> dict[str, object]:
        stamp = FIRST if at == 1 else f"2026-01-01T00:01:0{at}Z"
        return {"type": "message", "id": f"e{at}", "parentId": f"e{at - 1}" if at > 1 else None, "timestamp": stamp,
                "message": message}  # fmt: skip

    call = {"type": "toolCall", "id": f"c{TEXT}", "name": f"read{TEXT}", "arguments": {"path": f"a{TEXT}.py"}}
    text = {"type": "text", "text": f"Mend {TEXT}."}
    return _lines(
        {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"},
        entry(1, {"role": "user", "content": [text]}),
        entry(2, {"role": "assistant", "content": [text, call], "model": "claude-opus-4-6", "stopReason": "toolUse"}),
        entry(3, {"role": "toolResult", "toolCallId": f"c{TEXT}", "content": [text], "isError": False}),
        entry(4, {"role": "assistant", "content": [text], "model": "claude-opus-4-6", "stopReason": "stop"}),
    )


def _codex() -> str:
    def item(at: int, kind: str, **fields: object) -> dict[str, object]:
        stamp = FIRST if at == 1 else f"2026-01-01T00:01:0{at}Z"
        return {"timestamp": stamp, "type": "response_item", "payload": {"type": kind, **fields}}

    arguments = json.dumps({"path": f"a{TEXT}.py"})
    said = [{"type": "output_text", "text": f"Done {TEXT}."}]
    return _lines(
        {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/w"}},
        item(1, "message", role="user", content=[{"type": "input_text", "text": f"Mend {TEXT}."}]),
        item(2, "function_call", call_id=f"c{TEXT}", name=f"read{TEXT}", arguments=arguments),
        item(3, "function_call_output", call_id=f"c{TEXT}", output=f"x = 1 {TEXT}"),
        item(4, "message", role="assistant", content=said),
    )


def _openhands() -> str:
    response = {"id": "r1", "choices": [{"message": _CHAT[2]}]}
    told = {"function_name": f"read{TEXT}", "tool_call_id": f"c{TEXT}", "model_response": response}
    history: list[dict[str, object]] = [
        {"id": 0, "timestamp": FIRST, "source": "user", "action": "message", "args": {"content": f"Mend {TEXT}."}},
        {"id": 1, "source": "agent", "action": "read", "args": {"path": "a"}, "tool_call_metadata": told},
        {"id": 2, "source": "agent", "observation": "read", "content": f"x {TEXT}", "tool_call_metadata": told,
         "cause": 1},
        {"id": 3, "source": "agent", "action": "message", "args": {"content": f"Done {TEXT}."}},
    ]  # fmt: skip
    return _lines({"instance_id": "i", "history": history})


def _swe_agent() -> str:
    history = [{**one, "agent": "main"} for one in _CHAT]
    steps = [{"action": "a", "observation": "o", "response": history[at]["content"], "thought": ""} for at in (2, 4)]
    return json.dumps({"environment": "e", "history": history, "info": {}, "trajectory": steps})


def _mini_swe_agent() -> str:
    times = [{"extra": {"timestamp": 1767225600.0 + at}} for at in range(len(_CHAT))]
    messages = [{**one, **time} for one, time in zip(_CHAT, times, strict=True)]
    file = {"trajectory_format": "mini-swe-agent-1.1", "info": {"config": {}}, "messages": messages}
    return json.dumps(file).replace(f"read{TEXT}", "bash")  # the program has one tool


def _raw_log() -> str:
    asked = {"model": "claude-opus-4-6", "messages": [{"role": "user", "content": blocks()[0]}]}
    reply = {"type": "message", "id": "m", "role": "assistant", "model": "claude-opus-4-6", "content": blocks()[1]}
    headers = [["anthropic-version", "2023-06-01"]]
    told = {"request_id": "r", "headers": headers}
    # The bodies are text in JSON, and so are escapes in them.
    return _lines(
        {**told, "at": 1767225601.0, "direction": "request", "body": json.dumps(asked)},
        {**told, "at": 1767225602.0, "direction": "reply", "body": json.dumps(reply)},
    )


RUNS: dict[str, tuple[str, Callable[[], str]]] = {
    "claude-code": (".jsonl", claude_code),
    "pi": (".jsonl", _pi),
    "codex": (".jsonl", _codex),
    "openhands": (".jsonl", _openhands),
    "swe-agent": (".traj", _swe_agent),
    "mini-swe-agent": (".traj.json", _mini_swe_agent),
    "chat": (".json", lambda: json.dumps({"messages": _CHAT})),
    "raw-log": (".jsonl", _raw_log),
    "coldpress": (".json", coldpress),
}
"""By kind: how its file's name ends, and what writes it."""
