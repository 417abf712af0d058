"""Record the session that `coldpress demo` plays: an agent's scripted steps, answered by really running them.

    python tools/record_demo.py [OUTPUT]

The steps stand in `demo_story.py`. This script copies the repository's own code into a temporary directory, runs
every call there (bash, grep, files, pytest), and writes the recording in the format of
`coldpress.lab.importers.recording`. Times are made up and fixed; paths of this machine become `/demo`, durations
become one fixed number. A call that fails where the story says it works, or the other way round, stops the recording.
Needs git, grep and the packages of the `test` extra.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from demo_story import STORY, SYSTEM, Call

REPOSITORY = Path(__file__).resolve().parents[1]
OUTPUT = REPOSITORY / "src" / "coldpress" / "demo" / "recording.json"
MODEL = "claude-sonnet-4-5-20250929"
MAX_TOKENS = 8192
STARTED_AT = 1767603600.0
MAX_BYTES = 400_000
LIMIT_SECONDS = 300
CLIENT_CUTS_AT = 30_000


def main(output: Path) -> None:
    """Record the session and write it."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder).resolve() / "demo")
        turns = record(workspace)
    recording = {
        "format": "coldpress recording 1",
        "session": "demo",
        "model": MODEL,
        "system": SYSTEM,
        "max_tokens": MAX_TOKENS,
        "tools": TOOLS,
        "turns": turns,
    }
    text = json.dumps(recording, ensure_ascii=False, indent=1) + "\n"
    for trace in (folder, str(REPOSITORY), str(Path.home()), socket.gethostname(), sys.prefix, sys.base_prefix):
        if len(trace) > 2 and trace in text:
            sys.exit(f"the recording would name this machine: {trace!r}; normalise it in clean()")
    if re.search(rf"/home/{re.escape(getpass.getuser())}\b", text):
        sys.exit("the recording would name this user; normalise it in clean()")
    if len(text.encode()) > MAX_BYTES:
        sys.exit(
            f"the recording has {len(text.encode())} bytes, at most {MAX_BYTES} go into the wheel; shorten the story"
        )
    output.write_text(text, encoding="utf-8")
    print(f"{output}: {len(turns)} turns, {len(text.encode())} bytes")


def record(workspace: Workspace) -> list[dict[str, object]]:
    """Play the story; the clock is made up from the sizes, so that a second recording has the same times."""
    turns: list[dict[str, object]] = []
    results: list[dict[str, object]] = []
    clock = STARTED_AT
    for number, step in enumerate(STORY):
        clock += step.pause_seconds
        added = [*results] + ([{"type": "text", "text": step.prompt}] if step.prompt else [])
        ids = [f"toolu_demo_{number:02d}_{at}" for at in range(len(step.calls))]
        reply: list[dict[str, object]] = [{"type": "text", "text": step.say}]
        reply += [
            {"type": "tool_use", "id": ids[at], "name": call.tool, "input": call.arguments}
            for at, call in enumerate(step.calls)
        ]
        replied_at = clock + 4 + len(json.dumps(reply)) // 200
        turns.append(
            {
                "sent_at": clock,
                "replied_at": replied_at,
                "added": [{"role": "user", "content": added}],
                "reply": {"role": "assistant", "content": reply},
            }
        )
        results = [workspace.answer(call, call_id) for call, call_id in zip(step.calls, ids, strict=True)]
        clock = replied_at + 2
    return turns


