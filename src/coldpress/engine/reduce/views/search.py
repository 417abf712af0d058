"""View of a long search result: each file that was hit, its first lines with their numbers, the rest counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coldpress.engine.reduce.heading import SearchLine, parse
from coldpress.engine.reduce.reduced import size_bytes
from coldpress.engine.reduce.views.frame import View, shorten

BUDGET_BYTES = 4096
MAX_LINE_CHARS = 300
MAX_LINES_PER_FILE = 60


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    lines: tuple[SearchLine, ...]

    @property
    def hits(self) -> int:
        return sum(line.sign == ":" for line in self.lines)


def view(text: str) -> View | None:
    """Group by file and show as many lines of each as fit; `None` where this is no `path:number:text` result."""
    lines = text.removesuffix("\n").split("\n")
    parsed = parse(lines)
    found = [line for line in parsed.lines if line is not None]
    if len(found) * 2 < len(lines):
        return None
    grouped: dict[str, list[SearchLine]] = {}
    for line in found:
        grouped.setdefault(parsed.full_path(line.path), []).append(line)
    files = tuple(_File(path, tuple(group)) for path, group in grouped.items())
    others = [line for line, read in zip(lines, parsed.lines, strict=True) if read is None and line.strip("- ")]
    low, high = 0, MAX_LINES_PER_FILE
    while low < high:  # the most lines per file that fit
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size_bytes(_body(files, middle)) <= BUDGET_BYTES else (low, middle - 1)
    return _view(files, low, others)


def _view(files: Sequence[_File], per_file: int, others: Sequence[str]) -> View:
    body = _body(files, per_file) if per_file else _counts(files)
    tail = "\n".join(shorten(line, MAX_LINE_CHARS) for line in others[:4])
    total = f"{sum(file.hits for file in files):,} hits in {len(files):,} files"
    shown = [line for file in files for line in _chosen(file, per_file)]
    return View(
        "\n".join(part for part in (total, body, tail) if part),
        len(shown),
        sum(size_bytes(line.path) + size_bytes(line.body) + 2 for line in shown),
    )


def _chosen(file: _File, count: int) -> tuple[SearchLine, ...]:
    """The first lines of a file; where they would leave all its hits out, the hits come first."""
    first = file.lines[:count]
    if any(line.sign == ":" for line in first):
        return first
    return tuple(line for line in file.lines if line.sign == ":")[:count]


def _body(files: Sequence[_File], per_file: int) -> str:
    out: list[str] = []
    for file in files:
        shown = _chosen(file, per_file)
        out.append(file.path)
        out += (shorten(line.body, MAX_LINE_CHARS) for line in shown)
        dropped = len(file.lines) - len(shown)
        if dropped:
            hits = file.hits - sum(line.sign == ":" for line in shown)
            out.append(f"[coldpress: {dropped:,} more lines of this file left out, {hits:,} of them hits]")
    return "\n".join(out)


def _counts(files: Sequence[_File]) -> str:
    """Name files and count their hits, as many as fit."""
    out: list[str] = []
    size = 0
    for index, file in enumerate(files):
        line = shorten(f"{file.path} ({file.hits:,} hits)", MAX_LINE_CHARS)
        size += size_bytes(line) + 1
        if size > BUDGET_BYTES:
            rest = files[index:]
            out.append(f"[coldpress: {len(rest):,} more files with {sum(f.hits for f in rest):,} hits left out here]")
            break
        out.append(line)
    return "\n".join(out)
