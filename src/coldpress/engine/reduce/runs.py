"""Count runs of identical lines instead of showing them."""

from __future__ import annotations

from itertools import groupby

import msgspec

from coldpress.engine.reduce.steps import Stepped

MIN_RUN_LINES = 4


def press(text: str) -> Stepped | None:
    """Put one counting line in the place of a line's repetitions, where that is shorter."""
    lines: list[str] = []
    rows: list[tuple[int, int]] = []
    for line, group in groupby(text.split("\n")):
        repeats = sum(1 for _ in group) - 1
        marker = f"[coldpress: the line above {repeats} times more]"
        if repeats + 1 >= MIN_RUN_LINES and repeats * (len(line) + 1) > len(marker) + 1:
            lines += (line, marker)
            rows.append((len(lines) - 1, repeats))
        else:
            lines += [line] * (repeats + 1)
    return Stepped("\n".join(lines), msgspec.json.encode(rows)) if rows else None


def restore(text: str, params: bytes) -> str:
    """Undo `press`.

    Raises:
        ValueError: the text is not what `press` gave.
    """
    lines = text.split("\n")
    out: list[str] = []
    done = 0
    for index, repeats in msgspec.json.decode(params, type=list[tuple[int, int]]):
        if not 0 < index < len(lines):
            raise ValueError(f"a counted run stands at line {index}; the text has {len(lines)}")
        out += lines[done:index]
        out += [lines[index - 1]] * repeats
        done = index + 1
    out += lines[done:]
    return "\n".join(out)
