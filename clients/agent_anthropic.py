"""A small agent on the official anthropic SDK: run the model's calls until it answers with text, and print that."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anthropic
from agent_tools import TOOLS, run

MODEL = "claude-sonnet-4-5"
MAX_TURNS = 60


def main(url: str, key: str, task: str, *, stream: bool) -> None:
    """Work on a task and print the answer."""
    client = anthropic.Anthropic(base_url=url, api_key=key)
    messages: list[Any] = [{"role": "user", "content": task}]
    request: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 2000,
        "system": [{"type": "text", "text": "You are a coding agent.", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": t.name, "description": t.description, "input_schema": t.schema} for t in TOOLS],
    }
    for _ in range(MAX_TURNS):
        if stream:
            with client.messages.stream(messages=messages, **request) as events:
                reply = events.get_final_message()
        else:
            reply = client.messages.create(messages=messages, **request)
        messages.append({"role": "assistant", "content": reply.content})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            print("".join(block.text for block in reply.content if block.type == "text"))
            return
        messages.append({"role": "user", "content": [_answer(call.id, call.name, call.input) for call in calls]})
    sys.exit(f"no answer after {MAX_TURNS} turns")


def _answer(call: str, tool: str, arguments: Any) -> dict[str, object]:
    done = run(tool, arguments, Path.cwd())
    return {"type": "tool_result", "tool_use_id": call, "content": done.text, "is_error": done.failed}


if __name__ == "__main__":
    plain = [argument for argument in sys.argv[1:] if argument != "--stream"]
    main(*plain, stream="--stream" in sys.argv)
