"""Have messages summarised, by rules or by a model, and write the block that stands in their place."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from coldpress.config.notes_keys import NotesKeys
from coldpress.engine.memo import Memo, unremembered
from coldpress.engine.notes_view import render as render_notes
from coldpress.engine.summary.bound import MOST_BYTES
from coldpress.engine.summary.events import Event
from coldpress.engine.summary.render import render
from coldpress.engine.summary.structural import build
from coldpress.model.conversation import Conversation
from coldpress.model.notes import Note
from coldpress.model.summary import Section, Summary

STRUCTURAL: Final = "structural"

_BYTES_PER_TOKEN: Final = 4
_SHA_DIGITS: Final = 16
_SUMMARY_SHARE: Final = 0.25
"""Share of the target that a summary by rules may take: its usual size has room in windows from 27,000 tokens on."""


@dataclass(frozen=True, slots=True)
class Digest:
    """A checked summary of messages, ready to stand in their place.

    Attributes:
        start, stop: of the messages, half-open.
        last: `Message.chain` of the last of them: they are these and no others.
        summary: every item holds.
        left_out: items of a section that did not fit.
        summariser: who wrote it.
        usd: what it cost, failed attempts included; `None` where that is not known.
        dropped: items that did not hold.
    """

    start: int
    stop: int
    last: bytes
    summary: Summary
    left_out: tuple[tuple[Section, int], ...] = ()
    summariser: str = STRUCTURAL
    usd: float | None = 0.0
    dropped: int = 0

    def holds(self, conversation: Conversation) -> bool:
        """Whether a request contains these messages, and more."""
        return self.stop < len(conversation.messages) and conversation.messages[self.stop - 1].chain == self.last


def structural(
    conversation: Conversation,
    start: int,
    stop: int,
    *,
    task_stop: int,
    target_tokens: int,
    happened: Sequence[Event] | None = None,
    memo: Memo = unremembered,
) -> Digest:
    """Summarise messages by rules.

    Args:
        conversation: as the client sent it.
        start, stop: the messages, half-open.
        task_stop: messages before it state the task.
        target_tokens: what the whole prompt should have.
        happened, memo: as `coldpress.engine.summary.structural.build` takes them.
    """
    most_bytes = min(MOST_BYTES, round(target_tokens * _SUMMARY_SHARE) * _BYTES_PER_TOKEN)
    built = build(conversation, start, stop, task_stop=task_stop, most_bytes=most_bytes, happened=happened, memo=memo)
    return Digest(start, stop, conversation.messages[stop - 1].chain, built.summary, built.left_out)


def beside_carried(digest: Digest, carried: Collection[int]) -> Digest:
    """Leave out the failures that stand beside a summary by rules in full: it could only quote them once more.

    A model's item may say why it failed, and stays.

    Args:
        digest: with the summary.
        carried: indices of the messages that are carried over.
    """
    if digest.summariser != STRUCTURAL:
        return digest
    ruled_out, failures = (
        tuple(item for item in items if item.message - 1 not in carried)
        for items in (digest.summary.ruled_out, digest.summary.failures)
    )
    return replace(digest, summary=replace(digest.summary, ruled_out=ruled_out, failures=failures))


def block_of(digest: Digest, generation: int, notes: Sequence[Note], keys: NotesKeys, *, index: str) -> str:
    """Write the text that the model reads in the place of the messages: the notes, then the summary.

    Args:
        digest: with the summary.
        generation: how many compactions the conversation has had, this one included.
        notes: that are shown.
        keys: how they are shown.
        index: SHA-256 of the list of the messages' originals.
    """
    text = render(
        digest.summary,
        first=digest.start + 1,
        last=digest.stop,
        generation=generation,
        recall=f"Where coldpress runs, `coldpress recall {index[:_SHA_DIGITS]}` lists what to recall each by.",
        left_out=digest.left_out,
    )
    return f"{shown_notes(notes, keys, beside=text)}{text}"


def shown_notes(notes: Sequence[Note], keys: NotesKeys, *, beside: str = "") -> str:
    """Write notes out as they are shown in the window, with an empty line behind them; empty where there are none.

    Lines that a summary of ours left in the notes are not said twice where the text `beside` them says them.
    """
    if not keys.show:
        return ""
    unsaid = (note if note.source != "summary" else replace(note, text=_without(note.text, beside)) for note in notes)
    shown = [note for note in unsaid if note.text.strip()]
    return f"{render_notes(shown, most_bytes=keys.most_bytes)}\n" if shown else ""


def _without(text: str, beside: str) -> str:
    """Leave out the facts, `word: text` each, whose text is said there."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if line.strip().partition(": ")[2] not in beside)
