"""Name what is sensitive in a text, and put a placeholder in its place that says what it was and nothing of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, get_args

SensitiveKind = Literal["secret", "card", "iban", "phone", "email", "ip"]
"""`secret` is a credential: a key, a token, a password. `ip` is an IPv4 address."""

KINDS: Final[tuple[SensitiveKind, ...]] = get_args(SensitiveKind)
"""In the order in which they name what several of them found in one place."""

_PLACEHOLDER: Final = re.compile(rf"\[redacted ({'|'.join(KINDS)}) (\d{{1,9}})\]")

SHORTEST_COPY: Final = 8
"""Characters of a secret of which further copies are looked for: a shorter one may be any word."""
UNMISTAKABLE: Final = 20
"""Characters of a secret that is taken for a copy inside a longer word too."""
MOST_COPIED: Final = 200
"""Secrets of one text of which further copies are looked for: each takes a pass over the text."""


@dataclass(frozen=True, slots=True, order=True)
class Hit:
    """Something sensitive in a text: a half-open range of characters and what it is."""

    start: int
    end: int
    kind: SensitiveKind


def placeholders(text: str) -> tuple[tuple[int, int], ...]:
    """Say where placeholders of ours stand."""
    return tuple(match.span() for match in _PLACEHOLDER.finditer(text)) if "[redacted " in text else ()


def joined(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Put hits in order and make one of those that overlap, under the kind that comes first in `KINDS`.

    >>> joined([Hit(4, 9, "email"), Hit(0, 6, "secret")])
    (Hit(start=0, end=9, kind='secret'),)
    """
    found: list[Hit] = []
    for hit in sorted(hits):
        if found and hit.start < found[-1].end:
            last = found[-1]
            kind = min(last.kind, hit.kind, key=KINDS.index)
            found[-1] = Hit(last.start, max(last.end, hit.end), kind)
        else:
            found.append(hit)
    return tuple(found)


def with_copies(text: str, hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Add every other place in which a secret of the text stands: a short one as a word of its own."""
    known = joined(hits)
    secrets = dict.fromkeys(text[hit.start : hit.end] for hit in known if hit.kind == "secret")
    worth = [secret for secret in secrets if len(secret) >= SHORTEST_COPY][:MOST_COPIED]
    copies = [Hit(at, at + len(secret), "secret") for secret in worth for at in _places(text, secret)]
    return joined((*known, *copies)) if len(copies) > len(worth) else known


def redacted(text: str, hits: Iterable[Hit]) -> str:
    """Put `[redacted KIND n]` in the place of each hit.

    Equal texts of a kind have equal numbers, counted from 1 by first appearance, behind those of placeholders that
    stand in the text already. Nothing in a placeholder depends on the secret itself.

    >>> redacted("a@b.de, c@d.fr, a@b.de", [Hit(0, 6, "email"), Hit(8, 14, "email"), Hit(16, 22, "email")])
    '[redacted email 1], [redacted email 2], [redacted email 1]'
    """
    last: dict[str, int] = {}
    for match in _PLACEHOLDER.finditer(text):
        last[match[1]] = max(last.get(match[1], 0), int(match[2]))
    numbers: dict[tuple[str, str], int] = {}
    pieces, at = [], 0
    for hit in joined(hits):
        name = (hit.kind, text[hit.start : hit.end])
        if name not in numbers:
            numbers[name] = last[hit.kind] = last.get(hit.kind, 0) + 1
        pieces += [text[at : hit.start], f"[redacted {hit.kind} {numbers[name]}]"]
        at = hit.end
    return "".join((*pieces, text[at:]))


def _places(text: str, secret: str) -> Iterable[int]:
    at = text.find(secret)
    while at >= 0:
        end = at + len(secret)
        runs_on = _is_word(text[at - 1 : at]) and _is_word(secret[0])
        runs_on = runs_on or (_is_word(text[end : end + 1]) and _is_word(secret[-1]))
        if not runs_on or len(secret) >= UNMISTAKABLE:
            yield at
        at = text.find(secret, end)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
