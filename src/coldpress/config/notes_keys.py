"""What may stand in `[notes]`: which project's notes are shown, how much of them is shown, and how much is kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from coldpress.config.about import say
from coldpress.config.masked import shown
from coldpress.engine.notes import DEFAULT_LIMITS, KIB, NoteLimits, project_problem, project_scope
from coldpress.engine.notes_view import LEAST_SHOWN_BYTES
from coldpress.model.notes import NoteScope


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesKeys:
    """Durable facts that stand outside the window and are shown in it once, in a stable place."""

    project: str | None = field(
        default=None,
        metadata=say(
            "Name of a project whose notes every conversation of this gateway is shown, beside its own.",
            example='"webshop"',
            unset="each conversation is shown its own notes alone",
        ),
    )
    show: bool = field(default=True, metadata=say("Whether notes are shown in the window; they are kept in any case."))
    most_bytes: int = field(
        default=8 * KIB,
        metadata=say(
            "Notes shown in the window; what does not fit is counted and named.",
            unit="bytes of UTF-8",
            least=LEAST_SHOWN_BYTES,
        ),
    )
    most_file_bytes: int = field(
        default=DEFAULT_LIMITS.most_file_bytes,
        metadata=say("Largest file of notes; what would make it larger is refused.", unit="bytes of UTF-8", least=1),
    )
    most_total_bytes: int = field(
        default=DEFAULT_LIMITS.most_total_bytes,
        metadata=say("All notes of one project or conversation together.", unit="bytes of UTF-8", least=1),
    )

    @property
    def limits(self) -> NoteLimits:
        """The limits in the form the engine takes."""
        return NoteLimits(most_file_bytes=self.most_file_bytes, most_total_bytes=self.most_total_bytes)

    @property
    def project_scope(self) -> NoteScope | None:
        """Whose notes every conversation is shown beside its own; `None` where there is no project."""
        return None if self.project is None else project_scope(self.project)


def notes_problems(keys: NotesKeys) -> list[str]:
    """Tell what is wrong with these keys together, one sentence each."""
    told: list[str] = []
    if keys.project is not None and (problem := project_problem(keys.project)):
        told.append(f"notes.project is {shown(keys.project)}, which {problem}")
    if keys.most_total_bytes < keys.most_file_bytes:
        told.append(
            f"notes.most_total_bytes is {keys.most_total_bytes}, less than notes.most_file_bytes "
            f"({keys.most_file_bytes}); the largest file allowed would always be refused"
        )
    return told
