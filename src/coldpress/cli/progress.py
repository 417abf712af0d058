"""Show on stderr how far a long run has come: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Final

import click

from coldpress.cli.output import talk

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

_EVERY_SECONDS: Final = 15.0


class Progress:
    """Says how many of how many are done; use it with `with` and call it.

    Args:
        label: what is done with them, such as "replaying".
        of_what: is counted.
    """

    def __init__(self, label: str, *, of_what: str = "recordings") -> None:
        self._label = label
        self._of_what = of_what
        self._bar: ProgressBar[int] | None = None
        self._said_at = time.monotonic()
        self._done = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.__exit__(kind, error, trace)

    def __call__(self, done: int, of: int) -> None:
        """Show that `done` of `of` are done."""
        if sys.stderr.isatty():
            self._draw(done, of)
        elif done < of and time.monotonic() - self._said_at >= _EVERY_SECONDS:
            self._said_at = time.monotonic()
            talk(f"{self._label}: {done:,} of {of:,} {self._of_what}")

    def _draw(self, done: int, of: int) -> None:
        if self._bar is None:
            bar = click.progressbar(length=of, label=self._label, file=sys.stderr, show_pos=True)
            self._bar = bar.__enter__()
        self._bar.update(done - self._done)
        self._done = done
