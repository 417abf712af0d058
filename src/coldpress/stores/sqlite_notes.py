"""Write notes into the database, and read them."""

from __future__ import annotations

import sqlite3
from concurrent.futures import Future
from dataclasses import dataclass, field

import msgspec

from coldpress.model.errors import StoreError
from coldpress.model.notes import Note, NoteScope
from coldpress.stores.notes import check_room, note_bytes, packed_note
from coldpress.stores.packing import unpack_text
from coldpress.stores.sqlite_jobs import Job


def _promise() -> Future[None]:
    future: Future[None] = Future()
    future.set_running_or_notify_cancel()
    return future


@dataclass(slots=True, eq=False, kw_only=True)
class _Awaited(Job):
    """Somebody waits for `future`: it is done when the job is durable, or fails with the reason why it is not."""

    future: Future[None] = field(default_factory=_promise)

    @property
    def urgent(self) -> bool:
        """Somebody waits."""
        return True

    def settle(self, error: StoreError | None) -> None:
        """Tell whoever waits."""
        if error is None:
            self.future.set_result(None)
        else:
            self.future.set_exception(error)


@dataclass(slots=True, eq=False)
class NoteJob(_Awaited):
    """A note to write in the place of what stands under its path; `most_bytes` is what all notes may take."""

    scope: NoteScope
    note: Note
    now: float
    most_bytes: int
    _packed: bytes = b""

    @property
    def queued_bytes(self) -> int:
        """Memory it holds while it waits."""
        return 500 + len(self.note.text)

    def check(self) -> None:
        """Refuse what is not Unicode."""
        self._packed = packed_note(self.scope, self.note)

    def write(self, connection: sqlite3.Connection) -> int:
        """Write it where there is room. Notes are never swept, so they add nothing that a sweep could take."""
        scope, note = self.scope, self.note
        size = note_bytes(scope, note, self._packed)
        old = connection.execute("SELECT size FROM notes WHERE scope = ? AND path = ?", (scope, note.path)).fetchone()
        held = connection.execute("SELECT bytes FROM sizes WHERE part = 'notes'").fetchone()
        check_room(
            note,
            new_bytes=size,
            old_bytes=int(old[0]) if old else 0,
            held_bytes=int(held[0]),
            most_bytes=self.most_bytes,
        )
        # Not INSERT OR REPLACE: that removes the old row without telling the trigger that counts.
        connection.execute("DELETE FROM notes WHERE scope = ? AND path = ?", (scope, note.path))
        connection.execute(
            "INSERT INTO notes(scope, path, source, packed, noted_at, size) VALUES(?,?,?,?,?,?)",
            (scope, note.path, note.source, self._packed, self.now, size),
        )
        return 0


@dataclass(slots=True, eq=False)
class RemoveNoteJob(_Awaited):
    """A note to remove; `removed` says, after `write`, whether there was one."""

    scope: NoteScope
    path: str
    removed: bool = False

    def write(self, connection: sqlite3.Connection) -> int:
        """Remove it."""
        gone = connection.execute("DELETE FROM notes WHERE scope = ? AND path = ?", (self.scope, self.path))
        self.removed = gone.rowcount > 0
        return 0


def notes(connection: sqlite3.Connection, scope: NoteScope) -> tuple[Note, ...]:
    """Notes of one scope, by path."""
    rows = connection.execute("SELECT path, source, packed FROM notes WHERE scope = ? ORDER BY path", (scope,))
    return tuple(_note(*row) for row in rows)


def _note(path: str, source: str, packed: bytes) -> Note:
    what = f"note {path}"
    fields = {"path": path, "source": source, "text": unpack_text(packed, what=what)}
    try:
        return msgspec.convert(fields, Note)
    except msgspec.MsgspecError as error:
        raise StoreError(f"{what} is damaged ({error}). Write it again, and check the disk.") from error


def scopes(connection: sqlite3.Connection) -> tuple[NoteScope, ...]:
    """Scopes that have notes, by name."""
    rows = connection.execute("SELECT DISTINCT scope FROM notes ORDER BY scope")
    return tuple(NoteScope(str(scope)) for (scope,) in rows)
