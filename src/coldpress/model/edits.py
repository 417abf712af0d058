"""What we decided about one text: keep it exact, or show the model a smaller view."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from coldpress.model.conversation import Span
from coldpress.model.identity import EditKey

Mode = Literal["exact", "lossless", "dedupe", "deterministic", "restore"]
"""`restore` gives an earlier, pressed text back in the place of a client's refusal to read it again."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A decision that holds for ever: the same text in the same conversation is sent like this.

    `replacement` is `None` where the text was sent exact; then it stays exact. `mode` names what made
    the replacement, joined with `+` where two did (`dedupe+lossless`). `recipe` is JSON text that turns the
    replacement back into the original where the mode is reversible, else empty. `original` is the
    SHA-256 (hexadecimal) of the original text, empty where nothing was replaced.
    """

    key: EditKey
    replacement: str | None
    mode: str = "exact"
    original: str = ""
    recipe: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """A JSON string literal to put in the place of one in the body.

    `literal` includes its quotes. `message` is the index of the message that holds the span.
    """

    span: Span = field(compare=False)
    literal: bytes
    message: int
    standing: Standing
