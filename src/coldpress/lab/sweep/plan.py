"""Say what a sweep measures: which recordings, with which arms, at which tariffs."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coldpress.lab.arm_files import Arm, with_budget
from coldpress.lab.families import Continued, find_families
from coldpress.model.errors import ConfigError

_ENDINGS: Final = (
    ".png .jpg .jpeg .gif .webp .svg .ico .bmp .pdf .mp3 .mp4 .wav .webm .zip .gz .bz2 .xz .zst .tar .tgz .7z .parquet "
    ".arrow .db .sqlite .sqlite3 .npy .npz .pkl .so .dll .exe .bin .o .pyc .py .js .ts .c .h .rs .go .java .sh .css "
    ".html .md .rst .toml .yaml .yml .ini .cfg .lock .csv .diff .patch .ttf .woff .woff2"
)
NO_RECORDING: Final = frozenset(_ENDINGS.split())
"""Endings of files that no agent records its runs in. Anything else is looked at, and says itself what it is."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure: every recording with every arm at every tariff.

    Attributes:
        paths: of the recordings.
        arms: in the order of the rows.
        tariffs: names, in the order of the rows.
        triggers, windows: every arm with a budget is measured with each of them in the place of its own, see
            `coldpress.lab.arm_files.with_budget`; empty for its own alone.
        with_least: whether bills say the least that was possible.
        with_turns: whether there are rows for single requests.

    Raises:
        ConfigError: there is nothing to measure, or two arms have one name; says which.
    """

    paths: tuple[Path, ...]
    arms: tuple[Arm, ...]
    tariffs: tuple[str, ...]
    triggers: tuple[float, ...] = ()
    windows: tuple[float, ...] = ()
    with_least: bool = True
    with_turns: bool = True

    def __post_init__(self) -> None:
        for what, given in (("arm", self.arms), ("tariff", self.tariffs)):
            if not given:
                raise ConfigError(f"a sweep without any {what} measures nothing; name one")
        names = [arm.name for arm in self.measured_arms]
        for kind, listed in (("arms", names), ("tariffs", list(self.tariffs))):
            twice = sorted({name for name in listed if listed.count(name) > 1})
            if twice:
                raise ConfigError(f"two {kind} of a sweep are named {twice[0]}; give each once, or rename a file")

    @property
    def measured_arms(self) -> tuple[Arm, ...]:
        """The arms, those with a budget once for each trigger and window."""
        return tuple(one for arm in self.arms for one in self._variants(arm))

    def _variants(self, arm: Arm) -> Iterator[Arm]:
        if not arm.has_budget:
            yield arm
            return
        for trigger in self.triggers or (None,):
            for window in self.windows or (None,):
                yield with_budget(arm, trigger=trigger, window=window)


@dataclass(frozen=True, slots=True)
class Found:
    """Which files may be recordings.

    Attributes:
        paths: of them, sorted, one of each content, and none that another one continues.
        hidden: files and folders that were left out as their names begin with a dot.
        others: files that were left out by their ending, see `NO_RECORDING`, or as there is nothing in them.
        duplicates: files that hold the same bytes as another one.
        left_out: files whose requests all stand in another one, which goes on from there, as a resumed session does.
        apart: files among `paths` that begin with the same requests and then each go on in their own way, by family.
    """

    paths: tuple[Path, ...]
    hidden: int = 0
    others: int = 0
    duplicates: int = 0
    left_out: tuple[Continued, ...] = ()
    apart: tuple[tuple[Path, ...], ...] = ()

    @property
    def continued(self) -> int:
        """How many files are left out as another one continues them."""
        return len(self.left_out)

    @property
    def told(self) -> tuple[str, ...]:
        """Sentences for people on files that hold the same requests; none where there are none."""
        lines = list[str]()
        if self.left_out:
            one, count = self.left_out[0], len(self.left_out)
            begins = "1 file continues" if count == 1 else f"{count:,} files continue"
            lines.append(
                f"{begins} in another one that holds all of the same requests, and "
                f"{'is' if count == 1 else 'are'} left out: {'' if count == 1 else 'first '}{one.path}, in {one.by}"
            )
        if self.apart:
            files, family = sum(map(len, self.apart)), self.apart[0]
            lines.append(
                f"{files:,} files begin with the same requests as another one and then go on apart; what they share "
                f"counts in each: {'' if len(self.apart) == 1 else 'first '}{', '.join(map(str, family))}"
            )
        return tuple(lines)


def recordings_in(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Name the recordings among files and folders; see `look_in`."""
    return look_in(paths).paths


def look_in(paths: Sequence[Path]) -> Found:
    """Find the recordings among files and folders.

    Args:
        paths: files, which are taken as they are, and folders, which are walked with everything below them; links
            are followed, and no folder is walked twice.

    Raises:
        ConfigError: a path is not there or cannot be read; says which.
    """
    walk = _Walk()
    for path in paths:
        walk.look_at(path)
    ordered = sorted(walk.files.items())
    distinct = _one_of_each(path for path, _ in ordered)
    families = find_families(distinct)
    left_out = {one.path for one in families.continued}
    kept = tuple(path for path in distinct if path not in left_out)
    duplicates = len(ordered) - len(distinct)
    return Found(kept, walk.hidden, walk.others, duplicates, families.continued, families.apart)


class _Walk:
    """Goes through folders and keeps what it found."""

    def __init__(self) -> None:
        self.files: dict[Path, None] = {}
        self.hidden = 0
        self.others = 0
        self._seen: set[tuple[int, int]] = set()

    def look_at(self, path: Path) -> None:
        """Take a file, or everything in a folder."""
        try:
            if path.is_dir():
                self._walk(path)
            elif path.exists():
                self.files[path] = None
            else:
                raise ConfigError(f"{path}: is not there; give files or folders of recordings")
        except OSError as error:
            raise ConfigError(
                f"{error.filename or path}: cannot be read: {error.strerror or error}; "
                "let yourself read it, or name what lies beside it"
            ) from error

    def _walk(self, folder: Path) -> None:
        waiting = [folder]
        while waiting:
            here = waiting.pop()
            found = here.stat()
            if (found.st_dev, found.st_ino) in self._seen:
                continue  # a link back, or a folder that was named twice
            self._seen.add((found.st_dev, found.st_ino))
            with os.scandir(here) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    path = here / entry.name
                    if entry.name.startswith("."):
                        self.hidden += 1
                    elif path.is_dir():  # the entry's own would fail on a link to itself
                        waiting.append(path)
                    else:
                        self._take(path)

    def _take(self, path: Path) -> None:
        if not path.is_file() or path.suffix.lower() in NO_RECORDING or not path.stat().st_size:
            self.others += 1  # a socket, a link to nothing, a picture, an empty file
        else:
            self.files[path] = None


def _one_of_each(paths: Iterator[Path]) -> tuple[Path, ...]:
    """Keep the first file of each content. Only files of one size are read: others cannot be the same."""
    by_size = defaultdict[int, list[Path]](list)
    for path in paths:
        by_size[_size(path)].append(path)
    kept = list[Path]()
    for alike in by_size.values():
        seen = set[str]()
        for path in alike:
            content = _content(path) if len(alike) > 1 else ""
            if content not in seen:
                kept.append(path)
                seen.add(content)
    return tuple(sorted(kept))


def sha256_of(path: Path) -> str:
    """Give the SHA-256 of a file's bytes in hex.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _content(path: Path) -> str:
    """Name what a file holds; one that cannot be read is like no other, and whoever measures it says why."""
    try:
        return sha256_of(path)
    except OSError:
        return str(path)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
