"""The exit codes of the command line, and which of our errors ends with which."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NoReturn

from coldpress.model.errors import (
    AmbiguousOriginal,
    ColdpressError,
    ConfigError,
    ExpiredOriginal,
    UnknownOriginal,
    UnknownPlugin,
)


@dataclass(frozen=True, slots=True)
class Exit:
    """One exit code and its meaning."""

    code: int
    meaning: str


OK: Final = Exit(0, "done")
FAILED: Final = Exit(1, "it could not be done; stderr says why")
USAGE: Final = Exit(2, "the command line is wrong")
UNKNOWN: Final = Exit(3, "nothing with this name is or was stored, or no plugin has it")
EXPIRED: Final = Exit(4, "it was stored and has expired; stderr says how to get it again")
AMBIGUOUS: Final = Exit(5, "the shortened name fits several; give more digits")
SETTINGS: Final = Exit(6, "the settings are wrong, or a port in them is taken; stderr says which key")
INTERRUPTED: Final = Exit(130, "replay or lab sweep was stopped with Ctrl-C; what was found until then is printed")

EXITS: Final = (OK, FAILED, USAGE, UNKNOWN, EXPIRED, AMBIGUOUS, SETTINGS, INTERRUPTED)


def exit_for(error: ColdpressError) -> Exit:
    """Choose the exit code of an error of ours."""
    match error:
        case UnknownOriginal() | UnknownPlugin():
            return UNKNOWN
        case ExpiredOriginal():
            return EXPIRED
        case AmbiguousOriginal():
            return AMBIGUOUS
        case ConfigError():
            return SETTINGS
        case _:
            return FAILED


_UNWRITTEN: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})


def is_unwritten(error: OSError) -> bool:
    """Whether it tells of stdout or stderr: only an error of a stream that was open already names no file."""
    return error.filename is None and error.errno in _UNWRITTEN


def end_unwritten(error: OSError) -> NoReturn:
    """Say in one line that the output cannot be written, and exit."""
    with suppress(OSError):  # stderr may stand on the same full disk
        print(f"Error: the output cannot be written: {error.strerror}", file=sys.stderr, flush=True)
    # What is still in the buffers would fail once more when the interpreter ends.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            os.dup2(nowhere, stream.fileno())
    raise SystemExit(FAILED.code) from error
