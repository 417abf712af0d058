"""One conversation is one, however its client writes it, and two are two, whatever they share."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from bodies import changed_literals, messages_bytes, pressed, texts, without_marks
from cases.talk import (
    DEDUPE_LOGS,
    assistant,
    chat,
    chat_calls,
    chat_result,
    dump,
    listing,
    log,
    messages,
    result,
    text,
    use,
    user,
)
from hypothesis import given
from hypothesis import settings as law
from hypothesis import strategies as st
from support import Press, pressing, settings

from coldpress.drive import Inbound
from coldpress.drive.driver import OFFLOAD_BYTES
from coldpress.stores.memory import MemoryStore

Said = list[dict[str, Any]]


def steps(name: str, count: int, *, first: int = 0) -> Said:
    """Calls with large results: logs and reads, by turns."""
    said: Said = []
    for n in range(first, first + count):
        call = f"{name}{n}"
        tool, output = (use(call), log(call)) if n % 2 else (use(call, "Read", file_path=f"{call}.py"), listing(call))
        said += [assistant(tool), user(result(call, output))]
    return said


def growing(said: Said, **top: Any) -> list[bytes]:
    """One request after each message of the user's."""
    return [messages(*said[: at + 1], **top) for at, m in enumerate(said) if m["role"] == "user"]


def as_strings(said: Said) -> Said:
    """As litellm writes it: lone texts as plain strings."""
    flipped = deepcopy(said)
    for message in flipped:
        for block in message["content"]:
            content = block.get("content")
            if isinstance(content, list) and len(content) == 1 and content[0]["type"] == "text":
                block["content"] = content[0]["text"]
        if [b["type"] for b in message["content"]] == ["text"]:
            message["content"] = message["content"][0]["text"]
    return flipped


def as_blocks(said: Said) -> Said:
    """As others write it: every text in a list of its own."""
    flipped = deepcopy(said)
    for message in flipped:
        if isinstance(message["content"], str):
            message["content"] = [text(message["content"])]
        for block in message["content"]:
            if isinstance(block.get("content"), str):
                block["content"] = [text(block["content"])]
    return flipped


