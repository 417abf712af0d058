"""Read the few things about a tool's JSON Schema that decide whether it may be changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias, TypeGuard

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]

REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
COMPOSITION: Final = REFERENCES | {
    *("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")
}
"""Keywords that bring in another schema for the same value, which we would have to change in step."""
FIXED: Final = frozenset({"enum", "const"})
"""Keywords that list the values themselves."""
DEFINITIONS: Final = ("#/$defs/", "#/definitions/")


def is_object(value: object) -> TypeGuard[JsonObject]:
    """Whether a decoded JSON value is an object."""
    return isinstance(value, dict)


def types(schema: Mapping[str, JsonValue]) -> frozenset[str]:
    """Give the types a schema allows by its `type`; empty where it names none, or is not well formed."""
    named = schema.get("type")
    listed = named if isinstance(named, list) else [named]
    return frozenset(name for name in listed if isinstance(name, str))


def references(schema: JsonValue) -> Iterator[str]:
    """Give every reference in a schema, however deep.

    Data in it (a `default`) that looks like a reference is given as well: it costs a tool that is left alone.

    >>> list(references({"items": {"$ref": "#"}, "properties": {"$ref": {"type": "string"}}}))
    ['#']
    """
    rest = [schema]
    while rest:
        value = rest.pop()
        if isinstance(value, list):
            rest.extend(value)
        elif isinstance(value, dict):
            rest.extend(value.values())
            yield from (target for key in REFERENCES & value.keys() if isinstance(target := value[key], str))
