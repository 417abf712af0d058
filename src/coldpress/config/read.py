"""Check a tree of plain values against the keys a settings file may hold, and tell everything that is wrong at once."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from coldpress.config.about import About, keys_of
from coldpress.config.keys import FileKeys
from coldpress.config.masked import shown
from coldpress.config.shapes import (
    Choice,
    Choices,
    FreeTables,
    NamedTables,
    Rows,
    Scalar,
    Shape,
    Table,
    Texts,
    say_shape,
    shapes_of,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    T = TypeVar("T", bound=DataclassInstance)

_LONGEST_SHOWN = 60


class _Wrong(Exception):
    """A value was refused and the reason is in the list of problems."""


def read_table(keys: type[T], tree: object, problems: list[str], *, at: str = "") -> T | None:
    """Turn a tree of plain values into one of the classes of `coldpress.config.keys`.

    Args:
        keys: the table to read.
        tree: what `tomllib` or `json` gave.
        problems: gets one sentence for everything that is wrong, each with its full key.
        at: full key of the table, empty for the whole file.

    Returns:
        The table, or `None` where anything in it is wrong.
    """
    if not isinstance(tree, Mapping):
        problems.append(f"{at or 'the file'} is {_show(tree)}; it must be a table of settings")
        return None
    before = len(problems)
    shapes = shapes_of(keys)
    values: dict[str, object] = {}
    free = next((name for name, shape in shapes.items() if isinstance(shape, FreeTables)), None)
    if free is not None:
        shapes = {name: shape for name, shape in shapes.items() if name != free}
        values[free] = _free_tables({name: tree[name] for name in tree if name not in shapes}, at, problems)
    for name in tree:
        if name not in shapes and free is None:
            problems.append(_unknown(str(name), at, shapes))
    for key in keys_of(keys):
        if key.name == free:
            continue
        full = f"{at}.{key.name}" if at else key.name
        if key.name not in tree:
            if key.default is MISSING:
                problems.append(f"{full} is missing; it must be {say_shape(shapes[key.name])}. {key.about.line}")
            continue
        try:
            values[key.name] = _read(shapes[key.name], tree[key.name], key.about, full, problems)
        except _Wrong:
            continue
    return keys(**values) if len(problems) == before else None


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Find the word that was most likely meant, upper and lower case alike; `None` where nothing is near.

    >>> nearest("Prot", ["host", "port"]), nearest("raw", ["path", "raw_log"])
    ('port', 'raw_log')
    """
    by_lower = {candidate.lower(): candidate for candidate in words}
    found = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    begun = [candidate for candidate in by_lower if len(word) >= 3 and candidate.startswith(word.lower())]
    likely = found or begun
    return by_lower[likely[0]] if likely else None


def _read(shape: Shape, value: object, about: About, at: str, problems: list[str]) -> object:
    match shape:
        case Scalar():
            return _scalar(shape, value, about, at, problems)
        case Choice(words):
            if isinstance(value, str) and value in words:
                return value
            raise _refuse(value, shape, at, problems, words=words)
        case Choices(words):
            return _choices(shape, value, at, problems)
        case Texts():
            return _texts(shape, value, at, problems)
        case Table(keys):
            return _kept(read_table(keys, value, problems, at=at))
        case NamedTables(keys, names):
            if not isinstance(value, Mapping):
                raise _refuse(value, shape, at, problems)
            _check_names([str(name) for name in value], names, at, problems)
            tables = {
                str(name): read_table(keys, table, problems, at=f"{at}.{_quoted(str(name))}")
                for name, table in value.items()
            }
            return {name: _kept(table) for name, table in tables.items()}
        case Rows(keys):
            if not isinstance(value, list):
                brackets = f"; in TOML write [[{at}]], not [{at}]" if isinstance(value, Mapping) else ""
                raise _refuse(value, shape, at, problems, bounds=brackets)
            rows = [read_table(keys, row, problems, at=f"{at}[{index}]") for index, row in enumerate(value)]
            return tuple(_kept(row) for row in rows)
        case FreeTables():
            raise TypeError("free tables stand in the place of their key")


def _scalar(shape: Scalar, value: object, about: About, at: str, problems: list[str]) -> object:
    match shape.kind:
        case "text" if isinstance(value, str) and value:
            return value
        case "path" if isinstance(value, str) and value:
            return Path(value)
        case "switch" if isinstance(value, bool):
            return value
        case "whole" if isinstance(value, int) and not isinstance(value, bool) and _within(value, about):
            return value
        case "number" if isinstance(value, int | float) and not isinstance(value, bool) and _within(value, about):
            return float(value)
        case _:
            raise _refuse(value, shape, at, problems, bounds=_bounds(about) + _meant(value, about))


