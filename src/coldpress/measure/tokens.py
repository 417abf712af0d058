"""Estimate how many tokens a text is, without a tokenizer and without its vocabulary.

The scale is that of the o200k vocabulary. Other tokenizers count the same text differently by a nearly constant
factor (recorded Claude sessions report 1.24 times as many, Gemini 3 Pro 1.16 times); a caller learns it from usage.

A tokenizer first cuts a text into words, runs of digits, marks and white space, and then cuts the longer pieces
again. So the estimate counts such pieces and weighs each kind. The weights were fitted by iterated least squares on
relative error, over half of the files of 4,585 recorded texts (9.0 MB: tool output, prompts, JSON) from seven agents.
On the other half the median error is 4.4 %, nine texts in ten are within 15 %, and the sum is 1 % high. The
per-character weights of scripts outside ASCII lie between those of running prose and of the translated interface
strings of one large web framework; Chinese, Japanese and Korean prose is within 15 %.
"""

from __future__ import annotations

from typing import Final

_LOWER: Final = bytes(range(ord("a"), ord("z") + 1))
_UPPER: Final = bytes(range(ord("A"), ord("Z") + 1))
_DIGITS: Final = b"0123456789"
_LETTERS: Final = _LOWER + _UPPER
_PUNCTUATION: Final = bytes(byte for byte in range(33, 127) if byte not in _LETTERS + _DIGITS)

_WORD: Final = 0.635
_LETTER: Final = 0.093
_DIGIT_GROUP: Final = 1.408
_PUNCTUATION_MARK: Final = 0.604
_LINE_END: Final = 1.028
_SPACE_RUN: Final = 1.194

_SCRIPTS: Final[tuple[tuple[bytes, float], ...]] = (
    (bytes(range(0xC2, 0xCC)), 1.04),  # accented Latin
    (bytes(range(0xCC, 0xE0)), 0.46),  # Greek, Cyrillic, Hebrew, Arabic
    (bytes((0xE0, 0xE1)), 0.50),  # Indic scripts, Thai, Georgian
    (bytes((0xE2,)), 1.30),  # dashes, quotes, arrows, box drawing
    (bytes((0xE3,)), 0.64),  # kana and CJK punctuation
    (bytes(range(0xE4, 0xEA)), 0.66),  # Han
    (bytes(range(0xEA, 0xEE)), 0.67),  # Hangul
    (bytes((0xEE, 0xEF)), 0.80),  # full-width forms, private use
    (bytes(range(0xF0, 0xF5)), 2.10),  # emoji and rare planes
)
"""First bytes of a UTF-8 character, and the tokens of one such character."""


def _classes(**members: bytes) -> bytes:
    """Make a translation table to the first letter of each keyword, and to `.` for every other byte."""
    table = bytearray(b"." * 256)
    for name, values in members.items():
        for byte in values:
            table[byte] = ord(name[0])
    return bytes(table)


_CASE: Final = _classes(lower=_LOWER, Upper=_UPPER)
_NUMBER: Final = _classes(digit=_DIGITS)
_SHAPE: Final = _classes(punctuation=_PUNCTUATION, xletter=_LETTERS, newline=b"\n\r", space=b" \t")


def estimate(text: str) -> int:
    """Tokens of a text on the o200k scale, estimated; 0 only for the empty text.

    Linear in the length of the text, 20 MB a second on many short texts and faster on long ones.

    >>> estimate(""), estimate("x"), estimate("def area(width, height):\\n    return width * height\\n")
    (0, 1, 13)
    """
    if not text:
        return 0
    raw = text.encode("utf-8", "surrogatepass")
    tokens = _WORD * _words(raw) + _LETTER * _among(raw, _LETTERS) + _DIGIT_GROUP * _digit_groups(raw)
    tokens += _PUNCTUATION_MARK * _among(raw, _PUNCTUATION)
    shape = b"." + raw.translate(_SHAPE)
    # A line end behind punctuation is part of that token, and further empty lines join the first.
    tokens += _LINE_END * (shape.count(b"xn") + shape.count(b".n") + shape.count(b"sn"))
    # One space belongs to the word behind it; two or more are a token of their own.
    tokens += _SPACE_RUN * sum(shape.count(start) for start in (b"xss", b"pss", b"nss", b".ss"))
    if not raw.isascii():
        tokens += sum(weight * _among(raw, leads) for leads, weight in _SCRIPTS)
    return max(1, round(tokens))


def _among(raw: bytes, members: bytes) -> int:
    """Count the bytes of `raw` that are in `members`."""
    return len(raw) - len(raw.translate(None, members))


def _words(raw: bytes) -> int:
    """Count runs of letters, cut again where lower case turns to upper: `getHTTPSize` is three."""
    case = b"." + raw.translate(_CASE)
    return case.count(b".l") + case.count(b".U") + case.count(b"lU") + case.count(b"UUl")


def _digit_groups(raw: bytes) -> int:
    """Count digits in groups of three from the left, as the o200k vocabulary cuts numbers."""
    groups = b"." + raw.translate(_NUMBER).replace(b"ddd", b"3")
    return groups.count(b"3") + groups.count(b".d") + groups.count(b"3d")
