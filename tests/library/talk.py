"""Conversations of an agent in both formats, one request after the other, with results worth pressing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
ANTHROPIC_TOOLS: list[Any] = [{"name": "Bash", "description": "Run a command.", "input_schema": SCHEMA}]
CHAT_TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "Bash", "description": "Run a command.", "parameters": SCHEMA}}
]


def log(command: str, lines: int = 900) -> str:
    """The output of a command that succeeded, long enough to be pressed."""
    return "\n".join(f"{command}: unit {number} of {lines} compiled" for number in range(lines))


COMMANDS = ("make", "make docs", "ls", "make check")
SHORT = {"ls": "Makefile  docs  src"}


def output(command: str) -> str:
    return SHORT.get(command) or log(command)


def anthropic_talk() -> Iterator[list[Any]]:
    messages: list[Any] = [{"role": "user", "content": "Build it. Amount: 1.0, naïve 日本 \u2028 \x00."}]
    yield list(messages)
    for number, command in enumerate(COMMANDS):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command, "n": 2**70}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output(command)}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        yield list(messages)


def chat_talk() -> Iterator[list[Any]]:
    messages: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Build it."}]
    yield list(messages)
    for number, command in enumerate(COMMANDS):
        call = {
            "id": f"t{number}",
            "type": "function",
            "function": {"name": "Bash", "arguments": f'{{"command": "{command}"}}'},
        }
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"t{number}", "content": output(command)},
        ]
        yield list(messages)
