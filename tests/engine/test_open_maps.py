"""Open maps go out as lists of entries and come back as the maps they stood for; nothing is guessed."""

from __future__ import annotations

import copy
import json

import pytest
from engine.schema_values import SCHEMAS, TOOLS, is_valid, values
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coldpress.engine.map_entries import places, with_maps
from coldpress.engine.open_maps import HOW_TO_WRITE, Every, MapPath, translated

STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}


def entries(value: object, **more: object) -> dict:
    """The list of entries for a map of `value`."""
    entry = {"key": {"type": "string"}, "value": value}
    item = {"type": "object", "properties": entry, "required": ["key", "value"], "additionalProperties": False}
    return {"type": "array", "items": item, "description": HOW_TO_WRITE} | more


def tool(schema: object) -> dict:
    return {"type": "object", "properties": {"m": schema}}


@pytest.mark.parametrize(
    ("schema", "expected", "maps"),
    [
        pytest.param(STRINGS, entries({"type": "string"}), [("m",)], id="a map of strings"),
        pytest.param({"type": "object", "additionalProperties": True}, entries({}), [("m",)], id="a map of anything"),
        pytest.param({"type": "object", "additionalProperties": {}}, entries({}), [("m",)], id="an empty schema"),
        pytest.param(
            STRINGS | {"description": "Variables."},
            entries({"type": "string"}, description=f"Variables. {HOW_TO_WRITE}"),
            [("m",)],
            id="its description stays",
        ),
        pytest.param(
            STRINGS | {"type": ["object", "null"], "default": None},
            entries({"type": "string"}, type=["array", "null"], default=None),
            [("m",)],
            id="a map that may be null",
        ),
        pytest.param(
            STRINGS | {"properties": {}, "required": [], "propertyNames": {"type": "string"}, "default": {}},
            entries({"type": "string"}, default=[]),
            [("m",)],
            id="limits that limit nothing, as generators write them",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": STRINGS},
            entries(entries({"type": "string"})),
            [("m",), ("m", Every.ENTRY)],
            id="a map of maps",
        ),
        pytest.param(
            {"type": "array", "items": {"type": "object", "properties": {"x": STRINGS}}},
            {"type": "array", "items": {"type": "object", "properties": {"x": entries({"type": "string"})}}},
            [("m", Every.ITEM, "x")],
            id="in elements, in properties",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/x"}},
            entries({"$ref": "#/$defs/x"}),
            [("m",)],
            id="a map of what is defined elsewhere",
        ),
    ],
)
def test_a_map_becomes_a_list(schema: object, expected: object, maps: list[MapPath]) -> None:
    found = translated(tool(schema))
    assert (found.schema, list(found.maps)) == (tool(expected), maps)


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "object"}, id="an object that says nothing"),
        pytest.param({"type": "object", "additionalProperties": False}, id="a closed object"),
        pytest.param(STRINGS | {"properties": {"a": {}}}, id="own properties and free keys"),
        pytest.param({"additionalProperties": True}, id="no type: it may be anything"),
        pytest.param(STRINGS | {"type": ["object", "array"]}, id="an array is allowed beside the map"),
        pytest.param(STRINGS | {"enum": [{}]}, id="enum"),
        pytest.param(STRINGS | {"const": {}}, id="const"),
        pytest.param(STRINGS | {"required": ["a"]}, id="required"),
        pytest.param(STRINGS | {"patternProperties": {"^x": {}}}, id="patternProperties"),
        pytest.param(STRINGS | {"propertyNames": {"pattern": "^x"}}, id="propertyNames"),
        pytest.param(STRINGS | {"minProperties": 1}, id="minProperties"),
        pytest.param(STRINGS | {"maxProperties": 9}, id="maxProperties"),
        pytest.param(STRINGS | {"default": {"a": "b"}}, id="a default that would need translation"),
        pytest.param(STRINGS | {"x-unheard-of": 1}, id="a keyword nobody here knows"),
        pytest.param({"anyOf": [STRINGS, {"type": "null"}]}, id="under anyOf"),
        pytest.param({"type": "object", "properties": {"x": STRINGS}, "enum": [{"x": {}}]}, id="under enum"),
        pytest.param({"properties": {"x": STRINGS}, "patternProperties": {"x": {}}}, id="under patternProperties"),
        pytest.param({"type": "array", "items": [STRINGS]}, id="elements by position"),
        pytest.param({"type": "array", "items": STRINGS, "prefixItems": [{}]}, id="elements behind those by position"),
        pytest.param({"type": "array", "items": STRINGS, "uniqueItems": True}, id="elements that are compared"),
        pytest.param({"type": "array", "items": STRINGS, "contains": {"type": "object"}}, id="elements asked for"),
        pytest.param({"properties": {"x": STRINGS, "y": {"$ref": "#/properties/m/properties/x"}}}, id="referred to"),
        pytest.param(True, id="no schema object"),
    ],
)
def test_what_cannot_be_turned_back_without_a_guess_stays(schema: object) -> None:
    whole = tool(schema)
    found = translated(whole, close=True)
    assert found.schema is whole
    assert found.maps == ()


