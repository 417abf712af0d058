"""Turn rows of results into Parquet bytes and back, with a schema that follows from the rows' own classes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar, get_type_hints

from coldpress.lab.results import Bill, Loss, Measured, Turn
from coldpress.model.errors import SweepError

if TYPE_CHECKING:
    import pyarrow as pa

Row = TypeVar("Row", bound=Bill | Turn | Loss)

_KINDS: Final[Mapping[object, str]] = {str: "string", int: "int64", float: "float64", bool: "bool"}
_OPTIONAL: Final[Mapping[object, type]] = {kind | None: kind for kind in (str, int, float, bool)}
_MARK: Final = b"coldpress"
_ROWS: Final = b"coldpress.rows"
_SIZES: Final = b"coldpress.beside"

Filter = tuple[str, str, str]
"""A column, `==`, and what it has to hold."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its type's name in Arrow, and whether it may be unknown."""

    name: str
    kind: str
    nullable: bool


@dataclass(frozen=True, slots=True)
class Table(Generic[Row]):
    """One kind of rows: the name of its folder, and the class of a row."""

    name: str
    row: type[Row]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, one for each field of a row, in their order."""
        hints = get_type_hints(self.row)
        return tuple(_column(field.name, hints[field.name]) for field in fields(self.row))


BILLS: Final = Table("bills", Bill)
TURNS: Final = Table("turns", Turn)
LOSSES: Final = Table("losses", Loss)


def _column(name: str, hint: object) -> Column:
    kind = _OPTIONAL.get(hint, hint)
    return Column(name, _KINDS[kind], nullable=hint in _OPTIONAL)


def _rows_digest() -> str:
    said = [(table.name, table.columns) for table in (BILLS, TURNS, LOSSES)]
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


ROWS_DIGEST: Final = _rows_digest()
"""Names the schemas of all tables: it changes with any field of a row."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The rows of one recording as the bytes of three Parquet files."""

    bills: bytes
    turns: bytes
    losses: bytes


def pack(measured: Measured, part: str, *, arms: Sequence[str], tariffs: Sequence[str]) -> Packed:
    """Write the rows of one recording as Parquet.

    Args:
        measured: what it came to.
        part: name of the files, which is kept in them.
        arms, tariffs: names, in the order that rows are to stand in.
    """
    place = {cell: at for at, cell in enumerate((arm, tariff) for arm in arms for tariff in tariffs)}
    turns = _bytes(TURNS, _ordered(measured.turns, place), {_MARK: part.encode()})
    losses = _bytes(LOSSES, _ordered(measured.losses, place), {_MARK: part.encode()})
    beside = f"{len(turns)} {len(losses)}".encode()
    bills = _bytes(BILLS, _ordered(measured.bills, place), {_MARK: part.encode(), _SIZES: beside})
    return Packed(bills, turns, losses)


def _ordered(rows: Sequence[Row], place: Mapping[tuple[str, str], int]) -> list[Row]:
    return sorted(rows, key=lambda row: place.get((row.arm, row.tariff), len(place)))


def _bytes(table: Table[Row], rows: Sequence[Row], about: Mapping[bytes, bytes]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(table).with_metadata({**about, _ROWS: ROWS_DIGEST.encode()})
    # Cast, as Arrow cuts numbers off in silence where it is told the type at once.
    columns = [pa.array([getattr(row, field.name) for row in rows]).cast(field.type) for field in schema]
    sink = pa.BufferOutputStream()
    found = pa.Table.from_arrays(columns, schema=schema)
    pq.write_table(found, sink, compression="zstd", write_page_checksum=True)
    return bytes(sink.getvalue())


def read_rows(table: Table[Row], path: Path, filters: Sequence[Filter] = ()) -> Iterator[Row]:
    """Read the rows of one file, in their order.

    Args:
        table: what it holds.
        path: of the file.
        filters: only rows that hold all of these; others are not even decoded where the file's statistics tell.

    Raises:
        SweepError: it is damaged, or holds rows of another version; says what to do.
    """
    return map(table.row, *(column.to_pylist() for column in _columns(table, path, filters).columns))


def count_rows(table: Table[Row], path: Path) -> int:
    """Count the rows of one file, every page of which is read and checked.

    Raises:
        SweepError: it is damaged, or holds rows of another version; says what to do.
    """
    return int(_columns(table, path, ()).num_rows)


def _columns(table: Table[Row], path: Path, filters: Sequence[Filter]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # A file object, as Arrow would take a folder named x=y for a column.
        with path.open("rb") as file:
            _checked(table, pq.read_schema(file), path)
            file.seek(0)
            return pq.read_table(file, filters=list(filters) or None, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        raise SweepError(f"{path}: is damaged ({_line(error)}); run the sweep again, which makes it anew") from error


@dataclass(frozen=True, slots=True)
class Beside:
    """How long the files are that were written with a file of bills, in bytes."""

    turns: int
    losses: int


def beside(path: Path, part: str) -> Beside:
    """Read from a file of bills how long its neighbours are.

    Raises:
        SweepError: it is damaged, of another version, or of another part.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file:
            schema = pq.read_schema(file)
    except (pa.ArrowException, OSError) as error:
        raise SweepError(f"{path}: is damaged ({_line(error)}); run the sweep again, which makes it anew") from error
    _checked(BILLS, schema, path)
    about: Mapping[bytes, bytes] = schema.metadata
    turns, _, losses = about.get(_SIZES, b"").decode().partition(" ")
    if about.get(_MARK) != part.encode() or not (turns.isdecimal() and losses.isdecimal()):
        raise SweepError(f"{path}: was written as another part; run the sweep again, which makes it anew")
    return Beside(int(turns), int(losses))


def _checked(table: Table[Row], schema: pa.Schema, path: Path) -> None:
    """Raise a `SweepError` where a file has not exactly our columns."""
    rows = (schema.metadata or {}).get(_ROWS, b"").decode()
    if rows != ROWS_DIGEST or not schema.equals(_schema(table)):
        raise SweepError(f"{path}: holds rows of another version of coldpress; run the sweep again")


def _schema(table: Table[Row]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([pa.field(one.name, pa.type_for_alias(one.kind), one.nullable) for one in table.columns])


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
