"""Keep the items of a summary whose every quoted or exact name stands in the message they cite; drop the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from coldpress.engine.summary.identifiers import identifiers, stands_in
from coldpress.model.summary import Item, Summary


@dataclass(frozen=True, slots=True)
class Checked:
    """A summary of which every item was checked against its source.

    Attributes:
        summary: the items that held, unchanged.
        dropped: how many did not.
    """

    summary: Summary
    dropped: int


def checked(summary: Summary, source_text: Callable[[int], str | None]) -> Checked:
    """Drop what cannot be shown to come from where it says. Nothing is ever repaired.

    An item stays if its message exists, each of its quotes stands byte for byte in that message and in the item's
    own text, and each exact name in its text (`identifiers`), quoted or not, stands in that message as a name of its
    own: `$4,30` is not found in `$4,300`.

    Args:
        summary: as it was made.
        source_text: gives a message's text by its number, from 1, and `None` where there is no such message.
    """
    kept = {section: tuple(i for i in items if _holds(i, source_text)) for section, items in summary.sections()}
    found = Summary(**kept)
    return Checked(found, len(summary) - len(found))


def _holds(item: Item, source_text: Callable[[int], str | None]) -> bool:
    text = source_text(item.message)
    if text is None or not item.text.strip():
        return False
    if not all(quote and quote in text and quote in item.text for quote in item.quotes):
        return False
    return all(stands_in(name, text) for name in identifiers(item.text))
