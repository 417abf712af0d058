"""Name the numbers of `/stats` about limits, spend and failover."""

from __future__ import annotations

from typing import Final

from coldpress.gateway.figures import counter, gauge

_L: Final = "limits"
_S: Final = f"{_L}.spend"

LIMITS: Final = (
    gauge(f"{_L}.waiting", "limits_waiting", "Inference requests that wait for a place now.", "requests"),
    counter(
        f"{_L}.waited",
        "limits_waited",
        "Those that had to wait, whatever came of it.",
        "requests",
        over="transport.inference",
    ),
    counter(
        f"{_L}.refused.*",
        "limits_refused",
        "Those that were refused: `busy` (concurrency), `rate_limited` (rpm), `spend_cap` and `unpriced` (daily_usd), "
        "`overloaded` (the day's spend could not be read).",
        "requests",
        labels=("reason",),
    ),
    gauge(
        f"{_S}.usd",
        "limits_spend_usd",
        "Spent on this UTC day by all that share the store, summaries included; a least sum where `unpriced` is not 0.",
        "USD",
        over=f"{_S}.replies",
    ),
    gauge(f"{_S}.replies", "limits_spend_priced", "Requests of this day whose whole cost is known.", "requests"),
    gauge(
        f"{_S}.unpriced",
        "limits_spend_unpriced",
        "Requests of this day of which part of the cost is not known.",
        "requests",
    ),
    gauge(f"{_S}.cap_usd", "limits_spend_cap_usd", "`limits.daily_usd`; not told where there is none.", "USD"),
    counter(
        "failover.*",
        "failover",
        "Requests that their provider did not serve where another one is named for that, by what came of it.",
        "requests",
        labels=("why",),
    ),
)
"""Those of the process since it started, but for `spend`."""