def test_the_top_stays_an_object_whatever_it_says() -> None:
    top = STRINGS | {"properties": {}}
    assert translated(top).schema is top


def test_a_map_deeper_than_any_tool_needs_stays_and_overruns_nothing() -> None:
    schema = STRINGS
    for _ in range(5_000):
        schema = {"type": "array", "items": schema}
    assert translated(tool(schema)).maps == ()


def test_objects_are_closed_only_where_that_is_asked_for_and_nothing_is_said() -> None:
    inner = {"type": "object", "properties": {"x": STRINGS}}
    said = {"type": "object", "properties": {"y": {}}, "additionalProperties": True}
    schema = {"type": "object", "properties": {"i": inner, "s": said}}
    closed, open_ = (translated(schema, close=close).schema for close in (True, False))
    assert closed["additionalProperties"] is False
    assert closed["properties"]["i"]["additionalProperties"] is False
    assert closed["properties"]["s"] == said
    assert "additionalProperties" not in open_ | open_["properties"]["i"]


ONE = places((("m",), ("m", Every.ENTRY))).below["m"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('[{"key":"a","value":[{"key":"b","value":1.0}]}]', '{"a":{"b":1.0}}'),
        ("[]", "{}"),
        ('[{"value":[ ],"key":"a"}]', '{"a":{}}'),
        ('[{"key":"b","value":1e400},{"key":"a","value":123456789012345678901234567890}]',
         '{"b":1e400,"a":123456789012345678901234567890}'),
        (r'[ {"k\u0065y": "\u00e9\n", "value" : {"x" : 1} } ]', r'{"\u00e9\n":{"x" : 1}}'),
        ('[{"key":"\ud83d","value":"\\ud83d"}]', '{"\ud83d":"\\ud83d"}'),
        ('[{"key":"a","value":[{"key":"b"}]}]', '{"a":[{"key":"b"}]}'),
    ],
)  # fmt: skip
def test_lists_come_back_as_maps_with_every_byte_of_their_values(written: str, expected: str) -> None:
    assert with_maps(written, ONE) == expected


@pytest.mark.parametrize(
    "written",
    [
        pytest.param('{"a": [ ]}', id="a map already, whatever is in it"),
        pytest.param(r'[{"key":"a","value":1}, {"key":"\u0061","value":2}]', id="a key twice, in two spellings"),
        pytest.param('[{"key":"a"}]', id="no value"),
        pytest.param('[{"value":"a"}]', id="no key"),
        pytest.param('[{"key":1,"value":1}]', id="a key that is no text"),
        pytest.param('[{"key":"a","value":1,"more":1}]', id="more than key and value"),
        pytest.param('[{"key":"a","value":1,"value":2}]', id="two values"),
        pytest.param('[["a",1]]', id="pairs"),
        pytest.param('[{"key":"a","value":[]}, null]', id="an entry that is none, behind one that is"),
        pytest.param(' "a=1" ', id="text"),
        pytest.param("null", id="null"),
    ],
)
def test_what_is_no_list_of_entries_is_passed_on_as_it_came(written: str) -> None:
    assert with_maps(written, ONE) == written


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(TOOLS, st.booleans(), st.data())
def test_what_a_model_writes_comes_back_valid_under_the_clients_schema(
    schema: dict, close: bool, data: st.DataObject
) -> None:
    before = copy.deepcopy(schema)
    found = translated(schema, close=close)
    assert schema == before
    value = data.draw(values(found.schema))
    assert is_valid(value, found.schema)
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans()), indent=data.draw(st.sampled_from([None, 1])))
    assert is_valid(json.loads(with_maps(text, places(found.maps))), schema)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(SCHEMAS, st.data())
def test_what_holds_no_map_keeps_every_byte(schema: dict, data: st.DataObject) -> None:
    text = json.dumps(data.draw(values(schema)), indent=1)
    assert with_maps(text, places(())) == text
