"""Anthropic's two compactions: a summary stands for what it summarises, is billed apart, and is known again."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import anthropic
import pytest
from testing.wires import TOOLS, Json, Reply, answered, messages, post, user

from coldpress.model.usage import Usage
from coldpress.testing import Asked, Rules, Script, Shell, StrictUpstream, task

THRESHOLD = "compact-2026-01-12"
ON_DEMAND = "compact-2026-09-04"
BINDING = "thinking-binding-controls-2026-08-01"
PRESERVING = "claude-opus-5-5"
STEPS = task(*(Shell(f"step {number}") for number in range(12)), thinking=True)
LOG = "a line of a log that somebody may need again, number after number\n" * 1100
THINKS: Json = {"thinking": {"type": "adaptive"}, "system": "be brief"}


def edit(**fields: Any) -> Json:
    trigger = {"type": "input_tokens", "value": 50_000}
    return {"context_management": {"edits": [{"type": "compact_20260112", "trigger": trigger, **fields}]}}


class Talk:
    """A client that keeps its whole history, or, once there is a summary, drops what stands before it."""

    def __init__(self, upstream: StrictUpstream, *, drops: bool = False, **fields: Any) -> None:
        self.upstream, self.drops, self.fields = upstream, drops, fields
        self.said: list[Json] = [user("go")]

    def turn(self) -> Json:
        body = messages(*self.said, **{"model": PRESERVING, "max_tokens": 2000, **THINKS, **self.fields})
        reply = post(self.upstream.url, "/v1/messages", body, {"anthropic-beta": f"{THRESHOLD},{BINDING}"})
        assert reply.status == 200, reply.body
        content = reply.json["content"]
        if self.drops and content[0]["type"] == "compaction":
            self.said.clear()
        self.said += answered(content, LOG)
        if not any(block["type"] == "tool_use" for block in content):
            self.said[-1] = user("and now?")
        return reply.json


def summaries(reply: Json) -> list[Json]:
    return [block for block in reply["content"] if block["type"] == "compaction"]


@pytest.mark.parametrize("drops", [False, True], ids=["keeps its history", "drops what is summarised"])
def test_a_summary_stands_for_what_is_before_it_whether_that_is_sent_or_not(drops: bool) -> None:
    with StrictUpstream(STEPS, rules=Rules(bind_thinking=True)) as upstream:
        talk = Talk(upstream, drops=drops, **edit(), cache_control={"type": "ephemeral"})
        replies = [talk.turn() for _ in range(9)]
        bills = [exchange.usage for exchange in upstream.inference]
    at = [number for number, reply in enumerate(replies) if summaries(reply)]
    assert len(at) == 2
    commands = [b["input"]["command"] for reply in replies for b in reply["content"] if b["type"] == "tool_use"]
    assert commands == [f"step {number}" for number in range(9)], "the script goes on where it was"
    for number in at:
        compacted, answering = replies[number]["usage"]["iterations"]
        assert (compacted["type"], answering["type"]) == ("compaction", "message")
        assert prompt_of(compacted) >= 50_000
        assert prompt_of(answering) < 5_000
        assert compacted["output_tokens"] > 10
    assert all(prompt_of(reply["usage"]) < 50_000 for reply in replies)
    assert all("iterations" not in reply["usage"] for n, reply in enumerate(replies) if n not in at)
    after = replies[at[0] + 1]["usage"]
    assert after["cache_creation_input_tokens"] < 25_000, "the next prompt holds the summary and the new result"
    assert sum(bill.prompt or 0 for bill in bills if bill) == sum(map(whole_bill, replies))


def prompt_of(usage: Json) -> int:
    fields = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(int(usage[name]) for name in fields)


def whole_bill(reply: Json) -> int:
    """Tokens of all prompts of a reply, as a careful client adds them up."""
    steps = reply["usage"].get("iterations") or [reply["usage"]]
    return sum(prompt_of(step) for step in steps)


def test_totals_leave_the_summary_out_and_the_bill_does_not() -> None:
    with StrictUpstream(STEPS) as upstream:
        talk = Talk(upstream, **edit())
        reply = next(reply for reply in iter(talk.turn, None) if summaries(reply))
        billed = upstream.inference[-1].usage
    usage = reply["usage"]
    compacted, answering = usage["iterations"]
    assert prompt_of(usage) == prompt_of(answering)
    assert usage["output_tokens"] == answering["output_tokens"]
    assert billed == Usage(
        fresh=compacted["input_tokens"] + answering["input_tokens"],
        read=0,
        write_short=0,
        write_long=0,
        output=compacted["output_tokens"] + answering["output_tokens"],
    )


def test_a_client_that_loses_the_summary_pays_for_one_each_time() -> None:
    with StrictUpstream(STEPS) as upstream:
        talk = Talk(upstream, **edit())
        replies = []
        for _ in range(7):
            replies.append(talk.turn())
            talk.said[-2]["content"] = [b for b in replies[-1]["content"] if b["type"] != "compaction"]
        bills = [exchange.usage for exchange in upstream.inference]
    assert [bool(summaries(reply)) for reply in replies] == [False] * 4 + [True] * 3
    assert all(bill is not None and (bill.prompt or 0) > 50_000 for bill in bills[4:])


def test_a_pause_ends_the_answer_with_the_summary() -> None:
    with StrictUpstream(STEPS) as upstream:
        talk = Talk(upstream, **edit(pause_after_compaction=True, instructions="Name each step."))
        reply = next(reply for reply in iter(talk.turn, None) if summaries(reply))
        assert reply["stop_reason"] == "compaction"
        (block,) = reply["content"]
        assert "Name each step." in block["content"]
        (step,) = reply["usage"]["iterations"]
        assert step["type"] == "compaction" and prompt_of(reply["usage"]) == 0
        going_on = talk.turn()
    assert [b["input"]["command"] for b in going_on["content"] if b["type"] == "tool_use"] == ["step 4"]


def test_cleared_results_count_no_more_towards_the_threshold() -> None:
    clear = {"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 1}}
    fields = edit()
    fields["context_management"]["edits"].insert(0, {**clear, "keep": {"type": "tool_uses", "value": 1}})
    with StrictUpstream(STEPS) as upstream:
        talk = Talk(upstream, **fields)
        body = messages(*talk.said, **fields)
        betas = {"anthropic-beta": f"{THRESHOLD}, context-management-2025-06-27"}
        assert post(upstream.url, "/v1/messages", body, betas).status == 200
        for _ in range(6):
            reply = post(upstream.url, "/v1/messages", messages(*talk.said, **fields), betas).json
            assert not summaries(reply)
            talk.said += answered(reply["content"], LOG)


SUMMARY = {"type": "compaction", "content": "What was said."}
FAILED = {"type": "compaction", "content": None}


def said(*content: Json) -> list[Json]:
    return [user("go"), {"role": "assistant", "content": list(content)}, user("on")]


@pytest.mark.parametrize(
    ("body", "betas", "says"),
    [
        pytest.param(messages(user("go"), **edit()), THRESHOLD, None, id="with its beta"),
        pytest.param(messages(user("go"), **edit()), "", "Extra inputs are not permitted", id="no beta"),
        pytest.param(
            messages(user("go"), **edit()),
            "context-management-2025-06-27",
            "Input tag 'compact_20260112'",
            id="another's",
        ),
        pytest.param(
            messages(user("go"), **edit(trigger={"type": "input_tokens", "value": 49_999})),
            THRESHOLD,
            "greater than or equal to 50000",
            id="a low trigger",
        ),
        pytest.param(
            messages(user("go"), **edit(trigger={"type": "tool_uses", "value": 60_000})),
            THRESHOLD,
            "trigger",
            id="uses",
        ),
        pytest.param(messages(*said(SUMMARY), **edit()), THRESHOLD, None, id="a replayed summary"),
        pytest.param(messages(*said(SUMMARY)), THRESHOLD, "require a `compact_20260112` edit", id="without its edit"),
        pytest.param(messages(*said(SUMMARY)), "", "Input tag 'compaction'", id="without any beta"),
        pytest.param(messages(*said(FAILED)), THRESHOLD, None, id="one that failed stands for nothing"),
        pytest.param(
            messages(*said({**SUMMARY, "content": ""}), **edit()), THRESHOLD, "at least 1 character", id="an empty one"
        ),
        pytest.param(
            messages({"role": "user", "content": [SUMMARY]}, **edit()), THRESHOLD, "must be the first", id="of the user"
        ),
    ],
)
def test_what_is_refused_of_thresholds(body: Json, betas: str, says: str | None) -> None:
    with StrictUpstream() as upstream:
        reply = post(upstream.url, "/v1/messages", body, {"anthropic-beta": betas})
    assert (reply.status, says is None) in ((200, True), (400, False)), reply.body
    assert says is None or says in reply.json["error"]["message"]


def test_a_failed_compaction_is_not_counted_and_hides_nothing() -> None:
    with StrictUpstream() as upstream:
        text = {"type": "text", "text": "hello"}
        with_it, without = (
            post(
                upstream.url, "/v1/messages/count_tokens", messages(*said(*blocks)), {"anthropic-beta": THRESHOLD}
            ).json
            for blocks in ([FAILED, text], [text])
        )
    assert with_it == without


class Kept:
    """A conversation that is compacted on demand, all but its last two turns."""

    def __init__(self, upstream: StrictUpstream, *, model: str = PRESERVING, turns: int = 6, keep: int = 4) -> None:
        self.upstream = upstream
        self.fields: Json = {"model": model, "max_tokens": 2000, **THINKS}
        history: list[Json] = [user("go")]
        for number in range(turns):
            reply = self.send(history)
            assert reply.status == 200, reply.body
            history += answered(reply.json["content"], f"output {number}")
        self.sent, self.kept = history[:-keep], history[-keep:]

    def send(self, listed: list[Json], *, betas: str = f"{ON_DEMAND},{BINDING}", **more: Any) -> Reply:
        body = messages(*listed, **{**self.fields, **more})
        return post(self.upstream.url, "/v1/messages", body, {"anthropic-beta": betas})

    def compact(self, **more: Any) -> Json:
        reply = self.send(self.sent, **{"compaction": {"type": "summarize"}, **more})
        assert reply.status == 200, reply.body
        return reply.json

    def swapped(self) -> list[Json]:
        return [{"role": "assistant", "content": self.compact()["content"]}, *self.kept]


BOUND = Rules(bind_thinking=True)


def test_an_answer_on_demand_is_one_signed_block() -> None:
    with StrictUpstream(STEPS, rules=BOUND) as upstream:
        kept = Kept(upstream)
        reply = kept.compact(compaction={"type": "summarize", "instructions": "Name each step."})
        billed = upstream.inference[-1].usage
    assert reply["stop_reason"] == "compaction"
    (block,) = reply["content"]
    assert set(block) == {"type", "content", "encrypted_content", "signature", "tool_changes"}
    assert block["tool_changes"] == [] and "Name each step." in block["content"]
    assert "step 3" in block["content"] and "step 4" not in block["content"]
    (step,) = reply["usage"]["iterations"]
    assert step["type"] == "compaction" and prompt_of(reply["usage"]) == 0
    assert billed is not None
    assert (billed.prompt, billed.output) == (prompt_of(step), step["output_tokens"])


def test_kept_turns_stay_valid_behind_a_summary_on_a_model_that_preserves_thinking() -> None:
    with StrictUpstream(STEPS, rules=BOUND) as upstream:
        kept = Kept(upstream)
        listed = kept.swapped()
        for number in range(6, 9):
            reply = kept.send(listed)
            assert reply.status == 200, reply.body
            assert reply.json["input_transformations"] == []
            assert f"'step {number}'" in str(reply.json["content"]), "the script goes on where it was"
            listed += answered(reply.json["content"], "more output")
        kept.sent, kept.kept = listed[:-2], listed[-2:]
        again = kept.send(kept.swapped())
        assert again.status == 200, again.body
        assert "'step 9'" in str(again.json["content"])


def leave_out_a_turn(kept: Kept, listed: list[Json]) -> None:
    del listed[1:3]


def edit_a_kept_result(kept: Kept, listed: list[Json]) -> None:
    listed[2]["content"][0]["content"] = "output pressed"


def put_a_turn_between(kept: Kept, listed: list[Json]) -> None:
    listed.insert(1, user("a note"))


def change_the_system(kept: Kept, listed: list[Json]) -> None:
    kept.fields["system"] = "be long"


@pytest.mark.parametrize("change", [leave_out_a_turn, edit_a_kept_result, put_a_turn_between, change_the_system])
def test_kept_turns_are_refused_unless_they_follow_unchanged(change: Callable[[Kept, list[Json]], None]) -> None:
    with StrictUpstream(STEPS, rules=BOUND) as upstream:
        kept = Kept(upstream)
        listed = deepcopy(kept.swapped())
        change(kept, listed)
        reply = kept.send(listed)
    assert reply.status == 400
    assert "bound to a different conversation" in reply.json["error"]["message"]


def test_kept_turns_are_refused_where_the_summary_is_of_a_model_that_does_not_preserve() -> None:
    with StrictUpstream(STEPS, rules=BOUND) as upstream:
        kept = Kept(upstream, model="claude-opus-4-8")
        reply = kept.send(kept.swapped())
    assert reply.status == 400
    assert "bound to a different conversation" in reply.json["error"]["message"]


def forge(listed: list[Json]) -> None:
    listed[0]["content"][0]["signature"] = "Rm9yZ2Vk"


def rewrite(listed: list[Json]) -> None:
    listed[0]["content"][0]["content"] += " And more."


def add_a_tool_change(listed: list[Json]) -> None:
    removal = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "Bash"}}
    listed[0]["content"][0]["tool_changes"] = [removal]


def move_back(listed: list[Json]) -> None:
    listed.insert(0, user("go"))


def give_twice(listed: list[Json]) -> None:
    listed.append({"role": "assistant", "content": [listed[0]["content"][0]]})
    listed.append(user("on"))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        pytest.param(forge, "compaction_signature_invalid", id="a forged signature"),
        pytest.param(rewrite, "compaction_content_mismatch", id="another text"),
        pytest.param(add_a_tool_change, "compaction_tool_changes_mismatch", id="other tool changes"),
        pytest.param(move_back, "compaction_block_misplaced", id="not first"),
        pytest.param(give_twice, "compaction_block_ambiguous", id="twice"),
    ],
)
def test_a_signed_summary_comes_back_as_it_was_given(change: Callable[[list[Json]], None], code: str) -> None:
    with StrictUpstream(STEPS) as upstream:
        kept = Kept(upstream)
        listed = deepcopy(kept.swapped())
        assert kept.send(listed).status == 200
        change(listed)
        reply = kept.send(listed)
    assert reply.status == 400
    assert reply.json["error"]["details"] == {"error_code": code}


SUMMARIZE = {"compaction": {"type": "summarize"}}
PENDING = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}


@pytest.mark.parametrize(
    ("body", "betas", "says"),
    [
        pytest.param(messages(user("go"), **SUMMARIZE, model=PRESERVING), ON_DEMAND, None, id="with its beta"),
        pytest.param(messages(user("go"), **SUMMARIZE, model=PRESERVING), THRESHOLD, "Extra inputs", id="another beta"),
        pytest.param(
            messages(user("go"), **SUMMARIZE, model="claude-opus-4-5"), ON_DEMAND, "does not support", id="older model"
        ),
        pytest.param(
            messages(user("go"), **SUMMARIZE, **edit(), model=PRESERVING),
            f"{ON_DEMAND},{THRESHOLD}",
            "cannot be combined with `context_management`",
            id="both kinds",
        ),
        pytest.param(
            messages(user("go"), compaction={"type": "clear"}, model=PRESERVING), ON_DEMAND, "'summarize'", id="a type"
        ),
        pytest.param(
            messages(*said(PENDING)[:2], **SUMMARIZE, model=PRESERVING), ON_DEMAND, "not finished", id="a call"
        ),
    ],
)
def test_what_is_refused_on_demand(body: Json, betas: str, says: str | None) -> None:
    with StrictUpstream() as upstream:
        reply = post(upstream.url, "/v1/messages", body, {"anthropic-beta": betas})
    assert (reply.status, says is None) in ((200, True), (400, False)), reply.body
    assert says is None or says in reply.json["error"]["message"]


def sdk_turn(client: anthropic.Anthropic, *, stream: bool, **asked: Any) -> Any:
    if stream:
        with client.beta.messages.stream(**asked) as streaming:
            return streaming.get_final_message()
    return client.beta.messages.create(**asked)


@pytest.mark.parametrize("stream", [False, True], ids=["document", "stream"])
def test_the_official_sdk_is_compacted_at_a_threshold(stream: bool) -> None:
    listed: list[Any] = [{"role": "user", "content": "go"}]
    asked: Json = {"model": PRESERVING, "max_tokens": 2000, "tools": TOOLS, "betas": [THRESHOLD], **THINKS, **edit()}
    commands, seen = [], 0
    with StrictUpstream(STEPS, rules=BOUND) as upstream:
        client = anthropic.Anthropic(base_url=upstream.url, api_key="any", max_retries=0)
        for _ in range(9):
            reply = sdk_turn(client, stream=stream, messages=listed, **asked)
            listed.append({"role": "assistant", "content": reply.content})
            calls = [block for block in reply.content if block.type == "tool_use"]
            commands += [call.input["command"] for call in calls]
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": LOG} for call in calls]
            listed.append({"role": "user", "content": results})
            if reply.content[0].type == "compaction":
                seen += 1
                assert reply.content[0].content.startswith("Summary") and reply.content[0].encrypted_content
                assert [step.type for step in reply.usage.iterations] == ["compaction", "message"]
    assert seen == 2
    assert commands == [f"step {number}" for number in range(9)]


@pytest.mark.parametrize("stream", [False, True], ids=["document", "stream"])
def test_the_official_sdk_compacts_on_demand_and_goes_on(stream: bool) -> None:
    asked: Json = {"model": PRESERVING, "max_tokens": 2000, "tools": TOOLS, "betas": [ON_DEMAND], **THINKS}
    with StrictUpstream(STEPS, rules=BOUND) as upstream:
        kept = Kept(upstream)
        client = anthropic.Anthropic(base_url=upstream.url, api_key="any", max_retries=0)
        reply = sdk_turn(client, stream=stream, messages=kept.sent, **asked, **SUMMARIZE)
        assert reply.stop_reason == "compaction" and reply.content[0].signature
        assert [step.type for step in reply.usage.iterations] == ["compaction"]
        first = {"role": "assistant", "content": [block.model_dump() for block in reply.content]}
        going_on = sdk_turn(client, stream=stream, messages=[first, *kept.kept], **asked)
        with pytest.raises(anthropic.BadRequestError) as refused:
            sdk_turn(client, stream=False, messages=[*kept.kept[-2:], first, user("on")], **asked)
    assert going_on.stop_reason == "tool_use"
    assert refused.value.status_code == 400


def test_a_script_is_asked_with_what_was_really_sent() -> None:
    seen: list[int] = []

    def answer(asked: Asked) -> None:
        seen.append(asked.calls_made)

    with StrictUpstream(Script(STEPS.turns, answer=answer)) as upstream:
        kept = Kept(upstream, turns=4, keep=2)
        kept.send(kept.swapped())
    assert seen == [0, 1, 2, 3, 3, 4]


def test_tool_changes_of_what_is_summarised_are_told_and_told_again() -> None:
    change = {"type": "tool_addition", "tool": {"name": "Read", "input_schema": {"type": "object"}}}
    added: Json = {"role": "system", "content": [{**change, "cache_control": {"type": "ephemeral"}}]}
    with StrictUpstream(STEPS) as upstream:
        kept = Kept(upstream, turns=2, keep=2)
        kept.sent.append(added)
        listed = kept.swapped()
        assert listed[0]["content"][0]["tool_changes"] == [change]
        kept.sent = listed
        assert kept.compact()["content"][0]["tool_changes"] == [change]
