"""Recordings of Claude Code sessions for the commands that replay them."""

from __future__ import annotations

import json
from pathlib import Path

from lab.recording import Session

MODEL = "claude-sonnet-4-5"


def log(number: int, lines: int = 260) -> str:
    """A test run's output, as long as such outputs are."""
    said = [f"tests/test_{number}.py::test_case_{line} PASSED [{line * 100 // lines:3d}%]" for line in range(lines)]
    return "\n".join(("collected 260 items", *said, f"{lines} passed in {number}.21s"))


def source(number: int) -> str:
    """A file as the reading tool shows it."""
    return "\n".join(f"{line}\tdef handler_{number}_{line}(request): return answer_{line}" for line in range(1, 60))


def session(number: int, *, turns: int = 12, model: str = MODEL) -> str:
    """Write a session: it reads a file, runs tests, and at its end edits what it read at its beginning."""
    one = Session()
    one.user(f"Mend handler {number}.")
    for turn in range(turns):
        call, reply = f"toolu_{number}_{turn}", f"msg_{number}_{turn}"
        if turn == 0:
            asked: dict[str, object] = {"name": "Read", "input": {"file_path": f"/app/handler_{number}.py"}}
        elif turn == turns - 1:
            old = f"def handler_{number}_7(request): return answer_7"
            texts = {"file_path": f"/app/handler_{number}.py", "old_string": old, "new_string": "pass"}
            asked = {"name": "Edit", "input": texts}
        else:
            asked = {"name": "Bash", "input": {"command": f"pytest tests/test_{turn}.py"}}
        one.reply(reply, {"type": "tool_use", "id": call, **asked}, stop="tool_use", output=30)
        one.result(call, source(number) if turn == 0 else "edited" if turn == turns - 1 else log(turn))
    one.says(f"msg_{number}_end", "Done.")
    return "".join(f"{line}\n" for line in _with_usage(one.lines, model))


def _with_usage(lines: list[str], model: str) -> list[str]:
    """Let each request report what it would have: everything before it read, what came since written."""
    told, before, since = [], 0, 0
    for line in lines:
        entry = json.loads(line)
        if entry["type"] == "assistant":
            message = entry["message"]
            usage = message["usage"]
            usage["input_tokens"], usage["cache_read_input_tokens"] = 3, before
            usage["cache_creation_input_tokens"] = since
            usage["cache_creation"] = {"ephemeral_5m_input_tokens": since, "ephemeral_1h_input_tokens": 0}
            message["model"] = model
            before, since = before + since, 0
        since += len(line) // 4
        told.append(json.dumps(entry, separators=(",", ":")))
    return told


def write_sessions(folder: Path, count: int, *, turns: int = 12, model: str = MODEL) -> list[Path]:
    """Write this many session files into a folder, as Claude Code lays them out."""
    project = folder / "-app"
    project.mkdir(parents=True, exist_ok=True)
    paths = [project / f"session-{number}.jsonl" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_text(session(number, turns=turns, model=model), encoding="utf-8")
    return paths
