"""Count o200k tokens exactly, where the optional package that knows the vocabulary is installed.

The package is `quicktok-v1` (the extra `exact`). Its wheel carries the vocabulary; nothing is downloaded. This file is
the only one that knows it, so that another counter can take its place.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Protocol, cast


class _Tokenizer(Protocol):
    def count(self, text: str) -> int: ...


class _Package(Protocol):
    def get_encoding(self, name: str) -> _Tokenizer: ...


@functools.cache
def o200k() -> Callable[[str], int] | None:
    """Give a function that counts the o200k tokens of a text; `None` where the package is missing.

    What looks like a special token (`<|endoftext|>`) is counted as the plain text that it is in a prompt. A lone
    surrogate counts as a question mark. The first call reads the vocabulary, 0.4 s; counting takes some 15 ns a
    byte and lets other threads run meanwhile.
    """
    try:
        package = cast(_Package, importlib.import_module("quicktok"))
    except ImportError:
        return None
    tokenizer = package.get_encoding("o200k_base")

    def count(text: str) -> int:
        try:
            return tokenizer.count(text)
        except TypeError:  # its way to say that a text holds a lone surrogate
            return tokenizer.count(text.encode("utf-8", "replace").decode())

    return count
