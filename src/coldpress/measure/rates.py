"""Hold what a model costs: rates of one prompt length, prices of all lengths, and the word for not knowing."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from math import isfinite


@dataclass(frozen=True, slots=True)
class Rates:
    """Prices of one model at one moment for one range of prompt lengths, in USD per million tokens, 0 or more.

    `cache_write_usd_per_mtok` is the short-lived write (5 minutes at Anthropic); where a provider charges nothing
    extra for writing, it equals the input price. `cache_write_long_usd_per_mtok` is the long-lived one (1 hour at
    Anthropic, 12 hours at OpenAI), `None` where none is known. `as_of` is the ISO date the rates hold for, or
    `undated`; `source` names where they come from.

    Raises:
        ValueError: a price is negative or not finite.
    """

    input_usd_per_mtok: float
    cache_read_usd_per_mtok: float
    cache_write_usd_per_mtok: float
    cache_write_long_usd_per_mtok: float | None
    output_usd_per_mtok: float
    source: str
    as_of: str

    def __post_init__(self) -> None:
        for name in PRICE_NAMES:
            value = getattr(self, name)
            if value is not None and not (isfinite(value) and value >= 0):
                raise ValueError(f"{name} is {value}; a price is a finite number of USD per million tokens, 0 or more")

    def write_usd_per_mtok(self, *, long: bool) -> float | None:
        """Price of prompt tokens that are written to the cache: the W of the break-even formula.

        Args:
            long: for the long lifetime; `None` comes back where its price is not known.

        >>> Rates(3.0, 0.3, 3.75, None, 15.0, "example", "2026-01-01").write_usd_per_mtok(long=False)
        3.75
        """
        return self.cache_write_long_usd_per_mtok if long else self.cache_write_usd_per_mtok

    @property
    def label(self) -> str:
        """Source and date in one phrase, as receipts and reports show them."""
        return f"{self.source} for {self.as_of}"


PRICE_NAMES = tuple(field.name for field in fields(Rates) if field.name.endswith("_usd_per_mtok"))
"""The five prices, by the names that settings use as well."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Rates of one model at one moment, by prompt length.

    Some providers reprice the whole request, its output too, once the prompt is longer than a limit: a cliff.

    Attributes:
        model: the name that was asked for.
        tiers: rates, each for prompts of more tokens than the number beside it; the first number is 0, and they ascend.

    Raises:
        ValueError: the tiers do not begin at 0 or do not ascend.
    """

    model: str
    tiers: tuple[tuple[int, Rates], ...]

    def __post_init__(self) -> None:
        starts = [above_tokens for above_tokens, _ in self.tiers]
        if not starts or starts[0] != 0 or any(low >= high for low, high in pairwise(starts)):
            raise ValueError(f"tiers of {self.model} begin above {starts} tokens; the first must be 0, and they ascend")

    def at(self, prompt_tokens: int) -> Rates:
        """Rates of a request whose whole prompt (fresh, read and written) has so many tokens.

        >>> low, high = (Rates(usd, usd, usd, None, usd, "example", "2026-01-01") for usd in (1.0, 2.0))
        >>> cliff = Prices("example", ((0, low), (200_000, high)))
        >>> cliff.at(200_000) is low, cliff.at(200_001) is high
        (True, True)
        """
        found = self.tiers[0][1]
        for above_tokens, rates in self.tiers[1:]:
            if prompt_tokens <= above_tokens:
                break
            found = rates
        return found

    @property
    def source(self) -> str:
        """Where the rates come from; all tiers have one source."""
        return self.tiers[0][1].source

    @property
    def as_of(self) -> str:
        """The ISO date the rates hold for, or `undated`."""
        return self.tiers[0][1].as_of

    @property
    def label(self) -> str:
        """Source and date in one phrase, as receipts and reports show them."""
        return self.tiers[0][1].label


@dataclass(frozen=True, slots=True)
class Unpriced:
    """No amount can be given: `missing` names what is not known, in a stable order."""

    missing: tuple[str, ...]
