"""C: a cut in a warm cache goes where it pays, and the upstream reads up to the edit because a mark of ours is set."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from bodies import changed_literals, without_marks
from cases.agents import AT, Agent, ChatAgent, Json, Turn, file_or_output, scene

from coldpress.measure.cache import PrefixCache
from coldpress.measure.cache_rules import LOOKBACK_BLOCKS, MAX_MARKS, OPENAI_STEPS
from coldpress.testing import Read, Rules, Shell, task
from coldpress.testing.anthropic_marks import check_marks, marks
from coldpress.testing.anthropic_view import render_order
from coldpress.testing.meter import Meter

FILES, LARGE, SMALL = 6, 8, 18
TURNS = FILES + LARGE + SMALL
STEPS = (
    *(Read(f"src/part_{number}.py") for number in range(FILES)),
    *(Shell(f"make part_{number}") for number in range(LARGE + SMALL)),
)
"""Files, which stay exact; then large outputs; then a long tail of small ones: little to write again behind them."""

SONNET_WRITE_ABOVE_READ_USD = (3.75 - 0.3) / 1_000_000


def output(asked: str) -> str:
    number = int(asked.rpartition("_")[2].removesuffix(".py"))
    return file_or_output(asked) if asked.startswith("src/") or number < LARGE else f"{asked}: ok"


def first_cut(turns: list[Turn]) -> int:
    """The first turn on which aged results became smaller."""
    return next(index for index, turn in enumerate(turns) if turn.cut in ("pays", "cold"))


def before_the_edit(turn: Turn) -> Json:
    """The request without its first edited message and all behind it."""
    was, sent = json.loads(turn.body), json.loads(turn.sent)
    pairs = enumerate(zip(was["messages"], sent["messages"], strict=True))
    edited = next(number for number, (old, new) in pairs if _contents(old) != _contents(new))
    return {**was, "messages": was["messages"][:edited]}


def _contents(message: Json) -> list[Any]:
    content = message["content"]
    return [part.get("content") for part in content] if isinstance(content, list) else [content]


def without_mark(body: Json, path: str) -> Json:
    """A request without the mark on the block that a path names."""
    _, message, _, block = path.split(".")
    copied: Json = json.loads(json.dumps(body))
    del copied["messages"][int(message)]["content"][int(block)]["cache_control"]
    return copied


def meter() -> Meter:
    return Meter(lambda: AT, automatic=PrefixCache(OPENAI_STEPS))


def read_by_another(turns: list[Turn], last: Json) -> int:
    """What a fresh upstream reads of a request, once it has had the earlier ones as they were sent."""
    other = meter()
    for turn in turns:
        other.messages(json.loads(turn.sent), dropped=())
    read = other.messages(last, dropped=()).read
    assert read is not None
    return read


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("ttl", ["5m", "1h"])
def test_a_cut_far_back_reads_up_to_the_edit_because_of_a_mark_of_ours(ttl: Literal["5m", "1h"], stream: bool) -> None:
    with scene(task(*STEPS)) as stage:
        turns = Agent(stage, ttl=ttl, stream=stream, output=output).go(TURNS - 1)
    assert [turn.exchange.refusal for turn in turns] == [None] * len(turns)
    at = first_cut(turns)
    cut, body = turns[at], json.loads(turns[at].sent)
    assert cut.entry.receipt.cut is not None
    assert (cut.cut, cut.entry.receipt.cut.mark) == ("pays", True)

    client = marks(json.loads(cut.body))
    (ours,) = set(marks(body)) - set(client)
    assert len(marks(body)) <= MAX_MARKS
    assert check_marks(body) is None
    assert marks(body)[ours] == ttl
    order = [placed.path for placed in render_order(body)]
    assert order.index(list(client)[-1]) - order.index(ours) >= LOOKBACK_BLOCKS

    # Between the last entry and the edit stands the edited result's own call: that much is written again.
    assert 0 <= meter().count_messages(before_the_edit(cut)) - cut.read < 100
    assert cut.read > 8_000
    assert read_by_another(turns[:at], body) == cut.read
    head = meter().count_messages({**body, "messages": []})
    assert read_by_another(turns[:at], without_mark(body, ours)) == head < 3_000

    assert changed_literals(without_marks(cut.body), without_marks(cut.sent)) != []
    assert turns[at + 1].read == cut.prompt, "the next request reads all of it"


def test_the_ledger_foretells_what_a_warm_cut_writes_again_and_what_it_earns() -> None:
    with scene(task(*STEPS)) as stage:
        turns = Agent(stage, ttl="5m", output=output).go(TURNS - 1)
    at = first_cut(turns)
    cut, outcome = turns[at].entry.receipt.cut, turns[at].entry.outcome
    assert cut is not None
    assert outcome is not None
    assert outcome.money is not None
    assert outcome.money.net_usd is not None
    new = turns[at - 1].prompt - turns[at - 2].prompt
    written_again = turns[at].prompt - turns[at].read - new
    # This upstream counts a third less than the provider whose counts ours are fitted to.
    assert cut.rewrite_tokens == pytest.approx(written_again, rel=0.35)
    assert outcome.money.rewrite_usd == pytest.approx(written_again * SONNET_WRITE_ABOVE_READ_USD, rel=0.35)
    assert outcome.money.net_usd < 0, "the request that cuts pays for it"
    later = [turn.entry.outcome.money for turn in turns[at + 1 :] if turn.entry.outcome]
    earned = sum(money.net_usd for money in later if money and money.net_usd)
    assert earned + outcome.money.net_usd > 0, "and the later ones earn it back"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_an_automatic_cache_reads_whole_steps_up_to_the_edit(stream: bool) -> None:
    with scene(task(*STEPS), provider="openai") as stage:
        turns = ChatAgent(stage, stream=stream, output=output).go(TURNS - 1)
    assert [turn.exchange.refusal for turn in turns] == [None] * len(turns)
    at = first_cut(turns)
    cut = turns[at]
    assert cut.entry.receipt.cut is not None
    assert (cut.cut, cut.entry.receipt.cut.mark) == ("pays", False)
    before = meter().count_chat(before_the_edit(cut))
    # A step, and the beginning of the edited message, which stays.
    assert -100 < before - cut.read <= OPENAI_STEPS.step_tokens
    assert turns[at + 1].read == cut.prompt - cut.prompt % OPENAI_STEPS.step_tokens
    assert changed_literals(cut.body, cut.sent, "openai_chat") != []


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_deepseek_reads_the_last_whole_request_before_the_edit(stream: bool) -> None:
    with scene(task(*STEPS, thinking=True), provider="deepseek", rules=Rules(dialect="deepseek")) as stage:
        agent = ChatAgent(stage, stream=stream, model="deepseek-v4-pro", output=output)
        turns = agent.go(TURNS - 1)
    assert [turn.exchange.refusal for turn in turns] == [None] * len(turns)
    assert any("reasoning_content" in message for message in agent.said)
    at = first_cut(turns)
    cut, whole = turns[at], [turn.prompt for turn in turns[:at]]
    assert cut.cut == "pays"
    assert cut.read in whole
    assert cut.read == max(prompt for prompt in whole if prompt <= meter().count_chat(before_the_edit(cut)))
    assert turns[at + 1].read == cut.prompt
    # Nobody says how long it keeps a prefix, so no pause makes it cold.
    assert {turn.entry.receipt.belief.why for turn in turns[1:] if turn.entry.receipt.belief} == {"within_lifetime"}
