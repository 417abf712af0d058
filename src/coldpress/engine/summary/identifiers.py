"""Find the names in a text that must be exact to be worth anything: paths, hashes, amounts, ids, versions, URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

URL: Final = r"\b[a-z][a-z0-9+.-]{1,12}://[^\s<>\"'`\])}]+"
AMOUNT: Final = r"(?:[$€£¥]\s?\d[\d,.]{0,30}(?:\w+|\s(?:million|billion)\b)?|\b\d[\d,.]{0,30}\s?(?:USD|EUR|GBP|CHF|%))"
HASH: Final = (
    r"\b(?:(?<=commit )|(?<=commit\t)|(?<=sha )|(?<=hash )|(?<=revision ))(?=[0-9a-f]*\d)[0-9a-f]{4,40}\b"
    r"|\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b"
)
UUID: Final = r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
TICKET: Final = r"(?<![\w&])(?:[A-Z][A-Z0-9]{1,9}-\d+|#\d+)\b"
VERSION: Final = r"\bv?\d+\.\d+(?:\.\d+)+(?:[-+][\w.]+)?\b|\bv\d+(?:\.\d+)+\b"
PATH: Final = (
    r"(?<![\w@:/.+~-])(?:~|\.{1,2}|[A-Za-z]:)?/?(?:[\w@.+-]+/)+[\w@.+-]*\w"
    r"|(?<![\w@:/.+~-])/[\w@.+-]*\w"
    r"|(?<![\w@:/.-])[\w-][\w.-]*\.(?:py|pyi|js|jsx|ts|tsx|mjs|go|rs|c|h|cc|cpp|hpp|java|kt|rb|php|cs|swift|sh|sql|"
    r"md|rst|txt|toml|ya?ml|json|jsonl|ini|cfg|lock|html|css|csv|xml|log|env|proto|ipynb|patch|diff)\b"
)
CODE: Final = (
    r"\b[A-Za-z]\w*_\w*\w\b"  # snake_case and CONSTANT_CASE
    r"|\b[a-z][a-z0-9]*[A-Z]\w*\b"  # camelCase
    r"|\b[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b"  # CapWords
    r"|\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){0,8}(?=\(\))"  # a call
    r"|(?<![\w-])--[a-z][\w-]+"  # an option
    r"|(?<=\s)-[A-Za-z]\b"
)
DASHED: Final = r"(?<![\w.,/-])(?<!lines )(?=[\d-]*\d{3})\d+(?:-\d+)+(?![\w-])"  # 7431-08, a date
NUMBER: Final = r"(?<![\w.,])\d[\d,]*\.\d+\b|(?<![\w.,])\d(?:,?\d){2,}\b"
MEASURE: Final = r"(?<![\w.,])\d[\d,.]*\s?(?:ms|[kKMGT]i?B|seconds|minutes|hours|days|requests|tokens|users|rows)\b"
SPAN: Final = r"`([^`\n]+)`"

_KINDS: Final = (URL, UUID, AMOUNT, HASH, VERSION, TICKET, PATH, CODE, DASHED, NUMBER)
_ANY: Final = re.compile("|".join(f"(?:{kind})" for kind in _KINDS))
_SPAN: Final = re.compile(SPAN)
_LOADED: Final = re.compile("|".join(f"(?:{kind})" for kind in (URL, UUID, AMOUNT, HASH, TICKET, VERSION, MEASURE)))
_TELLING: Final = re.compile("|".join(f"(?:{kind})" for kind in (UUID, HASH, TICKET)))

_THINGS: Final = (
    "account|acct|ticket|order|invoice|customer|reservation|booking|incident|transaction|confirmation|shipment|payment|"
    "subscription|contract|tenant|cost cent(?:er|re)"
)
"""What has an id that stands right behind its name, as in `account 7431-08`."""

_OTHERS: Final = (
    "case|build|job|run|deployment|release|request|tracking|reference|ref|session|project|batch|serial|part|sku"
)
"""What has one as well, but is a verb or a word of every day too: here a colon or the like has to tell."""

_LABELLED: Final = re.compile(
    rf"(?<![A-Za-z])(?:(?P<thing>{_THINGS})|{_OTHERS}|uuid|id)"
    r"(?P<word>[ _-]?(?:id|nr|no|number|code)\.?)?(?![A-Za-z])"
    r"[\"'*`]*(?P<sign>\s*(?:=|:|#|\bis\b|\bwas\b))?\s*[\"'*`#]*"
    r"(?P<id>(?=[\w-]*\d)[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*)(?![\w/(-]|\.\w)",
    re.IGNORECASE,
)
_SHORT_HASH: Final = re.compile(r"(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,40}")
_TRAILING: Final = ".,;:!?…"
_BREAK: Final = re.compile(r"(?:\x1b\[[\d;]*m|\\[nrt])\Z")
"""A colour, or an escape of JSON in JSON: a name may begin right behind its letter."""

_NAME_GOES_ON: Final = re.compile(r"[\w]")
_NUMBER_GOES_ON: Final = re.compile(r"\w|[.,]\d")


def identifiers(text: str) -> tuple[str, ...]:
    """Give every name in a text that must be exact, once each, in order; spans in backticks count whole.

    Words of a language do not count, nor numbers of one or two digits.

    >>> identifiers("Commit 9f2c1ab moved src/a.py, see `make_it(x)`; the cap is $4,300.")
    ('make_it(x)', '9f2c1ab', 'src/a.py', 'make_it', '$4,300')
    """
    spans = (match[1].strip() for match in _SPAN.finditer(text))
    names = dict.fromkeys((*spans, *_found(_ANY, text), *_labelled(text)))
    # A piece that a pattern took out of a longer name is none.
    return tuple(name for name in names if name and stands_in(name, text))


def load_bearing(text: str) -> tuple[str, ...]:
    """Give the names that an outsider could not guess: amounts, measures, hashes, ids, versions, URLs.

    >>> load_bearing("PR #41 spends $4,300 of it in src/a.py")
    ('#41', '$4,300')
    """
    return tuple(dict.fromkeys((*_found(_LOADED, text), *_labelled(text))))


def telling(text: str) -> tuple[str, ...]:
    """Give the names of single things, which must not be mixed up: hashes, UUIDs, tickets, and ids that are labelled.

    >>> telling("Booked to account 7431-08 under ABC-12, build 3 of 4, at 99 % in 12 ms")
    ('ABC-12', '7431-08')
    """
    return tuple(dict.fromkeys((*_found(_TELLING, text), *_labelled(text))))


def labelled(text: str) -> tuple[str, ...]:
    """Give the ids in front of which it says what they are of.

    >>> labelled("ticket no. 4711, order id: 55A1-9, run test_foo_22, the case 3 of 4")
    ('4711', '55A1-9')
    """
    return tuple(dict.fromkeys(_labelled(text)))


def stands_in(name: str, text: str) -> bool:
    """Whether a name stands in a text as a name of its own, not as a piece of a longer one.

    A hash may go on behind its first seven digits, since that is how people and git shorten it.

    >>> stands_in("$4,30", "at most $4,300"), stands_in("src/a.py", "cat src/a.py;")
    (False, True)
    """
    at = text.find(name)
    while at >= 0:
        if not _goes_on(name, text, at):
            return True
        at = text.find(name, at + 1)
    return False


def _goes_on(name: str, text: str, at: int) -> bool:
    end = at + len(name)
    if _SHORT_HASH.fullmatch(name) and (at == 0 or not text[at - 1].isalnum()):
        return False
    pattern = _NUMBER_GOES_ON if name[-1].isdigit() else _NAME_GOES_ON
    if pattern.match(name[-1]) and pattern.match(text, end):
        return True
    goes_on_before = at > 0 and name[0].isalnum() and _NAME_GOES_ON.match(text[at - 1]) is not None
    return goes_on_before and _BREAK.search(text, max(0, at - 12), at) is None


def _labelled(text: str) -> Iterator[str]:
    for match in _LABELLED.finditer(text):
        name, says_so = match["id"], match["sign"] is not None or match["word"] is not None
        if not says_so and (match["thing"] is None or "_" in name):
            continue
        digits = sum(map(str.isdigit, name))
        if digits == len(name):
            is_id = digits >= (3 if says_so else 5)
        else:
            is_id = len(name) >= 4 and digits >= 2
        if is_id:
            yield name


def _found(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    for match in pattern.finditer(text):
        yield match[0].rstrip(_TRAILING).strip()
