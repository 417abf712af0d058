"""A sub-agent works in a window of its own, and hands back a bounded answer with receipts; the whole is kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from library.talk import ANTHROPIC_TOOLS, log

from coldpress import Session
from coldpress.library.subtask import LEAST_TOKENS, bounded
from coldpress.measure.tokens import counter_for
from coldpress.model.errors import ConfigError, ReplyError, StoreError
from coldpress.model.identity import original_sha
from coldpress.model.usage import Usage
from coldpress.stores.memory import MemoryStore

MODEL = "claude-opus-4-6"
TASK = "Find out why the build fails."
LONG = "\n".join(f"{number}. finding, with a path /src/module_{number}.py" for number in range(500))


def loop(answer: object) -> Any:
    """A sub-agent's loop that makes two requests and gives an answer."""

    def run(child: Session, messages: list[dict[str, object]]) -> object:
        assert messages == [{"role": "user", "content": TASK}]
        child.compact(messages)
        child.observe(Usage(fresh=10))
        use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "make"}}
        result = {"type": "tool_result", "tool_use_id": "t", "content": log("make")}
        child.compact([*messages, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}])
        child.observe(Usage(fresh=20, read=3))
        return answer

    return run


def test_a_short_answer_comes_whole_with_what_it_took() -> None:
    with Session(MODEL) as session:
        session.compact([{"role": "user", "content": "Parent."}])
        parent = session.last
        done = session.subtask(TASK, loop("It fails in link."), tools=ANTHROPIC_TOOLS)
        assert (done.text, done.requests, done.prompt_tokens) == ("It fails in link.", 2, 33)
        assert [entry.receipt.messages for entry in done.receipts] == [1, 3]
        assert done.receipts[-1].receipt.lines[0].reason == "pressed"
        lineages = {entry.receipt.lineage for entry in done.receipts}
        assert parent is not None and len(lineages) == 1 and parent.lineage not in lineages
        assert session.last == parent, "the child's requests are not the parent's"
        assert done.recall is not None and session.recall(done.recall) == done.text


def test_a_long_answer_is_cut_at_a_line_and_kept_whole() -> None:
    with Session(MODEL) as session:
        done = session.subtask(TASK, loop(LONG), most_tokens=500)
        assert counter_for(MODEL).count(done.text) <= 500
        *kept, note = done.text.splitlines()
        assert kept == LONG.splitlines()[: len(kept)] and len(kept) > 5
        assert done.recall is not None and done.recall[:12] in note and f"{500 - len(kept)} of 500 lines" in note
        assert session.recall(done.recall) == LONG


def test_the_answer_may_be_a_message_of_either_format() -> None:
    blocks = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Yes."}],
    }
    completion = {"choices": [{"message": {"role": "assistant", "content": "Yes."}}]}
    with Session(MODEL) as session:
        assert session.subtask(TASK, loop(blocks)).text == "Yes."
        assert session.subtask(TASK, loop(completion)).text == "Yes."


@pytest.mark.parametrize("answer", [None, "", " \n", {"role": "assistant", "content": []}, 7], ids=str)
def test_an_answer_without_text_is_told(answer: object) -> None:
    with Session(MODEL) as session, pytest.raises(ReplyError, match="a sub-agent handed back"):
        session.subtask(TASK, loop(answer))


def test_a_failure_of_the_loop_is_the_callers_to_see() -> None:
    def run(child: Session, messages: list[dict[str, object]]) -> str:
        child.compact(messages)
        raise ZeroDivisionError("in the user's code")

    with Session(MODEL) as session:
        with pytest.raises(ZeroDivisionError, match="in the user's code"):
            session.subtask(TASK, run)
        assert session.subtask(TASK, loop("Yes.")).text == "Yes.", "the session goes on"


def test_a_store_that_fails_costs_the_cut_not_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    put = MemoryStore._put

    def full(store: MemoryStore, originals: Any, *rest: Any) -> None:
        if any(text == LONG for _, text in originals):
            raise StoreError("the disk is full")
        put(store, originals, *rest)

    monkeypatch.setattr(MemoryStore, "_put", full)
    with Session(MODEL) as session:
        done = session.subtask(TASK, loop(LONG), most_tokens=500)
    assert (done.text, done.recall) == (LONG, None)


def test_no_agent_runs_for_a_bound_that_holds_no_note() -> None:
    with Session(MODEL) as session, pytest.raises(ConfigError, match="most_tokens is 99"):
        session.subtask(TASK, lambda child, messages: pytest.fail("ran"), most_tokens=99)


def test_a_child_may_use_another_model_and_leaves_closing_to_its_parent() -> None:
    def run(child: Session, messages: list[dict[str, object]]) -> str:
        with child:
            assert child.compact(messages).receipt.format == "openai_chat"
        return "Yes."

    with Session(MODEL) as session:
        done = session.subtask(TASK, run, model="gpt-5-mini")
        assert (done.receipts[0].receipt.model, done.receipts[0].receipt.provider) == ("gpt-5-mini", "openai")
        session.compact([{"role": "user", "content": "still open"}])


def test_the_tools_that_were_given_are_offered() -> None:
    def run(child: Session, messages: list[dict[str, object]]) -> str:
        child.compact(messages)
        written = child._line._known
        assert written is not None and b'"tools":[{"name":"Bash"' in written.data
        return "Yes."

    with Session(MODEL) as session:
        assert session.subtask(TASK, run, tools=ANTHROPIC_TOOLS).requests == 1


def test_async_does_the_same() -> None:
    async def main() -> Any:
        async def run(child: Session, messages: list[dict[str, object]]) -> object:
            await child.acompact(messages)
            return LONG

        async with Session(MODEL) as session:
            done = await session.asubtask(TASK, run, most_tokens=500)
            assert done.recall is not None
            return done, session.recall(done.recall)

    done, whole = asyncio.run(main())
    assert (whole, done.requests, done.prompt_tokens) == (LONG, 1, None), "no reply was observed, so nothing is known"
    assert counter_for(MODEL).count(done.text) <= 500


def test_a_parents_settings_cannot_be_given_twice() -> None:
    with Session(MODEL) as session, pytest.raises(ConfigError, match="has the parent's settings"):
        Session(MODEL, parent=session, window_tokens=1000)


@settings(deadline=None)
@given(
    st.lists(
        st.builds(str.__mul__, st.sampled_from(("word ", "naïve 日本 ", "0x5f, ")), st.integers(0, 9)), min_size=9
    ),
    st.integers(LEAST_TOKENS, 400),
)
def test_no_text_is_longer_than_its_bound(lines: list[str], most_tokens: int) -> None:
    text = "\n".join(lines)
    counter = counter_for(MODEL)
    found = bounded(text, sha=original_sha(text), counter=counter, most_tokens=most_tokens)
    assert counter.count(found) <= most_tokens
    assert (found == text) == (counter.count(text) <= most_tokens)
