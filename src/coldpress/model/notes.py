"""Durable facts that stand outside the window: small text files, as the model sees them under `/memories`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NewType

NoteScope = NewType("NoteScope", str)
"""Whose notes they are: `project:NAME` or `lineage:ID`."""


def scope_of_lineage(lineage: str) -> NoteScope:
    """Name the notes of one conversation."""
    return NoteScope(f"lineage:{lineage}")


NoteSource = Literal["user", "agent", "summary"]


@dataclass(frozen=True, slots=True)
class Note:
    """One file of notes.

    Attributes:
        path: below `/memories`, with `/` between its parts: `plan.md`, `facts/ids.md`.
        text: whole.
        source: who wrote it last.
    """

    path: str
    text: str
    source: NoteSource
