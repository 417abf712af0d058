"""One plugin in force: runs its hooks, counts what they cost, and lets it rest after faults."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pluggy

from coldpress.model.errors import EditRefused
from coldpress.model.plugins import Capability, PluginFault, PluginNote
from coldpress.plugins.access import Access
from coldpress.plugins.declaration import PluginDeclaration
from coldpress.plugins.hookspecs import HOOK_NAMES
from coldpress.plugins.network import watched
from coldpress.plugins.running import Ran, place_of, run
from coldpress.plugins.totals import HookTotals, PluginTotals

log = logging.getLogger(__name__)

MOST_FAULTS: Final = 3
"""Faults in a row after which a plugin rests: one may be chance, and a broken one would slow down every request."""


_MOST_TOLD: Final = 3
"""Refused edits that a note names."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of a hook. What it wanted may be used only where it `stands`."""

    note: PluginNote
    stands: bool


@dataclass(slots=True)
class _Sums:
    calls: int = 0
    seconds: float = 0.0
    slowest_seconds: float = 0.0
    edits: int = 0


class Member:
    """One plugin that is on. Used from several threads.

    Args:
        declaration: what it says of itself.
        granted: what it may do.
        settings: a value of its settings type, `None` where it has none.
        hooks: a plugin manager that knows this plugin alone.
        hook_seconds: how long a hook is waited for.
        on_rest: called once it rests.
    """

    def __init__(
        self,
        declaration: PluginDeclaration,
        *,
        granted: tuple[Capability, ...],
        settings: object,
        hooks: pluggy.PluginManager,
        hook_seconds: float,
        on_rest: Callable[[], None],
    ) -> None:
        self.name = declaration.name
        self.granted = granted
        self._version = declaration.version
        self._settings = settings
        self._hooks = hooks
        self._seconds = hook_seconds
        self._on_rest = on_rest
        self._lock = threading.Lock()
        self._sums = {name: _Sums() for name in HOOK_NAMES if getattr(hooks.hook, name).get_hookimpls()}
        self._faults: Counter[PluginFault] = Counter()
        self._in_a_row = 0
        self._resting = ""
        self._late = 0
        self._missed = 0

    def has(self, hook: str) -> bool:
        """Whether it has this hook and does not rest."""
        return hook in self._sums and not self._resting

    def access(self) -> Access:
        """Begin a run of one hook."""
        return Access(self.name, self.granted, self._was_late)

    def ask(self, hook: str, access: Access, **arguments: object) -> Asked:
        """Run a hook, and end its access whatever happens."""
        caller = getattr(self._hooks.hook, hook)

        def work() -> None:
            with watched(access):
                caller(**arguments, settings=self._settings)

        ran = run(work, seconds=self._seconds, name=f"coldpress-plugin-{self.name}")
        access.close()
        fault, detail = _judged(ran, access)
        # An edit that was refused says nothing against the hook's others, if the hook went on to its end.
        stands = fault is None or (fault == "refused" and ran.error is None)
        return Asked(PluginNote(self.name, hook, ran.seconds, fault=fault, detail=detail), stands)

    def count(self, note: PluginNote) -> PluginNote:
        """Add a run to the sums, let the plugin rest where it is one fault too many, and give the note back."""
        rests = False
        with self._lock:
            sums = self._sums[note.hook]
            sums.calls += 1
            sums.seconds += note.seconds
            sums.slowest_seconds = max(sums.slowest_seconds, note.seconds)
            sums.edits += note.edits
            if note.fault is None:
                self._in_a_row = 0
            else:
                self._faults[note.fault] += 1
                self._in_a_row += 1
                if self._in_a_row >= MOST_FAULTS and not self._resting:
                    rests = True
                    self._resting = f"{MOST_FAULTS} faults in a row, the last one: {note.fault} ({note.detail})"
        facts = {"plugin": self.name, "hook": note.hook, "fault": note.fault, "detail": note.detail}
        if rests:
            log.error("plugin rests until the process is started again", extra=facts)
            self._on_rest()
        elif note.fault is not None:
            log.warning("plugin fault, the request went on without it", extra=facts)
        return note

    def missed(self) -> None:
        """Note that it was not told of the end of a request."""
        with self._lock:
            self._missed += 1

    def totals(self) -> PluginTotals:
        """Sum up since it was made."""
        with self._lock:
            return PluginTotals(
                plugin=self.name,
                version=self._version,
                state="resting" if self._resting else "on",
                why=self._resting,
                capabilities=self.granted,
                hooks=tuple(
                    HookTotals(name, sums.calls, sums.seconds, sums.slowest_seconds, sums.edits)
                    for name, sums in self._sums.items()
                ),
                faults=tuple(sorted(self._faults.items())),
                late_uses=self._late,
                missed=self._missed,
            )

    def _was_late(self) -> None:
        with self._lock:
            self._late += 1
            first = self._late == 1
        if first:
            log.warning("plugin used a view after its hook was over", extra={"plugin": self.name})


def _judged(ran: Ran[None], access: Access) -> tuple[PluginFault | None, str]:
    over_step = next((detail for fault, detail in access.faults if fault == "capability"), None)
    refused = [detail for fault, detail in access.faults if fault == "refused"]
    if over_step is not None:
        return "capability", over_step
    if not ran.in_time:
        return "slow", f"more than {ran.seconds:.3f} s"
    if ran.error is not None and not isinstance(ran.error, EditRefused):
        return "failed", place_of(ran.error)
    return ("refused", "; ".join(refused[:_MOST_TOLD])) if refused else (None, "")
