"""Put beside what a model says in a summary what rules know to be worth its exact words, and the model left out."""

from __future__ import annotations

from typing import Final

from coldpress.engine.summary.bound import MOST_BYTES, Bounded, Candidate, fitted
from coldpress.engine.summary.identifiers import load_bearing
from coldpress.engine.summary.structural import candidates
from coldpress.model.conversation import Conversation
from coldpress.model.summary import Section, Summary

_SECTIONS: Final[frozenset[Section]] = frozenset({"constraints", "plan", "artifacts", "ruled_out", "failures"})
"""Sections in which exact words count. What was decided and what is open a model tells better than rules do: there an
item counts only for the amounts, hashes and ids in it."""

_WORTH: Final = 3
"""What a candidate of the rules must weigh: a file that was changed does, a sentence at the end of a text does not."""

_FIRST: Final = 100
"""The model's own items go before all others."""


def completed(
    summary: Summary,
    conversation: Conversation,
    start: int,
    stop: int,
    *,
    task_stop: int,
    most_bytes: int = MOST_BYTES,
) -> Bounded:
    """Add to a model's summary the items of the rules that quote what none of its own items says.

    So a hash that a model got wrong, and whose item was dropped, is there all the same.

    Args:
        summary: what held of a model's answer.
        conversation: as the client sent it.
        start, stop: the messages it covers, half-open.
        task_stop: messages before it state the task.
        most_bytes: UTF-8 bytes of all items together.
    """
    own = candidates_of(summary)
    said = "\n".join(candidate.item.text for candidate in own)
    ruled = candidates(conversation, start, stop, task_stop=task_stop)
    unsaid = (one for one in ruled if one.weight >= _WORTH and any(words not in said for words in _exact(one)))
    return fitted((*own, *unsaid), most_bytes=most_bytes)


def candidates_of(summary: Summary) -> list[Candidate]:
    """Give a model's own items, as those that go before all others."""
    return [Candidate(section, item, _FIRST) for section, items in summary.sections() for item in items]


def _exact(candidate: Candidate) -> tuple[str, ...]:
    """Give the words of a candidate that must not get lost."""
    item = candidate.item
    return item.quotes if candidate.section in _SECTIONS else load_bearing(item.text)
