"""Arguments reach the client without the field and with maps as maps, however their text is cut, and else untouched."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass

import pytest
from engine.schema_values import TEXTS
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.engine.open_maps import Every
from coldpress.engine.tool_arguments import (
    MAX_INTENT_CHARACTERS,
    ArgumentFilter,
    KeptCall,
    Turned,
    call_key,
    packed,
    turned,
    unpacked,
)
from coldpress.engine.tool_schemas import ToolShape

ADDED = ToolShape("added", "intent")
NATIVE = ToolShape("native", "intent")
MAPS = ToolShape("added", "intent", (("env",), ("list", Every.ITEM, "m")))


def refused(word: str) -> None:
    raise ValueError(word)


def is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=refused)
    except ValueError:
        return False
    return True


def streamed(text: str, cuts: Iterable[int], shape: ToolShape) -> Turned:
    """What comes of `text` in fragments that begin at `cuts`."""
    through, given, at = ArgumentFilter(shape), "", 0
    for cut in [*sorted(cuts), len(text)]:
        given += through.feed(text[at:cut])
        at = cut
    given += through.end()
    assert through.written == text
    assert through.turned.arguments == given
    return through.turned


@pytest.mark.parametrize(
    ("written", "expected", "intent", "why"),
    [
        ('{"intent":"x","a":1}', '{"a":1}', "x", "captured"),
        ('{"intent": "x", "a": 1}', '{"a": 1}', "x", "captured"),
        ('{"a": 1, "intent": "x", "b": 2}', '{"a": 1, "b": 2}', "x", "captured"),
        ('{"a": 1, "intent": "x"}', '{"a": 1}', "x", "captured"),
        ('{"intent":"x"}', "{}", "x", "captured"),
        (' { "intent" : "x" } ', " {} ", "x", "captured"),
        ('{\n  "a": 1,\n  "intent": "x"\n}', '{\n  "a": 1\n}', "x", "captured"),
        ('{\n  "intent": "x",\n  "a": 1\n}', '{\n  "a": 1\n}', "x", "captured"),
        ('{"intent":"x","intent":"y","a":1}', '{"a":1}', "y", "captured"),
        ('{"intent":"x","a":1,"intent":2}', '{"a":1}', None, "not_text"),
        (r'{"int\u0065nt":"\u00e9\n\"","a":"\ud83d"}', r'{"a":"\ud83d"}', 'é\n"', "captured"),
        ('{"a":{"intent":"x"},"b":[{"intent":"y"}]}', '{"a":{"intent":"x"},"b":[{"intent":"y"}]}', None, "absent"),
        ('{"intents":"x","inten":"y","":0}', '{"intents":"x","inten":"y","":0}', None, "absent"),
        ('{"a":"\\"intent\\":1","intent":"x"}', '{"a":"\\"intent\\":1"}', "x", "captured"),
        ('{"intent":{"intent":[1,"}"]},"a":1e400}', '{"a":1e400}', None, "not_text"),
        ('{"intent":null}', "{}", None, "not_text"),
        ('{"intent":"  ","a":1.0}', '{"a":1.0}', None, "absent"),
        ('{"intent":"\\ud83d stays"}', "{}", "\ufffd stays", "captured"),
        ("{}", "{}", None, "absent"),
        ("", "", None, "absent"),
    ],
)
def test_the_field_goes_wherever_it_stands(written: str, expected: str, intent: str | None, why: str) -> None:
    assert turned(written, ADDED) == Turned(expected, intent, why)
    for cut in range(len(written)):
        assert streamed(written, [cut], ADDED) == Turned(expected, intent, why)
    assert streamed(written, range(len(written)), ADDED) == Turned(expected, intent, why)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param('{"a":1,"intent":"look fo', '{"a":1', id="cut off in the field: it stays away"),
        pytest.param('{"a":1,"intent":"x"', '{"a":1', id="cut off behind the field"),
        pytest.param('{"intent":"x","a":[1,', '{"a":[1,', id="cut off behind it"),
        pytest.param('{"a":1,"inte', '{"a":1,"inte', id="cut off in a key that may be another"),
        pytest.param('{"a":1, ', '{"a":1, ', id="cut off behind a comma"),
        pytest.param('{"a":"x\\', '{"a":"x\\', id="cut off in an escape"),
        pytest.param(" { ", " { ", id="cut off in front of everything"),
        pytest.param('["intent"]', '["intent"]', id="an array"),
        pytest.param('"intent"', '"intent"', id="text"),
        pytest.param('{"intent":"x",}', "{,}", id="a comma too many stays one"),
        pytest.param('{"intent":"x","a":1,}', '{"a":1,}', id="a comma too many at the end"),
        pytest.param('{"intent":"x" "a":1}', '{"intent":"x" "a":1}', id="no comma: not recognised"),
        pytest.param('{"a":1,"intent":x}', '{"a":1,"intent":x}', id="a value that is none"),
        pytest.param('{"a":1,"intent":NaN}', '{"a":1,"intent":NaN}', id="a number that is none"),
        pytest.param('{"a":1,"intent"}', '{"a":1,"intent"}', id="no value"),
        pytest.param('{"a":1,"intent" "x"}', '{"a":1,"intent" "x"}', id="no colon"),
        pytest.param('{"intent":"x","a":1]', '{"a":1]', id="the wrong bracket"),
        pytest.param('{"intent":"x","a":1} {}', '{"a":1} {}', id="more than one object"),
        pytest.param("{'intent':1}", "{'intent':1}", id="the wrong quotes"),
    ],
)
def test_what_is_no_object_is_passed_on_but_for_a_field_that_was_recognised(written: str, expected: str) -> None:
    assert turned(written, ADDED) == Turned(expected, None, "unreadable")
    assert streamed(written, range(len(written)), ADDED) == Turned(expected, None, "unreadable")
    assert not is_json(written) or written == expected
    assert is_json(written) == is_json(expected)


def test_a_reason_nested_deeper_than_can_be_decoded_goes_too() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    assert turned(f'{{"a":1,"intent":{deep}}}', ADDED) == Turned('{"a":1}', None, "not_text")
    assert turned(f'{{"env":{deep}}}', MAPS).arguments == f'{{"env":{deep}}}'


def test_fragments_outside_the_field_go_out_at_once() -> None:
    through = ArgumentFilter(ADDED)
    steps = [
        ('{"pa', '{"pa'),
        ('th": "a', 'th": "a'),
        ('.py"', '.py"'),
        (" ,", " "),
        (' "i', ""),
        ("x", ', "ix'),
        ('": [1,', '": [1,'),
        ('2], "int', "2]"),
        ('ent": "see', ""),
        ('", "b"', ', "b"'),
        (":1}", ":1}"),
    ]
    assert [through.feed(fragment) for fragment, _ in steps] == [given for _, given in steps]
    assert through.end() == ""
    assert through.turned == Turned('{"path": "a.py" , "ix": [1,2], "b":1}', "see", "captured")


def test_only_the_argument_that_holds_a_map_is_held_back() -> None:
    through = ArgumentFilter(MAPS)
    steps = [
        ('{"a":"b', '{"a":"b'),
        ('","env":[{"key":"A",', '"'),
        ('"value":1.0}', ""),
        (' ] ,"c":', ',"env":{"A":1.0} ,"c":'),
        ("1}", "1}"),
    ]
    assert [through.feed(fragment) for fragment, _ in steps] == [given for _, given in steps]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('{"env" : [ ] , "intent":"x"}', '{"env" : {} }'),
        (
            '{"list":[{"m":[{"key":"a","value":[]}],"n": 1.0}, {"m":{}}]}',
            '{"list":[{"m":{"a":[]},"n": 1.0}, {"m":{}}]}',
        ),
        (r'{"e\u006ev":[{"key":"a","value":1}]}', r'{"e\u006ev":{"a":1}}'),
        ('{"other":[{"key":"a","value":1}]}', '{"other":[{"key":"a","value":1}]}'),
        ('{"list":{"m":[{"key":"a","value":1}]}}', '{"list":{"m":[{"key":"a","value":1}]}}'),
        ('{"env":[{"key":"a","value":1}', '{"env":[{"key":"a","value":1}'),
        ('{"env":[{"key":"a","value":01}],"a":1}', '{"env":[{"key":"a","value":01}],"a":1}'),
    ],
)
def test_lists_become_maps_at_their_places_only(written: str, expected: str) -> None:
    assert turned(written, MAPS).arguments == expected
    assert streamed(written, range(len(written)), MAPS).arguments == expected


@pytest.mark.parametrize(
    ("written", "intent", "why"),
    [
        ('{"a":1, "intent": "x"}', "x", "native"),
        ('{"intent": ["x"]}', None, "not_text"),
        ('{"intent": null}', None, "absent"),
        ('{"a":{"intent":"x"}}', None, "absent"),
        ('{"intent": "x"', None, "unreadable"),
        ("[]", None, "unreadable"),
    ],
)
def test_a_field_of_the_tools_own_is_read_and_stays(written: str, intent: str | None, why: str) -> None:
    assert streamed(written, range(len(written)), NATIVE) == Turned(written, intent, why)


def test_a_tool_that_was_left_alone_keeps_every_byte() -> None:
    assert streamed('{"intent": "x"}', [3], ToolShape("left", why="off")) == Turned('{"intent": "x"}', None, "left")


def test_a_reason_is_bounded_for_keeping() -> None:
    assert turned(json.dumps({"intent": "é" * 5_000}), ADDED).intent == "é" * MAX_INTENT_CHARACTERS


@pytest.mark.parametrize(
    ("front", "piece", "behind"),
    [
        pytest.param('{"intent":"x",', " " * 16, '"a":1}', id="blanks in front of a key"),
        pytest.param("{", " " * 16, '"a":1}', id="blanks in front of the first key"),
        pytest.param('{"\\u0061', "k" * 16, '":1}', id="a key with an escape"),
    ],
)
def test_much_in_front_of_a_member_costs_no_more_than_its_length(front: str, piece: str, behind: str) -> None:
    through, count = ArgumentFilter(ADDED), 200_000
    began = time.thread_time()
    given = [through.feed(front), *[through.feed(piece) for _ in range(count)], through.feed(behind), through.end()]
    assert time.thread_time() - began < 5
    assert "".join(given) == (front + piece * count + behind).replace('"intent":"x",' + piece * count, "")


def test_a_key_that_is_too_long_for_the_field_goes_on_at_once() -> None:
    through = ArgumentFilter(ADDED)
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in "intent")
    assert through.feed('{"' + escaped) == "{"
    assert through.feed('":"x","\\u0061' + "k" * 200) == '"\\u0061' + "k" * 200
    assert through.feed('k":1}') + through.end() == 'k":1}'
    assert through.turned.intent == "x"


SPACES = st.sampled_from(["", "", " ", "\n  ", "\t\r\n"])
RAW_VALUES = st.sampled_from(
    [
        *("1.0", "1e400", "-0", "123456789012345678901234567890", "true", "null", '""', "[]", "{}", "[ 1 , {} ]"),
        *('{"intent" : "no"}', r'"\ud83d\ude00 \ud83d \\"', r'"a\"intent\":1,"', '[{"key":"a","value":1}]', '"{[,"'),
    ]
) | TEXTS.map(json.dumps)
KEYS = st.sampled_from(["a", "inten", "intents", "env", "list", "é", 'in"tent'])


@dataclass(frozen=True)
class Member:
    """A member of an object as it is written: the space in front, key, colon, value, the space behind."""

    space: str
    key: str
    colon: str
    value: str
    tail: str
    is_field: bool

    def __str__(self) -> str:
        return f"{self.space}{self.key}{self.colon}{self.value}{self.tail}"


@st.composite
def members(draw: st.DrawFn) -> Member:
    is_field = draw(st.booleans())
    if is_field:
        key = draw(st.sampled_from(['"intent"', r'"\u0069ntent"', r'"in\u0074en\u0074"']))
    else:
        key = json.dumps(draw(KEYS), ensure_ascii=draw(st.booleans()))
    colon = draw(SPACES) + ":" + draw(SPACES)
    return Member(draw(SPACES), key, colon, draw(RAW_VALUES), draw(SPACES), is_field)


def without_field(written: list[Member]) -> str:
    """The object's text, with every field taken out together with one comma, built from its parts."""
    kept = [member for member in written if not member.is_field]
    if not kept:
        return "{}" if written else "{ }"
    texts = [str(member) for member in kept]
    texts[0] = written[0].space + texts[0][len(kept[0].space) :]
    last = written[-1].tail if written[-1].is_field else ""
    return "{" + ",".join(texts) + last + "}"


