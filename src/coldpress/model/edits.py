"""What we decided about one text: keep it exact, or show the model a smaller view."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from coldpress.model.conversation import Span
from coldpress.model.identity import EditKey
from coldpress.model.summary import Summary

Mode = Literal[
    "exact", "lossless", "dedupe", "deterministic", "keyword", "model", "mask", "source", "restore", "redact"
]
"""`restore` gives an earlier, pressed text back in the place of a client's refusal to read it again."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A decision that holds for ever: the same text in the same conversation is sent like this.

    `replacement` is `None` where the text was sent exact; then it stays exact. `mode` names what made
    the replacement, joined with `+` where two did (`dedupe+lossless`). `recipe` is JSON text that turns the
    replacement back into the original where the mode is reversible, else empty. `original` is the
    SHA-256 (hexadecimal) of the original text, empty where nothing was replaced. `saved_tokens` is how many tokens
    fewer the replacement has (below 0 where it has more, as the exact text in the place of a refusal), on the scale of
    `coldpress.measure.tokens`; `None` where they were not counted.
    """

    key: EditKey
    replacement: str | None
    mode: str = "exact"
    original: str = ""
    recipe: str = ""
    saved_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Messages that are sent no more, and those that stand in their place for ever.

    Attributes:
        anchor: `Message.chain` (32 bytes) of the last message in front of them, which stays; empty where they are the
            first ones, and a summary that the provider itself wrote and signed stands in their place.
        last: `Message.chain` of the last message that goes; `anchor` where none goes and something is only put in.
        literal: JSON text of the messages that stand behind the anchor instead, joined by commas; never empty.
        summary: what the summary among them says; `None` where there is none.
        generation: how many times messages of this conversation were summarised, this time included; 0 where none goes.
        covered: SHA-256 (hexadecimal) of the JSON text of every message that goes, without the client's cache marks, in
            order: stored as originals.
        covered_tokens: of those messages as the client wrote them, `literal_tokens` of what stands in their place, on
            the scale of `coldpress.measure.tokens`.
        summariser: who wrote the summary: `structural`, a model's name, or empty.
        block: SHA-256 (hexadecimal) of the text of notes and summary that the model reads: stored as an original.
        index: SHA-256 (hexadecimal) of the list of `covered` by the messages' numbers, which `block` names: likewise.
    """

    anchor: bytes
    last: bytes
    literal: str
    summary: Summary | None = None
    generation: int = 0
    covered: tuple[str, ...] = ()
    covered_tokens: int = 0
    literal_tokens: int = 0
    summariser: str = ""
    block: str = ""
    index: str = ""

    @property
    def is_providers(self) -> bool:
        """Whether what stands there is the provider's own summary, which only goes with its maker's leave."""
        return not self.anchor


@dataclass(frozen=True, slots=True)
class Batch:
    """Decisions taken together, on one request, about texts that a model has seen already.

    They hold in every conversation that contains that request and in no other: a conversation that was forked off
    before it still has the exact texts in its cached prefix.

    Attributes:
        after: `Message.chain` (32 bytes) of the last message of the request they were taken on.
        standings: each with a replacement; it goes before an earlier decision on the same text.
        rebuild: messages that go altogether; it takes the place of an earlier batch's. `None` where all stay.
    """

    after: bytes
    standings: tuple[Standing, ...]
    rebuild: Rebuild | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """A JSON string literal to put in the place of one in the body.

    `literal` includes its quotes. `message` is the index of the message that holds the span. `saved_bytes` is how many
    bytes of UTF-8 fewer the text has then, as the ledger counts them (below 0 where it has more).
    """

    span: Span = field(compare=False)
    literal: bytes
    message: int
    standing: Standing
    saved_bytes: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Saved:
    """What edits take out of a body, summed up.

    Attributes:
        bytes: of the body, JSON as it is written.
        tokens: on the scale of `coldpress.measure.tokens`, of those that were counted.
        uncounted: how many edits were never counted.
    """

    bytes: int = 0
    tokens: int = 0
    uncounted: int = 0

    @classmethod
    def by(cls, edits: Iterable[Edit]) -> Saved:
        """Sum up."""
        size = tokens = uncounted = 0
        for edit in edits:
            size += edit.span.end - edit.span.start - len(edit.literal)
            if edit.standing.saved_tokens is None:
                uncounted += 1
            else:
                tokens += edit.standing.saved_tokens
        return cls(size, tokens, uncounted)

    def __add__(self, other: Saved) -> Saved:
        return Saved(self.bytes + other.bytes, self.tokens + other.tokens, self.uncounted + other.uncounted)

    def __sub__(self, other: Saved) -> Saved:
        return Saved(self.bytes - other.bytes, self.tokens - other.tokens, self.uncounted - other.uncounted)

    def scaled(self, scale: float) -> int | None:
        """Tokens on the provider's scale; `None` where some were never counted."""
        return None if self.uncounted else round(self.tokens * scale)


NOTHING_SAVED: Final = Saved()
