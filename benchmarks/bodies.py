"""Write the request bodies of an agent's conversation, whole and cut at every turn.

    python benchmarks/bodies.py FOLDER

For each format (chat, anthropic) and size (4k, 128k, 1m, 8m) the folder gets

    FORMAT-SIZE[-log][-stream].json   a request: the stem, and behind it one more turn (the tail)
    FORMAT-SIZE.turns                 how the stem grew: what `session --turns` needs to send it turn by turn

The tail is a small shell result; in `-log` bodies it is a 12 kB log of a successful test run, which a gateway
that presses at first sight has to store and press before it can send. Two markers of 16 bytes each are replaced by
the load generator: `FIRST_NONCE` stands in the first user message, `TURN_NONCE` in the last one.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from outputs import Agent, Call

Format = Literal["chat", "anthropic"]
Tail = Literal["small", "log"]
FORMATS: tuple[Format, ...] = get_args(Format)
TAILS: tuple[Tail, ...] = get_args(Tail)
MODELS: dict[Format, str] = {"chat": "gpt-bench", "anthropic": "claude-bench"}
SIZES = {"4k": 4 << 10, "128k": 128 << 10, "1m": 1 << 20, "8m": 8 << 20}
FIRST_NONCE = "@@FIRST-NONCE-@@"
TURN_NONCE = "@@TURN-NONCE--@@"
MARK_FROM_END = 3  # a mark goes into the last block of a message, before `}]}`
MARK = b',"cache_control":{"type":"ephemeral"}'
LOG_TAIL_BYTES = 12_000
TAIL_BYTES = 800
SMALL_BYTES = 8192
SEED = 166
PRIMED_BYTES = 256  # no gateway of ours presses a smaller text, so a turn without one needs no request of its own
TASK = f"The import of configuration files fails on Windows. Find out why, fix it and run the tests. ({FIRST_NONCE})"


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model said and called, and what came back. Several calls are parallel calls."""

    number: int
    text: str
    calls: tuple[Call, ...]

    def ids(self, prefix: str) -> list[str]:
        """Name the calls of this turn."""
        return [f"{prefix}_{self.number:05d}{i:02d}bench" for i in range(len(self.calls))]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A request in pieces: bytes before the messages, each message, bytes behind them."""

    head: bytes
    messages: tuple[bytes, ...]
    suffix: bytes


def dump(value: object) -> bytes:
    """Encode as the JavaScript clients do: no spaces, no escapes that are not needed."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def tools(count: int) -> list[dict[str, object]]:
    """Describe `count` tools; the first ones are those that the conversation calls."""
    fields = {
        "Read": ("file_path", "offset", "limit"),
        "Bash": ("command", "description"),
        "Grep": ("pattern", "path", "output_mode"),
        "Edit": ("file_path", "old_string", "new_string"),
        "Glob": ("pattern", "path"),
        "Write": ("file_path", "content"),
    }
    named = list(fields.items()) + [(f"mcp__tracker__action_{i}", ("id", "query", "limit")) for i in range(30)]
    return [
        {
            "name": name,
            "description": f"{name}: works on the files and processes of the current workspace. "
            * (1 if count < 9 else 6),
            "schema": {
                "type": "object",
                "properties": {key: {"type": "string", "description": f"The {key} to use"} for key in keys},
                "required": [keys[0]],
            },
        }
        for name, keys in named[:count]
    ]


