"""Replay one recording with every arm at every tariff, and give the rows that came of it.

A pure function of the file, the arms, the tariffs and the version of coldpress. An arm is driven once for all tariffs
that it cannot tell apart (`coldpress.lab.decision_class`); what was sent is then billed at each.
"""

from __future__ import annotations

import functools
import gc
import hashlib
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from coldpress.drive.faults import Fault
from coldpress.lab.arm_files import Arm
from coldpress.lab.bills import About, bill_of, losses_of, turns_of
from coldpress.lab.decision_class import decision_class
from coldpress.lab.importers.any import kind_of, read_file
from coldpress.lab.mistakes import mistaken
from coldpress.lab.recorded import Recorded
from coldpress.lab.replay_service import Service
from coldpress.lab.results import Bill, Loss, Measured, Skipped, Turn
from coldpress.lab.runs import Run, Runs
from coldpress.lab.services import paid_usd, service_for
from coldpress.measure.tokens import estimate
from coldpress.model.errors import ColdpressError, ConfigError, RecordingError
from coldpress.model.trajectory import Trajectory

CONTENT_DIGITS: Final = 16


def measure(
    path: Path, arms: Sequence[Arm], tariffs: Sequence[str], *, with_least: bool = True, with_turns: bool = True
) -> Measured:
    """Replay one recording.

    Args:
        path: its file, of any known kind.
        arms: in the order of the rows.
        tariffs: names, see `coldpress.lab.services.tariff_names`.
        with_least: whether bills say the least that was possible, where one of the arms is clairvoyant.
        with_turns: whether rows of single requests are given too.

    Returns:
        The rows, by arm and tariff; or why the file could not be replayed, be it a mistake of ours: that costs its
        recording, never the others.
    """
    fault = Fault("a recording could not be measured", path.name)
    with fault:
        try:
            with _collected_seldom():
                return _measure(path, arms, tariffs, with_least=with_least, with_turns=with_turns)
        except (ColdpressError, OSError) as error:
            return Measured(skipped=Skipped(str(path), str(error).removeprefix(f"{path}: ")))
    return mistaken(path, fault)


@contextmanager
def _collected_seldom() -> Iterator[None]:
    """Have Python look for garbage in cycles less often: a replay makes much, and next to none of it in cycles."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def content_of(path: Path) -> str:
    """Name a file by its bytes: the first 16 hex digits of their SHA-256.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:CONTENT_DIGITS]


def _measure(
    path: Path, arms: Sequence[Arm], tariffs: Sequence[str], *, with_least: bool, with_turns: bool
) -> Measured:
    content, imported = content_of(path), read_file(path)
    trajectories = imported.trajectories
    if not any(one.requests for one in trajectories):
        raise RecordingError("holds no request with a reply")
    recorded = Recorded(path.stem, trajectories, functools.cache(estimate), recorded_heads=imported.own_heads)
    about = About(path.stem, content, kind_of(path), path.absolute().parent.name, paid_usd(trajectories))
    cells = _Cells(recorded, about, _services(tariffs, trajectories))
    for arm in arms:
        cells.add(arm, with_turns=with_turns)
    return cells.rows(arms, with_least=with_least)


def _services(tariffs: Sequence[str], trajectories: Sequence[Trajectory]) -> dict[str, Service]:
    """Find the services; a recording whose own model nobody can price is still replayed at the other tariffs.

    Raises:
        ConfigError: there is none.
    """
    found, wrong = {}, list[ConfigError]()
    for name in tariffs:
        try:
            found[name] = service_for(name, trajectories)
        except ConfigError as error:
            wrong.append(error)
    if wrong and not found:
        raise wrong[0]
    return found


class _Cells:
    """The cells of one recording, one for each arm and tariff."""

    def __init__(self, recorded: Recorded, about: About, services: dict[str, Service]) -> None:
        self._about = about
        self._services = services
        self._runs = Runs(recorded)
        self._bills: dict[tuple[str, str], Bill] = {}
        self._turns: dict[tuple[str, str], tuple[Turn, ...]] = {}
        self._losses: dict[tuple[str, str], tuple[Loss, ...]] = {}

    def add(self, arm: Arm, *, with_turns: bool) -> None:
        """Drive an arm as often as the tariffs make it decide otherwise, and bill it at each."""
        driven: dict[Hashable, Run] = {}
        for tariff, service in self._services.items():
            decides = decision_class(arm, service)
            if decides not in driven:
                driven[decides] = self._runs.run(arm, service)
            billed = self._runs.billed(driven[decides], service)
            place = (arm.name, tariff)
            self._bills[place] = bill_of(self._about, arm.name, tariff, billed)
            self._losses[place] = losses_of(self._about, arm.name, tariff, billed)
            self._turns[place] = turns_of(self._about, arm.name, tariff, billed) if with_turns else ()

    def rows(self, arms: Sequence[Arm], *, with_least: bool) -> Measured:
        """Give the rows in the order of arms and tariffs."""
        places = [(arm, tariff) for arm in arms for tariff in self._services]
        return Measured(
            tuple(self._bill(arm, tariff, arms if with_least else ()) for arm, tariff in places),
            tuple(turn for arm, tariff in places for turn in self._turns[arm.name, tariff]),
            tuple(loss for arm, tariff in places for loss in self._losses[arm.name, tariff]),
        )

    def _bill(self, arm: Arm, tariff: str, arms: Sequence[Arm]) -> Bill:
        """Add the least possible bill: the clairvoyant arm's of the same rules, else that of the cheapest one.

        Nobody knows the least of an arm with a budget: no clairvoyant arm writes summaries.
        """
        bill = self._bills[arm.name, tariff]
        knowing = [one for one in arms if one.schedule == "clairvoyant" and not arm.has_budget]
        alike = [one for one in knowing if _rules(one) == _rules(arm)]
        bills = [self._bills[one.name, tariff] for one in alike or knowing]
        return replace(bill, least_usd=min((one.bill_usd - one.refetch_usd for one in bills), default=None))


def _rules(arm: Arm) -> tuple[object, ...]:
    """Give everything of an arm that decides which results may go, and as what."""
    settings = arm.settings
    return settings.policy, settings.allow_thinking_loss, settings.plugins
