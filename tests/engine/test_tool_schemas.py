"""A tool's schema gets the reason field where that is safe, the same way each time, and stays as it is elsewhere."""

from __future__ import annotations

import copy
import json

import pytest
from engine.schema_values import TOOLS, is_valid, values
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coldpress.engine.json_schema import references
from coldpress.engine.tool_arguments import turned
from coldpress.engine.tool_schemas import DESCRIPTION, ReasonField, ToolShape, shaped

PLAIN = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TREE = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}
ADDED = {"type": "string", "description": DESCRIPTION}


def with_reason(schema: object) -> tuple[object, ToolShape]:
    return shaped("t", schema, reason=ReasonField(), translate=False)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param(
            {"$schema": "s", "additionalProperties": False} | PLAIN | {"title": "T"},
            {
                "$schema": "s",
                "additionalProperties": False,
                "type": "object",
                "properties": {"intent": ADDED, "path": {"type": "string"}},
                "required": ["intent", "path"],
                "title": "T",
            },
            id="closed and strict: the field is first, all else keeps its order",
        ),
        pytest.param(
            {"type": "object"},
            {"type": "object", "properties": {"intent": ADDED}, "required": ["intent"]},
            id="no parameters",
        ),
        pytest.param(
            {"properties": {}},
            {"properties": {"intent": ADDED}, "required": ["intent"]},
            id="properties without a type",
        ),
        pytest.param(
            {"type": ["object", "null"], "additionalProperties": True},
            {
                "type": ["object", "null"],
                "additionalProperties": True,
                "properties": {"intent": ADDED},
                "required": ["intent"],
            },
            id="an open schema stays open",
        ),
    ],
)
def test_the_field_is_added(schema: dict, expected: dict) -> None:
    before = copy.deepcopy(schema)
    found, shape = with_reason(schema)
    assert json.dumps(found) == json.dumps(expected)
    assert shape == ToolShape("added", "intent", (), "", "t")
    assert shape.changes_calls
    assert schema == before


@pytest.mark.parametrize(
    ("more", "why"),
    [
        pytest.param({"type": "string"}, "not_object", id="text"),
        pytest.param({"type": 1}, "not_object", id="a type that is none"),
        pytest.param({"properties": ["path"]}, "malformed", id="properties that are no object"),
        pytest.param({"required": True}, "malformed", id="required as in the third draft"),
        *(
            pytest.param({word: [{}]}, "composed", id=word)
            for word in ("anyOf", "oneOf", "allOf", "not", "if", "then", "dependentSchemas", "dependencies")
        ),
        pytest.param({"$ref": "#/$defs/x"}, "composed", id="a reference at the top"),
        pytest.param({"$defs": {"x": {"$ref": "#"}}}, "self_reference", id="a definition that refers to the whole"),
        pytest.param({"properties": {"x": {"$dynamicRef": "#node"}}}, "self_reference", id="a name for the whole"),
        pytest.param({"enum": [{}]}, "fixed", id="enum"),
        pytest.param({"const": {}}, "fixed", id="const"),
        pytest.param({"maxProperties": 3}, "counted", id="maxProperties"),
        pytest.param({"minProperties": 1}, "counted", id="minProperties: the field would count for an argument"),
        pytest.param({"patternProperties": {"^i": {}}}, "names_limited", id="a pattern that finds the name"),
        pytest.param({"patternProperties": {"(": {}}}, "names_limited", id="a pattern that cannot be read"),
        pytest.param({"propertyNames": {"pattern": "^p"}}, "names_limited", id="names that it has not"),
        pytest.param({"propertyNames": {"enum": ["path"]}}, "names_limited", id="names in a list"),
        pytest.param({"propertyNames": False}, "names_limited", id="no names"),
        pytest.param({"dependentRequired": {"path": ["intent"]}}, "names_limited", id="another argument asks for it"),
    ],
)
def test_a_schema_that_cannot_get_it_is_left_alone_with_a_reason(more: dict, why: str) -> None:
    assert with_reason(PLAIN | more) == (None, ToolShape("left", "intent", (), why, "t"))


