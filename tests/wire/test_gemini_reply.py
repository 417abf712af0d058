"""What is read off Gemini's replies: streams cut anywhere, arrays of chunks, envelopes, errors, and missing counts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire.replies import JSON, SSE, events, tap

from coldpress.model.usage import Usage
from coldpress.wire.sse import TapResult

Json = dict[str, Any]

COUNTS = {
    "promptTokenCount": 120,
    "cachedContentTokenCount": 100,
    "candidatesTokenCount": 7,
    "thoughtsTokenCount": 30,
    "toolUsePromptTokenCount": 11,
    "totalTokenCount": 168,
}
USAGE = Usage(fresh=31, read=100, output=37, reasoning=30)


def chunk(text: str, counts: Json | None = None, **more: Any) -> Json:
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
    facts = {"modelVersion": "gemini-x-001", "responseId": "r1"}
    return {"candidates": [candidate], **({"usageMetadata": counts} if counts else {}), **facts, **more}


TALK = 'the word "usageMetadata" and {"error": {}} in prose \n\n data: {"usageMetadata": {"promptTokenCount": 1}}'
STREAM = (
    chunk("a", {"promptTokenCount": 120, "totalTokenCount": 120}),
    chunk(TALK, {"promptTokenCount": 120, "candidatesTokenCount": 3, "totalTokenCount": 123}),
    chunk("", COUNTS),
)
READ = TapResult(USAGE, "gemini-x-001", context_tokens=131, message_id="r1")


def enclosed(payloads: tuple[Json, ...]) -> tuple[Json, ...]:
    """The same as Code Assist writes it."""
    return tuple({"response": payload, "traceId": "t"} for payload in payloads)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("payloads", [STREAM, enclosed(STREAM)], ids=["bare", "in Code Assist's envelope"])
def test_a_stream_split_at_every_byte(payloads: tuple[Json, ...], newline: str) -> None:
    stream = events(*payloads, newline=newline)
    for cut in range(len(stream) + 1):
        assert tap("gemini", SSE, stream[:cut], stream[cut:]) == READ, cut
    assert tap("gemini", SSE, *(bytes([b]) for b in stream)) == READ


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(STREAM[-1], id="one reply"),
        pytest.param(list(STREAM), id="a stream that is an array"),
        pytest.param(enclosed(STREAM)[-1], id="one reply in the envelope"),
        pytest.param(list(enclosed(STREAM)), id="an array of envelopes"),
    ],
)
def test_a_whole_body(body: Any) -> None:
    written = json.dumps(body, indent=2).encode()
    for cut in range(0, len(written), 7):
        assert tap("gemini", JSON, written[:cut], written[cut:]) == READ


def test_no_usage_is_taken_from_a_stream_that_ended_before_its_counts_came() -> None:
    stream = events(chunk("a"), chunk("b"))
    found = tap("gemini", SSE, stream)
    assert found.usage == Usage()
    assert found.model == "gemini-x-001"


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param(COUNTS, USAGE, id="cached tokens are inside the prompt"),
        pytest.param(
            {"promptTokenCount": 10, "candidatesTokenCount": 2},
            Usage(10, None, None, None, 2, None),
            id="no count of cached tokens is none of zero",
        ),
        pytest.param(
            {"promptTokenCount": 10, "totalTokenCount": 10}, Usage(10, None, None, None, None, None), id="no output yet"
        ),
        pytest.param(
            {"promptTokenCount": 10, "thoughtsTokenCount": 40, "totalTokenCount": 50},
            Usage(10, None, None, None, 40, 40),
            id="cut while it thought",
        ),
        pytest.param(
            {"promptTokenCount": 10, "thoughtsTokenCount": 40},
            Usage(10, None, None, None, None, 40),
            id="thoughts alone do not say what was answered",
        ),
        pytest.param(
            {"promptTokenCount": 10, "cachedContentTokenCount": 0, "candidatesTokenCount": 2, "totalTokenCount": 12},
            Usage(10, 0, None, None, 2, None),
            id="nothing cached, and it says so",
        ),
        pytest.param({"candidatesTokenCount": 2}, Usage(None, None, None, None, 2, None), id="no prompt"),
        pytest.param({"promptTokenCount": -1, "candidatesTokenCount": "x"}, Usage(), id="what is no count"),
    ],
)
def test_counts(counts: Json, expected: Usage) -> None:
    assert tap("gemini", SSE, events(chunk("a", counts))).usage == expected


ERROR = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(events(chunk("a"), ERROR), id="an event"),
        pytest.param(events(chunk("a"), json.dumps([ERROR])), id="wrapped in an array"),
        pytest.param(events(chunk("a")) + json.dumps(ERROR, indent=1).encode(), id="bare, as the API itself does"),
        pytest.param(events(chunk("a")) + json.dumps([ERROR]).encode() + b"\n", id="bare and in an array"),
    ],
)
def test_an_error_inside_a_stream(stream: bytes) -> None:
    for cut in range(len(stream) + 1):
        found = tap("gemini", SSE, stream[:cut], stream[cut:])
        assert found.error_event, cut
        assert found.message_id == "r1"


@pytest.mark.parametrize("body", [ERROR, [ERROR], [chunk("a"), ERROR]], ids=["an object", "an array", "behind a chunk"])
def test_an_error_as_a_body(body: Any) -> None:
    assert tap("gemini", JSON, json.dumps(body).encode()).error_event


def test_an_error_that_the_model_only_talks_of_is_none() -> None:
    arguments = chunk("a")
    arguments["candidates"][0]["content"]["parts"] = [{"functionCall": {"name": "A", "args": {"error": {"code": 1}}}}]
    assert not tap("gemini", SSE, events(arguments, *STREAM)).error_event
    assert not tap("gemini", JSON, json.dumps(arguments).encode()).error_event


@pytest.mark.parametrize("body", [b"", b"[", b"[1]", b"null", b"{", b'{"usageMetadata":7}', b"\xff"])
@pytest.mark.parametrize("content_type", [SSE, JSON])
def test_what_is_no_reply_tells_nothing(body: bytes, content_type: str) -> None:
    assert tap("gemini", content_type, body) == TapResult()
    assert tap("gemini", content_type, b"data: " + body + b"\n\n") == TapResult()


FIELDS = ("promptTokenCount", "cachedContentTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
SAID = st.tuples(
    st.dictionaries(st.sampled_from(FIELDS), st.integers(0, 12), min_size=1, max_size=4),
    st.sampled_from(("gemini-1.5", "gemini-2.5", None)),
)


@given(st.lists(SAID, min_size=1, max_size=8))
def test_counts_stand_as_the_last_chunk_that_has_them_says(said: list[tuple[dict[str, int], str | None]]) -> None:
    """Most chunks with counts are never read; which ones must make no difference."""
    model, counts = "gemini-x-001", {"totalTokenCount": 1}
    chunks = [chunk("a", counts)]
    for given_counts, named in said:
        chunks.append(chunk("b", given_counts, modelVersion=named, responseId="later"))
        model, counts = named or model, {**counts, **given_counts}
    assert tap("gemini", SSE, events(*chunks)) == tap("gemini", SSE, events(chunk("a", counts, modelVersion=model)))


@pytest.mark.parametrize("size", [1 << 14, 1 << 16, 8 << 20])
def test_counts_in_a_chunk_with_a_picture_are_read_however_it_came(size: int) -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "iVBO" * (1 << 19)}}
    last = chunk("", COUNTS)
    last["candidates"][0] |= {"content": {"parts": [picture]}, "finishReason": "STOP"}
    stream = events(STREAM[0], last)
    found = tap("gemini", SSE, *(stream[at : at + size] for at in range(0, len(stream), size)))
    assert (found.usage, found.stop) == (USAGE, "STOP")


def test_an_error_behind_counts_leaves_them_standing() -> None:
    broken = {"error": {"code": 500, "message": "no", "status": "INTERNAL"}}
    found = tap("gemini", SSE, events(STREAM[0], STREAM[-1], broken))
    assert (found.usage, found.error_event) == (USAGE, True)


def test_counts_of_a_chunk_that_was_cut_short_do_not_take_the_place_of_others() -> None:
    whole = events(*STREAM, chunk("", COUNTS))
    assert tap("gemini", SSE, whole[: whole.rindex(b"totalTokenCount")]) == READ