def turns(room: int) -> Iterator[Turn]:
    """Make turns until their messages hold about `room` bytes."""
    agent, spent, number = Agent(random.Random(SEED)), 0, 0
    if room < 4096:  # a small body has one log that can be pressed at all, by its overwritten progress lines
        yield Turn(0, "I will build it first.", (agent.build_log(room // 2),))
        spent, number = room // 2 + 500, 1
    while spent < room:
        (parallel,) = agent.random.choices((1, 2, 3), (0.8, 0.14, 0.06))
        calls = [agent.call() for _ in range(parallel)]
        left = room - spent
        if sum(len(c.output) for c in calls) > left:
            calls = [agent.shell(max(40, left - 320))]
        yield Turn(number, f"Step {number}: I look at this next.", tuple(calls))
        spent += sum(len(dump(c.output)) + len(dump(c.arguments)) + 190 for c in calls) + 90
        number += 1


def chat_messages(turn: Turn) -> list[object]:
    """Write a turn for chat completions."""
    ids = turn.ids("call")
    calls = [
        {"id": i, "type": "function", "function": {"name": c.name, "arguments": dump(c.arguments).decode()}}
        for i, c in zip(ids, turn.calls, strict=True)
    ]
    said = {"role": "assistant", "content": turn.text, "tool_calls": calls}
    return [
        said,
        *({"role": "tool", "tool_call_id": i, "content": c.output} for i, c in zip(ids, turn.calls, strict=True)),
    ]


def anthropic_messages(turn: Turn) -> list[object]:
    """Write a turn for the Messages API."""
    ids = turn.ids("toolu")
    pairs = list(zip(ids, turn.calls, strict=True))
    uses = [{"type": "tool_use", "id": i, "name": c.name, "input": c.arguments} for i, c in pairs]
    results: list[dict[str, object]] = [
        {"tool_use_id": i, "type": "tool_result", "content": c.output} | ({"is_error": True} if c.failed else {})
        for i, c in pairs
    ]
    return [
        {"role": "assistant", "content": [{"type": "text", "text": turn.text}, *uses]},
        {"role": "user", "content": results},
    ]


MESSAGES: dict[Format, Callable[[Turn], list[object]]] = {"chat": chat_messages, "anthropic": anthropic_messages}


def tail(turn_number: int, kind: Tail) -> Turn:
    """Make the turn that is new in every request."""
    if kind == "log":
        call = Agent(random.Random(SEED + 1)).test_log(LOG_TAIL_BYTES)
        return Turn(turn_number, "I run the whole suite.", (replace(call, output=f"run {TURN_NONCE}\n{call.output}"),))
    output = f" M src/configparser.py\n M src/ntpath.py\n?? notes-{TURN_NONCE}.txt\n" + " M tests/test_ntpath.py\n" * 12
    return Turn(turn_number, "I check the tree.", (Call("Bash", {"command": "git status --short"}, output.rstrip()),))


def _around(fmt: Format, *, small: bool, stream: bool) -> Conversation:
    """Make what surrounds the turns: model and first messages before, tools and options behind."""
    system = "You are a coding agent. Follow the repository's conventions and run its tests. " * (3 if small else 120)
    offered = tools(3 if small else 24)
    if fmt == "chat":
        first: list[object] = [{"role": "system", "content": system}, {"role": "user", "content": TASK}]
        after: dict[str, object] = {
            "tools": [{"type": "function", "function": _renamed(t, "parameters")} for t in offered]
        }
        after |= {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    else:
        first = [{"role": "user", "content": [{"type": "text", "text": TASK}]}]
        after = {"system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]}
        after |= {"tools": [_renamed(t, "input_schema") for t in offered]}
        after |= {"metadata": {"user_id": "user_bench_session_7a1c"}, "max_tokens": 4096} | (
            {"stream": True} if stream else {}
        )
    head = dump({"model": MODELS[fmt]})[:-1] + b',"messages":['
    return Conversation(head, tuple(dump(m) for m in first), b"]," + dump(after)[1:])


def _renamed(tool: dict[str, object], schema_key: str) -> dict[str, object]:
    return {(schema_key if key == "schema" else key): value for key, value in tool.items()}


def build(fmt: Format, size: int, *, stream: bool) -> tuple[Conversation, list[Turn]]:
    """Make the stem of a conversation whose whole request holds about `size` bytes, tail included.

    The stem is the same for both values of `stream`: a conversation that was sent with one is known with the other.
    """
    small = size <= SMALL_BYTES
    around = _around(fmt, small=small, stream=stream)
    fixed = len(b"".join(around.messages)) + len(_around(fmt, small=small, stream=True).suffix) + TAIL_BYTES
    stem = list(turns(size - fixed))
    grown = tuple(dump(m) for t in stem for m in MESSAGES[fmt](t))
    return Conversation(around.head, around.messages + grown, around.suffix), stem


def request(fmt: Format, made: Conversation, last: Turn) -> bytes:
    """Join the stem and the last turn to one request; an Anthropic request carries a mark on its last message."""
    new = [dump(m) for m in MESSAGES[fmt](last)]
    if fmt == "anthropic":
        new[-1] = new[-1][:-MARK_FROM_END] + MARK + new[-1][-MARK_FROM_END:]
    return made.head + b",".join([*made.messages, *new]) + made.suffix


def growth(fmt: Format, made: Conversation, stem: list[Turn]) -> list[tuple[int, int, int]]:
    """Say where to cut the request so that it ends as each turn of the stem ended.

    Returns:
        `(cut, before, last)` byte offsets, a tuple for each turn that holds a result of `PRIMED_BYTES` or more and one
        for the whole stem. A cache mark on the last user message goes to `last`, one on the user message before it to
        `before`; both are 0 in chat requests, which carry none.
    """
    ends, at = [], len(made.head)
    for message in made.messages:
        at += len(message) + 1
        ends.append(at - 1)
    lengths = [1 + (len(turn.calls) if fmt == "chat" else 1) for turn in stem]
    index = len(made.messages) - sum(lengths) - 1
    rows: list[tuple[int, int, int]] = []
    for turn, length in zip(stem, lengths, strict=True):
        before, index = ends[index], index + length
        if turn is stem[-1] or any(len(call.output) >= PRIMED_BYTES for call in turn.calls):
            marks = (0, 0) if fmt == "chat" else (before - MARK_FROM_END, ends[index] - MARK_FROM_END)
            rows.append((ends[index], *marks))
    return rows


def write_all(folder: Path) -> dict[str, int]:
    """Write every body and turns file; return the size in bytes of each body."""
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, int] = {}
    for fmt, (label, size), stream in itertools.product(FORMATS, SIZES.items(), (False, True)):
        made, stem = build(fmt, size, stream=stream)
        if not stream:
            lines = [f"{len(made.suffix)}", *(f"{a} {b} {c}" for a, b, c in growth(fmt, made, stem))]
            turns_file(folder, fmt, label).write_text("\n".join(lines) + "\n")
        for kind in TAILS:
            path = body_file(folder, fmt, label, kind, stream=stream)
            path.write_bytes(request(fmt, made, tail(len(stem), kind)))
            written[path.name] = path.stat().st_size
    return written


def body_file(folder: Path, fmt: Format, size: str, kind: Tail, *, stream: bool) -> Path:
    """Name the file of a request."""
    return folder / f"{fmt}-{size}{'-log' if kind == 'log' else ''}{'-stream' if stream else ''}.json"


def turns_file(folder: Path, fmt: Format, size: str) -> Path:
    """Name the file that says how a conversation grew; its offsets are those of the body that does not stream."""
    return folder / f"{fmt}-{size}.turns"


if __name__ == "__main__":
    for name, length in write_all(Path(sys.argv[1])).items():
        print(f"{length:9d}  {name}")
