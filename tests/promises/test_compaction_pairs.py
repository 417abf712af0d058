"""No compaction parts a call from its result, whatever shape the client's history has; what is in doubt stays whole."""

from __future__ import annotations

import copy
import json
from collections import Counter
from typing import Any

import pytest
from cases.talk import Json, assistant, chat_calls, chat_result, log, result, use, user
from compacting import FORMATS, applied, faultless, raw_messages, request, run, valid, windowed, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import failed_quietly, pressing

from coldpress.testing.anthropic_rules import check_messages_request
from coldpress.testing.chat_rules import check_chat_request
from coldpress.wire.registry import FormatName

SUMMARY = windowed(9_000, budget={"keep_turns": 2, "stages": ("summary",)})
BOTH = windowed(9_000, budget={"keep_turns": 2})
LAW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
BIG = log("big", 40)


def halves(listed: list[Json]) -> Counter[tuple[str, str]]:
    """How many calls, less results, there are of every id, the provider's own tools apart; zeros left out."""
    found: Counter[tuple[str, str]] = Counter()
    for message in listed:
        for call in message.get("tool_calls") or ():
            found["tool", call["id"]] += 1
        if message["role"] == "tool":
            found["tool", message["tool_call_id"]] -= 1
        for block in message["content"] if isinstance(message.get("content"), list) else ():
            kind = block["type"]
            if kind in ("tool_use", "server_tool_use"):
                found[kind.partition("_use")[0], block["id"]] += 1
            elif kind.endswith("tool_result"):
                found["tool" if kind == "tool_result" else "server_tool", block["tool_use_id"]] -= 1
    return Counter({key: count for key, count in found.items() if count})


def compact(name: FormatName, listed: list[Json], *, found: Any = SUMMARY) -> tuple[bool, list[Json]]:
    """Send a conversation from its first reply on; say whether anything went, and what was sent last."""
    ends = [n for n in range(1, len(listed) + 1) if n == len(listed) or listed[n]["role"] == "assistant"]
    bodies = [request(name, listed[:n]) for n in ends]
    went, check = False, check_messages_request if name == "anthropic" else check_chat_request
    with faultless(), pressing(found) as press:
        for body, prepared in zip(bodies, press.all(bodies, name), strict=True):
            assert not failed_quietly(prepared), prepared.receipt.notes
            mine, theirs = json.loads(body), json.loads(prepared.body)
            assert halves(theirs["messages"]) == halves(mine["messages"])
            if check(mine) is None:
                valid(prepared.body, name)
            went = went or applied(prepared)
            last = theirs["messages"]
    return went, last


def odd_history(name: FormatName, odd: list[Json], *, place: int = 3, steps: int = 14) -> list[Json]:
    """A long conversation with odd messages behind a step."""
    before, whole = written(name, [run(n) for n in range(place)]), written(name, [run(n) for n in range(steps)])
    return [*before, *odd, *whole[len(before) :]]


def calls(name: FormatName, *ids: str) -> Json:
    return assistant(*(use(i) for i in ids)) if name == "anthropic" else chat_calls(*((i, "Bash", {}) for i in ids))


def results(name: FormatName, *ids: str) -> list[Json]:
    if name == "anthropic":
        return [user(*(result(i, f"{BIG}\n{i}") for i in ids))]
    return [chat_result(i, f"{BIG}\n{i}") for i in ids]


