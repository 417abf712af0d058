"""Write the commented settings file of `coldpress init`: every key, its meaning, and its default."""

from __future__ import annotations

import textwrap
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING

from coldpress.config.about import Key, keys_of
from coldpress.config.keys import FileKeys
from coldpress.config.shapes import (
    Choice,
    Choices,
    FreeTables,
    NamedTables,
    Rows,
    Shape,
    Table,
    say_shape,
    shapes_of,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_WIDTH = 100

_TOP = """\
# Settings of coldpress. Every key stands here with its default, commented out: take away the "#" to change one.
# Keys that are not known are refused. Changes take effect when `coldpress serve` is started again.
"""


def template() -> str:
    """Give the whole file. It is valid as it is, and says nothing that differs from the defaults."""
    plain = [_key_lines(FileKeys, key) for key in keys_of(FileKeys) if not _is_table(FileKeys, key)]
    tables = [_table_lines(key, shapes_of(FileKeys)[key.name]) for key in keys_of(FileKeys) if _is_table(FileKeys, key)]
    return "\n".join([_TOP, *plain, *tables])


def toml_value(value: object) -> str:
    """Write one value as it stands in TOML.

    >>> toml_value(True), toml_value(("a", "b"))
    ('true', '["a", "b"]')
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value:_}" if value >= 1_000_000 else str(value)
        case float():
            return repr(value)
        case str() | Path():
            return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
        case tuple():
            return "[" + ", ".join(toml_value(item) for item in value) + "]"
        case _:
            raise TypeError(f"no TOML for {type(value).__name__}")


def _is_table(table: type[DataclassInstance], key: Key) -> bool:
    return isinstance(shapes_of(table)[key.name], Table | NamedTables | Rows)


def _table_lines(key: Key, shape: Shape) -> str:
    match shape:
        case Table(keys):
            # The header itself need not be commented out: an empty table changes nothing.
            return _section(f"[{key.name}]", keys, comment_header=False)
        case NamedTables(keys):
            return _section(f"[{key.name}.{key.about.example}]", keys, comment_header=True)
        case Rows(keys):
            return _section(f"[[{key.name}]]", keys, comment_header=True)
        case _:
            raise TypeError(key.name)


def _section(header: str, keys: type[DataclassInstance], *, comment_header: bool) -> str:
    rule = "# " + "-" * (_WIDTH - 2)
    head = f"# {header}" if comment_header else header
    plain: list[str] = []
    tables: list[str] = []
    for key in keys_of(keys):
        match shapes_of(keys)[key.name]:
            case NamedTables(under):
                tables.append(_section(f"{header[:-1]}.{key.name}.{key.about.example}]", under, comment_header=True))
            case Table(under):
                tables.append(_section(f"[{header.strip('[]')}.{key.name}]", under, comment_header=True))
            case Rows(under) if under in _top_level_rows():
                at = f"[[{header.strip('[]')}.{key.name}]]"
                plain.append(f"{_comment(f'{at}, with the keys above: {key.about.line}')}\n")
            case Rows(under):
                tables.append(_section(f"[[{header.strip('[]')}.{key.name}]]", under, comment_header=True))
            case FreeTables():
                continue  # their keys are the plugins' own
            case _:
                plain.append(_key_lines(keys, key))
    # Tables stand behind all plain keys: in TOML a key belongs to the last header above it.
    return "\n".join([rule, _comment(keys.__doc__ or ""), head, "", *plain, *tables])


def _top_level_rows() -> tuple[type[DataclassInstance], ...]:
    """Rows whose keys are written out once already."""
    return tuple(shape.keys for shape in shapes_of(FileKeys).values() if isinstance(shape, Rows))


def _key_lines(table: type[DataclassInstance], key: Key) -> str:
    shape = shapes_of(table)[key.name]
    told = [key.about.line]
    if isinstance(shape, Choice | Choices):
        told.append(f"It is {say_shape(shape)}.")
    if key.about.unit:
        told.append(f"Unit: {key.about.unit}.")
    if key.default is None or key.default is MISSING:
        told.append(f"Unset: {key.about.unset}." if key.default is None else "Required.")
        value = key.about.example
    else:
        value = toml_value(key.default)
    return f"{_comment(' '.join(told))}\n# {key.name} = {value}\n"


def _comment(text: str) -> str:
    return textwrap.fill(
        " ".join(text.split()),
        width=_WIDTH,
        initial_indent="## ",
        subsequent_indent="## ",
        break_long_words=False,
        break_on_hyphens=False,
    )
