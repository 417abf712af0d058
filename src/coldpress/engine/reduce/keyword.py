"""Show of a large result the lines that match what its call was made for, with their surroundings and own numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from coldpress.engine.catalogue import Kind
from coldpress.engine.markers import MARK, is_client_truncated, is_marked
from coldpress.engine.reduce import heading, terminal
from coldpress.engine.reduce.excerpt import excerpt
from coldpress.engine.reduce.outline import Outline, outline
from coldpress.engine.reduce.reduced import Reduced, pays, size_bytes
from coldpress.engine.reduce.relevance import Relevance, relevance
from coldpress.engine.reduce.selection import Bounds, Selection, select
from coldpress.engine.reduce.views.shell import notable_lines
from coldpress.engine.words import words

MAX_LINES: Final = 120
MAX_BYTES: Final = 8_192
FILL_BYTES: Final = 6144
CONTEXT_LINES: Final = 2
MAX_LINE_CHARS: Final = 600
MAX_SHOWN_WORDS: Final = 6
MAX_CALLED_CHARS: Final = 80
OPENING_BYTES: Final = 640
"""What the first line may take at most, rerun sentence aside."""

MAX_SCORED_BYTES: Final = 196_608
MAX_SCORED_LINES: Final = 20_000
"""A result beyond either has no view: within both the worst texts known take a core a fifth of a second."""

_KINDS: Final[frozenset[Kind]] = frozenset(("shell", "search", "listing", "web", "mcp", "unknown", "subagent"))
_NOTABLE_KINDS: Final[frozenset[Kind]] = frozenset(("shell", "unknown"))
"""Where a word like "error" at a line's side tells of what a program did. In a search it is a hit like any other."""


def reduce(
    text: str,
    *,
    kind: Kind,
    called: str,
    guidance: str,
    sha: str,
    rerun: str | None,
    max_lines: int = MAX_LINES,
    max_bytes: int = MAX_BYTES,
    fill_bytes: int = FILL_BYTES,
) -> Reduced | None:
    """Give the lines of a result that match a guidance; `None` where they cannot be told or take half of it or more.

    There is none either of a result of more than 192 KiB or 20,000 lines, so that the work has a bound.

    Lines stand in their order, each as the tool wrote it, but for the middle of very long ones. Those that warn, fail
    or sum up, and the first and the last, are shown whatever is looked for. What is left out is counted in its place.

    Args:
        text: the whole result as the tool gave it. Failures must not be given.
        kind: its kind in the tool catalogue; sources, mutations, plans, memory and diffs are never cut.
        called: the call in a few words, such as `Grep retry`.
        guidance: what the call was made for: `coldpress.engine.guidance`.
        sha: SHA-256 of the original in hexadecimal, shown in full.
        rerun: a sentence on how to get everything again; the caller has made sure that it promises nothing that the
            request does not offer.
        max_lines: of the result that are shown at most, the paths and folders above them aside.
        max_bytes: UTF-8 bytes that these lines and the counts between them take at most.
        fill_bytes: where matches take less than this, lines that match less and both ends are shown as well, as long as
            more than half of the result goes; 0 for matches alone.
    """
    if kind not in _KINDS or _is_too_large(text) or "\0" in text or is_marked(text) or is_client_truncated(text):
        return None
    wanted = words(guidance)
    if not wanted:
        return None
    grouped, placed = _by_file(text, kind)
    added = frozenset(placed.values())
    lines = grouped.removesuffix("\n").split("\n")
    plain = _as_shown("\n".join(lines)).split("\n")
    found = relevance(plain, wanted)
    if found is None or not found.words:
        return None
    laid_out = outline(plain, kind, placed)
    shown = [_shown(line, bare, found) for line, bare in zip(lines, plain, strict=True)]
    half = size_bytes(text) // 2 - OPENING_BYTES
    bounds = Bounds(max_lines, max_bytes, half, CONTEXT_LINES, fill_bytes)
    notable = _notable(plain, laid_out, kind)
    chosen = select([size_bytes(line) for line in shown], laid_out, found, notable, bounds)
    if chosen is None:
        return None
    body = "\n".join(_body(shown, laid_out, chosen, added))
    pressed = f"{_opening(text, shown, chosen, added, found, called=called, sha=sha, rerun=rerun)}\n{body}"
    return Reduced(pressed) if 2 * size_bytes(pressed) < size_bytes(text) and pays(text, pressed) else None


