"""Foretell where the next request of a conversation can end its read, from the little that is known of the last ones.

The simulator keeps every prefix by its digest. One conversation needs less: the blocks at which entries of
its own prefix end, and when each was last used. All functions are pure; they take a few comparisons per entry.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from coldpress.measure.cache_rules import CacheRules, Life


@dataclass(frozen=True, slots=True)
class Kept:
    """An entry along one conversation's prefix.

    Where the provider has marks it ends with block number `block`, counted from 0 over tools, system and messages.
    Elsewhere everything up to that block can be read. `used_at` is when its reply came or it was last read, in
    seconds on the clock that `now` is on.
    """

    block: int
    life: Life
    used_at: float


def alive(rules: CacheRules, kept: Kept, *, now: float, short_seconds: float | None = None) -> bool:
    """Tell whether an entry is still held, by the published lifetime or the one believed instead.

    Raises:
        ValueError: the provider publishes no lifetime and none is believed.
    """
    seconds = rules.seconds(kept.life) if kept.life == "long" or short_seconds is None else short_seconds
    if seconds is None:
        raise ValueError(f"{rules.name} publishes no lifetime for a {kept.life} entry; say short_seconds")
    return now < kept.used_at + seconds


def readable_ends(
    rules: CacheRules,
    ends_tokens: Sequence[int],
    entries: Iterable[Kept],
    marks: Iterable[int],
    *,
    now: float,
    short_seconds: float | None = None,
) -> tuple[int, ...]:
    """List where a read of the next request can end, in tokens, ascending; the read is the last one that is unchanged.

    Args:
        rules: the provider's.
        ends_tokens: tokens up to and including each block of the request to be sent, ascending.
        entries: what this conversation left in the cache.
        marks: blocks of the request that carry a mark, any order; ignored where the provider has none.
        now: when it will be sent.
        short_seconds: the lifetime believed, where it is not the published one.

    An edit at block `b` leaves the ends up to `ends_tokens[b - 1]` in place, see `expected_read`.
    """
    blocks = _readable_blocks(rules, ends_tokens, entries, marks, now=now, short_seconds=short_seconds)
    step = rules.step_tokens
    ends = {ends_tokens[block] - ends_tokens[block] % step for block in blocks}
    return tuple(sorted(end for end in ends if end >= max(1, rules.minimum_tokens)))


def expected_read(readable: Sequence[int], unchanged_tokens: int) -> int:
    """Tokens that will be read, where the request is as it was sent before for its first `unchanged_tokens` tokens.

    >>> expected_read((2000, 5000, 9000), 6000)
    5000
    >>> expected_read((), 6000)
    0
    """
    at = bisect_right(readable, unchanged_tokens)
    return readable[at - 1] if at else 0


def entries_after(
    rules: CacheRules,
    ends_tokens: Sequence[int],
    entries: Iterable[Kept],
    marks: Mapping[int, Life],
    *,
    unchanged_blocks: int,
    now: float,
    answered_at: float | None = None,
    short_seconds: float | None = None,
) -> tuple[Kept, ...]:
    """What the conversation has in the cache once a request was answered; give it to the next `readable_ends`.

    Args:
        rules: the provider's.
        ends_tokens: as in `readable_ends`.
        entries: what it had before.
        marks: the request's marks and the lifetimes they ask for, by block.
        unchanged_blocks: leading blocks that are as they were sent before. Entries behind them no longer fit.
        now: when it was sent.
        answered_at: when the reply came; at once where not given.
        short_seconds: as in `readable_ends`.
    """
    done = now if answered_at is None else answered_at
    held = [kept for kept in entries if alive(rules, kept, now=now, short_seconds=short_seconds)]
    fitting = [kept for kept in held if kept.block < unchanged_blocks]
    last = len(ends_tokens) - 1
    if rules.kind == "none" or last < 0:
        return ()
    if rules.kind == "steps":
        return (Kept(last, "short", done),)
    if rules.kind == "units":
        # What this prompt and an earlier one begin with has become a unit of its own.
        shared = min(unchanged_blocks - 1, max((kept.block for kept in held), default=-1))
        units = {kept.block: kept for kept in _used(fitting, max((kept.block for kept in fitting), default=-1), done)}
        units |= {block: Kept(block, "short", done) for block in (shared, last) if block >= 0}
        return tuple(units[block] for block in sorted(units))
    lives = _in_force(rules, ends_tokens, marks)
    seen = _readable_blocks(rules, ends_tokens, fitting, lives, now=now, short_seconds=short_seconds)
    hit = max(seen, default=-1)
    written = {block: Kept(block, life, done) for block, life in lives.items() if block > hit}
    kept_on = {kept.block: kept for kept in _used(fitting, hit if rules.refreshed else -1, done)} | written
    return tuple(kept_on[block] for block in sorted(kept_on))


def _readable_blocks(
    rules: CacheRules,
    ends_tokens: Sequence[int],
    entries: Iterable[Kept],
    marks: Iterable[int],
    *,
    now: float,
    short_seconds: float | None,
) -> set[int]:
    """Blocks behind which a read can end."""
    held = {kept.block for kept in entries if alive(rules, kept, now=now, short_seconds=short_seconds)}
    if rules.kind == "none":
        return set()
    if rules.kind == "steps":
        return set(range(min(max(held, default=-1) + 1, len(ends_tokens))))
    held = {block for block in held if block < len(ends_tokens)}
    if rules.kind == "units":
        return held
    back = rules.lookback_blocks
    looking = _in_force(rules, ends_tokens, dict.fromkeys(marks, "short"))
    return {block for block in held if any(0 <= mark - block < (back or len(ends_tokens)) for mark in looking)}


def _in_force(rules: CacheRules, ends_tokens: Sequence[int], marks: Mapping[int, Life]) -> dict[int, Life]:
    """Marks that count: long enough a prefix before them, and the provider's own at the end."""
    lives = {
        block: life
        for block, life in marks.items()
        if block < len(ends_tokens) and ends_tokens[block] >= rules.minimum_tokens
    }
    if rules.marks_end and ends_tokens and ends_tokens[-1] >= rules.minimum_tokens:
        lives.setdefault(len(ends_tokens) - 1, "short")
    return lives


def _used(entries: Iterable[Kept], hit: int, done: float) -> tuple[Kept, ...]:
    """Start the lifetimes along a read prefix again."""
    return tuple(replace(kept, used_at=max(kept.used_at, done)) if kept.block <= hit else kept for kept in entries)