def marked(said: Said) -> Said:
    """With a cache mark on the last block of the last two messages of the user's."""
    found = deepcopy(said)
    for message in [m for m in found if m["role"] == "user"][-2:]:
        message["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return found


def marked_inside(said: Said) -> Said:
    """With a cache mark on the text inside the last result."""
    found = as_blocks(said)
    last = found[-1]["content"][-1]
    place = last["content"][-1] if last["type"] == "tool_result" else last
    place["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    return found


FORMS: dict[str, Callable[[Said], Said]] = {
    "plain": lambda said: said,
    "strings": as_strings,
    "blocks": as_blocks,
    "marked": marked,
    "marked inside": marked_inside,
}


@pytest.mark.parametrize("forms", [tuple(FORMS), tuple(reversed(FORMS)), ("blocks", "strings"), ("marked",)])
@pytest.mark.parametrize("restart", [False, True], ids=["warm", "after a restart"])
def test_the_form_of_texts_and_the_place_of_marks_change_no_view(forms: tuple[str, ...], restart: bool) -> None:
    said = [user("go"), *steps("s", 7)]
    with pressing() as reference:
        expected = texts(reference.all(growing(said))[-1].body)
    store, sent = MemoryStore(), b""
    upto = [at + 1 for at, m in enumerate(said) if m["role"] == "user"]
    with pressing(store=store) as press:
        for turn, end in enumerate(upto):
            body = messages(*FORMS[forms[turn % len(forms)]](said[:end]))
            if restart:
                with pressing(store=store) as again:
                    sent = again(body).body
            else:
                sent = press(body).body
            assert pressed(body, sent) == turn
    assert texts(sent) == expected


def test_marks_that_move_leave_the_prefix_as_it_was() -> None:
    said = [user("go"), *steps("s", 6)]
    bodies = [messages(*marked(said[: at + 1])) for at, m in enumerate(said) if m["role"] == "user"]
    with pressing() as press:
        sent = [p.body for p in press.all(bodies)]
    for body, now, following in zip(bodies, sent, sent[1:], strict=False):
        assert now.count(b"cache_control") == body.count(b"cache_control")
        assert without_marks(following).startswith(without_marks(messages_bytes(now)))


def test_a_chat_whose_client_flips_between_strings_and_parts() -> None:
    said: Said = [{"role": "user", "content": "go"}]
    with pressing() as press:
        for n in range(6):
            said += [chat_calls((f"c{n}", "Bash", {"command": f"make {n}"})), chat_result(f"c{n}", log(str(n)))]
            form = deepcopy(said)
            if n % 2:
                for message in form:
                    if isinstance(message["content"], str):
                        message["content"] = [text(message["content"])]
            body = chat(*form)
            assert pressed(body, press(body, "openai_chat").body, "openai_chat") == n + 1


@pytest.mark.parametrize("order", ["one then the other", "in turns"])
@pytest.mark.parametrize("restart", [False, True], ids=["warm", "after a restart"])
def test_forks_share_what_stands_before_and_nothing_behind(order: str, restart: bool) -> None:
    trunk = [user("go"), *steps("t", 5)]
    forks = [growing([*trunk, *steps(name, 4, first=1)])[6:] for name in ("left", "right")]
    alone = []
    for fork in forks:
        with pressing() as press:
            press.all(growing(trunk))
            alone.append([p.body for p in press.all(fork)])
    with pressing() as press:
        before = press.all(growing(trunk))[-1].body
        with pressing(store=press.store) as other:
            using = other if restart else press
            if order == "in turns":
                mixed = using.all([body for pair in zip(*forks, strict=True) for body in pair])
                found = [[p.body for p in mixed[0::2]], [p.body for p in mixed[1::2]]]
            else:
                found = [[p.body for p in using.all(fork)] for fork in forks]
    assert found == alone
    for fork in found:
        assert all(body.startswith(messages_bytes(before)) for body in fork)


@pytest.mark.parametrize("back", [1, 3, 6])
def test_a_rewind_sends_what_was_sent_before(back: int) -> None:
    bodies = growing([user("go"), *steps("s", 8)])
    with pressing() as press:
        sent = [p.body for p in press.all(bodies)]
        again = press.all(bodies[-1 - back :])
        assert [p.body for p in again] == sent[-1 - back :]
        with pressing(store=press.store) as restarted:
            assert [p.body for p in restarted.all(bodies[-1 - back :])] == sent[-1 - back :]


def test_a_result_changed_by_the_client_after_a_rewind_is_another_text() -> None:
    said = [user("go"), *steps("s", 3)]
    other = deepcopy(said)
    other[-1]["content"][0]["content"] = listing("other")
    with pressing() as press:
        press.all(growing(said))
        sent = press(messages(*other)).body
        assert [press.store.recall(line.original) for line in press(messages(*said)).receipt.lines] == []
    (*_, (old, view)) = changed_literals(messages(*other), sent)
    assert old == listing("other")
    assert "other_" in view


SESSION: dict[str, Any] = {"metadata": {"user_id": json.dumps({"session_id": "11111111-2222-3333-4444-555555555555"})}}


@pytest.mark.parametrize("count", [2, 5])
def test_sub_agents_that_share_a_session_id_never_mix(count: int) -> None:
    agents = [growing([user(f"agent {n}"), *steps("same", 4)], **SESSION) for n in range(count)]
    with pressing() as press:
        mixed = press.all([body for turn in zip(*agents, strict=True) for body in turn])
    for n, bodies in enumerate(agents):
        with pressing() as press:
            assert [p.body for p in mixed[n::count]] == [p.body for p in press.all(bodies)]
        assert len({p.receipt.lineage for p in mixed[n::count]}) == 1
    assert len({p.receipt.harness_session for p in mixed}) == 1
    assert len({p.receipt.lineage for p in mixed}) == count


def test_a_sub_agent_never_refers_to_what_only_its_parent_was_shown() -> None:
    parent = [user("parent"), *steps("p", 1)]
    child = [user("child"), *steps("p", 1)]
    with pressing(settings(policy=DEDUPE_LOGS)) as press:
        press.all(growing(parent, **SESSION))
        sent = press.all(growing(child, **SESSION))[-1].body
    for _, view in changed_literals(messages(*child, **SESSION), sent):
        assert "above" not in view


@given(seed=st.integers(0, 10_000), count=st.integers(2, 4))
@law(max_examples=15, deadline=None)
def test_conversations_interleaved_in_any_order_get_what_they_get_alone(seed: int, count: int) -> None:
    chance = random.Random(seed)
    talks = [growing([user(f"{'go' if n % 2 else 'start'} {n // 2}"), *steps(f"n{n % 2}", 3)]) for n in range(count)]
    expected = []
    for bodies in talks:
        with pressing() as alone:
            expected.append([p.body for p in alone.all(bodies)])
    left = [list(range(len(bodies))) for bodies in talks]
    with pressing() as press:
        while any(left):
            n = chance.choice([n for n, rest in enumerate(left) if rest])
            turn = left[n].pop(0)
            assert press(talks[n][turn]).body == expected[n][turn]


def test_talks_that_part_ways_late_and_have_the_same_length_are_told_apart() -> None:
    def talk(name: str) -> list[bytes]:
        said: Said = [user("x" * 17_000)]
        for n in range(4):
            said += [assistant(use(f"t{n}", "Read", file_path=f"{n}.py")), user(result(f"t{n}", listing(name, 150)))]
        return growing(said)

    mine, yours = talk("a"), talk("b")
    assert [len(body) for body in mine] == [len(body) for body in yours]
    assert len(mine[-1]) < 1 << 15, "all of them lie between the same two powers of two"
    with pressing() as alone:
        expected = [p.body for p in alone.all(yours)]
    with pressing() as press:
        press.all(mine)
        assert [p.body for p in press.all(yours)] == expected
        assert pressed(yours[-1], expected[-1]) == 4


def test_the_same_bytes_on_the_other_wire_are_read_anew() -> None:
    said: Said = [{"role": "user", "content": "go"}]
    for n in range(4):
        said += [chat_calls((f"c{n}", "Bash", {"command": f"make {n}"})), chat_result(f"c{n}", log(str(n)))]
    bodies = [chat(*said[: 2 * n + 1]) for n in range(1, 5)]
    with pressing() as press:
        assert [p.body for p in press.all(bodies, "anthropic")] == bodies, "no results of this wire's kind"
        for number, (body, sent) in enumerate(zip(bodies, press.all(bodies, "openai_chat"), strict=True)):
            assert pressed(body, sent.body, "openai_chat") == number + 1


async def at_once(press: Press, bodies: list[bytes]) -> list[bytes]:
    asked = [Inbound(f"c{n}", float(n), "anthropic", "anthropic", body, None, {}) for n, body in enumerate(bodies)]
    return [prepared.body for prepared in await asyncio.gather(*map(press.driver.prepare, asked))]


@pytest.mark.parametrize("large", [False, True], ids=["on the loop", "in a thread"])
def test_identical_requests_at_one_time_get_identical_bytes_and_one_decision(large: bool) -> None:
    read = assistant(use("t1", "Read", file_path="a.py"))
    body = messages(user("go"), read, user(result("t1", listing("a", 3000 if large else 90))))
    assert (len(body) > OFFLOAD_BYTES) is large
    with pressing() as press:
        sent = asyncio.run(at_once(press, [body] * 12))
        assert len(set(sent)) == 1
        assert pressed(body, sent[0]) == 1
        assert press.store.totals().stored.standings.rows == 2, "one on the text, one on the request"
        assert press(body).body == sent[0]


def test_turns_of_many_conversations_at_one_time_get_what_they_get_alone() -> None:
    talks = [growing([user(f"talk {n}"), *steps(f"n{n}", 3)]) for n in range(6)]
    with pressing() as press:
        found = [asyncio.run(at_once(press, [bodies[turn] for bodies in talks])) for turn in range(len(talks[0]))]
    for n, bodies in enumerate(talks):
        with pressing() as alone:
            assert [turn[n] for turn in found] == [p.body for p in alone.all(bodies)]


def test_retries_with_another_model_or_other_settings_get_the_same_messages() -> None:
    said = [user("go"), *steps("s", 3)]
    with pressing() as press:
        first = press.all(growing(said))[-1].body
        for change in ({"model": "claude-haiku-4-5"}, {"max_tokens": 5}, {"stream": True}, {"temperature": 0.5}):
            body = messages(*said, **change)
            assert texts(press(body).body) == texts(first)


def test_key_order_and_spacing_of_the_same_messages_change_no_view() -> None:
    said = [user("go"), *steps("s", 3)]
    with pressing() as press:
        first = press.all(growing(said))[-1].body
        body = json.loads(messages(*said))
        backwards = json.dumps({k: body[k] for k in reversed(body)}, indent=1, sort_keys=True).encode()
        assert dump(body) != backwards
        assert texts(press(backwards).body) == texts(first)


@pytest.mark.parametrize("command", ["make (call 2)", "echo ' (call 3)'", "make"])
@pytest.mark.parametrize("restart", [False, True], ids=["warm", "after a restart"])
def test_calls_of_one_name_are_numbered_alike_whatever_is_remembered(command: str, restart: bool) -> None:
    outputs = [log("a"), log("b"), log("b") + "\nmore", log("a") + "\nother", log("b") + "\nagain"]
    said: Said = [user("go")]
    for n, output in enumerate(outputs):
        said += [assistant(use(f"t{n}", "Bash", command=command)), user(result(f"t{n}", output))]
        said += [assistant("hm"), user("go on")]
    made = settings(policy=DEDUPE_LOGS)
    whole = messages(*said[: 4 * len(outputs) - 1])
    with pressing(made) as press:
        for body in growing(said[: 4 * len(outputs) - 1]):
            if restart:
                with pressing(made, press.store) as again:
                    sent = again(body).body
            else:
                sent = press(body).body
    views = [new for _, new in changed_literals(whole, sent)]
    assert len(views) == 3, "each repeats an earlier run of the same command, not only the first"
    named = f"Bash {command}"
    assert f"of {named} (call 2) above" in views[0]
    assert f"of {named} above" in views[1]
    assert f"of {named} (call" in views[2]


def test_a_number_counts_the_short_and_the_failed_calls_too() -> None:
    outputs = ["make: nothing to be done", log("a"), log("b"), log("b") + "\nmore"]
    said: Said = [user("go")]
    for n, output in enumerate(outputs):
        said += [assistant(use(f"t{n}", "Bash", command="make")), user(result(f"t{n}", output))]
    with pressing(settings(policy=DEDUPE_LOGS)) as press:
        sent = press.all(growing(said))[-1].body
    (view,) = [new for _, new in changed_literals(messages(*said), sent)]
    assert "of Bash make (call 3) above" in view
