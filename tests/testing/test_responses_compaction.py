"""Compaction on the Responses wire: by itself above a threshold, on demand in the input, and on its own path."""

from __future__ import annotations

import pytest
from testing.wires import Json, outputs, post, responses, user

from coldpress.testing import Asked, Rules, Script, Shell, StrictUpstream, said_steps, task

STEPS = task(*(Shell(f"cat {number}.txt") for number in range(6)), thinking=True, done="Finished.")
PATH = "/v1/responses"
OUTPUT = "one more line of a long log\n" * 150
MANAGED = {"context_management": [{"type": "compaction", "compact_threshold": 2500}]}


def work(
    upstream: StrictUpstream, *, keeps_old: bool, **more: object
) -> tuple[list[list[Json]], list[Json], list[Json]]:
    """Work through the task: the outputs and usages of every answer, and what the client held at the end."""
    said, answers, usages = [user("go")], [], []
    while True:
        reply = post(upstream.url, PATH, responses(*said, **more))
        assert reply.status == 200, reply.body
        output = reply.json["output"]
        answers.append(output)
        usages.append(reply.json["usage"])
        if output[0]["type"] == "compaction" and not keeps_old:
            said = []
        said += [*output, *outputs(output, OUTPUT)]
        if output[-1]["type"] != "function_call":
            return answers, usages, said


@pytest.mark.parametrize("progress", [None, said_steps], ids=["by calls", "by what was said"])
@pytest.mark.parametrize("keeps_old", [False, True], ids=["drops", "keeps"])
def test_a_client_may_drop_or_keep_what_was_compacted(keeps_old: bool, progress: None) -> None:
    script = Script(turns=STEPS.turns, closing=STEPS.closing, progress=progress)
    with StrictUpstream(script, rules=Rules(bind_reasoning=True)) as upstream:
        answers, usages, _ = work(upstream, keeps_old=keeps_old, **MANAGED)
        billed = [exchange.usage for exchange in upstream.exchanges]
    compacted = [number for number, output in enumerate(answers) if output[0]["type"] == "compaction"]
    assert len(compacted) > 1
    assert len(answers) == 7, "no step is done twice"
    assert answers[-1][-1]["content"][0]["text"] == "Finished."
    # The answer behind a compaction is billed for both passes, the next one for the short prompt only.
    assert usages[compacted[0]]["input_tokens"] > 2500 > usages[compacted[0] + 1]["input_tokens"]
    assert [usage["input_tokens"] for usage in usages] == [one.prompt for one in billed if one is not None]


def test_keeping_old_items_costs_nothing() -> None:
    bills = []
    for keeps_old in (True, False):
        with StrictUpstream(STEPS) as upstream:
            bills.append(work(upstream, keeps_old=keeps_old, **MANAGED)[1])
    assert bills[0] == bills[1]


def test_without_the_field_nothing_is_compacted() -> None:
    with StrictUpstream(STEPS) as upstream:
        answers, usages, _ = work(upstream, keeps_old=True)
    assert all(item["type"] != "compaction" for output in answers for item in output)
    assert usages[-1]["input_tokens"] > 2500


def test_a_stream_tells_of_it() -> None:
    with StrictUpstream(STEPS) as upstream:
        body = responses(user(OUTPUT * 4), **MANAGED, stream=True)
        events = post(upstream.url, PATH, body).events
    kinds = [event["type"] for event in events if event.get("output_index") == 0]
    assert kinds == ["response.output_item.added", "response.compaction.compacting", "response.output_item.done"]
    item = next(e["item"] for e in events if e["type"] == "response.output_item.done")
    assert item == events[-1]["response"]["output"][0]
    assert set(item) == {"id", "type", "encrypted_content"}
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_a_trigger_makes_one_and_nothing_else() -> None:
    with StrictUpstream(STEPS) as upstream:
        _, _, said = work(upstream, keeps_old=True)
        reply = post(upstream.url, PATH, responses(*said, {"type": "compaction_trigger"})).json
        assert [item["type"] for item in reply["output"]] == ["compaction"]
        after = post(upstream.url, PATH, responses(*said, *reply["output"], user("next"))).json
        short = post(upstream.url, PATH, responses(*reply["output"], user("next"))).json
    assert after["usage"]["input_tokens"] == short["usage"]["input_tokens"] < reply["usage"]["input_tokens"] / 2


def test_a_tampered_item_is_refused() -> None:
    with StrictUpstream(STEPS) as upstream:
        item = post(upstream.url, PATH, responses(user("x"), {"type": "compaction_trigger"})).json["output"][0]
        sealed = item["encrypted_content"]
        for bad in (sealed[:-8], "A" + sealed[1:], sealed[:40] + ("x" if sealed[40] != "x" else "y") + sealed[41:]):
            reply = post(upstream.url, PATH, responses({**item, "encrypted_content": bad}, user("next")))
            assert reply.status == 400
            assert reply.json["error"]["code"] == "invalid_encrypted_content"
        assert post(upstream.url, PATH, responses(item, user("next"))).status == 200


def test_the_path_of_its_own() -> None:
    asked: list[Asked] = []
    script = Script(answer=asked.append)  # type: ignore[func-returns-value]
    with StrictUpstream(script) as upstream:
        call = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "bash", "arguments": "{}"}
        said = [user("one"), call, {"type": "function_call_output", "call_id": "a", "output": OUTPUT}, user("two")]
        reply = post(upstream.url, PATH + "/compact", {"model": "gpt-5.6-sol", "input": said})
        assert reply.status == 200
        output = reply.json["output"]
        assert reply.json["object"] == "response.compaction"
        assert [(item["type"], item.get("role")) for item in output] == [
            ("message", "user"),
            ("message", "user"),
            ("compaction", None),
        ]
        assert [item["content"][0]["text"] for item in output[:2]] == ["one", "two"]
        billed = upstream.exchanges[-1].usage
        assert billed is not None
        assert (reply.json["usage"]["input_tokens"], reply.json["usage"]["output_tokens"]) == (
            billed.prompt,
            billed.output,
        )
        assert billed.output
        assert billed.prompt
        after = post(upstream.url, PATH, responses(*output, user("three")))
        assert after.status == 200
        assert after.json["usage"]["input_tokens"] < billed.prompt
        assert asked[-1].calls_made == 1
        bare = {"model": "m", "input": [{"type": "configuration_update"}]}
        assert post(upstream.url, PATH + "/compact", bare).status == 400
