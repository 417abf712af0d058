"""Write the request bodies of an agent's conversation, whole and cut at every turn.

    python benchmarks/bodies.py FOLDER

For each format (chat, anthropic, responses, gemini) and size (4k, 128k, 1m, 8m) the folder gets

    FORMAT-SIZE[-log][-stream].json   a request: the stem, and behind it one more turn (the tail)
    FORMAT-SIZE.turns                 how the stem grew: what `session --turns` needs to send it turn by turn

The tail is a small shell result; in `-log` bodies it is a 12 kB log of a successful test run, which a gateway
that presses at first sight has to store and press before it can send. Two markers of 16 bytes each are replaced by
the load generator: `FIRST_NONCE` stands in the first user message, `TURN_NONCE` in the last one.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from outputs import Agent, Call
from wires import (
    FEW_SEALED_BYTES,
    FIRST_NONCE,
    FORMATS,
    MODELS,
    SEALED_BYTES,
    WIRES,
    Conversation,
    Format,
    Turn,
    Wire,
    dump,
)

__all__ = ["FIRST_NONCE", "FORMATS", "Conversation", "Format", "Turn"]

Tail = Literal["small", "log"]
TAILS: tuple[Tail, ...] = get_args(Tail)
SIZES = {"4k": 4 << 10, "128k": 128 << 10, "1m": 1 << 20, "8m": 8 << 20}
TURN_NONCE = "@@TURN-NONCE--@@"
MARK_FROM_END = 3  # a mark goes into the last block of a message, before `}]}`
MARK = b',"cache_control":{"type":"ephemeral"}'
LOG_TAIL_BYTES = 12_000
TAIL_BYTES = 520  # the small one, beside what a call and a turn cost
SMALL_BYTES = 8192
LOG_BYTES = 640  # so long is a log whose progress lines can be pressed
SEED = 166
PRIMED_BYTES = 256  # no gateway of ours presses a smaller text, so a turn without one needs no request of its own


def turns(room: int, wire: Wire) -> Iterator[Turn]:
    """Make turns until their messages hold about `room` bytes."""
    agent, spent, number = Agent(random.Random(SEED)), 0, 0
    sealed = SEALED_BYTES
    if room < 4096:  # a small body has one log that can be pressed at all, by its overwritten progress lines
        log, sealed = max(room // 2, LOG_BYTES), FEW_SEALED_BYTES
        yield Turn(0, "I will build it first.", (agent.build_log(log),), sealed)
        spent, number = log + 220 + wire.call_bytes + wire.turn_bytes, 1
    while spent < room:
        (parallel,) = agent.random.choices((1, 2, 3), (0.8, 0.14, 0.06))
        calls = [agent.call() for _ in range(parallel)]
        left = room - spent
        if sum(len(c.output) for c in calls) > left:
            calls = [agent.shell(max(40, left - 320))]
        made = Turn(number, f"Step {number}: I look at this next.", tuple(calls), sealed)
        yield made
        spent += wire.cost(made)
        number += 1


def tail(turn_number: int, kind: Tail, *, small: bool) -> Turn:
    """Make the turn that is new in every request."""
    made = _tail(turn_number, kind)
    return replace(made, sealed_bytes=FEW_SEALED_BYTES) if small else made


def _tail(turn_number: int, kind: Tail) -> Turn:
    if kind == "log":
        call = Agent(random.Random(SEED + 1)).test_log(LOG_TAIL_BYTES)
        return Turn(turn_number, "I run the whole suite.", (replace(call, output=f"run {TURN_NONCE}\n{call.output}"),))
    output = f" M src/configparser.py\n M src/ntpath.py\n?? notes-{TURN_NONCE}.txt\n" + " M tests/test_ntpath.py\n" * 12
    return Turn(turn_number, "I check the tree.", (Call("Bash", {"command": "git status --short"}, output.rstrip()),))


def _around(fmt: Format, *, small: bool, stream: bool) -> Conversation:
    """Make what surrounds the turns: model and first messages before, tools and options behind."""
    wire = WIRES[fmt]
    first, after = wire.around(small, stream)
    model = dump({"model": MODELS[fmt]})[:-1] + b"," if wire.names_model else b"{"
    head = model + f'"{wire.messages}":['.encode()
    return Conversation(head, tuple(dump(m) for m in first), b"]," + dump(after)[1:])


def build(fmt: Format, size: int, *, stream: bool) -> tuple[Conversation, list[Turn]]:
    """Make the stem of a conversation whose whole request holds about `size` bytes, tail included.

    The stem is the same for both values of `stream`: a conversation that was sent with one is known with the other.
    """
    small, wire = size <= SMALL_BYTES, WIRES[fmt]
    around = _around(fmt, small=small, stream=stream)
    fixed = (
        len(b"".join(around.messages))
        + len(_around(fmt, small=small, stream=True).suffix)
        + TAIL_BYTES
        + wire.call_bytes
        + wire.turn_bytes
    )
    stem = list(turns(size - fixed, wire))
    grown = tuple(dump(m) for t in stem for m in wire.turn(t))
    return Conversation(around.head, around.messages + grown, around.suffix), stem


def request(fmt: Format, made: Conversation, last: Turn) -> bytes:
    """Join the stem and the last turn to one request; an Anthropic request carries a mark on its last message."""
    new = [dump(m) for m in WIRES[fmt].turn(last)]
    if fmt == "anthropic":
        new[-1] = new[-1][:-MARK_FROM_END] + MARK + new[-1][-MARK_FROM_END:]
    return made.head + b",".join([*made.messages, *new]) + made.suffix


def growth(fmt: Format, made: Conversation, stem: list[Turn]) -> list[tuple[int, int, int]]:
    """Say where to cut the request so that it ends as each turn of the stem ended.

    Returns:
        `(cut, before, last)` byte offsets, a tuple for each turn that holds a result of `PRIMED_BYTES` or more and one
        for the whole stem. A cache mark on the last user message goes to `last`, one on the user message before it to
        `before`; both are 0 in all formats but Anthropic's, which carry none.
    """
    ends, at = [], len(made.head)
    for message in made.messages:
        at += len(message) + 1
        ends.append(at - 1)
    lengths = [len(WIRES[fmt].turn(turn)) for turn in stem]
    index = len(made.messages) - sum(lengths) - 1
    rows: list[tuple[int, int, int]] = []
    for turn, length in zip(stem, lengths, strict=True):
        before, index = ends[index], index + length
        if turn is stem[-1] or any(len(call.output) >= PRIMED_BYTES for call in turn.calls):
            marked = (before - MARK_FROM_END, ends[index] - MARK_FROM_END)
            marks = marked if fmt == "anthropic" else (0, 0)
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
            path.write_bytes(request(fmt, made, tail(len(stem), kind, small=size <= SMALL_BYTES)))
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
