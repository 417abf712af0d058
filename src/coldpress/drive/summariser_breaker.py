"""Stop asking a model that keeps failing, and try again after a rest."""

from __future__ import annotations

from typing import Final

FAILURES: Final = 3
"""Failures in a row after which a model rests."""


class Breaker:
    """Counts failures in a row. Every question that `admit` lets through ends in one of the other three calls.

    Args:
        rest_seconds: how long nothing is asked after the last of the failures; then one question is let through, and
            its end decides.
    """

    def __init__(self, rest_seconds: float) -> None:
        self._rest_seconds = rest_seconds
        self._failures = 0
        self._useless = 0
        self._resting_since: float | None = None
        self._trying = False

    def admit(self, now: float) -> bool:
        """Whether a question may be asked now, in seconds of any clock that does not run backwards."""
        if self.is_open(now):
            return False
        self._trying = max(self._failures, self._useless) >= FAILURES
        return True

    def is_open(self, now: float) -> bool:
        """Whether `admit` would let no question through now."""
        if max(self._failures, self._useless) < FAILURES:
            return False
        return self._trying or self.rests_for(now) > 0

    def rests_for(self, now: float) -> float:
        """Seconds of rest that are left, 0 where there is none."""
        if self._resting_since is None:
            return 0.0
        return max(0.0, self._resting_since + self._rest_seconds - now)

    def succeeded(self) -> None:
        """An answer was good: what came before is forgotten."""
        self._failures, self._resting_since, self._trying = 0, None, False

    def failed(self, now: float) -> None:
        """A question came to nothing."""
        self._failures += 1
        self._trying = False
        if self._failures >= FAILURES:
            self._resting_since = now

    def useful(self) -> None:
        """What an answer said was of use."""
        self._useless = 0

    def useless(self, now: float) -> None:
        """An answer came, was paid, and was of no use: a model that keeps doing that rests as one that fails."""
        self._useless += 1
        if self._useless >= FAILURES:
            self._resting_since = now

    def abandoned(self) -> None:
        """A question was given up by the one who asked: that says nothing about the model."""
        self._trying = False
