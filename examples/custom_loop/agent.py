"""A complete agent loop of your own: a model, two tools, the whole history in a list, and coldpress in three lines.

    ANTHROPIC_API_KEY=... python examples/custom_loop/agent.py "Find out why the build fails."

`--url` points it at any endpoint that speaks Anthropic Messages, `--window` sets the window it must fit into.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import anthropic

from coldpress import Session

MODEL = "claude-sonnet-4-6"
SYSTEM = "You are a careful engineer. Work in the current folder, step by step, and say when you are done."
MOST_TURNS = 200
CACHED: Any = {"type": "ephemeral"}
"""Asks the provider to keep the prompt; coldpress keeps its beginning the same from request to request."""

TOOLS: list[Any] = [
    {
        "name": "bash",
        "description": "Run a shell command and get its output.",
        "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    },
    {
        "name": "recall",
        "description": "Get the whole text of an earlier result that is shown shortened, by its SHA-256.",
        "input_schema": {"type": "object", "properties": {"sha": {"type": "string"}}, "required": ["sha"]},
    },
]


class Compactor(Protocol):
    """What the loop asks of coldpress; without it, hand the history on."""

    def compact(
        self, messages: Sequence[Any], *, system: object, tools: object, extra: Mapping[str, object]
    ) -> list[Any]:
        """Give the messages to send."""

    def observe(self, reply: object) -> None:
        """Learn from the reply."""

    def recall(self, sha: str) -> str:
        """Give an original back."""


@dataclass(frozen=True, slots=True)
class Run:
    """How a task went: the answer, and every message as it was said, nothing left out."""

    answer: str
    history: list[Any]


def work(task: str, client: anthropic.Anthropic, session: Compactor, folder: Path) -> Run:
    """Work on a task until the model answers without calling a tool.

    Raises:
        anthropic.APIError: the provider refused a request, such as one that is longer than the window.
        TimeoutError: there was no answer after `MOST_TURNS` turns.
    """
    history: list[Any] = [{"role": "user", "content": task}]
    for _ in range(MOST_TURNS):
        shown = session.compact(history, system=SYSTEM, tools=TOOLS, extra={"cache_control": CACHED})
        reply = client.messages.create(
            model=MODEL, max_tokens=8_000, system=SYSTEM, tools=TOOLS, messages=shown, cache_control=CACHED
        )
        session.observe(reply)
        history.append({"role": "assistant", "content": reply.content})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return Run("".join(block.text for block in reply.content if block.type == "text"), history)
        history.append({"role": "user", "content": [_result(call, session, folder) for call in calls]})
    raise TimeoutError(f"no answer after {MOST_TURNS} turns")


def _result(call: Any, session: Compactor, folder: Path) -> dict[str, Any]:
    text, failed = _run(call.name, call.input, session, folder)
    return {"type": "tool_result", "tool_use_id": call.id, "content": text or "(no output)", "is_error": failed}


def _run(tool: str, arguments: dict[str, str], session: Compactor, folder: Path) -> tuple[str, bool]:
    if tool == "recall":
        return session.recall(arguments["sha"]), False
    done = subprocess.run(["sh", "-c", arguments["command"]], cwd=folder, text=True, capture_output=True, check=False)
    return done.stdout + done.stderr, done.returncode != 0


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and run one task."""
    parser = argparse.ArgumentParser(description="A small agent that does not outgrow its window.")
    parser.add_argument("task")
    parser.add_argument("--url", default=None, help="base URL of the API, without /v1")
    parser.add_argument("--window", type=int, default=None, help="effective window in tokens")
    parser.add_argument("--store", default=None, help="file to keep originals and receipts in, else memory")
    asked = parser.parse_args(arguments)
    client = anthropic.Anthropic(base_url=asked.url, api_key=os.environ.get("ANTHROPIC_API_KEY"))
    with Session(MODEL, window_tokens=asked.window, store_path=asked.store) as session:
        print(work(asked.task, client, session, Path.cwd()).answer)


if __name__ == "__main__":
    main()
