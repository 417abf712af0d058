"""Read a request body from a file and say what would happen to every tool result in it."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Explained:
    """What happens to the tool results of a request when a model first sees them.

    Attributes:
        lines: each with the number of its result in the request, from 1.
        results: how many the request has.
    """

    conversation: Conversation
    lines: tuple[tuple[int, Line], ...]
    results: int

    @property
    def without_line(self) -> int:
        """Results that are too short for anything to be decided on them."""
        return self.results - len({number for number, _ in self.lines})


def explain_file(path: Path, policy: Policy) -> Explained:
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
    return max(read, key=lambda found: found.results)


def _explain(body: bytes, format_name: FormatName, policy: Policy) -> Explained | None:
    # A fixed seed: the hash of known prefixes plays no part in reading one body.
    try:
        conversation = Reader[None](seed=0).read(body, format_name, None).conversation
    except Misread:
        return None
    results = [(message.chain, block) for message in conversation.messages for block, _ in message.results]
    numbers = {place: number for number, place in enumerate(results, start=1)}
    lines = tuple((numbers[key.chain, key.block], line) for key, line in explain_request(conversation, policy))
    return Explained(conversation, lines, len(results))
