"""Lay a prompt out in tokens: where each message ends, as the request goes out with the edits that stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from coldpress.model.edits import Edit


def message_ends(
    message_tokens: Sequence[float], edits: Iterable[Edit], *, head_tokens: int, scale: float
) -> tuple[int, ...]:
    """Count the tokens of a prompt up to the end of each message.

    Args:
        message_tokens: tokens of each message as the client wrote it, on the provider's scale.
        edits: the edits in force; one whose saving was never counted takes nothing off.
        head_tokens: tokens before the first message, on the provider's scale.
        scale: the provider's tokens for one that an edit counts as saved.

    Returns:
        One number more than there are messages: the head's end first, the whole prompt last.

    >>> message_ends([20, 40], (), head_tokens=5, scale=1.2)
    (5, 25, 65)
    """
    sizes = [float(head_tokens), *message_tokens]
    for edit in edits:
        sizes[edit.message + 1] -= (edit.standing.saved_tokens or 0) * scale
    return tuple(round(end) for end in accumulate(max(0.0, size) for size in sizes))
