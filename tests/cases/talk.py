"""Write requests and outputs for the cases, short enough to be read beside what they are about."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from coldpress.engine.policy import DEFAULT_POLICY, Policy, Rule

Json = dict[str, Any]
TOOLS = ("Bash", "Read", "Grep", "Glob", "WebFetch", "Edit", "Task")

DEDUPE_LOGS = Policy((Rule("kind:shell", ("dedupe",), first_pass=True), *DEFAULT_POLICY.rules))
"""As the default, but shell output is compared with the same command's earlier output."""


def log(name: str = "one", lines: int = 600) -> str:
    """A large log of a command that succeeded; every name gives another one."""
    return "\n".join(f"step {i:4} of {name}: built module_{i} from src/{name}/{i % 17}/part.c" for i in range(lines))


def listing(name: str = "one", lines: int = 400, first: int = 1) -> str:
    """A file as a reading tool shows it: numbered, with padding."""
    return "\n".join(f"{n:6}\t{name}_{n} = {n * 7 % 50}" for n in range(first, first + lines))


def user(*blocks: Json | str) -> Json:
    """A user's message."""
    return {"role": "user", "content": [text(b) if isinstance(b, str) else b for b in blocks]}


def assistant(*blocks: Json | str) -> Json:
    """A model's message."""
    return {"role": "assistant", "content": [text(b) if isinstance(b, str) else b for b in blocks]}


def text(said: str) -> Json:
    """A text block."""
    return {"type": "text", "text": said}


def use(call: str, tool: str = "Bash", **arguments: object) -> Json:
    """A tool call."""
    return {"type": "tool_use", "id": call, "name": tool, "input": arguments or {"command": f"make {call}"}}


def result(call: str, content: object, **more: object) -> Json:
    """A tool result."""
    return {"type": "tool_result", "tool_use_id": call, "content": content, **more}


def messages(*listed: Json, tools: Sequence[str] = TOOLS, **top: object) -> bytes:
    """A Messages request in compact JSON, messages first."""
    body = {
        "model": "claude-sonnet-4-6",
        "messages": list(listed),
        "system": [{"type": "text", "text": "You are an agent."}],
        "tools": [{"name": n, "input_schema": {"type": "object"}} for n in tools],
        "max_tokens": 1000,
        **top,
    }
    return dump(body)


def chat_calls(*calls: tuple[str, str, Json]) -> Json:
    """A model's message with calls: id, tool, arguments."""
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for i, n, a in calls
        ],
    }


def chat_result(call: str, content: object) -> Json:
    """A tool's message."""
    return {"role": "tool", "tool_call_id": call, "content": content}


def chat(*listed: Json, tools: Sequence[str] = TOOLS, **top: object) -> bytes:
    """A Chat Completions request in compact JSON."""
    offered = [{"type": "function", "function": {"name": n, "parameters": {"type": "object"}}} for n in tools]
    return dump({"model": "gpt-5-mini", "messages": list(listed), "tools": offered, **top})


def dump(value: object) -> bytes:
    """Compact JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def one_result(content: object, tool: str = "Bash", *, tools: Sequence[str] = TOOLS, **arguments: object) -> bytes:
    """A request whose only tool result is the given one."""
    return messages(user("go"), assistant(use("t1", tool, **arguments)), user(result("t1", content)), tools=tools)
