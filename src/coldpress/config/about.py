"""Put what people need to know of a settings key beside its definition, and find it there again."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_ABOUT = "about"


@dataclass(frozen=True, slots=True)
class About:
    """What people need to know of a key.

    Attributes:
        line: what the key does, one sentence.
        unit: of a number; empty where it has none or the name says it.
        least: smallest number allowed.
        most: largest number allowed.
        example: a value for the commented file where the default is nothing, as it stands in TOML.
        unset: what holds where the key is absent and has no fixed default.
    """

    line: str
    unit: str = ""
    least: float | None = None
    most: float | None = None
    example: str = ""
    unset: str = ""


_SAYS_NOTHING = About("")


def say(
    line: str,
    *,
    unit: str = "",
    least: float | None = None,
    most: float | None = None,
    example: str = "",
    unset: str = "",
) -> dict[str, About]:
    """Make the metadata of a dataclass field that is a settings key; see `About`."""
    return {_ABOUT: About(line, unit, least, most, example, unset)}


@dataclass(frozen=True, slots=True)
class Key:
    """One key of one table. `default` is `MISSING` where the file must give it."""

    name: str
    default: object
    about: About


def keys_of(table: type[DataclassInstance]) -> tuple[Key, ...]:
    """List the keys of one table in the order in which people should read them; a plugin's own may say nothing."""
    return tuple(
        Key(
            name=key.name,
            default=key.default if key.default_factory is MISSING else key.default_factory(),
            about=key.metadata.get(_ABOUT, _SAYS_NOTHING),
        )
        for key in fields(table)
    )