@pytest.mark.parametrize("schema", [None, True, [], "x", {}])
def test_what_is_no_object_schema_is_left_alone(schema: object) -> None:
    assert with_reason(schema) == (None, ToolShape("left", "intent", (), "not_object", "t"))


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"properties": {"n": {"$ref": "#/$defs/x"}}}, id="a reference further in"),
        pytest.param({"properties": {"n": {"anyOf": [{}]}}}, id="composition further in"),
        pytest.param({"patternProperties": {"^x-": {}}}, id="a pattern that does not find the name"),
        pytest.param({"propertyNames": {"pattern": "^[a-z]+$"}}, id="a pattern for names that it has"),
        pytest.param({"unevaluatedProperties": False}, id="closed for what is not listed"),
        pytest.param({"properties": {"n": {"properties": {"intent": {}}}}}, id="the same name further in"),
    ],
)
def test_what_does_not_touch_the_field_does_not_keep_it_away(more: dict) -> None:
    assert with_reason(PLAIN | more)[1].reason == "added"


def test_a_tool_that_refers_to_itself_would_ask_for_the_field_at_every_level() -> None:
    assert with_reason(TREE)[1].why == "self_reference"
    assert list(references(TREE)) == ["#"]


@pytest.mark.parametrize(
    "more", [{"properties": {"intent": {"type": "integer"}}}, {"required": ["intent"]}], ids=["listed", "asked for"]
)
def test_a_field_of_the_tools_own_stays(more: dict) -> None:
    schema, shape = with_reason(PLAIN | more)
    assert schema is None
    assert (shape.reason, shape.changes_calls) == ("native", False)


def test_both_changes_meet_in_one_schema() -> None:
    schema = PLAIN | {"properties": {"env": {"type": "object", "additionalProperties": {"type": "string"}}}}
    found, shape = shaped("t", schema, reason=ReasonField("why"), translate=True)
    assert list(found["properties"]) == ["why", "env"]
    assert shape == ToolShape("added", "why", (("env",),), "", "t")
    only, shape = shaped("t", schema, reason=None, translate=True)
    assert list(only["properties"]) == ["env"]
    assert shape == ToolShape("left", "", (("env",),), "off", "t")
    assert shape.changes_calls


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(TOOLS, st.booleans(), st.booleans(), st.data())
def test_a_call_under_the_schema_that_went_out_is_valid_under_the_clients(
    schema: dict, translate: bool, asks: bool, data: st.DataObject
) -> None:
    found, shape = shaped("t", schema, reason=ReasonField() if asks else None, translate=translate)
    sent = schema if found is None else found
    written = data.draw(values(sent))
    assert is_valid(written, sent)
    got = turned(json.dumps(written), shape)
    assert is_valid(json.loads(got.arguments), schema)
    assert "intent" not in json.loads(got.arguments)
    assert got.why == (("captured" if got.intent else "absent") if asks else "left")


def test_the_tools_of_recorded_agents_get_the_field_and_keep_their_own_keys(shared) -> None:
    seen = dict[str, dict]()
    for path in sorted((shared / "captures").glob("*/turn0[12].json")):
        body = json.loads(path.read_text()).get("body") or {}
        for tool in body.get("tools") or [] if isinstance(body, dict) else []:
            form = tool.get("function", tool)
            schema = form.get("input_schema") or form.get("parameters")
            if schema:
                seen[json.dumps(schema)] = schema
    assert len(seen) > 20
    for schema in seen.values():
        found, shape = shaped("t", schema, reason=ReasonField("reason_of_call"), translate=True)
        assert shape.reason == "added", schema
        assert list(found["properties"]) == ["reason_of_call", *schema.get("properties", {})]
        assert [key for key in found if key in schema] == list(schema)
