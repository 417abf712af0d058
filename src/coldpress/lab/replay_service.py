"""Say who serves a replay, at which prices and with which cache, and set coldpress up for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from coldpress.config.settings import Provider, Settings
from coldpress.engine.policy import DEFAULT_POLICY, Policy, Rule, with_source_age
from coldpress.lab.pressed import default_settings
from coldpress.lab.tariffs import Tariff
from coldpress.measure.cache_rules import NONE, CacheRules, rules_for
from coldpress.model.errors import ConfigError

STRUCTURE_TOKENS: Final = 40
"""What was fitted on recorded Claude sessions (45 tokens, `coldpress.measure.token_families`), on o200k's scale."""

LivesFrom = Literal["request", "reply"]
"""When the lifetime of what a request leaves in the cache begins; with `request`, replies take no time."""


@dataclass(frozen=True, slots=True)
class Service:
    """Who serves a replay.

    Attributes:
        tariff: prices and lifetimes.
        provider: its name in the settings.
        lives_from: when lifetimes begin. Providers count from the reply; the tables of schedules from the request.
        structure_tokens: what a call, and its result, count beside their texts, on the scale of the counter; the
            tables of schedules know of none.
    """

    tariff: Tariff
    provider: str
    lives_from: LivesFrom = "reply"
    structure_tokens: int = STRUCTURE_TOKENS

    @property
    def model(self) -> str:
        """The model that takes the recorded one's place."""
        return self.tariff.prices.model

    @property
    def rules(self) -> CacheRules:
        """How it caches.

        Raises:
            ConfigError: nothing is known of it.
        """
        found = NONE if self.provider == "none" else rules_for(self.model, self.provider)
        if found is None:
            raise ConfigError(f"no cache rules for {self.model} at {self.provider}; see measure/cache_rules.py")
        return found


def settings_of(
    service: Service, *, source_age: int | None, first_sight: bool, keep_thinking: bool, models: Sequence[str]
) -> Settings:
    """Give the built-in settings with the service as the only provider and its prices for the named models.

    Args:
        service: the provider.
        source_age: turns from which on reads may be masked; `None` for never.
        first_sight: whether results may become smaller when they are first sent; else only aged ones may.
        keep_thinking: whether results before reasoning that is bound to them stay.
        models: names that requests carry.
    """
    policy = DEFAULT_POLICY if source_age is None else with_source_age(DEFAULT_POLICY, source_age)
    prices = tuple(replace(service.tariff.prices, model=model) for model in models)
    provider = Provider(service.provider, "http://127.0.0.1", ("anthropic",), "press", pricing=prices)
    found = default_settings()
    return replace(
        found,
        policy=policy if first_sight else only_aged(policy),
        source_age=source_age,
        allow_thinking_loss=not keep_thinking,
        providers=(provider,),
    )


def only_aged(policy: Policy) -> Policy:
    """Take out of every rule what may be done at first sight."""
    rules = (replace(rule, modes=_aged_modes(rule), first_pass=False) for rule in policy.rules)
    return Policy(tuple(rules))


def _aged_modes(rule: Rule) -> tuple[Literal["mask", "exact"], ...]:
    return ("mask",) if "mask" in rule.modes else ("exact",)
