"""The call to a summarising model: nothing lost, always within its bound, and a prefix that stays."""

from __future__ import annotations

import pytest
from bodies import conversation
from cases.talk import Json, assistant, chat, messages, result, use, user
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import STEPS, STYLES, anthropic_messages, anthropic_request, write

from coldpress.engine.summary.prompt import INSTRUCTION, Prompt, prompt
from coldpress.engine.transcript import message_text
from coldpress.measure.tokens import estimate
from coldpress.model.notes import Note

ROOM = 200_000


def steps(count: int, size: int = 40) -> list[Json]:
    listed = [user("Fix the build.")]
    for n in range(count):
        listed += [assistant(use(f"t{n}")), user(result(f"t{n}", f"head {n} " + "word " * size + f" tail {n}"))]
    return listed


def size_tokens(call: Prompt) -> int:
    return estimate(call.instruction) + estimate(call.content)


def test_r07_a_range_of_calls_and_results_only_is_shown_in_full() -> None:
    found = conversation(messages(*steps(3)))
    call = prompt(found, 1, 7, task_stop=1, most_tokens=ROOM)
    assert call.instruction == INSTRUCTION
    assert call.task == "=== the task ===\n=== m1 ===\nuser\nFix the build.\n\n"
    assert call.messages == tuple(f"=== m{i + 1} ===\n{message_text(found, i)}\n\n" for i in range(1, 7))
    assert call.request.endswith("for messages m2 to m7. Copy quotes exactly. JSON only.")
    assert (call.cut_messages, call.left_out) == (0, 0)


def test_a_system_prompt_is_no_task() -> None:
    found = conversation(
        chat({"role": "system", "content": "You are an agent."}, user("Fix it."), assistant("ok"), user("x")),
        "openai_chat",
    )
    call = prompt(found, 2, 4, task_stop=2, most_tokens=ROOM)
    assert "You are an agent." not in call.content
    assert call.content.startswith("=== the task ===\n=== m2 ===\nuser\nFix it.\n")


def test_notes_stand_behind_everything_that_stays() -> None:
    found = conversation(messages(*steps(2)))
    plain = prompt(found, 1, 5, task_stop=1, most_tokens=ROOM)
    noted = prompt(found, 1, 5, task_stop=1, most_tokens=ROOM, notes=(Note("plan.md", "step 2", "user"),))
    assert noted.transcript == plain.transcript
    assert noted.request.endswith(plain.request)
    assert "plan.md:\nstep 2\n" in noted.request


@settings(max_examples=40)
@given(st.lists(STEPS, min_size=1, max_size=5), st.data(), STYLES)
def test_a_later_call_begins_with_the_bytes_of_the_earlier_one(
    listed: list, data: st.DataObject, style: object
) -> None:
    said = anthropic_messages(listed)
    later = conversation(write(anthropic_request(said), style))
    count = len(later.messages)
    stop = data.draw(st.integers(2, count))
    earlier = conversation(write(anthropic_request(said[:stop]), style))
    notes = (Note("a.md", data.draw(st.text(max_size=20)), "agent"),)
    first = prompt(earlier, 1, stop, task_stop=1, most_tokens=ROOM)
    second = prompt(later, 1, count, task_stop=1, most_tokens=ROOM, notes=notes)
    assert second.content.startswith(first.transcript)


@pytest.mark.parametrize("most_tokens", [6_000, 12_000, 50_000])
def test_the_same_prefix_holds_while_a_long_message_is_cut(most_tokens: int) -> None:
    long = [user("Fix it."), assistant(use("t1")), user(result("t1", "word " * 300_000)), assistant("next", use("t2"))]
    found = conversation(messages(*long, user(result("t2", "done")), assistant("ok")))
    first = prompt(found, 1, 3, task_stop=1, most_tokens=most_tokens)
    second = prompt(found, 1, 6, task_stop=1, most_tokens=most_tokens)
    assert first.cut_messages == 1
    assert " bytes left out here]" in first.messages[1]
    assert second.content.startswith(first.transcript)


@pytest.mark.parametrize(("count", "size"), [(4, 20_000), (60, 2_000), (300, 400), (3_000, 10)])
@pytest.mark.parametrize("most_tokens", [3_000, 8_000, 40_000])
def test_a_call_never_goes_over_its_bound(count: int, size: int, most_tokens: int) -> None:
    found = conversation(messages(*steps(count, size)))
    call = prompt(found, 1, 1 + 2 * count, task_stop=1, most_tokens=most_tokens)
    assert size_tokens(call) <= most_tokens
    assert call.messages[0].startswith("=== m2 ===")
    assert f"tail {count - 1}" in call.messages[-1]
    assert call.left_out + sum(text.startswith("=== m") for text in call.messages) == 2 * count


def test_what_does_not_fit_leaves_a_note() -> None:
    call = prompt(conversation(messages(*steps(3_000))), 1, 6_001, task_stop=1, most_tokens=3_000)
    assert call.left_out > 5_000
    assert f"=== {call.left_out} messages in between are not shown: they did not fit ===\n\n" in call.messages
