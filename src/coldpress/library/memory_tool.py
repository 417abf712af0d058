"""Answer the calls of Anthropic's memory tool from a store's notes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from coldpress.engine.memory_commands import Ran, run
from coldpress.engine.memory_input import Told, parse
from coldpress.engine.notes import DEFAULT_LIMITS, NoteLimits
from coldpress.model.notes import Note, NoteScope
from coldpress.stores.base import Store

MEMORY_TOOL: Final = {"type": "memory_20250818", "name": "memory"}
"""What goes into `tools` of a request, so that the model may call it."""

# One for the process, since several tools may work on one store; a command takes milliseconds.
_ONE_AT_A_TIME: Final = threading.Lock()


class MemoryTool:
    """The memory of one project or conversation; safe to use from any thread.

    Another process that writes the same file of notes between a command's reading and writing is overwritten; files
    that the command does not change are left alone.
    """

    def __init__(
        self,
        store: Store,
        scope: NoteScope,
        *,
        limits: NoteLimits = DEFAULT_LIMITS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Serve one scope of a store.

        Args:
            store: keeps the notes; its owner closes it.
            scope: whose they are, from `coldpress.engine.notes.project_scope` or `lineage_scope`.
            limits: how much they may hold.
            clock: seconds since the epoch.
        """
        self._store = store
        self._scope = scope
        self._limits = limits
        self._clock = clock

    def execute(self, given: Mapping[str, object]) -> str:
        """Run the command of a `tool_use` block and give the text of its `tool_result`; see `run`."""
        return self.run(given).reply

    def run(self, given: Mapping[str, object]) -> Ran | Told:
        """Run the command of a `tool_use` block.

        Args:
            given: the block's `input`.

        Returns:
            What was done, durable by now, or `Told`, whose reply belongs into a `tool_result` with `is_error`.

        Raises:
            StoreError: the notes cannot be read or written.
        """
        command = parse(given)
        if isinstance(command, Told):
            return command
        with _ONE_AT_A_TIME:
            before = self._store.notes(self._scope)
            outcome = run(command, before, self._limits)
            if isinstance(outcome, Ran):
                self._write(before, outcome.notes_after)
        return outcome

    def _write(self, before: tuple[Note, ...], after: tuple[Note, ...]) -> None:
        """New texts first: a crash in the middle of a rename leaves a note twice, never not at all."""
        now = self._clock()
        stands = set(before)
        for note in after:
            if note not in stands:
                self._store.put_note(self._scope, note, now=now)
        kept = {note.path for note in after}
        for note in before:
            if note.path not in kept:
                self._store.remove_note(self._scope, note.path)
