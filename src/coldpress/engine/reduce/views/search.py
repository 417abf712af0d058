"""View of a long search result: each file that was hit, its first lines with their numbers, the rest counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coldpress.engine.reduce.heading import SearchLine, parse
from coldpress.engine.reduce.reduced import size_bytes
from coldpress.engine.reduce.views.frame import View, first_of, shorten

BUDGET_BYTES = 6144
MAX_LINE_CHARS = 300
MAX_LINES_PER_FILE = 60


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    lines: tuple[SearchLine, ...]

    @property
    def hits(self) -> int:
        return sum(line.sign == ":" for line in self.lines)

    @property
    def ranked(self) -> tuple[SearchLine, ...]:
        """Hits first, then context, both in their own order."""
        return tuple(sorted(self.lines, key=lambda line: line.sign != ":"))


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
    return _view(files, others)


def _view(files: Sequence[_File], others: Sequence[str]) -> View:
    named = _named(files)
    counts = _allot(files[:named])
    chosen = [_chosen(file, count) for file, count in zip(files, counts, strict=False)]
    out = [f"{sum(file.hits for file in files):,} hits in {len(files):,} files"]
    for file, lines in zip(files, chosen, strict=False):
        out.append(_heading(file, lines))
        out += (shorten(line.body, MAX_LINE_CHARS) for line in lines)
    if rest := files[named:]:
        out.append(f"[coldpress: {len(rest):,} more files with {sum(f.hits for f in rest):,} hits left out here]")
    out += first_of(others, max_chars=MAX_LINE_CHARS)
    shown = [line for lines in chosen for line in lines]
    return View("\n".join(out), len(shown), sum(size_bytes(line.path) + size_bytes(line.body) + 2 for line in shown))


def _named(files: Sequence[_File]) -> int:
    """How many files can be named at all; naming may take half of the room."""
    room = BUDGET_BYTES // 2
    for index, file in enumerate(files):
        room -= size_bytes(_heading(file, ())) + 1
        if room < 0:
            return index
    return len(files)


def _allot(files: Sequence[_File]) -> list[int]:
    """Give out lines one by one, a line to each file in turn, until the room is used."""
    room = BUDGET_BYTES - sum(size_bytes(_heading(file, ())) + 1 for file in files)
    counts = [0] * len(files)
    for turn in range(MAX_LINES_PER_FILE):
        before = room
        for index, file in enumerate(files):
            if turn != counts[index] or turn >= len(file.lines):
                continue
            cost = size_bytes(shorten(file.ranked[turn].body, MAX_LINE_CHARS)) + 1
            if cost <= room:
                counts[index] += 1
                room -= cost
        if room == before:
            break
    return counts


def _heading(file: _File, shown: Sequence[SearchLine]) -> str:
    """Name a file and say how many of its hits are shown."""
    hits = sum(line.sign == ":" for line in shown)
    if len(shown) == len(file.lines):
        return file.path
    return shorten(f"{file.path} ({hits:,} of {file.hits:,} hits shown)", MAX_LINE_CHARS)


def _chosen(file: _File, count: int) -> tuple[SearchLine, ...]:
    """The lines of a file to show, hits before context, in their own order."""
    wanted = {id(line) for line in file.ranked[:count]}
    return tuple(line for line in file.lines if id(line) in wanted)
