"""Keep notes in memory, by whose they are and by path."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from coldpress.model.notes import Note, NoteScope, scope_of_lineage
from coldpress.stores.amounts import Held
from coldpress.stores.notes import check_room, note_bytes, packed_note


class MemoryNotes:
    """Not safe to share between threads: its owner holds a lock."""

    def __init__(self) -> None:
        self._notes: dict[tuple[NoteScope, str], tuple[Note, int]] = {}
        self._bytes = 0

    @property
    def kept(self) -> Held:
        """What is held."""
        return Held(len(self._notes), self._bytes)

    def notes(self, scope: NoteScope) -> tuple[Note, ...]:
        """Notes of one scope, by path."""
        return tuple(note for (whose, _), (note, _) in sorted(self._notes.items()) if whose == scope)

    def put(self, scope: NoteScope, note: Note, *, most_bytes: int) -> None:
        """Write a note.

        Raises:
            StoreError: it is not Unicode, or there is no room for it.
        """
        size = note_bytes(scope, note, packed_note(scope, note))
        _, old = self._notes.get((scope, note.path), (note, 0))
        check_room(note, new_bytes=size, old_bytes=old, held_bytes=self._bytes, most_bytes=most_bytes)
        self._notes[scope, note.path] = (note, size)
        self._bytes += size - old

    def remove(self, scope: NoteScope, path: str) -> bool:
        """Remove a note; say whether there was one."""
        _, size = self._notes.pop((scope, path), (None, 0))
        self._bytes -= size
        return size > 0

    def forget_summaries(self, lineages: AbstractSet[str]) -> None:
        """Remove what summaries left in the notes of these conversations."""
        scopes = {scope_of_lineage(lineage) for lineage in lineages}
        for whose, path in [key for key, (note, _) in self._notes.items() if note.source == "summary"]:
            if whose in scopes:
                self.remove(whose, path)

    def scopes(self) -> tuple[NoteScope, ...]:
        """Scopes that have notes, by name."""
        return tuple(sorted({scope for scope, _ in self._notes}))
