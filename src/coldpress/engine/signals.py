"""Find what forbids, limits or requires something: in a sentence, and sentence by sentence in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from coldpress.engine.injected import without_injected

APOSTROPHE: Final = r"(?:['’]|\\u0027)"
"""As people type it, as word processors do, and as it stands in JSON that was made safe for web pages."""

_BASE: Final = r"(?!(?:mind|been|was|is|used|worry|think|know|see|need|have|want|believe)\b|\w+(?:ed|ing)\b)[a-z]{2,}"
_LEADS: Final = (
    "[Aa]nd|[Bb]ut|[Oo]r|[Ss]o|[Tt]hen|[Aa]lso|[Jj]ust|[Pp]lease|to|must|should|[Yy]ou|[Ww]e|[Tt]hey|will|may"
)
_CLAUSE: Final = rf"(?:^|[\"'“‘*_`(:;,.!—–-]\s*|\b(?:{_LEADS})\s+)"

FORBIDS: Final = re.compile(
    rf"{_CLAUSE}(?:[Nn]ever|[Dd]o not|[Dd]on{APOSTROPHE}?t)\s+(?:ever\s+)?{_BASE}"
    r"|\b(?:NEVER|DO NOT|MUST NOT|DON'T)\b"
    rf"|\b(?:must|may|shall|should)\s+(?:not|never)\b|\bmustn{APOSTROPHE}?t\b|\bI\s+(?:won{APOSTROPHE}t|will\s+not)\b"
    r"|\b(?:is|are)\s+(?:forbidden|prohibited|off[- ]limits|not allowed|not permitted|read-only)\b|\boff[- ]limits\b"
    r"|\b(?:under no circumstances|no matter what)\b"
    r"|\bwithout\s+(?:asking|my|approval|permission|confirmation|consent)\b",
    re.MULTILINE,
)
"""Prohibitions. `never` counts before a verb in its base form: `is never used` forbids nothing."""

LIMITS: Final = re.compile(
    r"\b(?:at most|no more than|not more than|up to a maximum|a maximum of|(?:not|never) exceed|"
    r"(?:stay|keep|remain)s? (?:under|below))\b"
    r"|\b(?:cap|limit|budget|maximum|deadline|quota|ceiling)\s+(?:is|are|of|stays|remains|was set)\b"
    r"|\b(?:cap|limit|budget|deadline|quota)\s*[:=]\s*\S"
    r"|\bstop (?:if|when|as soon as|after|before)\b",
    re.IGNORECASE,
)
"""Limits on amounts, sizes and times."""

REQUIRES: Final = re.compile(
    r"\b(?:[Yy]ou|[Ww]e|[Ii]t|[Tt]his|[Tt]hat|[Tt]hey|[Aa]ll|[Ee]very|[Ee]ach|\w+s?)\s+must\s+(?!have\b|be\s+(?:why|because))[a-z]"
    r"|\bMUST\b|\b(?:is|are)\s+(?:required|mandatory)\b|^\s*(?:[Aa]lways|ALWAYS|ONLY|[Mm]ust)\s+[a-z]"
    r"|^\s*[Oo]nly\s+(?:use|edit|change|touch|modify|write|run|deploy|commit|push|read|add)\b"
    r"|\b(?:may|must|should)\s+only\b|\balways\s+(?:use|run|keep|ask|check|call|write|add|put)\b"
    r"|^\s*(?:[Mm]ake sure|[Ee]nsure)\b",
    re.MULTILINE,
)
"""Requirements."""

LONGEST_CHARS: Final = 500
"""A longer sentence is no instruction but a pasted text without full stops."""

_CODE: Final = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_END: Final = re.compile(r"(?<=[.!?;])(?:\s+|$)|\n+")
_BULLET: Final = re.compile(r"^\s*(?:[-*+•>#]+|\d+[.)]|\[[ x]\])\s*")
_DECORATION: Final = re.compile(r"[*_`\"'“”‘’]")

_ACTS: Final = r"(?:use|edit|change|touch|modify|run|read|write|call|commit|add|work|look|test|deploy|install|create)"
_OPENS: Final = (
    r"(?:^|[,:;(–—-]\s*|\b(?:please|and|but|or|so|then|also|just|always|important|note|warning|you|we|they|it)\s+)"
)
_LOOSER: Final = re.compile(
    "|".join(
        (
            rf"{_OPENS}(?:do not|dont|never)\b(?!\s+(?:know|see|understand|think|remember|mind|worry|have to|need to))",
            r"\b(?:can|will) (?:not|never)\b|\b(?:shouldnt|cannot|cant be)\b|\bmax\.? \d",
            r"\b(?:limit(?:ed)?|cap(?:ped)?|budget|quota|ceiling)\b[^.\n]{0,30}\d",
            rf"{_OPENS}only\b|\b(?:must|may|should|can|allowed to|{_ACTS}) only\b|\bonly (?:{_ACTS}|after|if|when)\b",
        )
    ),
    re.IGNORECASE,
)
"""What counts as well where nobody but users, plans and memories speaks: in an agent's own prose it tells what is."""

_FIRST_PERSON: Final = re.compile(r"\b(?:i|it|we|they|he|she)\s+(?:do not|dont|never|only|can ?not|should not)\b", re.I)
"""Tells what is, not what must not be."""


def signals(text: str) -> Iterator[str]:
    """Give the sentences of a text that forbid or limit something, in the form of `plain`.

    >>> list(signals("The build is slow. Never push to `main`!\\n- Spend at most 5 USD."))
    ['never push to main!', 'spend at most 5 usd.']
    """
    for sentence in _END.split(_CODE.sub("\n", without_injected(text))):
        bare = _DECORATION.sub("", _BULLET.sub("", sentence))
        said = plain(bare)
        found = FORBIDS.search(bare) or LIMITS.search(bare) or _LOOSER.search(said)
        if found and len(said) <= LONGEST_CHARS and not _FIRST_PERSON.search(said):
            yield said


def plain(text: str) -> str:
    """Give a text without what a rewording leaves alone: capitals, quotes, emphasis and spacing."""
    return " ".join(_DECORATION.sub("", text).lower().split())
