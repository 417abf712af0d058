"""Say under which conditions results came about: version, arms with their settings, tariffs with prices, skipped files.

Whoever kept the results says what they know; what they leave out is looked up among the named arms and tariffs of this
version, and is unknown where it is not found there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from coldpress import __version__
from coldpress.lab.arm_files import Arm, named_arms, parse_arm
from coldpress.lab.results import Bill, Skipped
from coldpress.lab.tariffs import TARIFFS
from coldpress.measure.rates import Prices
from coldpress.model.errors import ConfigError

Role = Literal["control", "clairvoyant", "arm"]
"""What an arm is for: the client's own bodies, the least that was possible, or something to be judged."""

RECORDED: Final = "recorded"
RECORDED_LABEL: Final = "the recordings' own prices"
RECORDED_PRICES: Final = "list prices of each recording's own main model on its day"
RECORDED_LIFETIME: Final = "that of the model's own provider"


@dataclass(frozen=True, slots=True)
class ArmAbout:
    """One arm, for readers.

    Attributes:
        name: as in the rows.
        number: that it has in figures and tables, from 1.
        about: one sentence; empty where nobody said it.
        settings: text of its settings file; empty where it is unknown.
        role: what it is for.
        knows_longest: whether its window is a share of the recording's own longest prompt, which is of the future.
        has_budget: whether it brings prompts down to a budget, so that nobody knows the least for it.
        has_own_least: whether its regret is over a clairvoyant arm that was measured with the same rules.
    """

    name: str
    number: int
    about: str
    settings: str
    role: Role
    knows_longest: bool = False
    has_budget: bool = False
    has_own_least: bool = False


@dataclass(frozen=True, slots=True)
class TariffAbout:
    """One tariff, for readers.

    Attributes:
        name: as in the rows.
        prices_label: where the prices come from, and their day.
        lifetime: how long a cached prefix is held, in words.
        prices: by prompt length; `None` where they differ by recording or are unknown.
    """

    name: str
    prices_label: str
    lifetime: str
    prices: Prices | None

    @property
    def label(self) -> str:
        """Name it in a sentence."""
        return RECORDED_LABEL if self.name == RECORDED else self.name

    @property
    def write_to_read(self) -> float | None:
        """Price of a written token over that of a read one, for short prompts; `None` where either is unknown or 0."""
        if self.prices is None:
            return None
        rates = self.prices.at(0)
        return rates.cache_write_usd_per_mtok / rates.cache_read_usd_per_mtok if rates.cache_read_usd_per_mtok else None


@dataclass(frozen=True, slots=True)
class Conditions:
    """All of them.

    Attributes:
        version: of coldpress that made the results.
        dates: of the recorded runs, in words; empty where it is unknown.
        arms, tariffs: in the order of the rows.
        skipped: files that could not be replayed.
    """

    version: str
    dates: str
    arms: tuple[ArmAbout, ...]
    tariffs: tuple[TariffAbout, ...]
    skipped: tuple[Skipped, ...]


def conditions_of(about: Mapping[str, object], bills: Sequence[Bill]) -> Conditions:
    """Read the conditions.

    Args:
        about: `version` and `dates` (texts), `arms` (a list of `name`, `about`, `settings`), `tariffs` (a list of
            `name`, `prices`, `lifetime`), `skipped` (a list of `path`, `why`); any of them may be missing.
        bills: that name arms and tariffs, whether anybody told of them or not.
    """
    arms = {_text(entry, "name"): entry for entry in _entries(about, "arms")}
    tariffs = {_text(entry, "name"): entry for entry in _entries(about, "tariffs")}
    arm_names = dict.fromkeys(bill.arm for bill in bills) or arms
    tariff_names = dict.fromkeys(bill.tariff for bill in bills) or tariffs
    return Conditions(
        version=_text(about, "version") or __version__,
        dates=_text(about, "dates"),
        arms=_arms({name: arms.get(name, {}) for name in arm_names}),
        tariffs=tuple(_tariff(name, tariffs.get(name, {})) for name in tariff_names),
        skipped=tuple(Skipped(_text(entry, "path"), _text(entry, "why")) for entry in _entries(about, "skipped")),
    )


def _arms(told: Mapping[str, Mapping[str, object]]) -> tuple[ArmAbout, ...]:
    read = {name: _read(name, entry) for name, entry in told.items()}
    least = [_rules(arm) for arm in read.values() if arm is not None and arm.schedule == "clairvoyant"]
    found = []
    for number, (name, arm) in enumerate(read.items(), start=1):
        known = named_arms().get(name)
        said, settings = _text(told[name], "about"), _text(told[name], "settings")
        if known is not None:
            said, settings = said or known.about, settings or known.text
        about = ArmAbout(name, number, said, settings.strip(), "arm")
        found.append(about if arm is None else _with_settings(about, arm, least, told[name].get("window")))
    return tuple(found)


def _read(name: str, told: Mapping[str, object]) -> Arm | None:
    """Read an arm from the settings that were told, else find the named one; `None` where neither can be done."""
    settings = _text(told, "settings")
    if not settings:
        return named_arms().get(name)
    try:
        return parse_arm(settings, "arm")
    except ConfigError:
        return None  # settings may be JSON, or of another version


def _with_settings(about: ArmAbout, arm: Arm, least: Sequence[object], told_window: object) -> ArmAbout:
    window = told_window if isinstance(told_window, int | float) else arm.window
    role: Role = "control" if arm.is_control else "clairvoyant" if arm.schedule == "clairvoyant" else "arm"
    return replace(
        about,
        role=role,
        knows_longest=arm.has_budget and window is not None and window <= 1,
        has_budget=arm.has_budget,
        has_own_least=role != "control" and not arm.has_budget and _rules(arm) in least,
    )


def _rules(arm: Arm) -> object:
    """Give what decides which results may go, as those who know the least compare it."""
    return arm.settings.policy, arm.settings.allow_thinking_loss, arm.settings.plugins


def _tariff(name: str, told: Mapping[str, object]) -> TariffAbout:
    said, lifetime = _text(told, "prices"), _text(told, "lifetime")
    if name == RECORDED:
        return TariffAbout(name, said or RECORDED_PRICES, lifetime or RECORDED_LIFETIME, None)
    known = TARIFFS[name]() if name in TARIFFS else None
    # Prices of another day than those that the bills were made with would draw another map.
    if known is None or said not in ("", known.prices.label, repr(known)):
        return TariffAbout(name, said or "unknown", lifetime or "unknown", None)
    return TariffAbout(name, known.prices.label, lifetime or known.note, known.prices)


def _entries(told: Mapping[str, object], key: str) -> Iterable[Mapping[str, object]]:
    found = told.get(key, ())
    if isinstance(found, Sequence) and not isinstance(found, str):
        return [entry for entry in found if isinstance(entry, Mapping)]
    return ()


def _text(told: Mapping[str, object], key: str) -> str:
    found = told.get(key, "")
    return found if isinstance(found, str) else ""
