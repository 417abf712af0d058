"""Where a command may write a file: never over the store, and over another file only when it is told to."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from coldpress.model.errors import ColdpressError

_BESIDE: Final = ("", "-wal", "-shm", "-journal")
"""Ends of the names that SQLite gives the files of one database."""


def check_target(target: Path, *, store: Path, force: bool) -> None:
    """Refuse a place where a file of the user's would be lost, or that has no folder.

    Call it before any work is done. Devices and pipes hold nothing that could be lost.

    Args:
        target: the file to write.
        store: the store of the settings; it and the files beside it are never written over.
        force: whether any other file may be overwritten.

    Raises:
        ColdpressError: it may not be written; says what to do.
    """
    if any(_same(target, kept) for kept in store_files(store)):
        raise ColdpressError(f"{target} belongs to the store {store}, which holds the originals; name another file")
    if target.is_file() and not force:
        raise ColdpressError(f"{target} is there already; --force overwrites it, or name another file")
    if not target.parent.is_dir():
        raise ColdpressError(f"{target} cannot be written: there is no folder {target.parent}; make it first")


def store_files(store: Path) -> tuple[Path, ...]:
    """Name the file of a store and those that SQLite may put beside it, there or not."""
    path = store.expanduser().absolute()
    return tuple(path.with_name(path.name + end) for end in _BESIDE)


def _same(one: Path, other: Path) -> bool:
    # By name, links followed, for what is not there yet; by file for another name of what is there.
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))
