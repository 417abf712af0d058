"""Keep small texts in the database by name, the first of each name for good, and find them again at once."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import get_args

from coldpress.model.errors import StoreError
from coldpress.model.kept import Kept, KeptKind
from coldpress.stores.packing import REPAIR, is_text, pack, unpack_text
from coldpress.stores.recent import TOUCH_SECONDS, recent_kept
from coldpress.stores.sqlite_jobs import Job, TouchJob
from coldpress.stores.sqlite_pool import ReadPool
from coldpress.stores.sqlite_reads import looked_up

# What a row takes beside its text: columns, indexes, page slack.
KEPT_ROW_BYTES = 200
_KINDS: Mapping[str, KeptKind] = {kind: kind for kind in get_args(KeptKind)}


@dataclass(slots=True, eq=False)
class KeepJob(Job):
    """Texts to keep, each the first of its name in the queue.

    `first` holds, after `write`, those that were the first of their name in the file too. `future` is done when it is
    over, whatever came of it. `is_urgent` where somebody waits for that.
    """

    texts: tuple[Kept, ...]
    now: float
    settled: Callable[[KeepJob, StoreError | None], None]
    is_urgent: bool = False
    first: list[Kept] = field(default_factory=list)
    future: Future[None] = field(default_factory=Future)

    @property
    def urgent(self) -> bool:
        """Whether somebody waits."""
        return self.is_urgent

    @property
    def queued_bytes(self) -> int:
        """Memory they hold while they wait."""
        return 500 + sum(200 + len(kept.text) for kept in self.texts)

    def write(self, connection: sqlite3.Connection) -> int:
        """Write those whose name is new; of the others note the use."""
        self.first = []  # a second attempt, after others spoilt the first transaction, starts anew
        added = 0
        for kept in self.texts:
            touched = connection.execute(
                "UPDATE kept SET used_at = max(used_at, ?) WHERE key = ?", (self.now, kept.key)
            )
            if touched.rowcount:
                continue
            packed = pack(kept.text.encode())
            size = KEPT_ROW_BYTES + len(packed)
            row = connection.execute(
                "INSERT INTO kept(key, kind, size, used_at) VALUES(?,?,?,?)", (kept.key, kept.kind, size, self.now)
            ).lastrowid
            connection.execute("INSERT INTO kept_texts VALUES(?,?)", (row, packed))
            self.first.append(kept)
            added += size
        return added

    def settle(self, error: StoreError | None) -> None:
        """Tell the one who queued them."""
        self.settled(self, error)
        self.future.set_result(None)


class SqliteKept:
    """Texts on their way to the file, those used lately, and the file, asked in this order."""

    def __init__(
        self,
        pool: ReadPool,
        submit: Callable[[Job], None],
        *,
        lost: Callable[[], None],
        clock: Callable[[], float],
        cache_bytes: int,
    ) -> None:
        """Begin with nothing on its way.

        Args:
            pool: lends connections to the file.
            submit: takes a job for the writer.
            lost: hears of each text that could not be kept.
            clock: seconds since the epoch.
            cache_bytes: memory for what was used lately.
        """
        self._pool = pool
        self._submit = submit
        self._lost = lost
        self._clock = clock
        self._recent = recent_kept(cache_bytes)
        self._queued: dict[bytes, tuple[Kept, KeepJob]] = {}
        self._lock = threading.Lock()

    def keep(self, texts: Sequence[Kept], *, urgent: bool) -> Future[None]:
        """Queue what may be new; never blocks, never raises. Done when that is over."""
        now = self._clock()
        hits = self._recent.look_up([kept.key for kept in texts], now=now)
        self._touch([kept.key for kept in hits.stale], now)
        missing = dict.fromkeys(hits.missing)
        wanted: list[Kept] = []
        for kept in texts:
            if kept.key not in missing:
                continue
            if is_text(kept.text):
                wanted.append(kept)
            else:
                self._lost()
        with self._lock:
            new: dict[bytes, Kept] = {}
            for kept in wanted:
                if kept.key not in self._queued:
                    new.setdefault(kept.key, kept)
            job = KeepJob(tuple(new.values()), now, self._settled, urgent)
            self._queued |= {key: (kept, job) for key, kept in new.items()}
        if new:
            self._submit(job)
        else:
            job.future.set_result(None)
        return job.future

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Kept]:
        """Find texts by name. Raises `StoreError`."""
        now = self._clock()
        hits = self._recent.look_up(keys, now=now)
        found = dict(hits.found)
        stale = [kept.key for kept in hits.stale]
        if hits.missing:
            # In this order: a text that is committed in between has left the queue, and is in the file.
            with self._lock:
                found |= {key: self._queued[key][0] for key in hits.missing if key in self._queued}
            with self._pool.single_read() as connection:
                rows = _texts(connection, dict.fromkeys(hits.missing))
            self._recent.add([(kept.key, kept) for kept, _ in rows], used=now)
            # The file was first, whatever is queued.
            found |= {kept.key: kept for kept, _ in rows}
            stale += [kept.key for kept, used in rows if now - used > TOUCH_SECONDS]
        self._touch(stale, now)
        return found

    def forget(self, keys: Set[bytes]) -> None:
        """Drop what was swept from memory."""
        self._recent.forget(keys)

    def _touch(self, keys: Sequence[bytes], now: float) -> None:
        if keys:
            self._submit(TouchJob(frozenset(), frozenset(), now, frozenset(keys)))

    def _settled(self, job: KeepJob, error: StoreError | None) -> None:
        # Remembered before it leaves the queue, so that a reader always finds it in one of the two.
        if error is None:
            self._recent.add([(kept.key, kept) for kept in job.first], used=job.now)
        with self._lock:
            for kept in job.texts:
                if (held := self._queued.get(kept.key)) is not None and held[1] is job:
                    del self._queued[kept.key]
        if error is not None:
            for _ in job.texts:
                self._lost()


def _texts(connection: sqlite3.Connection, keys: Iterable[bytes]) -> list[tuple[Kept, float]]:
    rows = looked_up(
        connection,
        "SELECT k.key, k.kind, k.used_at, t.packed"
        " FROM wanted CROSS JOIN kept k ON k.key = wanted.chain LEFT JOIN kept_texts t USING(id)",
        keys,
    )
    return [_text(row) for row in rows]


def _text(row: Sequence[object]) -> tuple[Kept, float]:
    key, kind, used, packed = row
    assert isinstance(key, bytes) and isinstance(used, float)
    what = f"kept text {key.hex()[:16]}"
    if not isinstance(packed, bytes) or kind not in _KINDS:
        raise StoreError(f"{what} is damaged: its kind or its text is missing. {REPAIR}")
    return Kept(key, _KINDS[str(kind)], unpack_text(packed, what=what)), used
