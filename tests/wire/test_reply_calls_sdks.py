"""The official SDKs put filtered replies together, streamed or whole."""

from __future__ import annotations

import json
from collections.abc import Iterator

import anthropic
import httpx2
import openai
import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState
from wire.calls import FILTERS, SSE, Asking, Made, anthropic_stream, chat_stream, cut

from coldpress.wire.registry import FormatName
from coldpress.wire.reply_calls import ReplyFilter

CALLS = (
    Made("toolu_1", "Bash", ('{"why": "to s', 'ee é \\"it\\"", "cmd"', ': "ls -l"', "}")),
    Made("toolu_2", "Read", ('{"why": "z", "path": "a.py"}',)),
    Made("toolu_3", "plain", ('{"why":', ' "stays"}')),
)
WANTED = [("Bash", {"cmd": "ls -l"}), ("Read", {"path": "a.py"}), ("plain", {"why": "stays"})]
KINDS = pytest.mark.parametrize("kind", ["holding", "early"])


def answering(format_name: FormatName, stream: bytes, kind: str) -> httpx2.Client:
    """An HTTP client whose every answer is a stream that went through a filter in small chunks."""

    def pieces() -> Iterator[bytes]:
        reply = ReplyFilter(format_name, SSE, Asking(FILTERS[kind]))
        for chunk in cut(stream, range(0, len(stream), 7)):
            if out := reply.feed(chunk):
                yield out
        yield reply.end()
        assert reply.faults == 0

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": SSE}, content=pieces())

    return httpx2.Client(transport=httpx2.MockTransport(answer))


@KINDS
def test_anthropic(kind: str) -> None:
    http = answering("anthropic", anthropic_stream(CALLS), kind)
    client = anthropic.Anthropic(api_key="k", http_client=http)  # type: ignore[arg-type]
    with client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}]) as stream:
        stopped = [event.content_block for event in stream if event.type == "content_block_stop"]
        final = stream.get_final_message()
    assert [(block.name, block.input) for block in final.content if block.type == "tool_use"] == WANTED
    # Agents run a call when its block stops: by then the arguments must be whole.
    assert [(block.name, block.input) for block in stopped if block.type == "tool_use"] == WANTED
    assert final.usage.output_tokens == 9


@KINDS
@pytest.mark.parametrize("finish", ["own", "last", "never"])
def test_openai(kind: str, finish: str) -> None:
    http = answering("openai_chat", chat_stream(CALLS, finish=finish), kind)
    client = openai.OpenAI(api_key="k", http_client=http)  # type: ignore[arg-type]
    state = ChatCompletionStreamState()
    done: list[tuple[str, object]] = []
    chunks = client.chat.completions.create(model="m", stream=True, messages=[{"role": "user", "content": "x"}])
    for chunk in chunks:
        for event in state.handle_chunk(chunk):
            if event.type == "tool_calls.function.arguments.done":
                done.append((event.name, json.loads(event.arguments)))
    message = state.current_completion_snapshot.choices[0].message
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()]
    assert calls == WANTED
    if finish != "never":  # without a reason to stop, this SDK never says that the last call is whole
        assert done == WANTED
    assert [call.id for call in message.tool_calls or ()] == ["toolu_1", "toolu_2", "toolu_3"]
