"""Say how a tool's schema goes out: with a field for the reason of a call, and with lists in the place of open maps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from coldpress.engine.json_schema import COMPOSITION, FIXED, JsonObject, JsonValue, is_object, references, types
from coldpress.engine.open_maps import MapPath, translated

WhyLeft = Literal[
    "",  # it was not left
    "off",  # no field was asked for
    "not_object",  # the arguments are no object
    "malformed",  # `properties` is no object, or `required` no list of names
    "composed",  # another schema holds for the same arguments: `anyOf`, `$ref` and the like
    "self_reference",  # objects further in have the schema of the whole, so they would ask for the field too
    "fixed",  # `enum` or `const` lists the arguments
    "counted",  # the number of arguments is limited
    "names_limited",  # the names of arguments are limited, and this one is not among them
]
"""Why a schema got no field."""

FIELD: Final = "intent"
DESCRIPTION: Final = (
    "Why you make this call, in one short sentence: what you want to find out or to change, with the names,"
    " identifiers or error texts that you look for in its result."
)
_COUNTS: Final = frozenset({"minProperties", "maxProperties"})


@dataclass(frozen=True, slots=True)
class ReasonField:
    """The field that asks a model for the reason of a call.

    Attributes:
        name: its key among the arguments.
        description: what the model reads about it. It goes out with every tool, on every request.
    """

    name: str = FIELD
    description: str = DESCRIPTION


@dataclass(frozen=True, slots=True)
class ToolShape:
    """How the model's arguments for one tool differ from what the client expects.

    Attributes:
        reason: `added`: the model's arguments have a field that the client does not know. `native`: the tool has a
            field of this name itself, which stays. `left`: nothing of the kind.
        field: the field's name; empty where none was asked for.
        maps: where the model writes lists for the client's maps.
        why: why the schema got no field; empty where it has one.
        tool: its name.
    """

    reason: Literal["added", "native", "left"]
    field: str = ""
    maps: tuple[MapPath, ...] = ()
    why: WhyLeft = ""
    tool: str = ""

    @property
    def changes_calls(self) -> bool:
        """Whether the client gets other arguments than the model wrote."""
        return self.reason == "added" or bool(self.maps)


def shaped(
    name: str, schema: object, *, reason: ReasonField | None, translate: bool, close: bool = False
) -> tuple[JsonValue | None, ToolShape]:
    """Give the schema that goes out for a tool, and what that means for its calls.

    The same tool and settings give equal schemas with their keys in the same order: the client's, the field in front
    of its properties and of its required names. Nothing is closed that was open but what `close` asks for.

    Args:
        name: the tool's.
        schema: of its arguments, decoded. It is not altered.
        reason: the field to add, `None` for none.
        translate: whether open maps become lists.
        close: as for `open_maps.translated`.

    Returns:
        The schema, `None` where the client's may go out as it is.

    >>> shaped("ls", {"type": "object"}, reason=ReasonField("why", "Why?"), translate=False)[0]
    {'type': 'object', 'properties': {'why': {'type': 'string', 'description': 'Why?'}}, 'required': ['why']}
    """
    field = reason.name if reason else ""
    if not is_object(schema):
        return None, ToolShape("left", field, (), "not_object", name)
    done = translated(schema, close=close) if translate else None
    changed, maps = (done.schema, done.maps) if done else (schema, ())
    if reason and _names(schema, field):
        shape = ToolShape("native", field, maps, "", name)
    elif reason and not (why := _why_left(schema, field)):
        return _with_field(changed, reason), ToolShape("added", field, maps, "", name)
    else:
        shape = ToolShape("left", field, maps, why if reason else "off", name)
    return (changed if maps else None), shape


def _names(schema: JsonObject, field: str) -> bool:
    """Whether a tool has a field of this name, even if it only asks for it."""
    properties, required = schema.get("properties"), schema.get("required")
    return (is_object(properties) and field in properties) or (isinstance(required, list) and field in required)


def _why_left(schema: JsonObject, field: str) -> WhyLeft:
    """Say why a schema cannot get the field; empty where it can.

    `additionalProperties` and `unevaluatedProperties` do not hold for a property that the schema lists.
    """
    allowed = types(schema)
    if "object" not in allowed and (allowed or "type" in schema or "properties" not in schema):
        return "not_object"
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not is_object(properties) or not isinstance(required, list):
        return "malformed"
    if COMPOSITION & schema.keys():
        return "composed"
    if any(not target.startswith("#/") for target in references(schema)):
        return "self_reference"
    if FIXED & schema.keys():
        return "fixed"
    if _COUNTS & schema.keys():
        return "counted"
    return "" if _may_be_named(schema, field) else "names_limited"


def _may_be_named(schema: JsonObject, field: str) -> bool:
    """Whether no rule about names says anything about the field. A rule that cannot be read may say anything."""
    names = schema.get("propertyNames", True)
    if is_object(names):
        pattern = names.get("pattern", "")
        if not names.keys() <= {"type", "pattern"} or types(names) - {"string"} or not _matches(pattern, field):
            return False
    elif names is not True:
        return False
    patterns, needs = schema.get("patternProperties", {}), schema.get("dependentRequired", {})
    if not is_object(patterns) or not is_object(needs):
        return False
    is_needed = field in needs or any(isinstance(named, list) and field in named for named in needs.values())
    return not is_needed and all(_matches(pattern, field) is False for pattern in patterns)


def _matches(pattern: JsonValue, field: str) -> bool | None:
    """Whether a pattern finds something in the name; `None` where it is none that can be read here."""
    if not isinstance(pattern, str):
        return None
    try:
        return re.search(pattern, field) is not None
    except (re.error, RecursionError, OverflowError):
        return None


def _with_field(schema: JsonObject, reason: ReasonField) -> JsonObject:
    properties, required = schema.get("properties"), schema.get("required")
    field: JsonObject = {"type": "string", "description": reason.description}
    named = properties if is_object(properties) else {}
    asked = required if isinstance(required, list) else []
    return {**schema, "properties": {reason.name: field, **named}, "required": [reason.name, *asked]}