def _is_too_large(text: str) -> bool:
    """Whether scoring a text might take longer than a request may be held up."""
    return len(text) > MAX_SCORED_BYTES or size_bytes(text) > MAX_SCORED_BYTES or text.count("\n") > MAX_SCORED_LINES


def _as_shown(text: str) -> str:
    """The text as a terminal shows it, line by line: words are looked for in this."""
    for press in (terminal.press_progress, terminal.press_sequences):
        stepped = press(text)
        text = text if stepped is None else stepped.text
    return text


def _by_file(text: str, kind: Kind) -> tuple[str, dict[int, int]]:
    """A search with the path of each file once, above its lines; and below which of these lines each other one belongs.

    Paths are half of what many searches hold. Lines keep their own numbers and texts.
    """
    stepped = heading.press(text) if kind == "search" else None
    return (text, {}) if stepped is None else (stepped.text, heading.placed_lines(stepped.text, stepped.params))


def _shown(line: str, plain: str, found: Relevance) -> str:
    """A line as it is shown: as it stands, or in pieces where it is very long."""
    return line if len(line) <= MAX_LINE_CHARS else excerpt(plain, MAX_LINE_CHARS, found.places)


def _notable(lines: Sequence[str], laid_out: Outline, kind: Kind) -> tuple[int, ...]:
    if kind in _NOTABLE_KINDS:
        return tuple(notable_lines(lines))
    if not laid_out.numbered:
        return ()
    own = [
        index for index in range(len(lines)) if not laid_out.has_number[index] and index not in laid_out.heading_lines
    ]
    return tuple(own[at] for at in notable_lines([lines[index] for index in own]))


def _body(shown: Sequence[str], laid_out: Outline, chosen: Selection, added: frozenset[int]) -> Iterator[str]:
    chosen_lines = frozenset(chosen.lines)
    number = left_out = 0
    for index in range(len(shown)):
        number += index not in added
        if index not in chosen_lines:
            left_out += index not in added
            continue
        if left_out:
            yield _gap(number - (index not in added), left_out, numbered=laid_out.numbered)
            left_out = 0
        yield shown[index]
    if left_out:
        yield _gap(number, left_out, numbered=laid_out.numbered)


def _gap(last: int, count: int, *, numbered: bool) -> str:
    """Count left-out lines in their place; where the tool numbers none, say which they are, from 1.

    Args:
        last: the number that the last of them has in the result as the tool gave it, where no path was added.
        count: how many they are; 1 or more.
        numbered: whether the tool numbers its lines.
    """
    if numbered:
        return f"{MARK}: {count:,} {'line' if count == 1 else 'lines'} left out]"
    if count == 1:
        return f"{MARK}: line {last} left out]"
    return f"{MARK}: lines {last - count + 1}-{last} left out, {count:,}]"


def _opening(
    text: str,
    shown: Sequence[str],
    chosen: Selection,
    added: frozenset[int],
    found: Relevance,
    *,
    called: str,
    sha: str,
    rerun: str | None,
) -> str:
    size = sum(size_bytes(shown[index]) + 1 for index in chosen.lines)
    count = sum(at not in added for at in chosen.lines)
    sentence = f" {' '.join(rerun.split())}" if rerun and rerun.strip() else ""
    what = " ".join("".join(c if c.isprintable() else " " for c in called[: 4 * MAX_CALLED_CHARS]).split())
    what = what if len(what) <= MAX_CALLED_CHARS else what[: MAX_CALLED_CHARS - 1].rstrip() + "…"
    missed = f", {chosen.missed:,} more that match do not fit" if chosen.missed else ""
    matching = sum(at not in added for at in chosen.matching)
    does = "matches" if matching == 1 else "match"
    rest = f" ({matching:,} {does}, the rest is context)" if matching < count else ""
    return (
        f"{MARK}: {what or 'a result'}: a view chosen by {_named(found)}:"
        f" {count:,} of {len(shown) - len(added):,} lines{rest}, about {size:,} of {size_bytes(text):,} bytes{missed};"
        f" the source is intact, only this view is shortened; SHA-256 of the whole: {sha}.{sentence}]"
    )


def _named(found: Relevance) -> str:
    said = tuple(dict.fromkeys(word.said.replace("`", "") for word in found.words))
    named = ", ".join(f"`{word if len(word) <= 40 else word[:39] + '…'}`" for word in said[:MAX_SHOWN_WORDS])
    more = len(said[MAX_SHOWN_WORDS:])
    return f"{named} or {more:,} more words" if more else named
