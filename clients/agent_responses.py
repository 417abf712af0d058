"""A small agent on the official openai SDK (Responses, no state at the server): run calls until text is answered."""

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
    items: list[Any] = [{"role": "user", "content": task}]
    tools: Any = [
        {"type": "function", "name": t.name, "description": t.description, "parameters": t.schema} for t in TOOLS
    ]
    asked: dict[str, Any] = {
        "model": MODEL,
        "instructions": "You are a coding agent.",
        "tools": tools,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low"},
        "prompt_cache_key": "store-room",
    }
    for _ in range(MAX_TURNS):
        if stream:
            with client.responses.stream(input=items, **asked) as events:
                reply = events.get_final_response()
        else:
            reply = client.responses.create(input=items, **asked)
        items += [item.model_dump(exclude_none=True) for item in reply.output]
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            print(reply.output_text)
            return
        for call in calls:
            done = run(call.name, json.loads(call.arguments), Path.cwd())
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": done.text})
    sys.exit(f"no answer after {MAX_TURNS} turns")


if __name__ == "__main__":
    plain = [argument for argument in sys.argv[1:] if argument != "--stream"]
    main(*plain, stream="--stream" in sys.argv)
