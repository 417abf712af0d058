"""Read a request body from a file and say what would happen to every tool result in it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from coldpress.engine.explain import explain_request
from coldpress.engine.policy import Policy
from coldpress.model.conversation import Conversation
from coldpress.model.errors import ColdpressError
from coldpress.model.records import Line
from coldpress.wire.prefix import Reader
from coldpress.wire.registry import FormatName
from coldpress.wire.span import Misread

FORMATS: Final[tuple[FormatName, ...]] = ("anthropic", "openai_chat")


def explain_file(path: Path, policy: Policy) -> tuple[Conversation, tuple[Line, ...]]:
    """Read a request body, and decide on every tool result in it, in order.

    The format with more tool results in it is taken: a body does not name its own.

    Raises:
        ColdpressError: the file holds no request of a format that is read.
    """
    try:
        body = path.read_bytes()
    except OSError as error:
        raise ColdpressError(f"{path} cannot be read: {error.strerror or error}") from error
    read = [found for name in FORMATS if (found := _explain(body, name, policy)) is not None]
    if not read:
        raise ColdpressError(f"{path} holds no request that can be read: it must be a JSON object with messages")
    return max(read, key=lambda found: len(found[1]))


def _explain(body: bytes, format_name: FormatName, policy: Policy) -> tuple[Conversation, tuple[Line, ...]] | None:
    # A fixed seed: the hash of known prefixes plays no part in reading one body.
    try:
        reading = Reader[None](seed=0).read(body, format_name, None)
    except Misread:
        return None
    return reading.conversation, explain_request(reading.conversation, policy)
