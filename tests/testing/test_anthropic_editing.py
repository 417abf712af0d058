"""Anthropic's context editing: what is cleared, what that costs, and what is refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import anthropic
import pytest
from testing.wires import TOOLS, Json, answered, messages, post, user

from coldpress.testing import Asked, Call, Rules, Say, Script, StrictUpstream, Think, Turn, task
from coldpress.testing.anthropic_editing import PLACEHOLDER, edit_prompt
from coldpress.testing.anthropic_view import Placed, render_order

BETA = "context-management-2025-06-27"
HEADERS = {"anthropic-beta": BETA}
PLACEHOLDER_TOKENS = len(PLACEHOLDER)
THINKS = {"thinking": {"type": "adaptive"}}
LOG = "a line of a log that nobody needs again\n" * 200


def length(placed: Placed) -> int:
    """Tokens that are easy to add up in a test: characters of results and of thinking, ten for anything else."""
    if placed.kind == "tool_result":
        return len(str(placed.block["content"]))
    return len(str(placed.block["thinking"])) if placed.kind == "thinking" else 10


def called(*sizes: int, names: str = "Bash", thinks: bool = False, text: str = "r") -> list[Json]:
    """A conversation with one call for each result size; `names` has one name, or one for each call."""
    said: list[Json] = [user("go")]
    tools = names.split() * (1 if " " in names else len(sizes))
    for number, (size, name) in enumerate(zip(sizes, tools, strict=True)):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {"command": "x"}}
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": text * size}
        thinking = [{"type": "thinking", "thinking": "t" * 50, "signature": "s"}] if thinks else []
        said += [{"role": "assistant", "content": [*thinking, call]}, {"role": "user", "content": [result]}]
    return said


def tools_edit(**fields: Any) -> Json:
    return {"type": "clear_tool_uses_20250919", **fields}


def above(tokens: int) -> Json:
    return {"trigger": {"type": "input_tokens", "value": tokens}}


def keep(uses: int) -> Json:
    return {"keep": {"type": "tool_uses", "value": uses}}


def least(tokens: int) -> Json:
    return {"clear_at_least": {"type": "input_tokens", "value": tokens}}


def edited(said: list[Json], *edits: Json) -> tuple[list[int], list[Json]]:
    """Which calls' results are cleared, and what is told of it."""
    body = {"messages": said, "context_management": {"edits": list(edits)}}
    result = edit_prompt(body, list(render_order(body)), length)
    results = [placed.block["content"] for placed in result.shown if placed.kind == "tool_result"]
    return [at for at, content in enumerate(results) if content == PLACEHOLDER], [dict(one) for one in result.applied]


@pytest.mark.parametrize(
    ("sizes", "edit", "cleared"),
    [
        pytest.param((900, 900, 900, 900), tools_edit(), [], id="under the usual trigger"),
        pytest.param((60_000, 60_000, 900, 900, 900), tools_edit(), [0], id="the newest three stay by default"),
        pytest.param((900, 900, 900, 900), tools_edit(**above(2000), **keep(1)), [0, 1], id="as the prompt grew"),
        pytest.param((900, 900), tools_edit(**above(1829), **keep(1)), [0], id="one token above the trigger"),
        pytest.param((900, 900), tools_edit(**above(1830), **keep(1)), [], id="at the trigger, not above it"),
        pytest.param((900, 900, 900), tools_edit(**above(100), **keep(0)), [0, 1, 2], id="keep none"),
        pytest.param((900, 900, 900), tools_edit(**above(100), **keep(9)), [], id="keep more than there are"),
        pytest.param((900, 900, 900), tools_edit(**above(2000), **keep(1), **least(1700)), [0, 1], id="just enough"),
        pytest.param((900, 900, 900), tools_edit(**above(2000), **keep(1), **least(1800)), [], id="not enough"),
        pytest.param((5, 5, 5), tools_edit(**above(10), **keep(1)), [], id="nothing is won with short results"),
        pytest.param(
            (900, 900, 900, 900),
            tools_edit(trigger={"type": "tool_uses", "value": 3}, **keep(2)),
            [0, 1],
            id="by the number of uses",
        ),
    ],
)
def test_which_results_are_cleared(sizes: tuple[int, ...], edit: Json, cleared: list[int]) -> None:
    found, applied = edited(called(*sizes), edit)
    assert found == cleared
    saved = sum(sizes[at] - PLACEHOLDER_TOKENS for at in cleared)
    told = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": len(cleared), "cleared_input_tokens": saved}
    assert applied == ([told] if cleared else [])


