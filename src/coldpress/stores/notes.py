"""What a file of notes takes in a store, and when there is no room for it."""

from __future__ import annotations

from coldpress.model.errors import StoreError
from coldpress.model.notes import Note, NoteScope
from coldpress.stores.packing import pack

# What a row takes beside its text: columns, indexes, page slack.
NOTE_ROW_BYTES = 200


def packed_note(scope: NoteScope, note: Note) -> bytes:
    """Compress the text of a note.

    Raises:
        StoreError: scope, path or text is not Unicode.
    """
    try:
        for name in (scope, note.path):
            name.encode()
        return pack(note.text.encode())
    except UnicodeEncodeError as error:
        raise StoreError("a note holds a lone surrogate and cannot be stored: write it as Unicode text") from error


def note_bytes(scope: NoteScope, note: Note, packed: bytes) -> int:
    """Bytes that a note counts for, on the scale of `Bounds.notes_bytes`."""
    return NOTE_ROW_BYTES + len(scope.encode()) + len(note.path.encode()) + len(packed)


def check_room(note: Note, *, new_bytes: int, old_bytes: int, held_bytes: int, most_bytes: int) -> None:
    """Refuse a note that does not fit beside the others. Notes are never swept, so somebody has to make room.

    Args:
        note: to be written.
        new_bytes: what it counts for, and `old_bytes` what stands under its path, 0 where nothing does.
        held_bytes: of all notes so far, the old one included.
        most_bytes: the bound.

    Raises:
        StoreError: it is larger than what it replaces, and there is no room for it.
    """
    total = held_bytes - old_bytes + new_bytes
    if total > most_bytes and new_bytes > old_bytes:
        raise StoreError(
            f"the store's notes are full: {note.path} would bring them to {total} bytes, and notes_bytes is "
            f"{most_bytes}. Remove notes that nobody needs any more, or raise notes_bytes; none was changed"
        )
