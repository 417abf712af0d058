"""Split text into words as code has them, and say how much each of them tells about what is looked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from coldpress.engine.words_data import STOP

Rank = Literal["exact", "part", "prose"]
"""Names and quoted strings, which count whole; pieces of names; words of a language."""

WEIGHTS: Final[dict[Rank, int]] = {"exact": 8, "part": 2, "prose": 1}

MAX_TEXT_CHARS: Final = 4_096
MAX_WORDS: Final = 96
MAX_EXACT_CHARS: Final = 120
MAX_SPLIT_CHARS: Final = 128
"""A longer run of letters is data (base64, a hash), which has no parts worth looking at."""

NAME: Final = re.compile(r"\w+")

_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CJK_RUN: Final = re.compile(rf"[{_CJK}]+")
_HAS_CJK: Final = re.compile(rf"[{_CJK}]")

_REGEX_CLASS: Final = re.compile(r"(?<![\w:.])\\[bBdDsSwW]|\\[bBdDsSwW](?!\w)")
"""Classes and anchors of a regular expression. Behind a letter or a colon a backslash parts a Windows path."""

_FLAG: Final = re.compile(r"(?<!\S)-[A-Za-z]\w{0,12}(?=\s|=|\Z)")
"""Short options, alone or in a bundle. Those of two hyphens are names, unless they are stop words."""

_QUOTED: Final = re.compile(
    r'"([^"\n]{2,120})"|`([^`\n]{2,120})`|(?<!\w)\'([^\'\n]{2,120})\'(?!\w)|“([^”\n]{2,120})”|「([^」\n]{2,120})」'
)
_COMPOUND: Final = re.compile(r"--\w+(?:-\w+)*|[~.]{0,2}/?\w+(?:(?:::|->|[./\\-])\w+)+")
_ALTERNATIVES: Final = re.compile(r"\\?\|")
"""What parts the alternatives of a pattern: nobody quotes a text with a bar in it more often than such a pattern."""

_PATH_SIGN: Final = re.compile(r"[/\\]")
_MIXED: Final = re.compile(r"[^\W\d_][^\W_]*\d|\d[^\W_]*[^\W\d_]|[^\W_]_+[^\W_]|[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
"""What makes one run of letters a name: digits beside letters, underscores inside, a capital behind a small letter."""


@dataclass(frozen=True, slots=True)
class Word:
    """Something to look for.

    Attributes:
        text: folded to small letters and, for pieces and prose, to its stem; a quoted string or a compound name
            (`a.b`, `a/b`, `a::b`, `a-b`) stands as it was written.
        rank: what it counts as.
        said: the string, name or word it was taken from, as it was written, to be shown to people.
    """

    text: str
    rank: Rank
    said: str = field(default="", compare=False)

    @property
    def weight(self) -> int:
        """How much it counts: 8, 2 or 1."""
        return WEIGHTS[self.rank]

    @property
    def is_phrase(self) -> bool:
        """Whether it holds more than one run of letters and digits, so that it is looked for as a string."""
        return NAME.fullmatch(self.text) is None


def words(text: str) -> tuple[Word, ...]:
    """Give what a text asks for, each word once at its best rank: what is quoted, compound names, all else.

    Names and what stands in quotation marks come whole, and then in pieces. Stop words of English, of shells and of
    search tools, short options, and numbers of one or two digits are left out.

    Args:
        text: prose, a command line, a pattern; of it 4,096 characters are looked at, and 96 words given.

    >>> [(word.text, word.rank) for word in words("find where parseHeader throws 'bad magic' in src/wav.rs")]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('bad magic', 'exact'), ('bad', 'part'), ('magic', 'part'), ('src/wav.rs', 'exact'), ('wav.rs', 'exact'),
     ('wav', 'part'), ('parseheader', 'exact'), ('pars', 'part'), ('header', 'part'), ('throw', 'prose')]
    """
    found: dict[str, Word] = {}
    for word in _words(_REGEX_CLASS.sub(" ", text[:MAX_TEXT_CHARS])):
        known = found.get(word.text)
        if known is None or known.weight < word.weight:
            found[word.text] = word
    best = sorted(found.values(), key=lambda word: -word.weight)[:MAX_WORDS]
    kept = set(best)
    return tuple(word for word in found.values() if word in kept)


def parts(name: str) -> tuple[str, ...]:
    """Split one run of letters, digits and underscores into its stems.

    Splits at underscores, at capitals, and between letters and digits; runs of Chinese, Japanese and Korean give every
    pair of neighbours, since nothing parts their words.

    >>> parts("HTTPServer_v2Errors"), parts("日本語版")
    (('http', 'server', 'v', '2', 'error'), ('日本', '本語', '語版'))
    """
    return tuple(map(stem, _pieces(name)))


def stem(word: str) -> str:
    """Take the ending of number and tense off an English word in small letters.

    >>> [stem(word) for word in ("cache", "caches", "cached", "stopping", "entries", "class", "logs", "größe")]
    ['cach', 'cach', 'cach', 'stop', 'entry', 'class', 'log', 'größe']
    """
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > 5:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word.removesuffix(ending)
            if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if word.endswith("e") and len(word) >= 4 else word


def is_name(token: str) -> bool:
    """Whether a run of letters, digits and underscores names something: `a_b`, `aB`, `E0308`, `EACCES`, `404`."""
    if len(token) < 3:
        return False
    if token.isdigit():
        return True
    return _MIXED.search(token) is not None or (token.isascii() and token.isupper())


def _pieces(name: str) -> list[str]:
    """Split a name into pieces in small letters, with their endings."""
    if len(name) > MAX_SPLIT_CHARS:
        return []
    return [piece.lower() for piece in _PART.findall(name)] if name.isascii() else list(_other_parts(name))


def _words(text: str) -> Iterator[Word]:
    for match in _QUOTED.finditer(text):
        yield from _quoted(next(group for group in match.groups() if group is not None))
    rest = _FLAG.sub(" ", _QUOTED.sub(" ", text))
    for match in _COMPOUND.finditer(rest):
        yield from _compound(match[0])
    for token in NAME.findall(_COMPOUND.sub(" ", rest)):
        yield from _single(token, "prose")


def _quoted(inner: str) -> Iterator[Word]:
    for alternative in _ALTERNATIVES.split(inner):
        yield from _phrase(alternative.strip())


def _phrase(phrase: str) -> Iterator[Word]:
    tokens = NAME.findall(phrase)
    if not tokens or all(token.lower() in STOP for token in tokens):
        return
    if phrase == tokens[0]:
        yield from _exact(phrase.lower(), phrase)
    else:
        yield from _exact(phrase, phrase)
    if _COMPOUND.fullmatch(phrase):
        yield from _compound(phrase)
    for token in tokens:
        yield from _single(token, "part")


def _compound(name: str) -> Iterator[Word]:
    tokens = NAME.findall(name)
    bare = name.lstrip("-")
    if bare.lower() in STOP or all(token.lower() in STOP or len(token) < 2 for token in tokens):
        return
    is_path = _PATH_SIGN.search(name) is not None
    if any(len(token) >= 3 for token in tokens):
        yield from _exact(name, name)
        last = _PATH_SIGN.split(name)[-1]
        if is_path and last.lower() not in STOP:
            yield from _exact(last.lower() if NAME.fullmatch(last) else last, last)
    for token in tokens:
        yield from _single(token, "part")


def _single(token: str, rank: Rank) -> Iterator[Word]:
    folded = token.lower()
    if folded in STOP or folded.strip("_") in STOP:
        return
    if is_name(token):
        yield from _exact(folded, token)
        rank = "part"
    for piece in _pieces(token):
        if piece not in STOP and (len(piece) >= 3 or _HAS_CJK.search(piece)):
            yield Word(stem(piece), rank, token)


def _exact(text: str, said: str) -> Iterator[Word]:
    if 2 <= len(text) <= MAX_EXACT_CHARS and not (text.isdigit() and len(text) < 3):
        yield Word(text, "exact", said)


def _other_parts(name: str) -> Iterator[str]:
    """Split a name that holds letters beyond ASCII, in small letters."""
    at = 0
    for match in _CJK_RUN.finditer(name):
        yield from _by_case(name[at : match.start()])
        run = match[0]
        yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))
        at = match.end()
    yield from _by_case(name[at:])


def _by_case(piece: str) -> Iterator[str]:
    start = 0
    for i in range(1, len(piece) + 1):
        if i == len(piece) or _parts_here(piece, i):
            word = piece[start:i].strip("_").lower()
            if word:
                yield word
            start = i


def _parts_here(piece: str, i: int) -> bool:
    before, here = piece[i - 1], piece[i]
    if before == "_" or here == "_" or before.isdigit() != here.isdigit():
        return True
    follows = piece[i + 1] if i + 1 < len(piece) else ""
    return here.isupper() and (before.islower() or (before.isupper() and follows.islower()))