def test_excluded_tools_keep_their_results() -> None:
    said = called(900, 900, 900, 900, names="Bash memory Bash Bash")
    found, _ = edited(said, tools_edit(**above(100), **keep(1), exclude_tools=["memory"]))
    assert found == [0, 2]


@pytest.mark.parametrize(
    ("inputs", "emptied"),
    [
        pytest.param(False, [], id="by default they stay"),
        pytest.param(True, ["Bash", "Read"], id="all of them"),
        pytest.param(["Read"], ["Read"], id="those that are named"),
    ],
)
def test_arguments_go_with_their_results(inputs: bool | list[str], emptied: list[str]) -> None:
    body = {"messages": called(900, 900, 900, names="Bash Read Bash")}
    body["context_management"] = {"edits": [tools_edit(**above(2000), **keep(1), clear_tool_inputs=inputs)]}  # type: ignore[assignment]
    shown = edit_prompt(body, list(render_order(body)), length).shown
    calls = [placed.block for placed in shown if placed.kind == "tool_use"]
    assert [call["name"] for call in calls if call["input"] == {}] == emptied


def test_what_was_cleared_stays_cleared_and_nothing_else_until_the_prompt_has_grown_again() -> None:
    edit = tools_edit(**above(3000), **keep(1))
    found = [edited(called(*[900] * number), edit)[0] for number in range(1, 9)]
    first, then = [0, 1, 2], [0, 1, 2, 3, 4, 5]
    assert found == [[], [], [], first, first, first, then, then]


@pytest.mark.parametrize(
    ("kept", "left"),
    [
        pytest.param("all", 4, id="all"),
        pytest.param({"type": "all"}, 4, id="all, as an object"),
        pytest.param({"type": "thinking_turns", "value": 2}, 2, id="two turns"),
        pytest.param(None, 1, id="one by default"),
    ],
)
def test_old_thinking_is_taken_out(kept: object, left: int) -> None:
    body: Json = {"messages": called(9, 9, 9, 9, thinks=True)}
    edit = {"type": "clear_thinking_20251015", **({} if kept is None else {"keep": kept})}
    body["context_management"] = {"edits": [edit]}
    result = edit_prompt(body, list(render_order(body)), length)
    turns = [placed.message for placed in result.shown if placed.kind == "thinking"]
    assert turns == [1, 3, 5, 7][4 - left :]
    told = {
        "type": "clear_thinking_20251015",
        "cleared_thinking_turns": 4 - left,
        "cleared_input_tokens": 50 * (4 - left),
    }
    assert list(result.applied) == ([told] if left < 4 else [])


def thinking_first() -> list[Json]:
    return [{"type": "clear_thinking_20251015", "keep": "all"}, tools_edit()]


BAD_TRIGGER = tools_edit(trigger={"type": "input_tokens", "value": 0})


