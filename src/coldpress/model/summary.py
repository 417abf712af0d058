"""What a summary of messages says, item by item, each with the message it was taken from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Literal

Section = Literal["goal", "decisions", "constraints", "plan", "artifacts", "ruled_out", "failures", "questions"]


@dataclass(frozen=True, slots=True)
class Item:
    """One thing worth keeping.

    Attributes:
        text: says it, in one line or a few.
        message: number of the message it was taken from, counted from 1 in the messages that the client sends: those
            that come later change no number.
        quotes: identifiers, paths, ids and error lines in `text` that stand in that message, byte for byte.
    """

    text: str
    message: int
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """Messages of a conversation, condensed. Items stand in the order of their messages.

    Attributes:
        goal: what is to be reached and when it is, quoted.
        decisions: what was decided, with the reason.
        constraints: what must or must not be done.
        plan: where the work stands.
        artifacts: files, ids and other things that were made or changed, by their exact names.
        ruled_out: approaches that did not work, and why; a call that was tried is quoted.
        failures: commands that fail, with their exact error lines.
        questions: what is open.
    """

    goal: tuple[Item, ...] = ()
    decisions: tuple[Item, ...] = ()
    constraints: tuple[Item, ...] = ()
    plan: tuple[Item, ...] = ()
    artifacts: tuple[Item, ...] = ()
    ruled_out: tuple[Item, ...] = ()
    failures: tuple[Item, ...] = ()
    questions: tuple[Item, ...] = ()

    def sections(self) -> Iterator[tuple[Section, tuple[Item, ...]]]:
        """Go through the sections in their fixed order, the empty ones too."""
        for field in fields(self):
            yield field.name, getattr(self, field.name)  # type: ignore[misc]

    def __len__(self) -> int:
        return sum(len(items) for _, items in self.sections())
