"""A small agent on the official openai SDK (Chat Completions): run the model's calls until it answers with text."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import openai
from agent_tools import TOOLS, run

MODEL = "gpt-5-mini"
MAX_TURNS = 60


def main(url: str, key: str, task: str, *, stream: bool) -> None:
    """Work on a task and print the answer."""
    client = openai.OpenAI(base_url=f"{url}/v1", api_key=key)
    messages: list[Any] = [{"role": "system", "content": "You are a coding agent."}, {"role": "user", "content": task}]
    tools: Any = [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.schema}}
        for t in TOOLS
    ]
    for _ in range(MAX_TURNS):
        if stream:
            message = _gathered(
                client.chat.completions.create(
                    model=MODEL, messages=messages, tools=tools, stream=True, stream_options={"include_usage": True}
                )
            )
        else:
            reply = client.chat.completions.create(model=MODEL, messages=messages, tools=tools)
            message = reply.choices[0].message.model_dump(exclude_none=True)
        messages.append(message)
        calls = message.get("tool_calls", [])
        if not calls:
            print(message["content"])
            return
        for call in calls:
            done = run(call["function"]["name"], json.loads(call["function"]["arguments"]), Path.cwd())
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.text})
    sys.exit(f"no answer after {MAX_TURNS} turns")


def _gathered(chunks: Any) -> dict[str, Any]:
    """Put the deltas of a streamed reply together to the message that a plain reply would hold."""
    text, calls = "", dict[int, dict[str, Any]]()
    for chunk in chunks:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for piece in choice.delta.tool_calls or ():
                call = calls.setdefault(
                    piece.index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
                )
                call["id"] = call["id"] or piece.id or ""
                call["function"]["name"] = call["function"]["name"] or piece.function.name or ""
                call["function"]["arguments"] += piece.function.arguments or ""
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    return {**message, "tool_calls": list(calls.values())} if calls else message


if __name__ == "__main__":
    plain = [argument for argument in sys.argv[1:] if argument != "--stream"]
    main(*plain, stream="--stream" in sys.argv)