def text_of(written: list[Member]) -> str:
    return "{" + ",".join(map(str, written)) + "}" if written else "{ }"


CUTS = st.lists(st.integers(0, 200), max_size=12)


@settings(max_examples=150)
@given(st.lists(members(), max_size=5), CUTS, SPACES)
def test_any_object_comes_out_without_the_field_wherever_it_is_cut(
    written: list[Member], cuts: list[int], around: str
) -> None:
    text, expected = (around + whole + around for whole in (text_of(written), without_field(written)))
    got = streamed(text, [min(cut, len(text)) for cut in cuts], ADDED)
    assert got == turned(text, ADDED)
    assert got.arguments == expected
    pairs = json.loads(text, object_pairs_hook=lambda found: [pair for pair in found if pair[0] != "intent"])
    assert [key for key, _ in json.loads(expected, object_pairs_hook=list)] == [key for key, _ in pairs]
    last = next((json.loads(member.value) for member in reversed(written) if member.is_field), "")
    assert got.why == ("not_text" if not isinstance(last, str) else "captured" if last.strip() else "absent")


@settings(max_examples=150)
@given(st.lists(members(), max_size=4), st.lists(st.integers(0, 120), min_size=1, max_size=3), st.data())
def test_a_broken_text_stays_broken_and_no_valid_object_shows_the_field(
    written: list[Member], places: list[int], data: st.DataObject
) -> None:
    text = text_of(written)
    for place in places:  # a sign is lost, doubled, or another one
        at = min(place, len(text))
        text = (
            text[:at] + data.draw(st.sampled_from(['"', "{", "}", "[", "]", ",", ":", "\\", "1", ""])) + text[at + 1 :]
        )
    for shape in (ADDED, MAPS):
        cuts = [min(cut, len(text)) for cut in data.draw(CUTS)]
        got = streamed(text, cuts, shape)
        assert got == turned(text, shape)
        assert is_json(got.arguments) == is_json(text)
        found = json.loads(got.arguments) if is_json(text) else None
        assert not isinstance(found, dict) or "intent" not in found


