"""Remember what is on its way to the disk, so that readers see it before it is there."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from coldpress.model.edits import Batch, Standing
from coldpress.model.identity import EditKey


@dataclass(frozen=True, slots=True)
class Waiting:
    """Decisions on their way: their keys and messages, and the futures of the puts that hold them."""

    keys: frozenset[EditKey]
    batches: frozenset[bytes]
    futures: tuple[Future[None], ...]

    def all_done(self) -> Future[None]:
        """One future for all: fails with the first error."""
        if len(self.futures) == 1:
            return self.futures[0]
        whole: Future[None] = Future()
        whole.set_running_or_notify_cancel()
        left = len(self.futures)
        lock = threading.Lock()

        def one_done(part: Future[None]) -> None:
            nonlocal left
            with lock:
                left -= 1
                last = left == 0
            if not last:
                return
            error = next((e for e in (f.exception() for f in self.futures) if e is not None), None)
            if error is None:
                whole.set_result(None)
            else:
                whole.set_exception(error)

        if not self.futures:
            whole.set_result(None)
        for future in self.futures:
            future.add_done_callback(one_done)
        return whole


class Queued:
    """The first put of a key, a batch or a text holds it until that put has ended, well or not."""

    def __init__(self) -> None:
        self._standings: dict[EditKey, tuple[Standing, Future[None]]] = {}
        self._batches: dict[bytes, tuple[Batch, Future[None]]] = {}
        self._originals: dict[str, tuple[str, Future[None]]] = {}
        self._lock = threading.Lock()

    def add(
        self,
        originals: Iterable[tuple[str, str]],
        standings: Iterable[Standing],
        batch: Batch | None,
        future: Future[None],
    ) -> None:
        """Take in what a put brings."""
        with self._lock:
            for sha, text in originals:
                self._originals.setdefault(sha, (text, future))
            for standing in standings:
                self._standings.setdefault(standing.key, (standing, future))
            if batch is not None:
                self._batches.setdefault(batch.after, (batch, future))

    def remove(
        self,
        originals: Iterable[tuple[str, str]],
        standings: Iterable[Standing],
        batch: Batch | None,
        future: Future[None],
    ) -> None:
        """Let go of what this put holds."""
        with self._lock:
            for sha, _ in originals:
                if (text := self._originals.get(sha)) is not None and text[1] is future:
                    del self._originals[sha]
            for standing in standings:
                if (held := self._standings.get(standing.key)) is not None and held[1] is future:
                    del self._standings[standing.key]
            if batch is not None and (other := self._batches.get(batch.after)) is not None and other[1] is future:
                del self._batches[batch.after]

    def standings(self, keys: Sequence[EditKey]) -> dict[EditKey, Standing]:
        """Find decisions on their way."""
        with self._lock:
            return {key: self._standings[key][0] for key in keys if key in self._standings}

    def batches(self, chains: Sequence[bytes]) -> dict[bytes, Batch]:
        """Find batches on their way."""
        with self._lock:
            return {chain: self._batches[chain][0] for chain in chains if chain in self._batches}

    def waiting(self, keys: Sequence[EditKey], batches: Sequence[bytes]) -> Waiting:
        """Say which of these decisions are on their way, and what to wait for."""
        with self._lock:
            held = {key: self._standings[key][1] for key in keys if key in self._standings}
            more = {after: self._batches[after][1] for after in batches if after in self._batches}
        futures = tuple(dict.fromkeys((*held.values(), *more.values())))
        return Waiting(frozenset(held), frozenset(more), futures)

    def originals(self, digits: str) -> dict[str, str]:
        """Find texts on their way whose SHA-256 begins with these digits."""
        with self._lock:
            return {sha: text for sha, (text, _) in self._originals.items() if sha.startswith(digits)}
