"""Decode JSON text without changing what it says: strict about its form, and whatever the size of its numbers."""

from __future__ import annotations

import json
from typing import Final, NoReturn


class NotJson(ValueError):
    """The text is no JSON value."""


def _refused(word: str) -> NoReturn:
    raise NotJson(f"{word} is no JSON value")


# The decoders that read into types refuse lone surrogates, which models do write; numbers are not made into numbers,
# since Python refuses those of more than 4,300 digits.
_DECODER: Final = json.JSONDecoder(parse_int=str.encode, parse_float=str.encode, parse_constant=_refused)


def decoded(text: str) -> object:
    """Decode a JSON value; numbers come as bytes, as they were written.

    Raises:
        NotJson: it is none. `NaN` and `Infinity` are none.
        RecursionError: it is nested too deep for the decoder (about 1,000 levels); it may or may not be JSON.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise NotJson(str(error)) from error


def string_of(literal: bytes | str) -> str | None:
    r"""Decode a JSON string literal; `None` where it is none.

    >>> string_of('"int\\u0065nt"')
    'intent'
    """
    text = literal if isinstance(literal, str) else literal.decode(errors="surrogatepass")
    if "\\" not in text and text.isprintable() and text.count('"') == 2 and text[0] == text[-1] == '"':
        return text[1:-1]  # as nearly all are
    try:
        found = decoded(text)
    except NotJson:
        return None
    return found if isinstance(found, str) else None