@settings(max_examples=100)
@given(st.lists(members(), max_size=4), CUTS)
def test_cuts_play_no_part_where_maps_come_back(written: list[Member], cuts: list[int]) -> None:
    text = text_of(written)
    got = streamed(text, [min(cut, len(text)) for cut in cuts], MAPS)
    assert got == turned(text, MAPS)
    expected = json.loads(text)
    expected.pop("intent", None)
    if expected.get("env") in ([], [{"key": "a", "value": 1}]):
        expected["env"] = {entry["key"]: entry["value"] for entry in expected["env"]}
    assert json.loads(got.arguments) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1,"b":[2.50]}', '{ "b": [2.5], "a": 1.0 }'),
        ('{"a":"\\u00e9\\/"}', '{"a":"é/"}'),
        ('{"a":"\\ud83d\\ude00"}', '{"a":"😀"}'),
        ('{"a":1,"a":2}', '{"a":2}'),
        ('{"n":12345678901234567890}', '{"n":12345678901234567000}'),
        ('{"n":-0.0}', '{"n":0}'),
        ("", "{}"),
    ],
)
def test_a_client_that_writes_arguments_anew_finds_the_same_key(one: str, other: str) -> None:
    assert call_key("s", "c", "t", one) == call_key("s", "c", "t", other)
    assert len(call_key("s", "c", "t", one)) == 32


