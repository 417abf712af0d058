"""Let pass of a model's extract only what stands in the output it was made from, and nothing that is no extract."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from coldpress.engine.credentials import KEY_BLOCK, holds_secret
from coldpress.engine.reduce.reduced import size_bytes
from coldpress.engine.summary.identifiers import identifiers, stands_in
from coldpress.engine.summary.reply import DECLINES, ERRORS, STACK
from coldpress.engine.summary.screen import is_plain
from coldpress.engine.words import NAME, is_name
from coldpress.engine.words_data import STOP

Refusal = Literal["empty", "too_long", "error_like", "refused", "unfounded"]
"""Why an answer is no extract: no text; above its bound; an error of a server or program that the output does not hold;
the model declined; too much of it cannot be found in the output."""

LEAST_CHARACTERS: Final = 12
MOST_SHARE: Final = 0.5
MOST_DROPPED_SHARE: Final = 1 / 3
"""Where more of the statements than this do not hold, the others are not to be trusted either."""

_FENCED: Final = re.compile(r"(`{3,}|~{3,})[^\n`]*\n(.*)\n\1[ \t]*", re.DOTALL)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])[ \t]+(?=[A-Z\"'`(\[])")
_QUOTED: Final = re.compile(r"\"([^\"\n]{2,400})\"|“([^”\n]{2,400})”|(?<![\w'])'([^'\n]{2,400})'(?![\w'])")
_PLACE: Final = re.compile(r"(?P<path>[\w./@+~-]*[\w])[:](?P<line>\d+)(?!\w)")
_LINES: Final = re.compile(r"\b(?:[Ll]ines?|L)[ ]?(\d+)(?:\s?(?:-|–|to|and|,)\s?(\d+))?\b")
_ELLIPSIS: Final = re.compile(r"\s*(?:\.\.\.|…)\s*")
_LINE_NUMBER: Final = re.compile(r"[45]\d\d\s?[:|→-]\s?")
_DOUBTFUL: Final = (
    r"(?:[~≈±]|\b(?:about|almost|approx(?:imately|\.)?|around|at (?:least|most)|circa|estimated|fewer than|less than"
    r"|likely|maybe|may|might|more than|nearly|not verified|over|perhaps|possibly|presumably|probably|roughly|under"
    r"|unverified|up to)(?!\w))"
)
_DOUBT: Final = re.compile(_DOUBTFUL, re.IGNORECASE)
_IN_DOUBT: Final = re.compile(rf"{_DOUBTFUL}[ \t]*[$€£]?\Z", re.IGNORECASE)
_DOUBT_CHARS: Final = 24
_AMOUNT: Final = re.compile(r"(?<![\w.,])\d[\d.,]*(?<![.,])(?!\w)")
"""A number that is no part of a name."""

_WITH_HYPHENS: Final = re.compile(r"(?<![\w-])(?=[\w-]*\d)[^\W\d_]\w*(?:-\w+)+(?!\w)")
"""Words joined by hyphens with a digit among them, such as the name of a host; `200-line` begins with a number."""

_DIGIT_AND_LETTER: Final = re.compile(r"\w*(?:[^\W_]\d|\d[^\W_])\w*")
_NO_NAME: Final = re.compile(r"\d+(?:st|nd|rd|th)?|L\d+")
"""An ordinal; a number or the number of a line, which have rules of their own."""

_LINE_FEED: Final = re.compile(r"\r?\n")
_TAKEN_OUT: Final = "\0"
"""In the place of a private key: a statement that never holds."""

_MARGIN: Final = " \t-*•>"


@dataclass(frozen=True, slots=True)
class Extract:
    """What of an answer holds.

    Attributes:
        text: never empty.
        dropped: statements that did not hold.
    """

    text: str
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Refused:
    """An answer that is no extract."""

    reason: Refusal


def checked(answer: str, *, text: str, shown: str, most_bytes: int | None = None) -> Extract | Refused:
    """Judge an answer, and drop every statement of it that cannot be shown to come from the output.

    A line that stands in the output as it is holds. Of any other line each sentence holds only if every name in it
    that must be exact (`identifiers`: paths, code, hashes, numbers of three digits and more, words in backticks), every
    word of letters and digits or in capitals, every quoted word, every place `path:12` and every `line 12` stands in
    what the model was shown; and a number that always has a word of doubt in front of it there needs one in the
    sentence. What holds a credential never holds. Nothing is ever repaired; only one fence around the whole answer is
    taken off.

    Args:
        answer: of the model.
        text: the whole output.
        shown: everything the model was shown: purpose, call, and output.
        most_bytes: of the answer; `None` for half of the output.
    """
    stripped = _unfenced(answer.strip())
    if len(stripped) < LEAST_CHARACTERS:
        return Refused("empty")
    bound = int(size_bytes(text) * MOST_SHARE) if most_bytes is None else most_bytes
    if size_bytes(stripped) > bound:
        return Refused("too_long")
    wrong = _no_extract(stripped, text)
    if wrong is not None:
        return Refused(wrong)
    lines, total, dropped = [], 0, 0
    source_lines = frozenset(line.strip(_MARGIN) for line in _LINE_FEED.split(text))
    for line in _LINE_FEED.split(KEY_BLOCK.sub(_TAKEN_OUT, stripped)):
        kept, of = _held(line, shown, source_lines)
        total, dropped = total + of, dropped + of - len(kept)
        if kept or not of:
            lines.append(" ".join(kept) if len(kept) < of else line)
    whole = "\n".join(lines).strip()
    if (total and dropped > MOST_DROPPED_SHARE * total) or holds_secret(whole):
        return Refused("unfounded")
    return Extract(whole, dropped) if len(whole) >= LEAST_CHARACTERS else Refused("empty")


def _unfenced(answer: str) -> str:
    fenced = _FENCED.fullmatch(answer)
    return fenced[2].strip("\n") if fenced is not None and fenced[1] not in fenced[2] else answer


def _no_extract(answer: str, text: str) -> Refusal | None:
    first = answer.splitlines()[0].strip()
    if first in text:
        # What the output itself says may look like anything.
        return None
    if DECLINES.match(answer):
        return "refused"
    # A line number such as 404: is no status.
    looked_at = _LINE_NUMBER.sub("", answer, count=1) if _LINE_NUMBER.match(answer) else answer
    if ERRORS.match(looked_at) or any(stack[0].strip() not in text for stack in STACK.finditer(answer)):
        return "error_like"
    return None


def _held(line: str, shown: str, source_lines: frozenset[str]) -> tuple[list[str], int]:
    """Give the sentences of a line that hold, and how many it has; an empty line has none."""
    bare = line.strip(_MARGIN)
    if not bare:
        return [], 0
    if not is_plain(line):
        return [], 1
    has_secret = holds_secret(line)
    if bare in source_lines and not has_secret:
        return [line], 1
    sentences = _SENTENCE_END.split(line.rstrip())
    if has_secret and not any(map(holds_secret, sentences)):
        return [], len(sentences)
    return [sentence for sentence in sentences if _holds(sentence, shown)], len(sentences)


def _holds(sentence: str, shown: str) -> bool:
    exact = identifiers(sentence)
    return (
        not holds_secret(sentence)
        and all(stands_in(name, shown) for name in exact)
        and all(_is_known(name, shown) for name in _other_names(sentence, exact))
        and all(_is_quoted(quote, shown) for quote in _quotes(sentence))
        and all(_is_place(match["path"], match["line"], shown) for match in _PLACE.finditer(sentence))
        and all(stands_in(number, shown) for match in _LINES.finditer(sentence) for number in match.groups() if number)
        and not _is_overclaimed(sentence, shown)
    )


def _other_names(sentence: str, exact: Sequence[str]) -> Iterator[str]:
    """Give what looks like a name by its letters alone, beyond the names that are looked for already."""
    for name in sorted(exact, key=len, reverse=True):
        sentence = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", sentence)
    yield from _WITH_HYPHENS.findall(sentence)
    for token in NAME.findall(_WITH_HYPHENS.sub(" ", sentence)):
        if (is_name(token) or _DIGIT_AND_LETTER.fullmatch(token)) and not _NO_NAME.fullmatch(token):
            yield token


def _is_known(name: str, shown: str) -> bool:
    """Whether a name stands in what was shown; an acronym in small letters too, and a word that is only stressed."""
    if stands_in(name, shown):
        return True
    if not (name.isalpha() and name.isupper()):
        return False
    return name.lower() in STOP or re.search(rf"(?<!\w){name}(?!\w)", shown, re.IGNORECASE) is not None


def _is_overclaimed(sentence: str, shown: str) -> bool:
    """Whether a sentence without a word of doubt tells a number that is in doubt wherever it was shown."""
    if _DOUBT.search(sentence):
        return False
    return any(_is_doubtful(match[0], shown) for match in _AMOUNT.finditer(sentence))


def _is_doubtful(number: str, shown: str) -> bool:
    whole = re.compile(rf"(?<![\w.,]){re.escape(number)}(?![\w]|[.,]\d)")
    places = [match.start() for match in whole.finditer(shown)]
    return bool(places) and all(_IN_DOUBT.search(shown, max(0, at - _DOUBT_CHARS), at) for at in places)


def _quotes(sentence: str) -> Iterator[str]:
    for match in _QUOTED.finditer(sentence):
        yield next(group for group in match.groups() if group is not None).strip()


def _is_quoted(quote: str, shown: str) -> bool:
    """Whether quoted words stand in what was shown; of a quotation with an ellipsis, each piece."""
    return all(piece in shown for piece in _ELLIPSIS.split(quote))


def _is_place(path: str, number: str, shown: str) -> bool:
    """Whether `path:number` stands there: as it is, or, where the path is a heading, with a line of that number."""
    if stands_in(f"{path}:{number}", shown) or stands_in(f"{path}({number}", shown):
        return True
    has_own_numbers = re.search(rf"{re.escape(path)}[:(-]\d", shown) is not None
    begins_a_line = re.search(rf"^[ \t]*{number}(?!\d)", shown, re.MULTILINE) is not None
    return not has_own_numbers and begins_a_line and path in shown
