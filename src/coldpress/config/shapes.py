"""Say what kind of value a settings key takes, in a form that a checker and a documentation page can both use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Literal, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ScalarKind = Literal["text", "path", "switch", "whole", "number"]

_SCALARS: dict[object, ScalarKind] = {str: "text", Path: "path", bool: "switch", int: "whole", float: "number"}

_WORDS: dict[ScalarKind, str] = {
    "text": "text",
    "path": "a path",
    "switch": "true or false",
    "whole": "a whole number",
    "number": "a number",
}


@dataclass(frozen=True, slots=True)
class Scalar:
    """One plain value."""

    kind: ScalarKind


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choices:
    """One of some words, or a list of them."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Texts:
    """A list of texts."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with keys of its own."""

    keys: type[DataclassInstance]


@dataclass(frozen=True, slots=True)
class NamedTables:
    """Tables under names that the user chooses; `names` holds the only ones allowed, or nothing."""

    keys: type[DataclassInstance]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """An ordered list of tables."""

    keys: type[DataclassInstance]


@dataclass(frozen=True, slots=True)
class FreeTables:
    """Tables under all names that are no keys of the table around them, with keys that somebody else checks."""


Shape = Scalar | Choice | Choices | Texts | Table | NamedTables | Rows | FreeTables


def shapes_of(table: type[DataclassInstance]) -> dict[str, Shape]:
    """Give the shape of every key of a table, in its order."""
    return {name: _shape(hint) for name, hint in get_type_hints(table).items()}


def say_shape(shape: Shape) -> str:
    """Name a shape for people.

    >>> say_shape(Choice(("press", "off")))
    'one of press, off'
    """
    match shape:
        case Scalar(kind):
            return _WORDS[kind]
        case Choice(words):
            return f"one of {', '.join(words)}"
        case Choices(words):
            return f"one or a list of {', '.join(words)}"
        case Texts():
            return "a list of texts"
        case Table() | NamedTables() | FreeTables():
            return "a table"
        case Rows():
            return "a list of tables"


def _shape(hint: object) -> Shape:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (hint,) = (kind for kind in arguments if kind is not NoneType)
        return _shape(hint)
    if origin is Literal:
        return Choice(tuple(arguments))
    if origin is Mapping:
        if get_origin(arguments[1]) is Mapping:
            return FreeTables()
        names = get_args(arguments[0])
        return NamedTables(arguments[1], tuple(names))
    if origin is tuple:
        if arguments[0] is str:
            return Texts()
        return Choices(get_args(arguments[0])) if get_origin(arguments[0]) is Literal else Rows(arguments[0])
    if isinstance(hint, type) and is_dataclass(hint):
        return Table(hint)
    return Scalar(_SCALARS[hint])
