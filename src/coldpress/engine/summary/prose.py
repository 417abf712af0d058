"""Take sentences out of prose, exactly as they stand, and tell what they are good for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

MAX_SENTENCE_CHARS: Final = 320
"""A longer sentence is cut between two words; what is left of it is still exact."""

_MIN_CHARS: Final = 12
_MAX_LINE_CHARS: Final = 4_000
"""A longer line is data, not prose."""

_FENCE: Final = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_PARAGRAPH: Final = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*+•>|#]|\d{1,3}[.)]\s))|(?<=:)\n")
_LEAD: Final = re.compile(r"[ \t\n]*(?:(?:[-*+•>]|#{1,6}|\d{1,3}[.)]|\[[ xX]\])[ \t]+)*")
_SENTENCE_END: Final = re.compile(
    r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)[\"')\]*_`]*\s+(?=[\"'(\[*_`]*[A-Z0-9])"
)

NEGATES: Final = re.compile(
    r"(?:No|Not|Avoid|Nothing|Nobody|Neither|Refrain)\b|.*\b(?:never|not|cannot|nobody|nothing|without|no)\b", re.DOTALL
)
INSTRUCTS: Final = re.compile(
    r"(?:Please\s+)?(?:(?:Before|After|When|If|For|Where|Unless|On)\b[^,.]{1,80},\s*)?"
    r"(?:[Uu]se|[Rr]un|[Kk]eep|[Ww]rite|[Pp]refer|[Pp]ut|[Aa]dd|[Uu]pdate|[Ff]ollow|[Cc]heck|[Tt]est|[Cc]ommit|[Nn]ame|"
    r"[Cc]all|[Ss]end|[Rr]eport|[Aa]sk|[Ww]ait|[Rr]eturn|[Ii]nclude|[Dd]ocument|[Ff]ormat|[Ii]mport|[Tt]reat|[Ee]scalate|"
    r"[Rr]efund|[Oo]ffer|[Cc]onfirm|[Vv]erify|[Rr]ead|[Ll]imit|[Ss]tay|[Ll]eave|[Ss]top|[Ww]ork|[Cc]reate|[Ll]og|[Ss]tore|"
    r"[Ss]ave|[Mm]ake|[Ss]et|[Hh]andle|[Pp]refix|[Bb]ook|[Cc]harge|[Pp]ay|[Rr]ebase|[Ss]quash|[Mm]erge|[Ss]ign|[Tt]ag|"
    r"[Aa]lways|[Oo]nly|[Rr]emove|[Dd]elete|[Pp]in|[Cc]ite|[Ss]tart|[Ee]nd)\s"
)
"""How a document that sets rules gives them without a word that binds: sentences that deny, and orders."""

DECIDES: Final = re.compile(
    r"\b(?:because|since the|therefore|instead of|rather than|decided|decision|chose|choosing|going with|opted|"
    r"root cause|the (?:bug|issue|problem|cause|reason|culprit|fix) (?:is|was|here)|turns out|"
    r"the right (?:fix|place|way)|"
    r"this means|that means|so that|which is why|agreed|the best approach|trade-?off|confirmed|conclusion)\b",
    re.IGNORECASE,
)
"""Decisions and reasons."""

NARRATES: Final = re.compile(
    r"(?:(?:THOUGHT|Now|Next|First|Then|OK|Okay|Good|Great|Perfect|Excellent)[,.!:]?\s+)*"
    r"(?:let me|let's|let us|now (?:\w+ (?:the|a|an|all|in)\b)|"
    r"(?:I'll|I will|I should|I'm going to|Time to) (?:now )?(?:create|verify|use|update|write|add|"
    r"check|look|read|run|search|start|continue|see)|now I'll|"
    r"I need to (?:see|check|look))\b",
    re.IGNORECASE,
)
"""How an agent says what it is about to do, which the call behind it says better."""

CRITERIA: Final = re.compile(
    r"\b(?:must|should|done when|accept\w*|criteri\w+|make sure|ensure|tests? (?:\w+ )?pass\w*|require\w*|expected|"
    r"until|so that|without|goal|fix|implement|add|never|do not|don['’]t|only)\b",
    re.IGNORECASE,
)
"""Sentences of a task that say what is wanted and when it is reached."""


def sentences(text: str) -> Iterator[str]:
    """Give the sentences of prose as they stand in it, line ends inside included, without list marks in front.

    Code blocks and lines that are too long to be prose are passed over.

    >>> list(sentences("Something fails. The cause is `a` race.\\n\\n- never touch prod"))
    ['Something fails.', 'The cause is `a` race.', 'never touch prod']
    """
    plain = _FENCE.sub("\n\n", text) if "```" in text else text
    for paragraph in _PARAGRAPH.split(plain):
        if len(paragraph) > _MAX_LINE_CHARS and paragraph.count("\n") < len(paragraph) // _MAX_LINE_CHARS:
            continue
        rest = paragraph[_LEAD.match(paragraph).end() :]  # type: ignore[union-attr]
        for sentence in _SENTENCE_END.split(rest):
            found = sentence.strip()
            if len(found) >= _MIN_CHARS and any(c.isalpha() for c in found):
                yield found


def within(sentence: str, needle: re.Match[str] | None = None) -> str:
    """Cut a sentence that is too long between two words, so that what matters stays in; it remains a piece of it.

    Args:
        sentence: to be cut.
        needle: what must stay in; the start of the sentence where there is none.
    """
    if len(sentence) <= MAX_SENTENCE_CHARS:
        return sentence
    at = needle.start() if needle is not None else 0
    start = 0 if at < MAX_SENTENCE_CHARS * 2 // 3 else sentence.rfind(" ", 0, at - MAX_SENTENCE_CHARS // 4) + 1
    end = sentence.rfind(" ", start, start + MAX_SENTENCE_CHARS)
    return sentence[start:end].strip() if end > start else ""