@pytest.mark.parametrize(
    ("edits", "betas", "more", "says"),
    [
        pytest.param([tools_edit()], "", {}, "context_management: Extra inputs are not permitted", id="no beta"),
        pytest.param([tools_edit()], BETA, {}, None, id="with its beta"),
        pytest.param([tools_edit()], f"one, {BETA},two", {}, None, id="a beta among others"),
        pytest.param(
            [tools_edit()], "compact-2026-01-12", {}, "Input tag 'clear_tool_uses_20250919'", id="another's beta"
        ),
        pytest.param([{"type": "clear_all"}], BETA, {}, "Input tag 'clear_all'", id="unknown edit"),
        pytest.param(thinking_first(), BETA, THINKS, None, id="thinking first"),
        pytest.param(thinking_first()[::-1], BETA, THINKS, "must be the first edit", id="thinking last"),
        pytest.param(
            thinking_first(), BETA, {}, "requires `thinking` to be enabled or adaptive", id="thinking that is off (T05)"
        ),
        pytest.param(
            thinking_first(), BETA, {"thinking": {"type": "disabled"}}, "to be enabled or adaptive", id="disabled (T05)"
        ),
        pytest.param([tools_edit(keeps=3)], BETA, {}, "keeps: Extra inputs are not permitted", id="unknown field"),
        pytest.param([BAD_TRIGGER], BETA, {}, "greater than or equal to 1", id="a trigger of nothing"),
        pytest.param([tools_edit(keep={"type": "turns", "value": 1})], BETA, {}, "keep: Input should", id="wrong kind"),
        pytest.param([tools_edit(exclude_tools="Edit")], BETA, {}, "valid list of strings", id="not a list"),
        pytest.param({"type": "clear"}, BETA, {}, "edits: Input should be a valid list", id="edits that are no list"),
    ],
)
def test_what_is_refused(edits: object, betas: str, more: Json, says: str | None) -> None:
    body = messages(user("go"), context_management={"edits": edits}, **more)
    with StrictUpstream() as upstream:
        replies = [post(upstream.url, path, body, {"anthropic-beta": betas}) for path in PATHS]
    for reply in replies:
        if says is None:
            assert reply.status == 200, reply.body
        else:
            assert reply.status == 400
            assert says in reply.json["error"]["message"]


PATHS = ("/v1/messages", "/v1/messages/count_tokens")


def test_the_memory_tool_is_called_and_answered_like_any_other() -> None:
    tool = {"type": "memory_20250818", "name": "memory"}
    call = Call("memory", {"command": "view", "path": "/memories"})
    with StrictUpstream(task(call)) as upstream:
        reply = post(upstream.url, "/v1/messages", messages(user("go"), tools=[tool]))
        (use,) = [block for block in reply.json["content"] if block["type"] == "tool_use"]
        assert (use["name"], use["input"]) == ("memory", {"command": "view", "path": "/memories"})
        said = [user("go"), *answered(reply.json["content"], "Empty.")]
        assert post(upstream.url, "/v1/messages", messages(*said, tools=[tool])).status == 200
        renamed = post(upstream.url, "/v1/messages", messages(user("go"), tools=[{**tool, "name": "notes"}]))
    assert "Input should be 'memory'" in renamed.json["error"]["message"]


def always_calling(asked: Asked) -> Turn:
    return Turn((Think(f"thought {asked.number}"), Say("Next."), Call("Bash", {"command": f"log {asked.number}"})))


def run(upstream: StrictUpstream, *, stream: bool, turns: int, **more: Any) -> list[anthropic.types.beta.BetaMessage]:
    """Let the official SDK work, with its whole history each time."""
    client = anthropic.Anthropic(base_url=upstream.url, api_key="any", max_retries=0)
    said: list[Any] = [{"role": "user", "content": "go"}]
    replies = []
    for _ in range(turns):
        asked: dict[str, Any] = {
            "model": "claude-opus-5-5",
            "max_tokens": 2000,
            "tools": TOOLS,
            "messages": said,
            "thinking": {"type": "adaptive"},
            "cache_control": {"type": "ephemeral"},
            **more,
        }
        if stream:
            with client.beta.messages.stream(**asked) as streaming:
                reply: Any = streaming.get_final_message()
        else:
            reply = client.beta.messages.create(**asked)
        replies.append(reply)
        said.append({"role": "assistant", "content": reply.content})
        calls = [block for block in reply.content if block.type == "tool_use"]
        said.append({"role": "user", "content": [answer(call) for call in calls]})
    return replies


