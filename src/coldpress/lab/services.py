"""Find who serves a replay by the name of a tariff, or by what a recording itself asked; and what was paid for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from coldpress.lab.replay_service import Service
from coldpress.lab.tariffs import DAY, TARIFFS, Tariff
from coldpress.measure.cache_rules import CacheRules, rules_for
from coldpress.measure.prices import cost_usd, prices_for
from coldpress.measure.rates import Unpriced
from coldpress.model.errors import ConfigError
from coldpress.model.trajectory import Trajectory, Turn

RECORDED: Final = "recorded"
"""What a recording itself asked: its main model at the list prices of the day it ended, with its provider's cache."""

_PROVIDERS: Final = {"claude": "anthropic", "gpt": "openai", "deepseek": "deepseek", "reference": "deepseek"}
"""Who serves a tariff, or the models of a maker, by the first word of the name."""

_UNPUBLISHED_SECONDS: Final = 3600.0
"""Lifetime to assume where a provider publishes none."""


def tariff_names() -> tuple[str, ...]:
    """Name the tariffs that there are."""
    return (RECORDED, *TARIFFS)


def service_for(tariff: str, trajectories: Sequence[Trajectory]) -> Service:
    """Give the service of a tariff.

    Args:
        tariff: its name, `recorded` for the one that the trajectories themselves asked.
        trajectories: of one recording.

    Raises:
        ConfigError: there is no such tariff, or the recorded model has no price or no known cache; says what to give.
    """
    if tariff == RECORDED:
        return _recorded(trajectories)
    if tariff not in TARIFFS:
        raise ConfigError(f"no tariff {tariff!r}; use one of {', '.join(tariff_names())}")
    return Service(TARIFFS[tariff](), _provider(tariff))


def paid_usd(trajectories: Sequence[Trajectory]) -> float | None:
    """Price the input of all requests by their reported usage, each at the list prices of its own model and day.

    `None` where usage or price of any of them is unknown.
    """
    total = 0.0
    for trajectory in trajectories:
        for turn in trajectory.turns[trajectory.shared_turns :]:
            prices = prices_for(turn.model, provider=None, at=_day(turn))
            usd = cost_usd(replace(turn.usage, output=0), prices) if turn.usage.known else None
            if usd is None or isinstance(usd, Unpriced):
                return None
            total += usd
    return total


def main_model(trajectories: Sequence[Trajectory]) -> str:
    """Name the model that most requests of a recording asked, the first of several."""
    asked = Counter(turn.model for one in trajectories for turn in one.turns[one.shared_turns :])
    return asked.most_common(1)[0][0] if asked else ""


def _recorded(trajectories: Sequence[Trajectory]) -> Service:
    model = main_model(trajectories)
    last = max((turn for one in trajectories for turn in one.turns), key=lambda turn: turn.sent_at or 0.0)
    prices = prices_for(model, provider=None, at=_day(last))
    if isinstance(prices, Unpriced):
        named = model or "an unnamed model"
        raise ConfigError(f"no list price for {named}; give other prices, such as --prices claude-sonnet-5-5")
    provider = _provider(model)
    rules = rules_for(model, provider)
    if rules is None:
        raise ConfigError(
            f"nothing is known of the cache of {model}; give other prices, such as --prices claude-sonnet-5-5"
        )
    tariff = Tariff(
        RECORDED,
        replace(prices, model=model),
        rules.short_seconds if rules.short_seconds is not None else _UNPUBLISHED_SECONDS,
        rules.long_seconds,
        reads_anywhere=rules.kind != "marks",
        note=_note(rules),
    )
    return Service(tariff, provider)


def _note(rules: CacheRules) -> str:
    if rules.short_seconds is None:
        return f"{_UNPUBLISHED_SECONDS / 60:.0f} minutes, assumed; {rules.name} publishes none"
    long = f", or {rules.long_seconds / 60:.0f} where the client asked" if rules.long_seconds is not None else ""
    return f"{rules.short_seconds / 60:.0f} minutes{long}"


def _provider(name: str) -> str:
    """Say who serves a tariff or a model, by the first word of its name; its maker where that tells nothing."""
    word = name.lower().rsplit("/", 1)[-1].split("-", maxsplit=1)[0].split(" ", maxsplit=1)[0]
    return "none" if word == "server" else _PROVIDERS.get(word, _maker(name))


def _maker(name: str) -> str:
    found = rules_for(name, None)
    return "unknown" if found is None else found.name.split("-", maxsplit=1)[0]


def _day(turn: Turn) -> datetime:
    return DAY if turn.sent_at is None else datetime.fromtimestamp(turn.sent_at, UTC)
