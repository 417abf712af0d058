"""Say under which conditions results came about: version, arms with their settings, tariffs with prices, skipped files.

Whoever kept the results says what they know; what they leave out is looked up among the named arms and tariffs of this
version, and is unknown where it is not found there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from coldpress import __version__
from coldpress.lab.arm_files import named_arms
from coldpress.lab.results import Bill, Skipped
from coldpress.lab.tariffs import TARIFFS
from coldpress.measure.rates import Prices

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
    """

    name: str
    number: int
    about: str
    settings: str
    role: Role


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
        arms=tuple(_arm(name, number, arms.get(name, {})) for number, name in enumerate(arm_names, start=1)),
        tariffs=tuple(_tariff(name, tariffs.get(name, {})) for name in tariff_names),
        skipped=tuple(Skipped(_text(entry, "path"), _text(entry, "why")) for entry in _entries(about, "skipped")),
    )


def _arm(name: str, number: int, told: Mapping[str, object]) -> ArmAbout:
    known = named_arms().get(name)
    said, settings = _text(told, "about"), _text(told, "settings")
    if known is not None:
        said, settings = said or known.about, settings or known.text
    return ArmAbout(name, number, said, settings.strip(), _role(settings))


def _role(settings: str) -> Role:
    try:
        tree = tomllib.loads(settings)
    except tomllib.TOMLDecodeError:
        return "arm"  # settings may be JSON, and those have no table of the lab's
    lab = tree.get("lab")
    if tree.get("operation") == "off":
        return "control"
    return "clairvoyant" if isinstance(lab, Mapping) and lab.get("schedule") == "clairvoyant" else "arm"


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
