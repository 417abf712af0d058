"""Leave out runs of lines that an earlier result still shows, and say where they stand.

Lines are compared by their own text, without a reading tool's number: the same lines may stand at other numbers now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from coldpress.engine.catalogue import Kind
from coldpress.engine.markers import is_marked
from coldpress.engine.reduce.matching import Match, cover, find_matches
from coldpress.engine.reduce.numbered import NumberedText, read_text
from coldpress.engine.reduce.numbering import Wrapper
from coldpress.engine.reduce.reduced import Reduced, pays, size_bytes
from coldpress.model.identity import original_sha

MIN_RUN_LINES_SOURCE = 8
MIN_RUN_LINES_OTHER = 20
# Of a file, runs of 4, 6 and 8 lines gain the same and 20 lines lose a twentieth of the gain. Other output has no
# numbers to find a range by, and short runs of it (headers, separators) repeat by chance.
MIN_RUN_GAIN_BYTES = 128
"""What leaving out one run must save beyond its marker line."""
EDGE_LINES = 8
"""Repeated lines that stay on either side of new ones: an agent quotes a few lines around a change, in one piece."""
MIN_BORDERED_LINES = 48
"""Lines that a run beside new ones must leave out; one that borders on nothing new needs no such length.

A short run beside new lines stands in a read of a few dozen lines, and those are made to replace what they show, often
a whole function at once. Of 690 edits in 37 recorded Claude Code sessions, the old text of 15 stood nowhere in one
piece with neither limit, of 3 with the edge alone, of none with an edge of 8 and 40 lines or more. 48 keeps a distance
from the longest run that broke one (37 lines); docs/explanation/first-sight.md has the other settings.
"""
MAX_NAME_CHARS = 160
_KINDS = frozenset(("source", "shell", "search", "listing", "web", "mcp"))


@dataclass(frozen=True, slots=True)
class Referent:
    """An earlier result, all of whose lines the model still sees.

    `name` says which call it answers, in words that never change with later turns; `text` is the original.
    """

    name: str
    text: str


class _Cut(msgspec.Struct, frozen=True, array_like=True):
    """One run left out.

    `line` is its marker's line in the pressed text, `referent` an index into the recipe's names; `there` and
    `count` are lines of that referent. With `first` 0
    or more the lines are numbered from there on, in the wrapper of `fill`, `width` and `separator`.
    """

    line: int
    referent: int
    there: int
    count: int
    first: int = -1
    fill: str = ""
    width: int = 0
    separator: str = ""


class _Recipe(msgspec.Struct, frozen=True):
    """`referents` names the texts that are needed by SHA-256."""

    numbered: bool
    referents: tuple[str, ...]
    cuts: tuple[_Cut, ...]


def reduce(text: str, *, referents: tuple[Referent, ...], kind: Kind) -> Reduced | None:
    """Give the result without what the referents show, or `None` where nothing repeats, or too little.

    A result that holds our markers already is left alone. Reminders that a harness adds to a result are
    instructions rather than output, and always stay. Time is linear in the lines of all the texts.
    """
    if kind not in _KINDS or not referents or "\0" in text or is_marked(text):
        return None
    numbered = kind == "source"
    new = read_text(text, numbered=numbered)
    if not new.reminders:
        for referent in referents:
            if referent.text == text:
                return _whole(referent, len(new.lines))
    minimum = MIN_RUN_LINES_SOURCE if numbered else MIN_RUN_LINES_OTHER
    olds = tuple(read_text(referent.text, numbered=numbered) for referent in referents)
    matches = cover(find_matches(new.comparable, tuple(old.comparable for old in olds), minimum=minimum), minimum)
    runs = tuple(
        _without_edges(run, new)
        for match in matches
        for run in _in_one_block(match, new, olds[match.referent], minimum)
    )
    pressed, cuts = _leave_out(new, olds, referents, runs)
    if not cuts or not pays(text, pressed):
        return None
    recipe = _recipe(cuts, referents, numbered=numbered)
    return Reduced(pressed, recipe) if restore(pressed, recipe, referents) == text else None


def restore(pressed: str, recipe: str, referents: tuple[Referent, ...]) -> str:
    """Give the original of a pressed text.

    Args:
        pressed: the text of `Reduced`.
        recipe: the recipe of `Reduced`.
        referents: at least those that `needed` names, in any order; their names play no part.

    Raises:
        ValueError: the recipe is not ours, a referent is missing, or the text is another one.
    """
    plan = msgspec.json.decode(recipe, type=_Recipe)
    texts = {original_sha(referent.text): referent.text for referent in referents}
    missing = [sha for sha in plan.referents if sha not in texts]
    if missing:
        raise ValueError(f"the recipe needs the text with SHA-256 {missing[0]}, which was not given")
    olds = [read_text(texts[sha], numbered=plan.numbered) for sha in plan.referents]
    lines = pressed.split("\n")
    out: list[str] = []
    done = 0
    for cut in plan.cuts:
        if cut.referent >= len(olds) or cut.line >= len(lines):
            raise ValueError(f"the recipe names line {cut.line} of a text that has {len(lines)}")
        wrapper = Wrapper(cut.fill, cut.width, cut.separator)
        out += lines[done : cut.line]
        for offset, line in enumerate(olds[cut.referent].own[cut.there : cut.there + cut.count]):
            out.append(wrapper.prefix(cut.first + offset) + line if cut.first >= 0 else line)
        done = cut.line + 1
    out += lines[done:]
    return "\n".join(out)


def needed(recipe: str) -> tuple[str, ...]:
    """SHA-256 (hexadecimal) of each referent's original that `restore` needs."""
    return msgspec.json.decode(recipe, type=_Recipe).referents


