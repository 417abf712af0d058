"""Say what a report is made from: the rows of a sweep, wherever they are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from coldpress.lab.results import Bill, Loss, Turn


class Results(Protocol):
    """Rows of a sweep and what is known of how they were made.

    `bills` and `losses` may be read once only; `turns` is asked several times.
    """

    @property
    def bills(self) -> Iterable[Bill]:
        """All bills, in the order of recordings, arms and tariffs."""

    @property
    def losses(self) -> Iterable[Loss]:
        """All losses."""

    @property
    def about(self) -> Mapping[str, object]:
        """Conditions, see `coldpress.lab.report.conditions.conditions_of`; what is missing is found out or unknown."""

    def turns(
        self, *, arm: str | None = None, tariff: str | None = None, recording: str | None = None
    ) -> Iterable[Turn]:
        """Give the requests of some bills, in the order of time within each; none where they were not kept."""