ODD: dict[str, Any] = {
    "P01 a call without its result": lambda n: [calls(n, "a", "b"), *results(n, "b")],
    "P03 five in one reply": lambda n: [calls(n, *"vwxyz"), *results(n, *"vwxyz")],
    "P03 four of five": lambda n: [calls(n, *"vwxyz"), *results(n, *"vwxy")],
    "P05 results of the provider's own tool without a call": lambda n: [
        assistant({"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}, "Found.")
    ],
    "P07 a result behind words": lambda n: [assistant("Words."), *results(n, "z")],
    "P09 a call that was never answered": lambda n: [calls(n, "lost"), user("Never mind.")],
    "P13 two results for one call": lambda n: [calls(n, "twice"), *results(n, "twice", "twice")],
    "an id that is used again": lambda n: [calls(n, "c0"), *results(n, "c0")],
    "a result that comes a turn late": lambda n: [
        calls(n, "late"),
        user("Wait."),
        assistant("I wait."),
        *results(n, "late"),
    ],
    "two replies in a row": lambda n: [assistant("First I think."), calls(n, "q"), *results(n, "q")],
    "a role that nobody knows": lambda n: [{"role": "narrator", "content": "Meanwhile."}],
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("odd", ODD, ids=list(ODD))
@pytest.mark.parametrize(
    ("place", "stages"),
    [pytest.param(1, SUMMARY, id="early"), pytest.param(6, BOTH, id="between"), pytest.param(12, SUMMARY, id="late")],
)
def test_no_half_is_left_behind(name: FormatName, odd: str, place: int, stages: Any) -> None:
    if name == "openai_chat" and odd.startswith("P05"):
        pytest.skip("a block of the Messages API")
    went, _ = compact(name, odd_history(name, ODD[odd](name), place=place), found=stages)
    assert went, "what is beyond doubt makes room all the same"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "odd", ["P03 four of five", "P09 a call that was never answered", "a result that comes a turn late"]
)
def test_what_is_in_doubt_is_carried_over_and_what_stands_around_it_goes(name: FormatName, odd: str) -> None:
    """Else a later compaction would take another run of messages, and those of the earlier one would come back."""
    doubtful = ODD[odd](name)
    went, last = compact(name, odd_history(name, doubtful, place=6, steps=44))
    assert went
    at = next(i for i in range(len(last)) if last[i : i + len(doubtful)] == doubtful)
    assert at <= 3, "nothing but the task and the summary stands in front of it"
    assert len(last) - at - len(doubtful) < 2 * 16, "and not all that followed stands behind it"


@pytest.mark.parametrize("name", FORMATS)
def test_a_parallel_batch_goes_or_stays_as_one(name: FormatName) -> None:
    """With the cut in the middle of it: five calls, of which the keep zone would hold some results."""
    steps = odd_history(name, [calls(name, *"vwxyz"), *results(name, *"vwxyz")], place=9, steps=10)
    went, last = compact(name, steps)
    ids = [b["id"] for m in last for b in (m.get("tool_calls") or _blocks(m, "tool_use"))]
    assert went
    assert set("vwxyz") <= set(ids) or not set("vwxyz") & set(ids)


def _blocks(message: Json, kind: str) -> list[Json]:
    content = message["content"]
    return [block for block in content if block["type"] == kind] if isinstance(content, list) else []


@pytest.mark.parametrize("name", FORMATS)
def test_a_late_result_in_the_keep_zone_keeps_its_call(name: FormatName) -> None:
    """The keep zone would begin between the two."""
    late = ODD["a result that comes a turn late"](name)
    body = request(name, odd_history(name, late, place=12, steps=13))
    with faultless(), pressing(SUMMARY) as press:
        prepared = press(body, name)
    assert applied(prepared)
    mine, theirs = json.loads(body)["messages"], json.loads(prepared.body)["messages"]
    assert halves(theirs) == halves(mine) == Counter()
    assert sum("late" in json.dumps(message) for message in theirs) == 2, "both are still there"


def test_searches_of_the_providers_own_go_whole() -> None:
    search = assistant(
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        "I found it.",
    )
    listed = odd_history("anthropic", [search, user("Good.")])
    went, last = compact("anthropic", listed)
    assert went
    assert not any(b["type"].startswith("server") for m in last for b in m["content"])


def test_a_batch_whose_results_come_in_another_order_goes_whole() -> None:
    odd = [calls("openai_chat", "x", "y"), *results("openai_chat", "y", "x")]
    went, last = compact("openai_chat", odd_history("openai_chat", odd))
    assert went and not any(m.get("tool_call_id") in ("x", "y") for m in last)


def test_a_conversation_that_begins_with_a_greeting_of_the_model_is_made_shorter_too() -> None:
    """Nothing stands in front of the first reply: the task is the first thing that the user says."""
    listed = written("openai_chat", [run(n) for n in range(14)])[1:]
    went, last = compact("openai_chat", [{"role": "assistant", "content": "Hello, what shall I do?"}, *listed])
    assert went
    assert last[0]["content"] == "Hello, what shall I do?"
    assert last[1] == listed[0]


@pytest.mark.parametrize("name", FORMATS)
def test_the_unfinished_reply_that_a_client_wrote_for_the_model_stays_last(name: FormatName) -> None:
    said = written(name, [run(n) for n in range(14)])
    started: Json = {"role": "assistant", "content": "The next step is"}
    body = request(name, [*said, {"role": "user", "content": "Go on."}, started])
    with pressing(SUMMARY) as press:
        prepared = press(body, name)
    assert applied(prepared)
    assert valid(prepared.body, name)["messages"][-1] == started
    assert raw_messages(prepared.body, name)[-1] == raw_messages(body, name)[-1]


PARTS = st.lists(
    st.tuples(st.sampled_from(["run", "run", "run", "batch", *ODD]), st.integers(0, 3)), min_size=6, max_size=12
)


@pytest.mark.parametrize("name", FORMATS)
@LAW
@given(parts=PARTS)
def test_whatever_is_mixed_no_half_is_left_behind(name: FormatName, parts: list[tuple[str, int]]) -> None:
    listed = written(name, [])
    for number, (kind, salt) in enumerate(parts):
        if kind.startswith("P05") and name == "openai_chat":
            continue
        if kind in ("run", "batch"):
            ids = [f"k{number}_{k}" for k in range(1 if kind == "run" else 2 + salt)]
            listed += [calls(name, *ids), *results(name, *ids)]
        else:
            listed += copy.deepcopy(ODD[kind](name))
    compact(name, listed, found=windowed(4_000, budget={"keep_turns": 1 + len(parts) % 2}))
