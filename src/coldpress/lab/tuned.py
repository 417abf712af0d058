"""Say what tuning came to: what was tried, what was chosen, what to expect of it, and whom it would have hurt."""

from __future__ import annotations

from dataclasses import dataclass

from coldpress.lab.results import Skipped
from coldpress.lab.stats import Interval
from coldpress.lab.summary import ArmFigures
from coldpress.lab.tune_grid import DEFAULTS, Candidate


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate on the recordings that settings are chosen on.

    Attributes:
        candidate: the settings.
        figures: of it.
        beyond: what it saves beyond the defaults, as a share of the control's bill; `None` for the defaults.
        fails: why it cannot be chosen; empty where it can.
    """

    candidate: Candidate
    figures: ArmFigures
    beyond: Interval | None
    fails: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate on the recordings that it was not chosen on, beside the defaults there; see `Tried`."""

    candidate: Candidate
    figures: ArmFigures
    defaults: ArmFigures
    beyond: Interval | None


@dataclass(frozen=True, slots=True)
class Hurt:
    """A held-out recording that would have been worse off.

    Attributes:
        recording, content: which.
        dearer_than_control_usd, dearer_than_defaults_usd: by how much; below 0 where it is cheaper.
        edits_lost: edits of `edits` that quote what stood in nothing that was sent.
    """

    recording: str
    content: str
    dearer_than_control_usd: float
    dearer_than_defaults_usd: float
    edits_lost: int
    edits: int


@dataclass(frozen=True, slots=True)
class Tuned:
    """What tuning came to.

    Attributes:
        settings_text: of a settings file, TOML: what was chosen, and as comments what to expect of it and on what
            conditions. Only comments where the defaults stay.
        chosen: the settings; the defaults where nothing better was found or confirmed.
        why: one sentence.
        candidates: everything that was tried, the defaults first.
        held_out: the chosen settings on the held-out recordings, or those that failed there; the defaults where no
            candidate came so far. `None` without a held-out recording.
        hurt: held-out recordings that `held_out.candidate` would have hurt, the dearest first.
        tuning, held_out_sessions: how many recordings were chosen on and judged on.
        skipped: recordings that could not be replayed.
        repeated: recordings left out since another had the same content.
        tariff, max_loss_pct, seed: as given.
    """

    settings_text: str
    chosen: Candidate
    why: str
    candidates: tuple[Tried, ...]
    held_out: Judged | None
    hurt: tuple[Hurt, ...]
    tuning: int
    held_out_sessions: int
    skipped: tuple[Skipped, ...]
    repeated: int
    tariff: str
    max_loss_pct: float
    seed: int

    @property
    def is_defaults(self) -> bool:
        """Whether nothing is to be set."""
        return self.chosen == DEFAULTS
