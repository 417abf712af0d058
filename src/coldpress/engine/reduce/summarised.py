"""Show another model's summary of a result in its place, under one line that says so."""

from __future__ import annotations

from typing import Final

from coldpress.engine.markers import MARK, is_marked
from coldpress.engine.reduce.mask import one_line
from coldpress.engine.reduce.reduced import Reduced, pays, size_bytes

MAX_CALLED_BYTES: Final = 80
MOST_SHARE: Final = 0.5
"""A view is no longer than this share of the text: what stands for less is not worth the words that are lost."""


def reduce(text: str, summary: str, *, called: str, sha: str, rerun: str | None, left_out: int = 0) -> Reduced | None:
    r"""Give the summary under its heading, or `None` where that is more than half of the text.

    Args:
        text: the whole result, not yet made smaller. Failures and diffs must not be given.
        summary: what another model wrote and `coldpress.engine.offload_check` let pass.
        called: the call in a few words, such as `Grep TODO`; cut where it is long.
        sha: SHA-256 of the original in hexadecimal, shown in full.
        rerun: a sentence on how to get everything again; the caller has made sure that it promises nothing that the
            request does not offer. `None` promises nothing.
        left_out: statements of the summary that could not be found in the text and were taken out.

    >>> view = reduce("a.py:1: x = 1\n" * 99, "Only a.py:1 sets x.", called="Grep x", sha="0123", rerun=None)
    >>> view.text.splitlines()[1]
    'Only a.py:1 sets x.'
    """
    if is_marked(text) or is_marked(summary) or not summary.strip():
        return None
    lines = text.count("\n") + (not text.endswith("\n"))
    sentence = f" {' '.join(rerun.split())}" if rerun and rerun.strip() else ""
    unfounded = f"; {left_out:,} statements without a source left out" if left_out else ""
    heading = (
        f"{MARK}: another model's summary of {one_line(called, MAX_CALLED_BYTES) or 'a result'}: about"
        f" {size_bytes(summary):,} of {size_bytes(text):,} bytes ({lines:,} lines){unfounded}; what it leaves out may"
        f" matter; the source is intact, only this view is shortened; SHA-256 of the whole: {sha}.{sentence}]"
    )
    pressed = f"{heading}\n{summary.strip()}"
    is_small = size_bytes(pressed) <= MOST_SHARE * size_bytes(text)
    return Reduced(pressed) if is_small and pays(text, pressed) else None
