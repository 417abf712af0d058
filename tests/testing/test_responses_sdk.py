"""The official SDK finishes tool-using tasks on the Responses wire, streaming and not, stateless and not."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai.types.responses import Response
from testing.wires import RESPONSES_TOOLS

from coldpress.testing import (
    BreakOff,
    Call,
    ErrorEvent,
    HttpError,
    Read,
    Rules,
    Say,
    Script,
    Shell,
    StrictUpstream,
    Turn,
    task,
)

STEPS = task(Shell("git log"), (Shell("ls"), Read("a.py")), thinking=True, done="That is all.")
OUTPUT = "a line of a log\n" * 600
ASKED: dict[str, Any] = {"model": "gpt-5.6-sol", "tools": RESPONSES_TOOLS, "reasoning": {"summary": "auto"}}


def client_of(upstream: StrictUpstream) -> openai.OpenAI:
    return openai.OpenAI(base_url=upstream.url + "/v1", api_key="any", max_retries=0)


def ask(client: openai.OpenAI, asked: dict[str, Any], *, stream: bool) -> Response:
    if not stream:
        return client.responses.create(**asked)
    with client.responses.stream(**asked) as streaming:
        return streaming.get_final_response()


def results(reply: Response) -> list[Any]:
    calls = [item for item in reply.output if item.type == "function_call"]
    return [{"type": "function_call_output", "call_id": call.call_id, "output": OUTPUT} for call in calls]


def run(upstream: StrictUpstream, *, stream: bool, stateless: bool) -> list[Response]:
    """Work through the task; a stateless client sends every item back, as it was received."""
    client, said, previous = client_of(upstream), [{"role": "user", "content": "go"}], None
    replies: list[Response] = []
    while True:
        kept = {"store": False} if stateless else {"previous_response_id": previous}
        reply = ask(client, {**ASKED, **kept, "input": said}, stream=stream)
        replies.append(reply)
        if not results(reply):
            return replies
        own = [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in reply.output]
        said = [*said, *own, *results(reply)] if stateless else results(reply)
        previous = reply.id


@pytest.mark.parametrize("stateless", [True, False], ids=["stateless", "stored"])
@pytest.mark.parametrize("stream", [False, True], ids=["document", "stream"])
def test_a_task_is_finished(stream: bool, stateless: bool) -> None:
    with StrictUpstream(STEPS, rules=Rules(bind_reasoning=True)) as upstream:
        replies = run(upstream, stream=stream, stateless=stateless)
        billed = [exchange.usage for exchange in upstream.exchanges]
    calls = [item for reply in replies for item in reply.output if item.type == "function_call"]
    assert [call.arguments for call in calls] == [
        '{"command": "git log"}',
        '{"command": "ls"}',
        '{"command": "cat a.py"}',
    ]
    assert [item.type for item in replies[0].output] == ["reasoning", "message", "function_call"]
    assert replies[-1].output_text == "That is all."
    assert all(reply.input_transformations is None for reply in replies)
    for reply, usage in zip(replies, billed, strict=True):
        assert reply.usage is not None
        assert usage is not None
        assert (reply.usage.input_tokens, reply.usage.output_tokens) == (usage.prompt, usage.output)
        assert reply.usage.input_tokens_details.cached_tokens == usage.read
        assert reply.usage.input_tokens_details.cache_write_tokens == usage.write_short
    # What the second prompt wrote, the third one reads.
    assert replies[1].usage is not None
    assert replies[2].usage is not None
    assert replies[2].usage.input_tokens_details.cached_tokens == replies[1].usage.input_tokens > 1024


def test_a_stream_and_a_document_say_the_same() -> None:
    with StrictUpstream(STEPS) as upstream:
        streamed = run(upstream, stream=True, stateless=True)
    with StrictUpstream(STEPS) as upstream:
        plain = run(upstream, stream=False, stateless=True)
    for one, two in zip(streamed, plain, strict=True):
        left = one.model_dump(exclude={"output": {"__all__": {"parsed_arguments", "content"}}})
        assert left == two.model_dump(exclude={"output": {"__all__": {"parsed_arguments", "content"}}})
        assert one.output_text == two.output_text


def test_reasoning_is_whole_in_the_closing_event_only() -> None:
    with StrictUpstream(STEPS) as upstream:
        events = list(client_of(upstream).responses.create(**ASKED, input="go", store=False, stream=True))
        added = next(e.item for e in events if e.type == "response.output_item.added")
        done = next(e.item for e in events if e.type == "response.output_item.done")
        again = [{"role": "user", "content": "go"}, {**added.model_dump(exclude_none=True), "summary": []}]
        message = {"type": "message", "role": "assistant", "content": "x"}
        with pytest.raises(openai.BadRequestError, match=r"could not be verified. Reason: .*decrypted"):
            client_of(upstream).responses.create(**ASKED, input=[*again, message], store=False)
        whole = [again[0], done.model_dump(exclude_none=True), message]
        assert client_of(upstream).responses.create(**ASKED, input=whole, store=False).status == "completed"
    assert done.encrypted_content.startswith(added.encrypted_content)
    assert "Step 1" not in done.encrypted_content


def test_hosted_shells_and_free_text_tools_are_called_in_their_own_way() -> None:
    tools: list[Any] = [{"type": "shell"}, {"type": "custom", "name": "apply_patch"}]
    patch = Turn((Call("apply_patch", {"input": "*** Begin Patch"}),))
    script = Script(turns=(*task(Shell("ls -l")).turns, patch))
    asked: dict[str, Any] = {"model": "gpt-5.6-sol", "tools": tools, "store": False}
    with StrictUpstream(script) as upstream:
        client = client_of(upstream)
        one = ask(client, {**asked, "input": "go"}, stream=True)
        shell = one.output[-1]
        assert shell.type == "shell_call"
        assert shell.action.commands == ["ls -l"]
        said: list[Any] = [
            {"role": "user", "content": "go"},
            *(item.model_dump(exclude_none=True) for item in one.output),
        ]
        ended = {"stdout": "a.py\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
        said.append({"type": "shell_call_output", "call_id": shell.call_id, "output": [ended]})
        two = ask(client, {**asked, "input": said}, stream=True)
        custom = two.output[-1]
        assert custom.type == "custom_tool_call"
        assert (custom.name, custom.input) == ("apply_patch", "*** Begin Patch")
        said += [custom.model_dump(exclude_none=True)]
        with pytest.raises(openai.BadRequestError, match=f"No tool output found for custom tool call {custom.call_id}"):
            ask(client, {**asked, "input": said}, stream=False)
        said.append({"type": "custom_tool_call_output", "call_id": custom.call_id, "output": ""})
        assert ask(client, {**asked, "input": said}, stream=False).output_text == "All done."


def test_faults_reach_the_sdk() -> None:
    faults = {0: HttpError(429), 1: ErrorEvent(3, "server_error", "Overloaded"), 2: BreakOff(4)}
    asked: dict[str, Any] = {"model": "m", "input": "x"}
    with StrictUpstream(Script(faults=faults)) as upstream:
        client = client_of(upstream)
        with pytest.raises(openai.RateLimitError) as limited:
            client.responses.create(**asked)
        assert limited.value.code == "rate_limit_exceeded"
        events = list(client.responses.create(**asked, stream=True))
        assert [event.sequence_number for event in events] == [0, 1, 2, 3]
        assert (events[-1].type, events[-1].code, events[-1].message) == ("error", "server_error", "Overloaded")
        with pytest.raises(openai.APIConnectionError):
            list(client.responses.create(**asked, stream=True))


def test_a_cut_answer_says_so() -> None:
    script = Script(closing=Turn((Say("Once upon"),), stop_reason="max_tokens"))
    asked: dict[str, Any] = {"model": "m", "input": "x"}
    with StrictUpstream(script) as upstream:
        client = client_of(upstream)
        plain = client.responses.create(**asked)
        last = list(client.responses.create(**asked, stream=True))[-1]
    assert last.type == "response.incomplete"
    for reply in (plain, last.response):
        assert reply.status == "incomplete"
        assert reply.incomplete_details.reason == "max_output_tokens"
        assert reply.output_text == "Once upon"
