"""Recognise a provider's refusal of reasoning that no longer fits what stands before it."""

from __future__ import annotations

from typing import Final

import msgspec

REFUSED: Final = "thinking_refused:prefix_binding_mismatch"
"""Said of such a reply where others say `kind:reason` of reasoning that was dropped."""

_STATUS: Final = 400
_SENTENCE: Final = "bound to a different conversation"
"""platform.claude.com, "Preserved thinking", November 2026."""

_LONGEST: Final = 1_500
"""Characters; a longer message holds text of somebody's, which may say anything."""


class _Error(msgspec.Struct):
    message: str = ""


class _Reply(msgspec.Struct):
    error: _Error


_REPLY: Final = msgspec.json.Decoder(_Reply)


def refuses_binding(status: int, body: bytes) -> bool:
    """Whether an error reply says that reasoning was given behind another history than the one that came.

    Args:
        status: of the reply.
        body: its JSON, not compressed.

    >>> refuses_binding(400, b'{"error":{"message":"Invalid `signature`. It is bound to a different conversation."}}')
    True
    """
    if status != _STATUS:
        return False
    try:
        said = _REPLY.decode(body).error.message
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return len(said) <= _LONGEST and _SENTENCE in said and "signature" in said
