"""Answer requests for a summary as a careful model would: with quotations, each from the message it names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from coldpress.model.summary import Section
from coldpress.testing.jsonview import as_text, objects
from coldpress.testing.script import Asked, Say, Script, Turn

_HEADING = re.compile(r"^=== m(\d+) ===\n", re.MULTILINE)
_ASKED_FOR = re.compile(r"for messages m(\d+) to m(\d+)\b")


def summariser(keep: Mapping[Section, str]) -> Script:
    """Make the script of a summariser for `StrictUpstream`, on either wire.

    It knows nothing but the request at hand. Whatever it does not find is not in its answer; where it finds nothing,
    the answer is an object without sections, which is no summary.

    Args:
        keep: regular expressions by section. What one matches in a message (its first group, where it has one) becomes
            an item, quoted whole; `^` and `$` match at lines. What was found before is not told again.

    >>> from coldpress.testing import StrictUpstream
    >>> script = summariser({"constraints": r"Never .*", "artifacts": r"commit ([0-9a-f]{40})"})
    >>> with StrictUpstream(script) as upstream:
    ...     url = upstream.url  # for `[summariser]`
    """
    patterns = {section: re.compile(pattern, re.MULTILINE) for section, pattern in keep.items()}
    return Script(answer=lambda asked: Turn((Say(_answer(_text(asked), patterns)),)))


def _answer(asked: str, patterns: Mapping[Section, re.Pattern[str]]) -> str:
    messages = dict(_messages(asked))
    sections: dict[str, list[dict[str, object]]] = {}
    for section, pattern in patterns.items():
        found: dict[str, int] = {}
        for number, text in messages.items():
            for match in pattern.finditer(text):
                found.setdefault(match[match.lastindex or 0], number)
        items = [{"text": piece, "message": number, "quotes": [piece]} for piece, number in found.items() if piece]
        if items:
            sections[section] = items
    return json.dumps(sections, ensure_ascii=False)


def _messages(asked: str) -> Iterator[tuple[int, str]]:
    """Give the messages that are to be condensed by number, without those that state the task and stay."""
    bounds = _ASKED_FOR.findall(asked)
    if not bounds:
        return
    first, last = (int(bound) for bound in bounds[-1])
    pieces = _HEADING.split(asked.rpartition("=== request ===")[0])
    for number, text in zip(pieces[1::2], pieces[2::2], strict=True):
        if first <= int(number) <= last:
            yield int(number), text


def _text(asked: Asked) -> str:
    """Put the texts of the user's messages together as they stand; they are one text cut into blocks."""
    parts: list[str] = []
    for message in objects(asked.body.get("messages")):
        if message.get("role") == "user":
            content = message.get("content")
            parts += [content] if isinstance(content, str) else [as_text(b.get("text")) for b in objects(content)]
    return "".join(parts)
