"""The two tools of the small SDK agents: a shell and a file reader."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMIT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as both APIs describe it."""

    name: str
    description: str
    schema: dict[str, object]


@dataclass(frozen=True, slots=True)
class Done:
    """What a tool gave back."""

    text: str
    failed: bool


_TEXT = {"type": "string"}


def _tool(name: str, description: str, argument: str, **optional: object) -> Tool:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {argument: _TEXT, **optional},
        "required": [argument],
        "additionalProperties": False,
    }
    return Tool(name, description, schema)


TOOLS = (
    _tool(
        "bash", "Run a shell command and get its output.", "command",
        timeout={"type": "number"}, env={"type": "object", "additionalProperties": _TEXT},
    ),
    _tool("read_file", "Read a file with line numbers.", "path"),
)  # fmt: skip


def run(tool: str, arguments: dict[str, Any], folder: Path) -> Done:
    """Run one call in a folder, if its arguments are those that the tool takes."""
    if (wrong := _wrong(tool, arguments)) is not None:
        return Done(f"InputValidationError: {wrong}", True)
    if tool == "read_file":
        lines = (folder / arguments["path"]).read_text(encoding="utf-8").splitlines()
        return Done("\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, 1)), False)
    done = subprocess.run(
        ["sh", "-c", arguments["command"]], cwd=folder, text=True, check=False,
        timeout=min(arguments.get("timeout", LIMIT_SECONDS), LIMIT_SECONDS),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **arguments.get("env", {})},
    )  # fmt: skip
    return Done(done.stdout, done.returncode != 0)


def _wrong(tool: str, arguments: dict[str, Any]) -> str | None:
    """Say what does not fit the tool's schema; `None` where all does."""
    allowed = {"read_file": {"path": str}, "bash": {"command": str, "timeout": int | float, "env": dict}}.get(tool)
    if allowed is None:
        return f"there is no tool {tool}"
    for name, value in arguments.items():
        if name not in allowed:
            return f"unknown parameter {name}"
        if not isinstance(value, allowed[name]):
            return f"{name} is {value!r}"
    lacking = {"read_file": "path", "bash": "command"}[tool]
    return None if lacking in arguments else f"{lacking} is missing"
