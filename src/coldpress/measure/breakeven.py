"""Follow one cut into a warm cache over the turns after it: what it costs once, saves a turn, and when it has paid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from coldpress.measure.economics import breakeven_turns
from coldpress.measure.rates import Prices, Rates, Unpriced

TYPICAL_REWRITE_TOKENS: Final = 50_000
TYPICAL_REMOVED_TOKENS: Final = 20_000
TAIL_REWRITE_TOKENS: Final = 10_000
"""An edit near the end of the prompt, where little stands behind it."""
SUMMARISER_READS_TOKENS: Final = 70_000
SUMMARISER_WRITES_TOKENS: Final = 1_500
"""A summary by the model itself: it reads the whole prompt, warm, and answers with this much."""

_TOKENS_PER_MTOK = 1_000_000


@dataclass(frozen=True, slots=True)
class Course:
    """How one cut goes on, in USD of input; output is the same either way.

    Attributes:
        prompt_tokens: the whole prompt without the cut.
        turns: requests, the one that rewrites included, after which money is saved; `None` where that never comes.
        once_usd: rewrite and summariser together.
        saved_a_turn_usd: what each request costs less, the one that rewrites included.
    """

    prompt_tokens: int
    turns: int | None
    once_usd: float
    saved_a_turn_usd: float

    def net_usd(self, turns: float) -> float:
        """What is saved after so many requests; negative as long as the cut has not paid."""
        return turns * self.saved_a_turn_usd - self.once_usd


def course(
    prices: Prices,
    *,
    rewrite_tokens: int,
    removed_tokens: int,
    prompt_tokens: int | None = None,
    summariser_usd: float = 0.0,
    long: bool = False,
) -> Course | Unpriced:
    """Work a cut out, with the price cliff it may fall below.

    Without a cliff the turns are those of `coldpress.measure.economics.breakeven_turns`. With one, what is saved a turn
    is the whole prompt at the price above it less the shorter prompt at the price below it. Prices are taken as the
    decimal numbers they stand for, so that a tie has not paid.

    Args:
        prices: of the model, at all prompt lengths.
        rewrite_tokens: R, tokens that stay behind the cut, 0 or more.
        removed_tokens: D, tokens taken out, 1 or more.
        prompt_tokens: the whole prompt without the cut, all of it cached; R + D where `None`, the least it can be.
        summariser_usd: S, what the replacement cost to write.
        long: writes are of the long lifetime; `Unpriced` comes back where their price is not known.

    Raises:
        ValueError: the prompt is shorter than what is rewritten and removed.
    """
    whole = rewrite_tokens + removed_tokens if prompt_tokens is None else prompt_tokens
    before = whole - rewrite_tokens - removed_tokens
    if before < 0:
        raise ValueError(
            f"a prompt of {whole} tokens is shorter than the {rewrite_tokens} that are rewritten and the "
            f"{removed_tokens} that are removed"
        )
    now, then = prices.at(whole), prices.at(whole - removed_tokens)
    write = then.write_usd_per_mtok(long=long)
    if write is None:
        return Unpriced((f"cache_write_long rate in {then.label}",))
    read_now, read_then = _exact(now.cache_read_usd_per_mtok), _exact(then.cache_read_usd_per_mtok)
    once = rewrite_tokens * max(Fraction(0), _exact(write) - read_then) + _exact(summariser_usd) * _TOKENS_PER_MTOK
    saved = read_now * whole - read_then * (whole - removed_tokens)
    return Course(
        prompt_tokens=whole,
        turns=once // saved + 1 if saved > 0 else None,
        once_usd=float(once / _TOKENS_PER_MTOK),
        saved_a_turn_usd=float(saved / _TOKENS_PER_MTOK),
    )


@dataclass(frozen=True, slots=True)
class Row:
    """One model at one prompt length against typical cuts, for comparing models. `None`: never, or no such price.

    Attributes:
        write_to_read: W/C, the ratio that decides; `None` where reads are free.
        read_to_input: C/In; `None` where input is free.
        turns: to break even where 50,000 tokens are written again and 20,000 are gone.
        turns_long_write: the same where writes are of the long lifetime.
        turns_near_tail: the same as `turns` where only 10,000 are written again.
        turns_with_summary: the same as `turns` where the model itself wrote a summary.
    """

    write_to_read: float | None
    read_to_input: float | None
    turns: int | None
    turns_long_write: int | None
    turns_near_tail: int | None
    turns_with_summary: int | None


def row(rates: Rates) -> Row:
    """Compare a model by typical cuts."""
    read, fresh = rates.cache_read_usd_per_mtok, rates.input_usd_per_mtok
    summary_usd = (
        SUMMARISER_READS_TOKENS * read + SUMMARISER_WRITES_TOKENS * rates.output_usd_per_mtok
    ) / _TOKENS_PER_MTOK
    return Row(
        write_to_read=rates.cache_write_usd_per_mtok / read if read else None,
        read_to_input=read / fresh if fresh else None,
        turns=_turns(rates),
        turns_long_write=_turns(rates, long=True),
        turns_near_tail=_turns(rates, rewrite_tokens=TAIL_REWRITE_TOKENS),
        turns_with_summary=_turns(rates, summariser_usd=summary_usd),
    )


def _turns(
    rates: Rates,
    *,
    rewrite_tokens: int = TYPICAL_REWRITE_TOKENS,
    summariser_usd: float = 0.0,
    long: bool = False,
) -> int | None:
    turns = breakeven_turns(rewrite_tokens, TYPICAL_REMOVED_TOKENS, rates, summariser_usd=summariser_usd, long=long)
    return None if isinstance(turns, Unpriced) else turns


def _exact(usd: float) -> Fraction:
    """The decimal number that a float was written as: 0.003625, not the binary fraction nearest to it."""
    return Fraction(str(usd))
