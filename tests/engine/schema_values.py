"""Random tool schemas, values that a model writes for them, and a check of values against the keywords used here."""

from __future__ import annotations

import re

from hypothesis import strategies as st

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "null": type(None)}
NAMES = st.sampled_from(["a", "b", "env", "intent_", "inten", 'q"k', "é\\", "\ud83d"])
TEXTS = st.text(alphabet='a"\\,:[]{}\u2028é🙂\ud83d', max_size=5)
LEAVES = st.sampled_from([{"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": ["string", "null"]}])


def is_valid(value: object, schema: object) -> bool:
    """Whether a decoded value is valid under a schema that `schemas` made."""
    if isinstance(schema, bool):
        return schema
    if "type" in schema:
        named = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(isinstance(value, TYPES[name]) and not isinstance(value, bool) for name in named):
            return False
    if "anyOf" in schema and not any(is_valid(value, one) for one in schema["anyOf"]):
        return False
    if isinstance(value, list):
        return all(is_valid(one, schema.get("items", True)) for one in value)
    return not isinstance(value, dict) or is_valid_object(value, schema)


def is_valid_object(value: dict[str, object], schema: dict) -> bool:
    properties = schema.get("properties", {})
    others = {key: one for key, one in value.items() if key not in properties}
    return (
        all(key in value for key in schema.get("required", []))
        and schema.get("minProperties", 0) <= len(value)
        and all(is_valid(one, properties[key]) for key, one in value.items() if key in properties)
        and all(is_valid(one, schema.get("additionalProperties", True)) for one in others.values())
        and all(re.search(schema.get("propertyNames", {}).get("pattern", ""), key) for key in value)
    )


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy) -> dict:
    properties = draw(st.dictionaries(NAMES, inner, max_size=3))
    required = [name for name in properties if draw(st.booleans())]
    schema: dict = {"type": "object", "properties": properties, "required": required}
    more = draw(st.sampled_from([None, False, True, {"type": "string"}]))
    return schema if more is None else schema | {"additionalProperties": more}


@st.composite
def maps(draw: st.DrawFn, inner: st.SearchStrategy) -> dict:
    schema: dict = {"type": "object", "additionalProperties": draw(inner | st.just(True))}
    extras = [{}, {"properties": {}}, {"propertyNames": {"type": "string"}}, {"default": {}}, {"description": "Any."}]
    limits = [{"minProperties": 1}, {"propertyNames": {"pattern": "^a"}}, {"type": ["object", "null"]}]
    return schema | draw(st.sampled_from(extras * 2 + limits))


SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        objects(inner),
        maps(inner),
        maps(inner),
        inner.map(lambda one: {"type": "array", "items": one}),
        inner.map(lambda one: {"anyOf": [one, {"type": "null"}]}),
    ),
    max_leaves=8,
)
TOOLS = objects(SCHEMAS)
"""Schemas of a tool's arguments."""


def values(schema: object) -> st.SearchStrategy:
    """Values that are valid under a schema; no list of entries has a key twice, as the model is told."""
    if isinstance(schema, bool) or not schema:
        return st.none() | st.integers() | TEXTS
    if "anyOf" in schema:
        return st.one_of([values(one) for one in schema["anyOf"]])
    named = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return st.one_of([values_of(name, schema) for name in named])


def values_of(name: str, schema: dict) -> st.SearchStrategy:
    if name == "array":
        entry = schema["items"].get("properties", {})
        is_entries = list(entry) == ["key", "value"] and schema["items"].get("additionalProperties") is False
        unique = (lambda one: one["key"]) if is_entries else None
        return st.lists(values(schema["items"]), max_size=3, unique_by=unique)
    if name == "object":
        return values_of_object(schema)
    return {
        "string": TEXTS,
        "integer": st.integers(),
        "number": st.sampled_from([1.0, -0.5, 1e30, 7]),
        "null": st.none(),
    }[name]


@st.composite
def values_of_object(draw: st.DrawFn, schema: dict) -> dict[str, object]:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    value = {name: draw(values(one)) for name, one in properties.items() if name in required or draw(st.booleans())}
    more = schema.get("additionalProperties", True)
    if more is not False:
        keys = st.text("ab", min_size=1, max_size=2).map(lambda key: "a" + key)
        extra = draw(st.dictionaries(keys, values(more), min_size=schema.get("minProperties", 0), max_size=2))
        value |= {key: one for key, one in extra.items() if key not in properties}
    return value
