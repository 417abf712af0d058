"""Which requests are inference calls that we read; everything else is relayed as it is."""

from __future__ import annotations

from typing import Literal

FormatName = Literal["anthropic", "openai_chat"]

_ENDINGS: tuple[tuple[str, FormatName], ...] = (
    ("/v1/messages", "anthropic"),
    ("/chat/completions", "openai_chat"),
)


def recognise(method: str, path: str) -> FormatName | None:
    """Name the wire format of an inference call, `None` for any other request.

    Args:
        method: the HTTP method, upper case.
        path: the path without its query.

    >>> recognise("POST", "/provider/deepseek/anthropic/v1/messages")
    'anthropic'
    >>> recognise("POST", "/v1/messages/count_tokens") is None
    True
    """
    if method != "POST":
        return None
    for ending, name in _ENDINGS:
        if path.endswith(ending):
            return name
    return None
