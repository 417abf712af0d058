"""The Gemini wire of the strict upstream: its cache and bills, its streams, faults, and Google's own SDK."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest
from google import genai
from google.genai import types
from testing.gemini import MODEL, TOOLS, answered, ask, path, request, said
from testing.wires import Json, Reply, post

from coldpress.measure.cache import PrefixCache
from coldpress.measure.cache_rules import rules_for
from coldpress.testing import (
    BreakOff,
    Delivery,
    ErrorEvent,
    HttpError,
    Say,
    Script,
    Shell,
    StrictUpstream,
    Turn,
    task,
)
from coldpress.testing.gemini_meter import GeminiMeter
from coldpress.testing.gemini_provider import TOOL_PROMPT_TOKENS
from coldpress.testing.gemini_view import contents_of
from coldpress.wire.answer import read_facts

LONG = "a sentence that the model has to read. " * 900
STEPS = task(*(Shell(f"cat {number}.txt") for number in range(4)), thinking=True)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_bills_are_those_of_the_cache_simulator_and_are_read_back_to_the_token() -> None:
    rules = rules_for(MODEL, "google")
    assert rules is not None
    simulated, meter = PrefixCache(rules, short_seconds=300.0), GeminiMeter(Clock())
    contents: list[Json] = [said(LONG)]
    reads: list[int] = []
    with StrictUpstream(STEPS) as upstream:
        for _ in range(5):
            reply = ask(upstream, *contents)
            body = request(*contents)
            expected = simulated.send(meter.pieces(body, contents_of(body)), scope=MODEL.encode(), now=0.0)
            billed = upstream.exchanges[-1].usage
            assert billed is not None
            assert (billed.fresh, billed.read) == (expected.fresh, expected.read)
            read = read_facts("gemini", reply.body).usage
            assert (read.prompt, read.read or 0, read.output, read.reasoning or 0) == (
                billed.prompt,
                billed.read,
                billed.output,
                billed.reasoning,
            )
            reads.append(billed.read or 0)
            contents += answered(reply.json["candidates"][0]["content"], LONG)
    assert reads[0] == 0
    assert sorted(reads) == reads
    assert reads[-1] > 20_000


def test_a_prefix_is_forgotten_after_minutes_and_by_another_model() -> None:
    clock = Clock()
    with StrictUpstream(clock=clock) as upstream:

        def read(model: str = MODEL) -> int:
            post(upstream.url, path(model=model), request(said(LONG)))
            usage = upstream.exchanges[-1].usage
            assert usage is not None and usage.read is not None
            return usage.read

        assert [read() > 0, read() > 0, read("gemini-3.8-flash") > 0] == [False, True, False]
        clock.now = 299.0
        assert read() > 0
        clock.now = 1000.0
        assert read() == 0


def test_tools_of_the_server_put_tokens_into_the_prompt_that_are_counted_apart() -> None:
    with StrictUpstream() as upstream:
        plain = ask(upstream, said("x")).json["usageMetadata"]
        counted = ask(upstream, said("x"), tools=[*TOOLS, {"googleSearch": {}}]).json["usageMetadata"]
    assert "toolUsePromptTokenCount" not in plain
    assert counted["toolUsePromptTokenCount"] == TOOL_PROMPT_TOKENS
    held = counted["promptTokenCount"] + counted["candidatesTokenCount"] + TOOL_PROMPT_TOKENS
    assert counted["totalTokenCount"] == held


def test_no_zero_is_written_and_none_is_made_of_what_is_missing() -> None:
    with StrictUpstream() as upstream:
        reply = ask(upstream, said("x"))
    assert "cachedContentTokenCount" not in reply.json["usageMetadata"]
    assert read_facts("gemini", reply.body).usage.read is None


@pytest.mark.parametrize("wrapped", [False, True])
def test_tokens_are_counted_as_they_are_billed(wrapped: bool) -> None:
    body = request(said("what is it? " * 40))
    with StrictUpstream() as upstream:
        asked: Json = {"generateContentRequest": {"model": f"models/{MODEL}", **body}} if wrapped else body
        counted = post(upstream.url, path("countTokens"), asked).json["totalTokens"]
        post(upstream.url, path(), body)
        billed = upstream.exchanges[-1].usage
        assert upstream.exchanges[0].number is None
    assert billed is not None
    assert counted == billed.prompt


def streamed(script: Script, query: str) -> Reply:
    with StrictUpstream(script) as upstream:
        return post(upstream.url, path("streamGenerateContent", query=query), request(said("go")))


@pytest.mark.parametrize(
    "delivery", [Delivery(), Delivery(chunk_bytes=7), Delivery(crlf=True), Delivery(delta_characters=3)]
)
def test_events_and_the_array_say_the_same(delivery: Delivery) -> None:
    script = Script(closing=Turn((Say("It is what it is, ærlig talt. 🌲"), Shell("ls"))), delivery=delivery)
    events = streamed(script, "?alt=sse")
    array = streamed(script, "")
    assert events.headers["content-type"].startswith("text/event-stream")
    assert array.headers["content-type"] == "application/json"
    assert events.events == json.loads(array.body)
    chunks = events.events
    assert [chunk["candidates"][0].get("finishReason") for chunk in chunks][-1] == "STOP"
    assert all("finishReason" not in chunk["candidates"][0] for chunk in chunks[:-1])
    counts = [chunk["usageMetadata"].get("candidatesTokenCount", 0) for chunk in chunks]
    assert counts == sorted(counts)


def test_a_blocked_prompt_has_no_candidate() -> None:
    with StrictUpstream(Script(closing=Turn((), stop_reason="refusal"))) as upstream:
        reply = ask(upstream, said("x")).json
    assert reply["promptFeedback"] == {"blockReason": "SAFETY"}
    assert "candidates" not in reply


@pytest.mark.parametrize("query", ["?alt=sse", ""], ids=["events", "array"])
def test_an_error_in_the_middle_has_googles_shape(query: str) -> None:
    reply = streamed(Script(closing=Turn((Say("x" * 500),), fault=ErrorEvent(after=2))), query)
    chunks = reply.events if query else json.loads(reply.body)
    assert [sorted(chunk)[0] for chunk in chunks] == ["candidates", "candidates", "error"]
    assert chunks[-1]["error"]["status"] == "UNAVAILABLE"


@pytest.mark.parametrize("query", ["?alt=sse", ""], ids=["events", "array"])
def test_a_stream_that_breaks_off_is_not_closed(query: str) -> None:
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        streamed(Script(closing=Turn((Say("x" * 500),), fault=BreakOff(2))), query)


def test_a_scripted_status_has_googles_shape() -> None:
    with StrictUpstream(Script(faults={0: HttpError(429)})) as upstream:
        reply = ask(upstream, said("x"))
    assert (reply.status, reply.json["error"]["status"]) == (429, "RESOURCE_EXHAUSTED")


@pytest.mark.parametrize("stream", [False, True], ids=["document", "stream"])
def test_googles_sdk_finishes_a_task_with_tools(stream: bool) -> None:
    steps = task(Shell("git log"), (Shell("ls"), Shell("pwd")), thinking=True, done="That is all.")
    commands: list[Any] = []
    with StrictUpstream(steps) as upstream:
        client = genai.Client(api_key="any", http_options=types.HttpOptions(base_url=upstream.url))
        tool = types.Tool.model_validate(TOOLS[0])
        off = types.AutomaticFunctionCallingConfig(disable=True)
        config = types.GenerateContentConfig(tools=[tool], automatic_function_calling=off)
        said_so_far = [types.Content(role="user", parts=[types.Part(text="go")])]
        while True:
            if stream:
                chunks = list(client.models.generate_content_stream(model=MODEL, contents=said_so_far, config=config))
            else:
                chunks = [client.models.generate_content(model=MODEL, contents=said_so_far, config=config)]
            contents = [chunk.candidates[0].content for chunk in chunks if chunk.candidates]
            parts = [part for content in contents if content for part in content.parts or ()]
            calls = [part.function_call for part in parts if part.function_call]
            if not calls:
                break
            commands += [made.args for made in calls]
            answers = [
                types.Part.from_function_response(name=made.name or "", response={"output": "x"}) for made in calls
            ]
            said_so_far += [types.Content(role="model", parts=parts), types.Content(role="user", parts=answers)]
        assert [exchange.refusal for exchange in upstream.exchanges] == [None] * 3
    assert commands == [{"command": "git log"}, {"command": "ls"}, {"command": "pwd"}]
    assert "".join(part.text or "" for part in parts) == "That is all."
