"""Keep notes of conversations in the store, and show them where they belong."""

from __future__ import annotations

from collections.abc import Sequence

from coldpress.config.notes_keys import NotesKeys
from coldpress.drive.aging import Considered, Question
from coldpress.drive.receipts import lineage_of
from coldpress.drive.runs import run_of
from coldpress.drive.summaries import shown_notes
from coldpress.engine.cut import Weighed
from coldpress.engine.notes import facts, remembered
from coldpress.engine.rebuild import Writing, write
from coldpress.model.conversation import Conversation
from coldpress.model.notes import Note, scope_of_lineage
from coldpress.model.records import Cut
from coldpress.stores.base import Store


class Notebook:
    """Notes of all conversations; safe to use from any thread, blocking.

    Args:
        keys: `[notes]` of the settings.
        store: where they are kept.
    """

    def __init__(self, keys: NotesKeys, store: Store) -> None:
        self._keys = keys
        self._store = store

    def opening(self, asked: Question) -> Considered | None:
        """Show the project's notes behind the task of a conversation that begins; blocking, `None` where none are.

        Nothing is cached behind that place yet, and later requests keep it.
        """
        conversation, scope = asked.conversation, self._keys.project_scope
        if scope is None or conversation.last_assistant >= 0 or asked.session.rebuild is not None:
            return None
        block = shown_notes(self._store.notes(scope), self._keys)
        if not block or asked.operation != "press":
            return None
        count = len(conversation.messages)
        written = write(conversation, asked.session, Writing(start=count, stop=count, kept=(), block=block))
        return Considered(Weighed((), Cut("nothing_aged")), written=written)

    def remember(self, conversation: Conversation, considered: Considered, *, now: float) -> None:
        """Keep the lasting facts of a summary that went out as notes of its conversation; blocking."""
        written = considered.written
        if written is None or written.rebuild.summary is None:
            return
        scope, run = scope_of_lineage(lineage_of(conversation)), run_of(conversation)
        kept = remembered(
            _own(self._store.notes(scope), run),
            facts(written.rebuild.summary),
            limits=self._keys.limits,
            path=f"{_summary_stem(run)}.md",
        )
        for note in kept.changed:
            self._store.put_note(scope, note, now=now)

    def notes(self, conversation: Conversation) -> tuple[Note, ...]:
        """Give the notes that a conversation is shown: its project's, then its own."""
        if not self._keys.show:
            return ()
        project = self._keys.project_scope
        shared = self._store.notes(project) if project is not None else ()
        own = _own(self._store.notes(scope_of_lineage(lineage_of(conversation))), run_of(conversation))
        return (*shared, *own)


def _own(notes: Sequence[Note], run: str) -> tuple[Note, ...]:
    """Leave out what summaries of other runs of the same task found."""
    return tuple(note for note in notes if note.source != "summary" or note.path.startswith(_summary_stem(run)))


def _summary_stem(run: str) -> str:
    return f"summary-{run[:8]}"
