"""Find the words in a text that name something: paths, ids, hashes, compound names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

MIN_CHARS: Final = 8

_WORD: Final = re.compile(r"[A-Za-z0-9_./@-]{8,}")
_TELLING: Final = re.compile(r"[0-9_/.]|[a-z][A-Z]")
"""What makes a word an identifier, a path or an id: a digit, a separator, or a capital behind a small letter."""


def identifiers(text: str) -> Iterator[str]:
    """Find the words of a text that name something: paths, ids, hashes, compound names, of 8 characters or more.

    >>> sorted(identifiers("see src/app.py: renderPage() or release notes, commit 3f9c2a17."))
    ['3f9c2a17', 'renderPage', 'src/app.py']
    """
    for found in _WORD.finditer(text):
        word = found.group().strip("./-@")
        if len(word) >= MIN_CHARS and _TELLING.search(word):
            yield word
