"""Which requests are inference calls that we read, and what their address tells; all else is relayed as it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

FormatName = Literal["anthropic", "openai_chat", "openai_responses", "gemini"]
FORMATS: Final[tuple[FormatName, ...]] = get_args(FormatName)
CALL_FORMATS: Final[frozenset[FormatName]] = frozenset({"anthropic", "openai_chat"})
"""The wire formats in which tool schemas are written and the calls of a reply are turned back; on all others both go
as they are."""

_ENDINGS: tuple[tuple[str, FormatName], ...] = (
    ("/v1/messages", "anthropic"),
    ("/chat/completions", "openai_chat"),
    ("/responses", "openai_responses"),
)
_GEMINI: Final = re.compile(r"/(?:(?:m|tunedM)odels/([^/:]+)|[^/:]+):(g|streamG)enerateContent$")


@dataclass(frozen=True, slots=True)
class Address:
    """What the path of an inference call tells that other wires say in the body.

    Attributes:
        model: the model asked for; `None` where the body names it.
        streams: whether the answer is a stream; `None` where the body says so.
    """

    model: str | None = None
    streams: bool | None = None


NO_ADDRESS: Final = Address()


def recognise(method: str, path: str) -> FormatName | None:
    """Name the wire format of an inference call, `None` for any other request.

    Args:
        method: the HTTP method, upper case.
        path: the path without its query.

    >>> recognise("POST", "/provider/deepseek/anthropic/v1/messages")
    'anthropic'
    >>> recognise("POST", "/v1/messages/count_tokens") is None, recognise("POST", "/v1/responses/compact") is None
    (True, True)
    """
    if method != "POST":
        return None
    for ending, name in _ENDINGS:
        if path.endswith(ending):
            return name
    return "gemini" if _gemini(path) else None


def read_address(path: str) -> Address:
    """Read what the path of an inference call tells beside its format.

    >>> read_address("/v1beta/models/gemini-3-pro:streamGenerateContent")
    Address(model='gemini-3-pro', streams=True)
    >>> read_address("/v1internal:generateContent"), read_address("/v1/responses")
    (Address(model=None, streams=False), Address(model=None, streams=None))
    """
    found = _gemini(path)
    return NO_ADDRESS if found is None else Address(found[1], found[2] != "g")


def _gemini(path: str) -> re.Match[str] | None:
    if not path.endswith("enerateContent"):
        return None
    return _GEMINI.search(path.replace("%3A", ":").replace("%3a", ":"))