def answer(call: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": call.id, "content": LOG}


@pytest.mark.parametrize("stream", [False, True], ids=["document", "stream"])
def test_the_official_sdk_clears_without_losing_thinking(stream: bool) -> None:
    """Signatures are checked on the history, which is whole, so a model that binds has nothing to refuse."""
    edits = [
        {"type": "clear_thinking_20251015", "keep": "all"},
        tools_edit(**above(6000), **keep(1), **least(2000)),
    ]
    with StrictUpstream(Script(answer=always_calling), rules=Rules(bind_thinking=True)) as upstream:
        replies = run(upstream, stream=stream, turns=9, betas=[BETA], context_management={"edits": edits})
        bills = [exchange.usage for exchange in upstream.inference]
    told = [reply.context_management.applied_edits for reply in replies if reply.context_management is not None]
    assert len(told) == len(replies)
    counts = [edit.cleared_tool_uses for (edit,) in told[5:] if edit.type == "clear_tool_uses_20250919"]
    assert not told[0] and counts == sorted(counts) and counts[-1] > 2
    sizes = [bill.prompt for bill in bills if bill is not None and bill.prompt is not None]
    assert max(sizes) < 8500


def test_the_cache_breaks_where_the_prompt_is_cleared_and_holds_afterwards() -> None:
    edits = [tools_edit(**above(6000), **keep(1))]
    with StrictUpstream(Script(answer=always_calling)) as upstream:
        replies = run(
            upstream, stream=False, turns=9, betas=[BETA], context_management={"edits": edits}, system="s" * 9000
        )
    uses = [applied_uses(reply) for reply in replies]
    fired = [now > before for before, now in pairwise(uses)]
    for (earlier, later), cleared in zip(pairwise(reply.usage for reply in replies), fired, strict=True):
        kept = (earlier.cache_read_input_tokens or 0) + (earlier.cache_creation_input_tokens or 0)
        read = later.cache_read_input_tokens or 0
        assert read < kept - 1000 if cleared else read == kept
    assert 1 < sum(fired) < len(fired)


def applied_uses(reply: anthropic.types.beta.BetaMessage) -> int:
    listed = reply.context_management.applied_edits if reply.context_management is not None else []
    return sum(edit.cleared_tool_uses for edit in listed if edit.type == "clear_tool_uses_20250919")


def test_counting_tells_what_there_was_before() -> None:
    body = messages(
        *called(900, 900, 900, text="word "), context_management={"edits": [tools_edit(**above(100), **keep(1))]}
    )
    with StrictUpstream() as upstream:
        counted = post(upstream.url, PATHS[1], body, HEADERS).json
        plain = post(upstream.url, PATHS[1], {k: v for k, v in body.items() if k != "context_management"}).json
        billed = post(upstream.url, PATHS[0], body, HEADERS).json["usage"]
    assert plain == {"input_tokens": counted["context_management"]["original_input_tokens"]}
    assert counted["input_tokens"] == billed["input_tokens"] < plain["input_tokens"] / 2


def test_a_prompt_that_fits_once_it_is_cleared_is_served() -> None:
    said = called(20_000, 20_000, 20_000, text="word ")
    edits = {"edits": [tools_edit(**above(100), **keep(1))]}
    with StrictUpstream(rules=Rules(window_tokens=30_000)) as upstream:
        refused = post(upstream.url, PATHS[0], messages(*said))
        served = post(upstream.url, PATHS[0], messages(*said, context_management=edits), HEADERS)
    assert (refused.status, served.status) == (400, 200)
    assert "prompt is too long" in refused.json["error"]["message"]
