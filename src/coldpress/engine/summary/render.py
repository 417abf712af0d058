"""Write a summary as the text that stands in the conversation in the place of the messages it covers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from coldpress.engine.markers import MARK
from coldpress.model.summary import Section, Summary

TITLES: Final[dict[Section, str]] = {
    "goal": "Goal and acceptance criteria",
    "decisions": "Decisions and why",
    "constraints": "Constraints: what must and must not be done",
    "plan": "State of the plan",
    "artifacts": "Files, ids and amounts, by their exact names",
    "ruled_out": "Tried and ruled out: do not try these again as they were",
    "failures": "Commands that fail, with their error lines",
    "questions": "Open questions",
}

_INDENT: Final = "  "
_QUOTED: Final = "  > "
"""In front of an error line that begins like a marker of ours."""


def render(
    summary: Summary,
    *,
    first: int,
    last: int,
    generation: int,
    recall: str | None,
    left_out: Sequence[tuple[Section, int]] = (),
) -> str:
    """Give the block that the model reads; the same summary always gives the same bytes.

    Args:
        summary: its items stand in their own order, each with the number of its message, `[m12]`.
        first: number of the first message it covers, from 1.
        last: number of the last one.
        generation: how many times messages of the conversation were summarised, this time included.
        recall: one sentence on how to get the original messages; `None` promises nothing.
        left_out: items of a section that are not in the summary.
    """
    missing = dict(left_out)
    lines = [_opening(first, last, generation, recall)]
    for section, items in summary.sections():
        more = missing.get(section, 0)
        if items or more:
            lines += ["", TITLES[section]]
            lines += [f"- {_indented(item.text)} [m{item.message}]" for item in items]
            lines += _more(more, among=len(items))
    return "\n".join(lines)


def _indented(text: str) -> str:
    """Set the further lines of an item apart, so that none passes for a line of ours or for another speaker."""
    if "\n" not in text and "\r" not in text:
        return text
    first, *others = text.splitlines()
    return "\n".join((first, *(f"{_QUOTED if line.lstrip().startswith(MARK) else _INDENT}{line}" for line in others)))


def _opening(first: int, last: int, generation: int, recall: str | None) -> str:
    covered = f"message m{first}" if first == last else f"messages m{first} to m{last}"
    verb = "is" if first == last else "are"
    sentence = f" {' '.join(recall.split())}" if recall else ""
    return (
        f"{MARK}: {covered} of this conversation {verb} summarised here (compaction {generation}). The originals are"
        f" intact.{sentence} Names, paths, ids, amounts and error lines are exact; [m{first}] after an item names the"
        " message it was taken from.]"
    )


def _more(count: int, *, among: int) -> Iterator[str]:
    if count:
        yield f"- {'and ' if among else ''}{count} more, left out here"
