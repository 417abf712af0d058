"""What one reversible step gives back: the text after it, and what it needs to be undone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stepped:
    """The text after a step and its parameters as JSON."""

    text: str
    params: bytes


@dataclass(frozen=True, slots=True)
class Step:
    """A named pair of functions; `restore(press(text).text, press(text).params) == text`."""

    name: str
    press: Callable[[str], Stepped | None]
    restore: Callable[[str, bytes], str]
