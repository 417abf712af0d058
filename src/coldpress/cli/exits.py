"""The exit codes of the command line, and which of our errors ends with which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from coldpress.model.errors import (
    AmbiguousOriginal,
    ColdpressError,
    ConfigError,
    ExpiredOriginal,
    UnknownOriginal,
)


@dataclass(frozen=True, slots=True)
class Exit:
    """One exit code and its meaning."""

    code: int
    meaning: str


OK: Final = Exit(0, "done")
FAILED: Final = Exit(1, "it could not be done; stderr says why")
USAGE: Final = Exit(2, "the command line is wrong")
UNKNOWN: Final = Exit(3, "nothing with this name is or was stored")
EXPIRED: Final = Exit(4, "it was stored and has expired; stderr says how to get it again")
AMBIGUOUS: Final = Exit(5, "the shortened name fits several; give more digits")
SETTINGS: Final = Exit(6, "the settings are wrong, or a port in them is taken; stderr says which key")

EXITS: Final = (OK, FAILED, USAGE, UNKNOWN, EXPIRED, AMBIGUOUS, SETTINGS)


def exit_for(error: ColdpressError) -> Exit:
    """Choose the exit code of an error of ours."""
    match error:
        case UnknownOriginal():
            return UNKNOWN
        case ExpiredOriginal():
            return EXPIRED
        case AmbiguousOriginal():
            return AMBIGUOUS
        case ConfigError():
            return SETTINGS
        case _:
            return FAILED