def _recipe(cuts: Sequence[_Cut], referents: Sequence[Referent], *, numbered: bool) -> str:
    used = sorted({cut.referent for cut in cuts})
    shas = tuple(original_sha(referents[index].text) for index in used)
    place = {index: position for position, index in enumerate(used)}
    moved = tuple(msgspec.structs.replace(cut, referent=place[cut.referent]) for cut in cuts)
    return msgspec.json.encode(_Recipe(numbered, shas, moved)).decode()


def _name(name: str) -> str:
    short = " ".join(name.split())
    return short if len(short) <= MAX_NAME_CHARS else short[: MAX_NAME_CHARS - 1] + "…"


def _whole(referent: Referent, count: int) -> Reduced | None:
    pressed = (
        f"[coldpress: this result is the same, to the last character, as that of {_name(referent.name)} above, still"
        " shown there in full; the source is intact, this view only leaves out the repeat]"
    )
    if not pays(referent.text, pressed):
        return None
    return Reduced(pressed, _recipe((_Cut(0, 0, 0, count),), (referent,), numbered=False))


def _in_one_block(match: Match, new: NumberedText, old: NumberedText, minimum: int) -> Iterator[Match]:
    """Split a run where the numbers of either side do not run on, so that a marker can name one range of each."""
    begin = 0
    for offset in range(1, match.count + 1):
        if offset == match.count or not (new.runs_on(match.start + offset) and old.runs_on(match.there + offset)):
            if offset - begin >= minimum:
                yield match.part(begin, offset - begin)
            begin = offset


def _without_edges(run: Match, new: NumberedText) -> Match:
    """Keep the lines of a run that border on lines which the referent does not show in the same order.

    What is left of a run is empty where too little would be left out for a run beside new lines.
    """
    block = new.block_of(run.start)
    first, end = (block.start, block.end) if block else (0, len(new.lines))
    before = EDGE_LINES if run.start > first else 0
    after = EDGE_LINES if run.start + run.count < end else 0
    inner = run.count - before - after
    least = MIN_BORDERED_LINES if before or after else 0
    return run.part(before, inner if inner >= least else 0)


def _leave_out(
    new: NumberedText, olds: Sequence[NumberedText], referents: Sequence[Referent], runs: Sequence[Match]
) -> tuple[str, tuple[_Cut, ...]]:
    out: list[str] = []
    cuts: list[_Cut] = []
    done = 0
    for run in runs:
        marker = _marker(run, new, olds[run.referent], referents[run.referent].name)
        left_out = size_bytes("\n".join(new.lines[run.start : run.start + run.count]))
        if left_out - size_bytes(marker) < MIN_RUN_GAIN_BYTES:
            continue
        out += new.lines[done : run.start]
        cuts.append(_cut(run, new, len(out)))
        out.append(marker)
        done = run.start + run.count
    out += new.lines[done:]
    return "\n".join(out), tuple(cuts)


def _marker(run: Match, new: NumberedText, old: NumberedText, name: str) -> str:
    here = f"{new.number(run.start)}-{new.number(run.start + run.count - 1)}"
    there = f"{old.number(run.there)}-{old.number(run.there + run.count - 1)}"
    return (
        f"[coldpress: lines {here} are the same as lines {there} of {_name(name)} above, still shown there in full;"
        " the source is intact, this view only leaves out the repeat]"
    )


def _cut(run: Match, new: NumberedText, line: int) -> _Cut:
    block = new.block_of(run.start)
    if block is None:
        return _Cut(line, run.referent, run.there, run.count)
    wrapper = block.wrapper
    first = block.first + run.start - block.start
    return _Cut(line, run.referent, run.there, run.count, first, wrapper.fill, wrapper.width, wrapper.separator)
