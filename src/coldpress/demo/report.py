"""Turn a session played twice into the demonstration's numbers."""

from __future__ import annotations

from dataclasses import dataclass

from coldpress.demo.play import Played
from coldpress.demo.small_window import SmallWindow
from coldpress.measure.prices import Prices, Unpriced, cost_usd
from coldpress.model.usage import Usage


@dataclass(frozen=True, slots=True)
class Bill:
    """Tokens and money of a whole session. `usd` is `None` where a price or a count is missing."""

    fresh: int
    read: int
    write: int
    output: int
    usd: float | None

    @property
    def prompt(self) -> int:
        """Input tokens sent, over all requests."""
        return self.fresh + self.read + self.write


@dataclass(frozen=True, slots=True)
class Demo:
    """Everything the demonstration found out; `small` stands apart, and nothing of it is in the bills."""

    off: tuple[Played, ...]
    press: tuple[Played, ...]
    prices: Prices | Unpriced
    identical: bool
    recalled: bool
    store_path: str
    small: SmallWindow

    def json(self) -> dict[str, object]:
        """Give the result for programs."""
        off, press = bill(self.off, self.prices), bill(self.press, self.prices)
        lines = [line for played in self.press for line in played.pressed]
        return {
            "requests": len(self.press),
            "pressed": len(lines),
            "aged": sum(line.reason == "aged" for line in lines),
            "pressed_by_mode": {
                mode: sum(1 for x in lines if x.mode == mode) for mode in sorted({x.mode for x in lines})
            },
            "reapplied": sum(played.receipt.reused for played in self.press if played.receipt),
            "tokens_off": off.prompt,
            "tokens_press": press.prompt,
            "fresh_off": off.fresh,
            "fresh_press": press.fresh,
            "read_off": off.read,
            "read_press": press.read,
            "write_off": off.write,
            "write_press": press.write,
            "bill_off_usd": off.usd,
            "bill_press_usd": press.usd,
            "prices": self.prices.label if isinstance(self.prices, Prices) else None,
            "identical_outside_edits": self.identical,
            "recalled_exactly": self.recalled,
            "store": self.store_path,
            "originals": [line.original for line in lines],
            "small_window": self.small.json(),
        }


def bill(session: tuple[Played, ...], prices: Prices | Unpriced) -> Bill:
    """Add a session up."""
    usages = [played.usage for played in session]
    costs = [cost_usd(usage, prices) for usage in usages]
    known = [cost for cost in costs if not isinstance(cost, Unpriced)]
    return Bill(
        fresh=sum(usage.fresh or 0 for usage in usages),
        read=sum(usage.read or 0 for usage in usages),
        write=sum(written(usage) for usage in usages),
        output=sum(usage.output or 0 for usage in usages),
        usd=sum(known) if len(known) == len(costs) else None,
    )


def written(usage: Usage) -> int:
    """Tokens written to the cache, of either lifetime."""
    return (usage.write_short or 0) + (usage.write_long or 0)
