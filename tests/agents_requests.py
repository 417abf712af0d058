"""Requests of a tool-calling agent in both formats, as long as a test wants them."""

from __future__ import annotations

import json
from typing import Any

from testing.wires import CHAT_TOOLS, TOOLS

Json = dict[str, Any]
MARK = {"type": "ephemeral"}
OUTPUT = "one line of output that a tool gave back\n" * 60


def anthropic(turns: int, *, marks: bool = True, **more: Any) -> Json:
    """A conversation with one tool call a turn, and the client's marks on the system and the last message."""
    listed: list[Json] = [{"role": "user", "content": "Make the parser accept the key."}]
    for turn in range(turns):
        call = {"type": "tool_use", "id": f"toolu_{turn}", "name": "bash", "input": {"command": f"step {turn}"}}
        result: Json = {"type": "tool_result", "tool_use_id": f"toolu_{turn}", "content": f"{turn}: {OUTPUT}"}
        if marks and turn == turns - 1:
            result["cache_control"] = MARK
        listed += [
            {"role": "assistant", "content": [{"type": "text", "text": f"Step {turn}."}, call]},
            {"role": "user", "content": [result]},
        ]
    system = [{"type": "text", "text": "You are an agent. " * 50, "cache_control": MARK}]
    head = {"model": "claude-sonnet-4-5", "max_tokens": 8000, "system": system, "tools": TOOLS}
    return {**head, "messages": listed, "stream": True, **more}


def chat(turns: int, **more: Any) -> Json:
    listed: list[Json] = [
        {"role": "system", "content": "You are an agent. " * 50},
        {"role": "user", "content": "Make the parser accept the key."},
    ]
    for turn in range(turns):
        function = {"name": "bash", "arguments": json.dumps({"command": f"step {turn}"})}
        call = {"id": f"call_{turn}", "type": "function", "function": function}
        listed += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{turn}", "content": f"{turn}: {OUTPUT}"},
        ]
    asked = {"stream": True, "stream_options": {"include_usage": True}}
    return {"model": "gpt-5-mini", "tools": CHAT_TOOLS, "messages": listed, **asked, **more}
