"""Find what is sensitive in a text by its form and its check digits; every pattern looks a bounded way ahead."""

from __future__ import annotations

import fnmatch
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from coldpress.engine.credentials import secret_spans
from coldpress.engine.pii import Hit, SensitiveKind, placeholders, with_copies
from coldpress.engine.pii_data import ALLOWED, CARD_RANGES, IBAN_LENGTHS, NO_TOP_LEVEL

DEFAULT_KINDS: Final[tuple[SensitiveKind, ...]] = ("secret", "card", "iban", "phone", "email")
"""An address of the network is not among them: logs are full of them, and few belong to a person."""

MOST_LOCAL: Final = 64
"""Characters in front of the `@` of an e-mail address: RFC 5321, 4.5.3.1.1."""

MOST_PLAIN: Final = 400
"""Characters of what an allowed pattern may match: an e-mail address has 320 at most."""

_DOMAIN: Final = re.compile(
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}([A-Za-z]{2,24})(?![A-Za-z0-9@_-]|\.[A-Za-z0-9])"
)
_LOCAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.!#$%&'*+/=?^_`{|}~-")
_LOCAL_ENDS: Final = ".'`*=/|{}&?#$!^~%"
_IN_ADDRESS: Final = re.compile(r"://[^\s/@]{0,200}\Z")

_CARD: Final = re.compile(r"(?<![\w.+/=-])[2-6]\d{3}(?:\d{10,12}|([ -])\d{4,6}\1\d{4,5}(?:\1\d{4})?)(?![\w/=-]|\.\d)")
_IBAN: Final = re.compile(r"(?<![A-Za-z0-9])([A-Z]{2})\d{2}(?=[ ]?[A-Z0-9])")
_PHONE: Final = re.compile(r"\+(?<![\w+.]\+)(?=[1-9(])(?:[ .\-/()]{0,2}\d){7,15}(?![\w]|[.,]\d|[ .-]?\d)")
_DIFF: Final = re.compile(r"^(?:diff --git |@@ -\d)", re.MULTILINE)
_IP: Final = re.compile(r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)")
_APART: Final = str.maketrans("", "", " -.()/")

IsPhone = Callable[[str], bool]
"""Says whether a text that begins with `+` and has the digits of a telephone number is one."""


@dataclass(frozen=True, slots=True)
class Sought:
    """What is looked for.

    Attributes:
        kinds: what counts as sensitive.
        allow: patterns of what does not, see `coldpress.engine.pii_data.ALLOWED`.
    """

    kinds: tuple[SensitiveKind, ...] = DEFAULT_KINDS
    allow: tuple[str, ...] = ALLOWED


def plausible_phone(number: str) -> bool:
    """Judge a number by what E.164 says of all countries alike: 8 to 15 digits behind the `+`, groups among them.

    Digits in one run may be anything that somebody wrote a sign in front of: they are left alone without a library
    that knows the plans of the countries.
    """
    digits = sum(c.isdigit() for c in number)
    return 8 <= digits <= 15 and digits < len(number) - 1


def found(
    text: str, sought: Sought, *, is_phone: IsPhone = plausible_phone, more: Iterable[Hit] = ()
) -> tuple[Hit, ...]:
    """Find everything sensitive in a text, in order, no two hits in one place.

    Args:
        text: any text; lone surrogates are fine.
        sought: what is looked for.
        is_phone: judges telephone numbers.
        more: what a library found in it, of any kind.

    >>> found("mail ada@lovelace.uk", Sought())
    (Hit(start=5, end=20, kind='email'),)
    """
    hits = [hit for hit in (*_by_form(text, sought.kinds, is_phone), *more) if hit.kind in sought.kinds]
    ours = placeholders(text)
    kept = [hit for hit in hits if not _allowed(text, hit, sought.allow) and not _touches(hit, ours)]
    return with_copies(text, kept)


