"""Write a tool's open maps as lists of keys and values, for models and strict modes that know no free keys.

Only what can be turned back without a guess is translated; `map_entries` is the way back.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from coldpress.engine.json_schema import (
    COMPOSITION,
    DEFINITIONS,
    FIXED,
    JsonObject,
    JsonValue,
    is_object,
    references,
    types,
)


class Every(Enum):
    """A step of a path that stands for all values of one kind."""

    ITEM = "item"
    """Every element of an array."""
    ENTRY = "entry"
    """Every value of a map."""


Step: TypeAlias = str | Every
"""The name of a property, or all elements, or all values of a map that is translated itself."""
MapPath: TypeAlias = tuple[Step, ...]
"""Where a translated map stands in a call's arguments, from the top; the first step is always a name."""

HOW_TO_WRITE: Final = "Written as a list of entries with `key` and `value`; each key once."
MAX_DEPTH: Final = 32
"""Steps of a path; what lies deeper stays as it is, and no schema overruns the stack."""

_ANNOTATIONS: Final = frozenset({"title", "description", "nullable", "deprecated", "$comment"})
_DROPPED: Final = frozenset({"properties", "required", "propertyNames"})
_MAP_KEYWORDS: Final = _ANNOTATIONS | _DROPPED | {"type", "additionalProperties", "default"}
_ITEM_LIMITS: Final = frozenset({"prefixItems", "additionalItems", "unevaluatedItems", "contains", "uniqueItems"})
"""Elements under these are left alone: they have schemas by position, or are compared as wholes."""
_ANY_NAME: Final[tuple[JsonValue, ...]] = (True, {}, {"type": "string"})


@dataclass(frozen=True, slots=True)
class Translated:
    """A schema and the places where lists now stand for maps, in the order of the schema."""

    schema: JsonObject
    maps: tuple[MapPath, ...]


def translated(schema: JsonObject, *, close: bool = False) -> Translated:
    """Put lists of keys and values in the place of a tool's open maps, however deep they stand.

    A map is an object schema with `additionalProperties` (`true` or a schema), no properties and nothing else that
    limits it. All others stay: objects that mix own properties and free keys, maps with limits on their keys or
    their number, what stands under references, composition, `enum` or `const`, and the top of the schema, which
    every provider wants to be an object. Where a reference points to a part that could change, nothing is translated.

    Args:
        schema: of a tool's arguments. It is not altered.
        close: also add `additionalProperties: false` to objects that list properties and do not say whether there
            may be others; only in a schema in which a map was translated.

    Returns:
        The very same schema, and no places, where there is nothing to translate.

    >>> done = translated({"type": "object", "properties": {"env": {"type": "object", "additionalProperties": True}}})
    >>> done.maps, done.schema["properties"]["env"]["items"]["required"]
    ((('env',),), ['key', 'value'])
    """
    if any(not target.startswith(DEFINITIONS) for target in references(schema)):
        return Translated(schema, ())
    walk = _Walk(close, [])
    changed = walk.inside(schema, ())
    return Translated(changed, tuple(walk.maps)) if walk.maps else Translated(schema, ())


@dataclass(frozen=True, slots=True)
class _Walk:
    close: bool
    maps: list[MapPath]

    def inside(self, schema: JsonObject, path: MapPath) -> JsonObject:
        """Give a schema with the maps among its properties and elements translated."""
        if len(path) >= MAX_DEPTH or (COMPOSITION | FIXED) & schema.keys():
            return schema
        changed = dict(schema)
        properties, items = schema.get("properties"), schema.get("items")
        if is_object(properties) and properties and "patternProperties" not in schema:
            changed["properties"] = {name: self._value(value, (*path, name)) for name, value in properties.items()}
            if self.close and not {"additionalProperties", "unevaluatedProperties"} & schema.keys():
                changed["additionalProperties"] = False
        if is_object(items) and not _ITEM_LIMITS & schema.keys():
            changed["items"] = self._value(items, (*path, Every.ITEM))
        return changed

    def _value(self, schema: JsonValue, path: MapPath) -> JsonValue:
        if not is_object(schema):
            return schema
        if not _is_open_map(schema):
            return self.inside(schema, path)
        self.maps.append(path)
        return self._list(schema, path)

    def _list(self, schema: JsonObject, path: MapPath) -> JsonObject:
        """Give the list for a map; what it shares with the map keeps its place."""
        changed: JsonObject = {}
        for key, value in schema.items():
            if key == "type":
                changed[key] = "array" if isinstance(value, str) else ["array", "null"]
            elif key == "additionalProperties":
                changed["items"] = _entry({} if value is True else self._value(value, (*path, Every.ENTRY)))
            elif key == "description":
                changed[key] = f"{value} {HOW_TO_WRITE}"
            elif key == "default":
                changed[key] = None if value is None else []
            elif key not in _DROPPED:
                changed[key] = value
        changed.setdefault("description", HOW_TO_WRITE)
        return changed


def _entry(value: JsonValue) -> JsonObject:
    return {
        "type": "object",
        "properties": {"key": {"type": "string"}, "value": value},
        "required": ["key", "value"],
        "additionalProperties": False,
    }


def _is_open_map(schema: JsonObject) -> bool:
    """Whether an object has free keys and nothing that limits them; one that may be `null` as well is such a map.

    Limits that limit nothing count for nothing: schema generators write `propertyNames: {"type": "string"}`, empty
    `properties` and an empty `default` beside a map.
    """
    content = schema.get("additionalProperties")
    return (
        types(schema) in ({"object"}, {"object", "null"})
        and (content is True or is_object(content))
        and schema.keys() <= _MAP_KEYWORDS
        and schema.get("properties", {}) == {}
        and schema.get("required", []) == []
        and schema.get("propertyNames", True) in _ANY_NAME
        and schema.get("default") in (None, {})
        and isinstance(schema.get("description", ""), str)
    )
