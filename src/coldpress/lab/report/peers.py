"""Read what others' programs were measured to save, to be drawn beside arms with conditions of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coldpress.model.errors import ConfigError

NEAR: Final = 1.25
"""How far apart two ratios of write to read price may be, as a factor, to be drawn into one picture."""

LETTERS: Final = 26

_KEYS: Final = frozenset({"name", "version", "settings", "saved_pct", "edits_lost_pct", "note"})


@dataclass(frozen=True, slots=True)
class Condition:
    """One price table that peers were measured at.

    Attributes:
        write_to_read: price of a written token over that of a read one.
        lifetime: of the cache, in words.
    """

    write_to_read: float
    lifetime: str

    @property
    def label(self) -> str:
        """Say it in a few words."""
        return f"write/read {self.write_to_read:g}, {self.lifetime}"


@dataclass(frozen=True, slots=True)
class Peer:
    """One program, or one of its settings.

    Attributes:
        name, version, settings: of the program; empty where it is unknown or as it comes.
        saved: share of the input bill at each condition, negative where it cost more; `None` where it is unknown.
        edits_lost: share of later edits whose quoted text was gone; `None` where it is unknown.
        note: what a reader should know.
    """

    name: str
    version: str
    settings: str
    saved: tuple[float | None, ...]
    edits_lost: float | None
    note: str

    @property
    def label(self) -> str:
        """Name it with version and settings."""
        return " ".join(part for part in (self.name, self.version, self.settings) if part)


@dataclass(frozen=True, slots=True)
class Peers:
    """All that were measured together.

    Attributes:
        source: who measured, how, on what; one sentence.
        conditions: in the order of each peer's `saved`.
        peers: in the order of the file.
    """

    source: str
    conditions: tuple[Condition, ...]
    peers: tuple[Peer, ...]

    @property
    def lettered(self) -> tuple[tuple[str, Peer], ...]:
        """The peers, each with what stands for it in figures: a, b, c and so on, numbers behind z."""
        letters = (chr(ord("a") + at) if at < LETTERS else str(at) for at in range(len(self.peers)))
        return tuple(zip(letters, self.peers, strict=True))

    def nearest(self, write_to_read: float | None) -> int | None:
        """Index of the condition whose prices are nearest; the first where a tariff has no one ratio.

        `None` where even the nearest is further off than `NEAR`.
        """
        if not self.conditions:
            return None
        if write_to_read is None:
            return 0
        far = [max(one.write_to_read / write_to_read, write_to_read / one.write_to_read) for one in self.conditions]
        index = far.index(min(far))
        return index if far[index] <= NEAR else None


def read_peers(path: Path) -> Peers:
    """Read a file like `benchmarks/peers.json`.

    Raises:
        ConfigError: it cannot be read, or something in it is wrong; says what.
    """
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigError(f"{path}: is not JSON: {error}") from error
    table = _table(tree, str(path))
    conditions = tuple(_condition(one, f"{path}: conditions[{at}]") for at, one in _list(table, "conditions", path))
    peers = tuple(_peer(one, len(conditions), f"{path}: peers[{at}]") for at, one in _list(table, "peers", path))
    return Peers(_text(table, "source", str(path)), conditions, peers)


def _condition(tree: object, where: str) -> Condition:
    table = _table(tree, where)
    ratio = _number(table.get("write_to_read"), f"{where}.write_to_read")
    if ratio is None or ratio <= 0:
        raise ConfigError(f"{where}.write_to_read is {ratio!r}; use a number above 0")
    return Condition(ratio, _text(table, "lifetime", where))


def _peer(tree: object, conditions: int, where: str) -> Peer:
    table = _table(tree, where)
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise ConfigError(f"{where}.{unknown[0]} is not known; keys are {', '.join(sorted(_KEYS))}")
    saved = table.get("saved_pct")
    if not isinstance(saved, list) or len(saved) != conditions:
        raise ConfigError(f"{where}.saved_pct is {saved!r}; give a list of {conditions} numbers, null for unknown")
    return Peer(
        name=_text(table, "name", where),
        version=_text(table, "version", where),
        settings=_text(table, "settings", where),
        saved=tuple(_share(one, f"{where}.saved_pct[{at}]") for at, one in enumerate(saved)),
        edits_lost=_share(table.get("edits_lost_pct"), f"{where}.edits_lost_pct"),
        note=_text(table, "note", where),
    )


def _table(tree: object, where: str) -> Mapping[str, object]:
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{where} is no object; see benchmarks/peers.json for one")
    return tree


def _list(table: Mapping[str, object], key: str, path: Path) -> list[tuple[int, object]]:
    found = table.get(key)
    if not isinstance(found, list):
        raise ConfigError(f"{path}: {key} is no list; see benchmarks/peers.json for one")
    return list(enumerate(found))


def _text(table: Mapping[str, object], key: str, where: str) -> str:
    found = table.get(key, "")
    if not isinstance(found, str):
        raise ConfigError(f"{where}: {key} is {found!r}; use a text")
    return found


def _share(found: object, where: str) -> float | None:
    number = _number(found, where)
    return None if number is None else number / 100


def _number(found: object, where: str) -> float | None:
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ConfigError(f"{where} is {found!r}; use a number, or null where it is unknown")
    return float(found)
