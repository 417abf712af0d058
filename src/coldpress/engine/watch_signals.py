"""Find prohibitions and limits in what users, the system, plans and memories say, sentence by sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

LONGEST_CHARS: Final = 500
"""A longer sentence is no instruction but a pasted text without full stops."""

_TAGS: Final = (
    r"system-reminder|local-command-[a-z]+|command-[a-z]+|task-notification|ide_[a-z_]+|environment_(?:details|context)"
)
_INJECTED: Final = re.compile(rf"<({_TAGS})>.*?(?:</\1>|\Z)", re.DOTALL)
"""What a client puts into a user's message by itself: the user did not say it, and the client says it again."""

_CODE: Final = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_END: Final = re.compile(r"(?<=[.!?;])(?:\s+|$)|\n+")
_BULLET: Final = re.compile(r"^\s*(?:[-*+•>#]+|\d+[.)]|\[[ x]\])\s*")
_DECORATION: Final = re.compile(r"[*_`\"'“”‘’]")

_OPENS: Final = (
    r"(?:^|[,:;(–—-]\s*|\b(?:please|and|but|or|so|then|also|just|always|important|note|warning|you|we|they|it)\s+)"
)
_ACTS: Final = r"(?:use|edit|change|touch|modify|run|read|write|call|commit|add|work|look|test|deploy|install|create)"
_SIGNALS: Final = re.compile(
    "|".join(
        (
            rf"{_OPENS}(?:do not|dont|never)\b(?!\s+(?:know|see|understand|think|remember|mind|worry|have to|need to))",
            r"\b(?:must|should|shall|may|can|will) (?:not|never)\b|\b(?:mustnt|shouldnt|cannot|cant be)\b",
            r"\b(?:not allowed|not permitted|forbidden|prohibited|off.limits|under no circumstances|no matter what)\b",
            r"\bwithout (?:asking|my|permission|approval|confirmation)\b",
            r"\b(?:at most|no more than|not more than|(?:not|never) exceed|up to a maximum|maximum of|max\.? \d)\b",
            r"\b(?:limit(?:ed)?|cap(?:ped)?|budget|quota|ceiling)\b[^.\n]{0,30}\d",
            rf"{_OPENS}only\b|\b(?:must|may|should|can|allowed to|{_ACTS}) only\b|\bonly (?:{_ACTS}|after|if|when)\b",
            r"\bstop (?:if|when|as soon as|after|before)\b",
        )
    ),
    re.IGNORECASE,
)
_FIRST_PERSON: Final = re.compile(r"\b(?:i|it|we|they|he|she)\s+(?:do not|dont|never|only|can ?not|should not)\b", re.I)
"""Tells what is, not what must not be."""


def signals(text: str) -> Iterator[str]:
    """Give the sentences of a text that forbid or limit something, in the form of `plain`.

    >>> list(signals("The build is slow. Never push to `main`!\\n- Spend at most 5 USD."))
    ['never push to main!', 'spend at most 5 usd.']
    """
    for sentence in _END.split(_CODE.sub("\n", _INJECTED.sub("\n", text))):
        said = plain(_BULLET.sub("", sentence))
        if 0 < len(said) <= LONGEST_CHARS and _SIGNALS.search(said) and not _FIRST_PERSON.search(said):
            yield said


def plain(text: str) -> str:
    """Give a text without what a rewording leaves alone: capitals, quotes, emphasis and spacing."""
    return " ".join(_DECORATION.sub("", text).lower().split())
