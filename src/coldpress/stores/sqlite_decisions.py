"""Find standing edits and batches: those used lately, those on their way to the file, and the file, asked together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set

import coldpress.stores.sqlite_reads as reads
from coldpress.model.edits import Batch, Standing
from coldpress.model.identity import EditKey
from coldpress.stores.base import Decisions
from coldpress.stores.batches import originals_of
from coldpress.stores.queued import Queued
from coldpress.stores.recent import TOUCH_SECONDS, recent_batches, recent_standings
from coldpress.stores.sqlite_jobs import Job, TouchJob
from coldpress.stores.sqlite_pool import ReadPool


class SqliteDecisions:
    """What a store answers about decisions; safe to use from any thread.

    Args:
        pool: connections to the file.
        queued: what is on its way to it.
        submit: hands a job to the writer.
        clock: seconds since the epoch.
        cache_bytes: memory for recently used standing edits, and as much again for batches.

    Attributes:
        recent: the standing edits used lately.
    """

    def __init__(
        self,
        pool: ReadPool,
        queued: Queued,
        submit: Callable[[Job], None],
        *,
        clock: Callable[[], float],
        cache_bytes: int,
    ) -> None:
        self._pool = pool
        self._queued = queued
        self.recent = recent_standings(cache_bytes)
        self._recent_batches = recent_batches(cache_bytes)
        self._submit = submit
        self._clock = clock

    def find(self, keys: Sequence[EditKey], chains: Sequence[bytes]) -> Decisions:
        """See `Store.decided`."""
        if not keys and not chains:
            return Decisions({}, {})
        now = self._clock()
        texts = self.recent.look_up(keys, now=now)
        messages = self._recent_batches.look_up(chains, now=now)
        found = Decisions(texts.found, messages.found)
        stale, stale_batches = list(texts.stale), list(messages.stale)
        if texts.missing or messages.missing:
            # Nothing is remembered of what has no decision: another process may take one at any time. In this order:
            # a decision that is committed in between has left the queue, and is in the file.
            if texts.missing:
                found.standings.update(self._queued.standings(texts.missing))
            if messages.missing:
                found.batches.update(self._queued.batches(messages.missing))
            with self._pool.single_read() as connection:
                stored = reads.decisions(connection, {key.chain for key in texts.missing}, messages.missing)
            if stored.standings:
                self.recent.add([(standing.key, standing) for standing, _ in stored.standings], used=now)
                wanted = set(texts.missing)
                # The file was first, whatever is queued.
                found.standings.update((one.key, one) for one, _ in stored.standings if one.key in wanted)
                stale += [standing for standing, used in stored.standings if now - used > TOUCH_SECONDS]
            if stored.batches:
                self._recent_batches.add([(batch.after, batch) for batch, _ in stored.batches], used=now)
                found.batches.update((batch.after, batch) for batch, _ in stored.batches)
                stale_batches += [batch for batch, used in stored.batches if now - used > TOUCH_SECONDS]
        if stale or stale_batches:
            self._touch(stale, stale_batches, now)
        return found

    def remember(self, standings: Iterable[Standing], batch: Batch | None, *, used: float) -> None:
        """Take note of what is durable now, and was used at this time."""
        self.recent.add([(standing.key, standing) for standing in standings], used=used)
        if batch is not None:
            self._recent_batches.add([(batch.after, batch)], used=used)

    def forget(self, gone: Set[bytes]) -> None:
        """Drop what was swept, by its message."""
        self.recent.forget(gone)
        self._recent_batches.forget(gone)

    def _touch(self, standings: Sequence[Standing], batches: Sequence[Batch], now: float) -> None:
        """Note the use of decisions, and of what they replace."""
        chains = {standing.key.chain for standing in standings} | {batch.after for batch in batches}
        originals = {standing.original for standing in standings if standing.original}
        self._submit(TouchJob(frozenset(chains), frozenset(originals.union(*map(originals_of, batches))), now))