def test_every_part_of_a_call_counts_for_its_key() -> None:
    calls = [
        ("s", "c", "t", '{"a":1}'),
        ("s2", "c", "t", '{"a":1}'),
        ("s", "c2", "t", '{"a":1}'),
        ("s", "c", "t2", '{"a":1}'),
        ("s", "c", "t", '{"a":"1"}'),
        ("s", "c", "t", '{"a":true}'),
        ("s", "c", "t", '{"a":'),
        ("s", "c", "t", '{"a": '),
        ("s", "ct", "", '{"a":1}'),
        ("s", "", "ct", '{"a":1}'),
        ("s", "c", "t", '{"a":"\ud83d"}'),
        ("s", "c", "t", "[" * 100_000),
    ]
    assert len({call_key(*call) for call in calls}) == len(calls)


@given(st.text(), st.none() | st.text())
def test_a_kept_call_comes_back_as_it_was(arguments: str, intent: str | None) -> None:
    text = packed(arguments, intent)
    assert text.isascii()
    assert unpacked(text) == KeptCall(arguments, intent)


def test_a_character_in_two_halves_is_whole_again() -> None:
    assert unpacked(packed("\ud83d" + "\ude00", None)) == KeptCall("😀", None)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"arguments":1}', '{"arguments":"","intent":1}', '{"arg', "[" * 100_000]
)
def test_what_is_no_kept_call_is_none(text: str) -> None:
    assert unpacked(text) is None
