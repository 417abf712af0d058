"""How much of a small labelled set is found, and how much of that is right; docs/howto/pii.md has the figures."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from coldpress.drive.detectors import libraries
from coldpress.engine.pii import Hit, SensitiveKind
from coldpress.engine.pii_patterns import DEFAULT_KINDS, Sought, found

TESTS = Path(__file__).parent.parent
PAGE = TESTS.parent / "docs" / "howto" / "pii.md"
_MARKED = re.compile(r"«(\w+)\|(.*?)»", re.DOTALL)


@cache
def cases() -> tuple[tuple[str, frozenset[Hit]], ...]:
    """Every text, with what is sensitive in it."""
    lines = (TESTS / "data" / "pii_labelled.txt").read_text(encoding="utf-8").splitlines()
    made = []
    for line in (line for line in lines if line and not line.startswith("#")):
        text, hits = "", []
        at, source = 0, line.replace("~", "").replace("\\n", "\n").replace("\\t", "\t")
        for match in _MARKED.finditer(source):
            text += source[at : match.start()]
            hits.append(Hit(len(text), len(text) + len(match[2]), match[1]))  # type: ignore[arg-type]
            text, at = text + match[2], match.end()
        made.append((text + source[at:], frozenset(hits)))
    return tuple(made)


def counted(kind: SensitiveKind, *, with_libraries: bool) -> tuple[int, int, int]:
    """How many there are, how many of them go altogether, and how many hits touch nothing that is sensitive."""
    more = libraries(DEFAULT_KINDS)
    there = gone = wrong = 0
    for text, labelled in cases():
        hits = (
            found(text, Sought(), is_phone=more.is_phone, more=more.secrets(text, seconds=5.0))
            if with_libraries
            else found(text, Sought())
        )
        mine = [hit for hit in labelled if hit.kind == kind]
        there += len(mine)
        gone += sum(any(hit.start <= one.start and one.end <= hit.end for hit in hits) for one in mine)
        touches = Counter(any(h.start < o.end and o.start < h.end for o in labelled) for h in hits if h.kind == kind)
        wrong += touches[False]
    return there, gone, wrong


@pytest.mark.parametrize("kind", DEFAULT_KINDS)
def test_the_page_tells_what_comes_out(kind: SensitiveKind) -> None:
    there, with_all, wrong_all = counted(kind, with_libraries=True)
    _, alone, wrong_alone = counted(kind, with_libraries=False)
    row = f"| {kind} | {there} | {with_all} | {wrong_all} | {alone} | {wrong_alone} |"
    assert row in PAGE.read_text(encoding="utf-8"), row
    assert with_all >= alone or kind == "phone"
