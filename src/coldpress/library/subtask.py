"""Bound what a sub-agent hands back: a text of so many tokens, the whole of it kept to recall, and what it took."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Final

from coldpress.library.line import Line
from coldpress.library.replies import text_of
from coldpress.measure.tokens import Counter, counter_for
from coldpress.model.errors import ConfigError, StoreError
from coldpress.model.identity import original_sha
from coldpress.stores.base import LedgerEntry

log = logging.getLogger(__name__)

DISTILLED_TOKENS: Final = 2_000
LEAST_TOKENS: Final = 100
"""The note that says what was cut has some sixty tokens."""

_SHA_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class Distilled:
    """What a sub-agent hands back to the conversation that asked it.

    Attributes:
        text: its answer, cut where it is longer than was allowed; a last line then says so.
        receipts: the ledger's entries of its requests, oldest first.
        requests: how many it made.
        prompt_tokens: of all of them together, as reported where replies were observed, else estimated; `None` where
            one is not known.
        recall: SHA-256 of the whole answer, for `Session.recall`; `None` where the store could not keep it: then
            the text is whole, however long it is.
    """

    text: str
    receipts: tuple[LedgerEntry, ...] = field(repr=False)
    requests: int
    prompt_tokens: int | None
    recall: str | None


def require_room(most_tokens: int) -> None:
    """Check a bound before a sub-agent runs for it.

    Raises:
        ConfigError: it is too small for the note that says what was cut.
    """
    if most_tokens < LEAST_TOKENS:
        raise ConfigError(f"most_tokens is {most_tokens}; use {LEAST_TOKENS} or more")


def distil(answer: object, line: Line, *, most_tokens: int) -> Distilled:
    """Bound a sub-agent's answer; blocks until the whole of it is stored.

    Raises:
        ReplyError: the answer holds no text.
    """
    whole = text_of(answer)
    sha = original_sha(whole)
    receipts = line.entries()
    try:
        line.runtime.store.put(((sha, whole),), (), None).result()
    except StoreError as error:
        # The work is done and paid for: an answer that is too long is better than half of one.
        log.warning("a sub-agent's answer could not be stored, so it is not cut", extra={"why": str(error)})
        return Distilled(whole, receipts, line.requests, line.prompt_tokens, None)
    text = bounded(whole, sha=sha, counter=counter_for(line.model), most_tokens=most_tokens)
    return Distilled(text, receipts, line.requests, line.prompt_tokens, sha)


def bounded(text: str, *, sha: str, counter: Counter, most_tokens: int) -> str:
    """Give a text, or as many of its first lines as fit together with a note on the rest.

    Args:
        text: the whole.
        sha: SHA-256 of it in hexadecimal.
        counter: counts tokens.
        most_tokens: bound of what is given, its note included.
    """
    if counter.count(text) <= most_tokens:
        return text
    lines = text.splitlines(keepends=True)
    fitting, too_many = 0, len(lines)
    while too_many - fitting > 1:
        middle = (fitting + too_many) // 2
        if counter.count(_cut(lines, middle, sha)) <= most_tokens:
            fitting = middle
        else:
            too_many = middle
    return _cut(lines, fitting, sha)


def _cut(lines: list[str], kept: int, sha: str) -> str:
    left_out = len(lines) - kept
    size = sum(len(line.encode()) for line in lines[kept:])
    note = (
        f"[coldpress: {left_out:,} of {len(lines):,} lines ({size:,} bytes) of this answer are not shown; it is stored "
        f"whole, SHA-256 begins {sha[:_SHA_DIGITS]}.]"
    )
    head = "".join(lines[:kept])
    return f"{head}{'' if not head or head.endswith(chr(10)) else chr(10)}{note}"