def _by_form(text: str, kinds: Collection[SensitiveKind], is_phone: IsPhone) -> Iterator[Hit]:
    if "secret" in kinds:
        yield from (Hit(start, end, "secret") for start, end in secret_spans(text) if start < end)
    if "email" in kinds and "@" in text:
        yield from _emails(text)
    if "phone" in kinds and "+" in text:
        yield from _phones(text, is_phone)
    if "card" in kinds:
        yield from (Hit(*match.span(), "card") for match in _CARD.finditer(text) if _is_card(match[0]))
    if "iban" in kinds:
        yield from _ibans(text)
    if "ip" in kinds:
        yield from (Hit(*match.span(), "ip") for match in _IP.finditer(text) if _is_ip(match[0]))


def _emails(text: str) -> Iterator[Hit]:
    for match in _DOMAIN.finditer(text):
        end = match.start()
        start, least = end, max(0, end - MOST_LOCAL)
        while start > least and text[start - 1] in _LOCAL:
            start -= 1
        while start < end and text[start] in _LOCAL_ENDS:
            start += 1
        if start == end or text[end - 1] == "." or match[1].lower() in NO_TOP_LEVEL:
            continue
        # What stands in front of the host in an address of a service is no mailbox.
        if _IN_ADDRESS.search(text[max(0, start - 210) : start]) or "://" in text[start:end]:
            continue
        yield Hit(start, match.end(), "email")


def _phones(text: str, is_phone: IsPhone) -> Iterator[Hit]:
    is_diff: bool | None = None
    for match in _PHONE.finditer(text):
        if match.start() == 0 or text[match.start() - 1] == "\n":
            # A line that a diff adds begins with a sign as well.
            is_diff = _DIFF.search(text) is not None if is_diff is None else is_diff
            if is_diff:
                continue
        if is_phone(match[0]):
            yield Hit(*match.span(), "phone")


def _is_card(written: str) -> bool:
    number = written.translate(_APART)
    ranges = next((ranges for length, ranges in CARD_RANGES if length == len(number)), ())
    if not any(first <= int(number[: len(str(first))]) <= last for first, last in ranges):
        return False
    digits = [int(c) for c in reversed(number)]
    return (
        len(set(digits)) > 2 and sum(d if i % 2 == 0 else d * 2 - 9 * (d > 4) for i, d in enumerate(digits)) % 10 == 0
    )


def _ibans(text: str) -> Iterator[Hit]:
    for match in _IBAN.finditer(text):
        length, at, number = IBAN_LENGTHS.get(match[1], 0), match.start(), ""
        while len(number) < length and at < len(text):
            if text[at] == " " and number and text[at - 1] != " ":
                at += 1
                continue
            if not (text[at].isascii() and (text[at].isdigit() or text[at].isupper())):
                break
            number += text[at]
            at += 1
        if length and len(number) == length and not text[at : at + 1].isalnum() and _is_iban(number):
            yield Hit(match.start(), at, "iban")


def _is_iban(number: str) -> bool:
    return int("".join(str(int(c, 36)) for c in number[4:] + number[:4])) % 97 == 1


def _is_ip(written: str) -> bool:
    parts = [int(part) for part in written.split(".")]
    return all(part <= 255 for part in parts) and parts[0] not in (0, 10, 127) and parts[:2] != [192, 168]


def _allowed(text: str, hit: Hit, allow: tuple[str, ...]) -> bool:
    written = text[hit.start : hit.end]
    plain = written if hit.kind in ("email", "secret", "ip") else written.translate(_APART)
    return len(plain) <= MOST_PLAIN and _matcher(allow).match(plain.lower()) is not None


@lru_cache(maxsize=64)
def _matcher(allow: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(pattern.lower()) for pattern in allow) or r"(?!)")


def _touches(hit: Hit, ours: tuple[tuple[int, int], ...]) -> bool:
    at = bisect_right(ours, (hit.end,)) - 1
    return at >= 0 and hit.start < ours[at][1] and ours[at][0] < hit.end
