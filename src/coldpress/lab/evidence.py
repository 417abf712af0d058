"""Count what an agent goes by and was not shown: texts that its edits quote, and identifiers in the input of its calls.

Open-loop: the recorded agent saw everything. What is counted is what it used from a tool result, at a moment when that
stood in nothing that was sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from coldpress.lab.blocks import read_blocks, read_body, strings
from coldpress.lab.replay_source import Texts, quotes_of

_WORD: Final = re.compile(r"[A-Za-z0-9_./@-]{8,}")
_TELLING: Final = re.compile(r"[0-9_/.]|[a-z][A-Z]")
"""What makes a word an identifier, a path or an id: a digit, a separator, or a capital behind a small letter."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the replies of some requests used.

    Attributes:
        edits: old texts of edits; `edits_of_results` of them stand in an earlier result as it was received, and
            `edits_lost` of these in nothing that was sent.
        identifiers: those in the input of calls that stand in an earlier result, each once a reply; `identifiers_lost`
            of them stood in nothing that was sent.
        calls: tool calls.
    """

    edits: int = 0
    edits_of_results: int = 0
    edits_lost: int = 0
    identifiers: int = 0
    identifiers_lost: int = 0
    calls: int = 0

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence(
            self.edits + other.edits,
            self.edits_of_results + other.edits_of_results,
            self.edits_lost + other.edits_lost,
            self.identifiers + other.identifiers,
            self.identifiers_lost + other.identifiers_lost,
            self.calls + other.calls,
        )


class Witness:
    """Looks at the requests of one recording; every message is read once."""

    def __init__(self) -> None:
        self._texts = Texts()
        self._known: dict[bytes, tuple[frozenset[str], frozenset[str]]] = {}

    def of(self, received: bytes, sent: bytes, reply: str) -> Evidence:
        """Say what a reply used.

        Args:
            received: the request as the client wrote it.
            sent: as the model saw it.
            reply: the message that came back, JSON text.
        """
        quotes = quotes_of(self._texts, received, sent, reply)
        inputs = list(_inputs(reply))
        used = {found for value in inputs for text in strings(value) for found in identifiers(text)}
        given = [self._words(message)[0] for message in read_body(received).messages] if used else []
        used = {word for word in used if any(word in words for words in given)}
        lost = self._unseen(used, read_body(sent).messages) if used else used
        return Evidence(quotes.edits, quotes.from_results, quotes.lost, len(used), len(lost), len(inputs))

    def _unseen(self, used: set[str], sent: tuple[bytes, ...]) -> set[str]:
        shown = [self._words(message)[1] for message in sent]
        missing = {word for word in used if not any(word in words for words in shown)}
        texts = [text for message in sent for text in self._texts.of(message).all] if missing else []
        return {word for word in missing if not any(word in text for text in texts)}

    def _words(self, message: bytes) -> tuple[frozenset[str], frozenset[str]]:
        """Identifiers in the results of a message, and in all of it."""
        known = self._known.get(message)
        if known is None:
            texts = self._texts.of(message)
            results = frozenset(word for text in texts.results for word in identifiers(text))
            said = frozenset(word for text in texts.said for word in identifiers(text))
            known = self._known[message] = (results, results | said)
        return known


def identifiers(text: str) -> Iterator[str]:
    """Find the words of a text that name something: paths, ids, hashes, compound names, of 8 characters or more.

    >>> sorted(identifiers("see src/app.py: renderPage() or release notes, commit 3f9c2a17."))
    ['3f9c2a17', 'renderPage', 'src/app.py']
    """
    for found in _WORD.finditer(text):
        word = found.group().strip("./-@")
        if len(word) >= 8 and _TELLING.search(word):
            yield word


def _inputs(reply: str) -> Iterator[object]:
    for block in read_blocks(reply):
        if block.type == "tool_use":
            yield msgspec.json.decode(block.input)
