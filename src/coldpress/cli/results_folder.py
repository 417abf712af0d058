"""Read the results of a sweep from its folder as a report wants them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from coldpress.lab.results import Bill, Loss, Turn


@dataclass(frozen=True, slots=True)
class ResultsFolder:
    """The results in a folder; `coldpress.lab.report.source.Results` says what each part is."""

    folder: Path

    @property
    def bills(self) -> Iterable[Bill]:
        """All bills."""
        from coldpress.lab.sweep.folder import read_bills

        return read_bills(self.folder)

    @property
    def losses(self) -> Iterable[Loss]:
        """All losses."""
        from coldpress.lab.sweep.folder import read_losses

        return read_losses(self.folder)

    @property
    def about(self) -> Mapping[str, object]:
        """Conditions. Of prices a report knows how to speak itself."""
        from coldpress.lab.sweep.folder import read_about

        found = read_about(self.folder)
        return {
            "version": found.coldpress,
            "arms": [{"name": arm.name, "about": arm.about, "settings": arm.settings} for arm in found.arms],
            "skipped": [{"path": one.path, "why": one.why} for one in found.skipped],
        }

    def turns(
        self, *, arm: str | None = None, tariff: str | None = None, recording: str | None = None
    ) -> Iterable[Turn]:
        """Give the requests of some bills."""
        from coldpress.lab.sweep.folder import read_turns

        return read_turns(self.folder, arm=arm, tariff=tariff, recording=recording)
