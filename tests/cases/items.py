"""Write requests of Responses as Codex does, short enough to be read beside what they are about."""

from __future__ import annotations

import json
from typing import Any

from cases.talk import dump

Item = dict[str, Any]
NAMES = ("exec_command", "write_stdin", "apply_patch", "shell", "update_plan")


def responses(*items: Item, tools: tuple[str, ...] = NAMES, **top: object) -> bytes:
    """A whole request in compact JSON, the input in front of the tools."""
    offered = [{"type": "function", "name": name, "parameters": {"type": "object"}} for name in tools]
    return dump({"model": "gpt-5-codex", "stream": True, "input": list(items), "tools": offered, "store": False, **top})


def said(text: str, role: str = "user") -> Item:
    """A message."""
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def sealed(number: int = 0) -> Item:
    """Reasoning that only its model can read."""
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"gAAAA{number}"}


def ran(call: str, cmd: str, text: object, name: str = "exec_command") -> tuple[Item, Item]:
    """A command with what it printed."""
    arguments = json.dumps({"cmd": cmd})
    asked = {"type": "function_call", "id": f"fc_{call}", "name": name, "arguments": arguments, "call_id": call}
    return asked, {"type": "function_call_output", "call_id": call, "output": text}


def headed(text: str, code: int = 0) -> str:
    """What Codex puts in front of what a command printed."""
    top = f"Chunk ID: 9f21c0\nWall time: 1.2000 seconds\nProcess exited with code {code}\nOriginal token count: 812\n"
    return f"{top}Output:\n{text}"


COMPACTION: Item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAcompacted"}
TRIGGER: Item = {"type": "compaction_trigger"}
