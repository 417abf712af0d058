"""Ship price tables by name, so that an experiment can be priced again as it was on its day."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Final, Literal

from coldpress.measure.rates import Prices, Rates
from coldpress.model.errors import ConfigError

PriceTableName = Literal["reference-2026-07"]
"""The tables there are; a test compares it with `PRICE_TABLES`."""


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices of some models on one day.

    Attributes:
        name: as `--prices` and the settings take it.
        as_of: ISO date the prices were in force.
        source: who published them, for people.
        since: ISO date of the change before, `None` where it is not known.
        until: ISO date of the next change, `None` where it is not known.
        rows: one a model.
    """

    name: PriceTableName
    as_of: str
    source: str
    since: str | None
    until: str | None
    rows: tuple[Prices, ...]

    def find(self, model: str) -> Prices | None:
        """Find a model by its name, upper and lower case alike, with or without a `provider/` before it."""
        wanted = model.lower().rpartition("/")[2]
        return next((prices for prices in self.rows if prices.model == wanted), None)


_REFERENCE: Final[PriceTableName] = "reference-2026-07"
_REFERENCE_DAY: Final = "2026-07-21"


def _flat(model: str, *, miss: float, read: float, output: float) -> Prices:
    """DeepSeek's way: a miss costs the input price and writes the cache, a hit costs the read price."""
    return Prices(model, ((0, Rates(miss, read, miss, None, output, f"table {_REFERENCE}", _REFERENCE_DAY)),))


PRICE_TABLES: Final[tuple[PriceTable, ...]] = (
    PriceTable(
        name=_REFERENCE,
        as_of=_REFERENCE_DAY,
        # The settings of the reference experiment hold these numbers; the list of genai-prices has the same until then.
        source="DeepSeek's prices in the reference experiment of 21 July 2026",
        since=None,
        until="2026-08-17",
        rows=(
            _flat("deepseek-v4-pro", miss=0.435, read=0.003625, output=0.87),
            _flat("deepseek-v4-flash", miss=0.14, read=0.0028, output=0.28),
        ),
    ),
)


def price_table(name: str) -> PriceTable:
    """Find a table by its exact name.

    Raises:
        ConfigError: there is none; the message names the nearest, or all of them.
    """
    by_name: dict[str, PriceTable] = {table.name: table for table in PRICE_TABLES}
    if name in by_name:
        return by_name[name]
    near = difflib.get_close_matches(name, by_name, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"tables are {', '.join(by_name)}"
    raise ConfigError(f'there is no price table "{name}"; {hint}')