class Workspace:
    """A copy of the repository's code, under version control, and the agent's tools in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        ignore = shutil.ignore_patterns("__pycache__", "*.json")
        for folder in ("src", "tests"):
            shutil.copytree(REPOSITORY / folder, root / folder, ignore=ignore)
        (root / "tests" / "model").mkdir(exist_ok=True)
        for name in ("pyproject.toml", ".gitignore"):
            shutil.copy(REPOSITORY / name, root / name)
        self._bin = root.parent / "bin"
        self._bin.mkdir()
        (self._bin / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (self._bin / "python").chmod(0o755)
        identity = "-c user.name=demo -c user.email=demo@example.org -c init.defaultBranch=main"
        self._shell(
            f"git {identity} init -q && git add -A && git {identity} commit -q -m 'Start' --date 2026-01-05T00:00:00Z"
        )

    def answer(self, call: Call, call_id: str) -> dict[str, object]:
        """Run one call and write its result as Claude Code does."""
        run = {
            "Bash": self._bash,
            "Read": self._read,
            "Grep": self._grep,
            "Glob": self._glob,
            "Edit": self._edit,
            "Write": self._write,
        }
        text, failed = run[call.tool](call.arguments)
        if failed != call.fails:
            sys.exit(f"{call.tool} {call.arguments} was to {'fail' if call.fails else 'work'}:\n{text[-3000:]}")
        return {"tool_use_id": call_id, "type": "tool_result", "content": self._clean(text), "is_error": failed}

    def _shell(self, command: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": f"{self._bin}:{os.environ['PATH']}",
            "HOME": str(self.root.parent),
            "PYTHONPATH": "src",
            "PYTHONDONTWRITEBYTECODE": "1",
            "LC_ALL": "C.UTF-8",
            "COLUMNS": "120",
            "TERM": "dumb",
        }
        return subprocess.run(
            ["bash", "-c", command], cwd=self.root, env=environment, text=True, timeout=LIMIT_SECONDS, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def _bash(self, arguments: dict[str, object]) -> tuple[str, bool]:
        done = self._shell(str(arguments["command"]))
        text = done.stdout.rstrip("\n")
        if len(text) > CLIENT_CUTS_AT:
            sys.exit(
                f"{arguments['command']} printed {len(text)} characters; a real client would have cut that: run less"
            )
        return (f"Exit code {done.returncode}\n{text}", True) if done.returncode else (text, False)

    def _read(self, arguments: dict[str, object]) -> tuple[str, bool]:
        lines = (self.root / str(arguments["file_path"])).read_text(encoding="utf-8").split("\n")
        first = int(str(arguments.get("offset", 1)))
        shown = lines[first - 1 : first - 1 + int(str(arguments.get("limit", 2000)))]
        return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(shown, first)), False

    def _grep(self, arguments: dict[str, object]) -> tuple[str, bool]:
        command = ["grep", "-rnE", "--include=*.py", "--", str(arguments["pattern"]), str(arguments["path"])]
        done = subprocess.run(command, cwd=self.root, text=True, capture_output=True, check=False)
        return "\n".join(sorted(done.stdout.splitlines(), key=_place)), done.returncode != 0

    def _glob(self, arguments: dict[str, object]) -> tuple[str, bool]:
        found = sorted((self.root / str(arguments["path"])).glob(str(arguments["pattern"])))
        return "\n".join(str(path) for path in found), not found

    def _edit(self, arguments: dict[str, object]) -> tuple[str, bool]:
        path = self.root / str(arguments["file_path"])
        text, old = path.read_text(encoding="utf-8"), str(arguments["old_string"])
        if text.count(old) != 1:
            return (
                f"<tool_use_error>String to replace found {text.count(old)} times.\nString: {old}</tool_use_error>",
                True,
            )
        path.write_text(text.replace(old, str(arguments["new_string"])), encoding="utf-8")
        return f"The file {path} has been updated successfully.", False

    def _write(self, arguments: dict[str, object]) -> tuple[str, bool]:
        path = self.root / str(arguments["file_path"])
        path.write_text(str(arguments["content"]), encoding="utf-8")
        return f"File created successfully at: {path}", False

    def _clean(self, text: str) -> str:
        """Take this machine's paths and the time that things took out of an output."""
        text = text.replace(str(self.root), "/demo").replace(sys.executable, "/usr/bin/python3")
        text = text.replace(sys.prefix, "/usr").replace(sys.base_prefix, "/usr")
        return re.sub(r"\bin \d+\.\d+s( \(\d+:\d\d:\d\d\))?", "in 5.00s", text)


def _place(line: str) -> tuple[str, int]:
    """Sort hits by file and line number: grep walks a folder in the file system's order."""
    path, number, _ = line.split(":", 2)
    return path, int(number)


def _tool(name: str, description: str, required: tuple[str, ...], **properties: str) -> dict[str, object]:
    fields = {key: {"type": kind} for key, kind in properties.items()}
    return {
        "name": name,
        "description": description,
        "input_schema": {"type": "object", "properties": fields, "required": list(required)},
    }


TOOLS = [
    _tool("Bash", "Run a shell command in the working directory and get its output.", ("command",), command="string"),
    _tool(
        "Edit",
        "Replace a text that occurs once in a file.",
        ("file_path", "old_string", "new_string"),
        file_path="string",
        old_string="string",
        new_string="string",
    ),
    _tool("Glob", "List the files whose path fits a pattern.", ("pattern",), pattern="string", path="string"),
    _tool(
        "Grep",
        "Search files for a regular expression.",
        ("pattern",),
        pattern="string",
        path="string",
        output_mode="string",
        **{"-n": "boolean"},
    ),
    _tool(
        "Read",
        "Read a file, or `limit` lines of it from line `offset` on, with line numbers.",
        ("file_path",),
        file_path="string",
        offset="integer",
        limit="integer",
    ),
    _tool("Write", "Write a file.", ("file_path", "content"), file_path="string", content="string"),
]

if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT)
