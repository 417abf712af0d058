"""Show the library's log on stderr: one line an event, its facts behind it as `name=value`."""

from __future__ import annotations

import logging
from typing import Final, Literal

Level = Literal["debug", "info", "warning", "error"]
LEVELS: Final[tuple[Level, ...]] = ("debug", "info", "warning", "error")

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class FactsFormatter(logging.Formatter):
    """Puts the facts of a record behind its message, in the order of their names."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one record as one line, with a traceback below where there is one."""
        head, newline, rest = super().format(record).partition("\n")
        facts = sorted((name, value) for name, value in vars(record).items() if name not in _OWN)
        return "".join((head, *(f" {name}={value!s}" for name, value in facts), newline, rest))


def show_log(level: Level) -> None:
    """Send the log of coldpress to stderr from this level on."""
    handler = logging.StreamHandler()
    handler.setFormatter(FactsFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("coldpress")
    logger.setLevel(level.upper())
    logger.handlers = [handler]
    logger.propagate = False
