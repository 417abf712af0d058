"""The two tools of the small SDK agents: a shell and a file reader."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

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


def _tool(name: str, description: str, argument: str) -> Tool:
    properties = {argument: {"type": "string"}}
    schema: dict[str, object] = {"type": "object", "properties": properties, "required": [argument]}
    return Tool(name, description, schema)


TOOLS = (
    _tool("bash", "Run a shell command and get its output.", "command"),
    _tool("read_file", "Read a file with line numbers.", "path"),
)


def run(tool: str, arguments: dict[str, str], folder: Path) -> Done:
    """Run one call in a folder."""
    if tool == "read_file":
        lines = (folder / arguments["path"]).read_text(encoding="utf-8").splitlines()
        return Done("\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, 1)), False)
    done = subprocess.run(
        ["sh", "-c", arguments["command"]], cwd=folder, text=True, timeout=LIMIT_SECONDS, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return Done(done.stdout, done.returncode != 0)