def _choices(shape: Choices, value: object, at: str, problems: list[str]) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [value]
    for index, word in enumerate(listed):
        if not (isinstance(word, str) and word in shape.words):
            place = f"{at}[{index}]" if isinstance(value, list) else at
            raise _refuse(word, shape, place, problems, words=shape.words)
    return tuple(listed)


def _texts(shape: Texts, value: object, at: str, problems: list[str]) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _refuse(value, shape, at, problems)
    for index, text in enumerate(value):
        if not (isinstance(text, str) and text):
            raise _refuse(text, Scalar("text"), f"{at}[{index}]", problems)
    return tuple(value)


def _free_tables(found: Mapping[object, object], at: str, problems: list[str]) -> dict[str, Mapping[object, object]]:
    tables = {str(name): table for name, table in found.items() if isinstance(table, Mapping)}
    for name, value in found.items():
        if not isinstance(value, Mapping):
            problems.append(f"{at}.{_quoted(str(name))} is {_show(value)}; it must be a table")
    return tables


def _check_names(given: list[str], names: tuple[str, ...], at: str, problems: list[str]) -> None:
    for name in given:
        if names and name not in names:
            near = nearest(name, names)
            hint = f"did you mean {near}?" if near else f"known are {', '.join(names)}"
            problems.append(f"{at}.{_quoted(name)} is not known; {hint}")


def _kept(value: T | None) -> T:
    if value is None:
        raise _Wrong
    return value


def _within(value: float, about: About) -> bool:
    if not math.isfinite(value):
        return False
    return (about.least is None or value >= about.least) and (about.most is None or value <= about.most)


def _bounds(about: About) -> str:
    if about.unit.startswith("of ") and about.least is not None and about.most is not None:
        return f" from {about.least:g} to {about.most:g}, a share {about.unit.split(',')[0]}"
    unit = f" of {about.unit}" if about.unit else ""
    if about.least is not None and about.most is not None:
        return f"{unit} from {about.least:g} to {about.most:g}"
    return f"{unit}, {about.least:g} or more" if about.least is not None else unit


def _meant(value: object, about: About) -> str:
    """Say how what was most likely meant is written; empty where nobody can tell."""
    if isinstance(value, int | float) and about.unit.startswith("of ") and 2 <= value <= 100:
        return f"; write {value / 100:g} for {value:g} %"
    return ", not empty" if value == "" and about.least is None else ""


def _refuse(
    value: object, shape: Shape, at: str, problems: list[str], *, bounds: str = "", words: tuple[str, ...] = ()
) -> _Wrong:
    near = nearest(value, words) if isinstance(value, str) else None
    meant = f"; did you mean {near}?" if near else ""
    problems.append(f"{at} is {_show(value)}; it must be {say_shape(shape)}{bounds}{meant}")
    return _Wrong()


def _unknown(name: str, at: str, shapes: Mapping[str, Shape]) -> str:
    full = f"{at}.{_quoted(name)}" if at else _quoted(name)
    near = nearest(name, shapes)
    if near:
        return f"{full} is not a setting; did you mean {f'{at}.{near}' if at else near}?"
    elsewhere = [f"{table}.{name}" for table, inner in _inner_tables() if name in inner]
    if elsewhere and not at:
        return f"{full} is not a setting; did you mean {elsewhere[0]}?"
    return f"{full} is not a setting; {at or 'the top level'} may hold {', '.join(shapes) or 'nothing'}"


def _inner_tables() -> list[tuple[str, dict[str, Shape]]]:
    top = shapes_of(FileKeys)
    return [(name, shapes_of(shape.keys)) for name, shape in top.items() if isinstance(shape, Table)]


def _quoted(name: str) -> str:
    """Write one part of a key as TOML does, so that `gpt-5.6` reads as one name."""
    quoted = shown(name)
    return name if quoted == f'"{name}"' and name and all(c.isalnum() or c in "-_" for c in name) else quoted


def _show(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            # All of it is looked at before some of it is cut off.
            quoted = shown(value)
            return quoted if len(quoted) <= _LONGEST_SHOWN + 2 else f'{quoted[: _LONGEST_SHOWN + 1]}…"'
        case int() | float():
            return str(value)
        case Mapping():
            return "a table"
        case list():
            return "a list"
        case None:
            return "null"
        case _:
            return f"a {type(value).__name__}"
