"""Take the lines out of a text that hold credentials, so that it can be shown to somebody else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from coldpress.engine.credentials import KEY_BLOCK, holds_secret

LEFT_OUT: Final = "[a line with a credential was left out here]"


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A text without credentials.

    Attributes:
        text: the lines that hold none, in order, with `LEFT_OUT` in the place of each other one.
        left_out: how many places that are.
        is_clean: whether nothing that looks like a credential is left; a text for which this is false must not be
            shown: a credential goes over several lines, and nobody can tell where it ends.
    """

    text: str
    left_out: int
    is_clean: bool


def without_credentials(text: str) -> Cleaned:
    r"""Take credentials out, line by line: a line is left out whole, since what stands beside a key may tell of it.

    >>> without_credentials("PORT=80\nDB_PASSWORD=q8Zr2vLmT0\nHOST=a")
    Cleaned(text='PORT=80\n[a line with a credential was left out here]\nHOST=a', left_out=1, is_clean=True)
    """
    if not holds_secret(text):
        return Cleaned(text, 0, True)
    text, blocks = KEY_BLOCK.subn(LEFT_OUT, text)
    lines = text.split("\n")
    shown = [LEFT_OUT if holds_secret(line) else line for line in lines]
    left_out = blocks + sum(line is LEFT_OUT for line in shown)
    joined = "\n".join(shown)
    return Cleaned(joined, left_out, not holds_secret(joined))
