"""Measure what `Session.compact` costs on a long history with two new messages, made up from fixed texts.

    python benchmarks/library.py [--mib SIZE] [--store FILE] [--requests COUNT]

The history is made of reads that no rule makes smaller; what is timed is a whole call on the caller's thread.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from typing import Any

from coldpress import Session

MODEL = "claude-opus-4-6"
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = [{"name": "Read", "description": "Read a file.", "input_schema": SCHEMA}]
LINES = 90


def exchange(number: int) -> list[Any]:
    """A call and its result of about 4 kB, which no rule makes smaller."""
    text = "\n".join(f"{number}:{line} def function_{line}(argument): return {line * number}" for line in range(LINES))
    call = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"path": f"/src/file_{number}.py"}}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=float, default=1.0)
    parser.add_argument("--store", default=None)
    parser.add_argument("--requests", type=int, default=50)
    asked = parser.parse_args()
    history: list[Any] = [{"role": "user", "content": "Read everything."}]
    while len(json.dumps(history)) < asked.mib * 2**20:
        history += exchange(len(history))
    # Above the trigger of a small window there would be a compaction in between, which is another question.
    with Session(MODEL, store_path=asked.store, window_tokens=10_000_000) as session:
        session.compact(history, tools=TOOLS)
        session.stats()
        seconds = []
        for _ in range(asked.requests):
            history += exchange(len(history))
            began = time.perf_counter()
            session.compact(history, tools=TOOLS)
            seconds.append(time.perf_counter() - began)
    found = statistics.quantiles(seconds, n=20)
    kept = asked.store or "memory"
    print(f"{asked.requests} requests, {len(json.dumps(history)):,} bytes at the end, store: {kept}")
    print(f"compact: median {found[9] * 1000:.2f} ms, 19 of 20 within {found[18] * 1000:.2f} ms, Python", end=" ")
    print(f"{platform.python_version()}, {platform.machine()}")


if __name__ == "__main__":
    main()
