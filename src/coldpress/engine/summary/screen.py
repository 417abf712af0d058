"""Keep out of a model's summary what could pass for something else in the prompt, or rests on nothing."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import Final

from coldpress.engine.markers import MARK
from coldpress.engine.summary.check import Checked
from coldpress.engine.summary.identifiers import identifiers
from coldpress.model.summary import Item, Section, Summary

_EXACT: Final[frozenset[Section]] = frozenset({"constraints", "decisions", "artifacts", "ruled_out", "failures"})
"""Sections an agent acts on without asking: what they say must rest on words of the message, not on a model's alone."""

_LEAST_QUOTE: Final = re.compile(r"\w\W*\w\W*\w")
"""What a quote holds at least to point at anything."""

_SPEAKER: Final = re.compile(
    r"\W*(?:(?:Human|Assistant|System|User|Developer|HUMAN|ASSISTANT|SYSTEM|USER|DEVELOPER)\s*:"
    r"|(?i:#+ *(?:system|user|assistant|human|instructions?)\b\W*$)"
    r"|(?i:/?(?:system|user|assistant|human)\s*>))"
)
"""A line that looks as if somebody else began to speak; `user: ` and `assistant: ` in small letters are our own labels,
at the start of an item only."""

_SPEAKER_BEHIND: Final = re.compile(r"\s*(?:human|assistant|system|user|developer)\s*:", re.IGNORECASE)
_CONTROL_TOKEN: Final = re.compile(
    r"<\|[^|>\n]{0,40}\|>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>|</?system(?:-reminder)?>", re.IGNORECASE
)
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_UNSEEN: Final = re.compile("[\u200b-\u200f\u202a-\u202e\u2028\u2029\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
"""Characters that nobody sees, or that turn the order of what is seen."""

BETWEEN_LINES: Final = " / "


def screened(summary: Summary) -> Checked:
    """Drop items of a checked summary that may not stand in a prompt, and write the others on one line each.

    An item goes where a line of it begins like a marker of ours or like another speaker, or where it holds control
    characters; and, in sections an agent acts on, where it has neither a quote nor an exact name. Lines stay in
    failures only, since they are error lines; elsewhere they are joined by ` / `, and so are the quotes' lines parted.

    Args:
        summary: every quote and every name of which stands in its message, see `coldpress.engine.summary.check`.
    """
    kept = {
        section: tuple(item if section == "failures" else _folded(item) for item in items if _may_stand(section, item))
        for section, items in summary.sections()
    }
    found = Summary(**kept)
    return Checked(found, len(summary) - len(found))


def _may_stand(section: Section, item: Item) -> bool:
    if section in _EXACT and not any(map(_LEAST_QUOTE.search, item.quotes)) and not identifiers(item.text):
        return False
    return is_plain(item.text)


def is_plain(text: str) -> bool:
    """Whether a model's words can pass for nothing but text of their own: see `screened` for what they may not hold."""
    if _UNSEEN.search(text) or _CONTROL_TOKEN.search(text):
        return False
    if any(c not in "\n\r\t" and unicodedata.category(c) in ("Cc", "Cs") for c in text):
        return False
    first, *others = _LINE_END.split(text)
    if any(line.lstrip().startswith(MARK) or _SPEAKER.match(line) for line in (first, *others)):
        return False
    return not any(map(_SPEAKER_BEHIND.match, others))


def _folded(item: Item) -> Item:
    if not _LINE_END.search(item.text):
        return item
    quotes = (line.strip() for quote in item.quotes for line in _LINE_END.split(quote))
    text = BETWEEN_LINES.join(line.strip() for line in _LINE_END.split(item.text) if line.strip())
    return replace(item, text=text, quotes=tuple(dict.fromkeys(quote for quote in quotes if quote)))
