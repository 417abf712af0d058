"""Small texts that are kept by name so that a later request gives the same bytes again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

KeptKind = Literal["call", "view"]
"""`call`: a tool call as the model wrote it, fields included that the client never saw. `view`: a result as another
model summarised it."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One text.

    Attributes:
        key: 32 bytes, a SHA-256 over all that the text depends on.
        kind: what it is.
        text: never empty.
    """

    key: bytes
    kind: KeptKind
    text: str
