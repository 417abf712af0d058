"""The second and the third compaction: made of the originals again, and what pointed at them given back."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from cases.talk import listing, log
from compacting import (
    FORMATS,
    TASK,
    Call,
    Step,
    batch_of,
    compacted,
    growing,
    pressure_of,
    prose,
    raw_messages,
    rebuild_of,
    run,
    said_texts,
    sent,
    up_to_messages_end,
    valid,
    windowed,
)
from support import pressing

from coldpress.stores.memory import MemoryStore
from coldpress.wire.registry import FormatName

pytestmark = pytest.mark.parametrize("name", FORMATS)

SETTINGS = windowed(12_000, budget={"keep_turns": 2, "stages": ("summary",)})
REFUSAL = "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead."
FRONT: dict[FormatName, int] = {"anthropic": 1, "openai_chat": 2}


def decided(n: int, **more: Any) -> Step:
    """A step whose summary item can be told from all others."""
    call = Call(f"e{n}", f"The file src/part_{n}.py has been updated.", "Edit", {"file_path": f"src/part_{n}.py"})
    return Step(
        (call, Call(f"c{n}", log(f"n{n}", 60))), reply=f"I decided to split part_{n} because it is slow.", **more
    )


def read(n: int, text: str, path: str = "src/a.py") -> Step:
    return Step((Call(f"r{n}", text, "Read", {"file_path": path}),))


def last_result(body: bytes, name: FormatName) -> str:
    """The text of the last result in a body."""
    message = valid(body, name)["messages"][-1]
    content = message["content"] if name == "openai_chat" else message["content"][0]["content"]
    return str(content)


def test_each_summary_is_made_of_the_originals_and_covers_more(name: FormatName) -> None:
    bodies = growing(name, [decided(n) for n in range(24)])
    with pressing(SETTINGS) as press:
        found = sent(press, bodies, name)
        cuts = compacted(found)
        rebuilds = [rebuild_of(press.store, bodies[n], name) for n in cuts]
    assert len(cuts) >= 3
    assert [r.generation for r in rebuilds] == list(range(1, len(cuts) + 1))
    assert [pressure_of(found[n]).generation for n in cuts] == [r.generation for r in rebuilds]
    for earlier, later in itertools.pairwise(rebuilds):
        assert later.covered[: len(earlier.covered)] == earlier.covered, "the same originals, and more"
        assert len(later.covered) > len(earlier.covered)
        assert later.anchor == earlier.anchor
        assert earlier.summary is not None and later.summary is not None
        assert "are summarised here" not in str(later.summary), "no summary of a summary"
        (opening,) = re.findall(r"messages m\d+ to m\d+ of this conversation", later.literal)
        assert opening.endswith(f"to m{FRONT[name] + len(later.covered)} of this conversation")
    for n, rebuild in zip(cuts, rebuilds, strict=True):
        assert found[n].body.count(b"are summarised here") == 1
        assert f"(compaction {rebuild.generation})" in rebuild.literal
        assert "src/part_0.py" in rebuild.literal, "what the first one knew is known"
        texts = said_texts(valid(found[n].body, name))
        assert texts.count(TASK) == 1


def test_what_stands_after_the_third_is_the_same_for_a_process_that_comes_fresh(name: FormatName) -> None:
    bodies, store = growing(name, [decided(n) for n in range(24)]), MemoryStore()
    with pressing(SETTINGS, store) as press:
        found = sent(press, bodies, name)
    assert len(compacted(found)) >= 3
    for body, prepared in zip(bodies, found, strict=True):
        with pressing(SETTINGS, store) as fresh:
            assert sent(fresh, [body], name)[0].body == prepared.body


def test_masks_and_summaries_by_turns_never_nest(name: FormatName) -> None:
    """Masks of an earlier batch that stand in the range go with it; those behind it stay as they were."""
    steps = [prose(n, 60) if n % 3 == 0 else run(n, 45) for n in range(60)]
    bodies = growing(name, steps)
    with pressing(windowed(12_000, budget={"keep_turns": 3})) as press:
        found = sent(press, bodies, name)
        kinds = [pressure_of(p).reason for p in found if p.receipt.pressure]
        with pressing(windowed(12_000, budget={"keep_turns": 3}), press.store) as fresh:
            assert [p.body for p in sent(fresh, bodies, name)] == [p.body for p in found]
    assert {"masked", "summarised"} <= set(kinds), kinds
    for before, prepared in itertools.pairwise(found):
        if prepared.receipt.pressure is None:
            assert prepared.body.startswith(up_to_messages_end(before.body, name))
        assert prepared.body.count(b"are summarised here") <= 1


def test_a_repeat_in_the_tail_gets_its_text_back_when_what_it_repeats_goes(name: FormatName) -> None:
    text = listing("a", 120)
    steps = [read(0, text), *(run(n) for n in range(1, 4)), read(4, text + "\n   121\tlast = 1"), run(5, 20)]
    more = [run(n) for n in range(6, 16)]
    bodies = growing(name, [*steps, *more])
    settings = windowed(12_000, budget={"keep_turns": 4, "stages": ("summary",)})
    with pressing(settings) as press:
        found = sent(press, bodies, name)
        n = compacted(found)[0]
        again = "Read src/a.py"
        assert again.encode() in found[n - 1].body, "the second read points at the first"
        batch = batch_of(press.store, bodies[n], name)
        assert [s.mode for s in batch.standings] == ["restore"]
        (standing,) = batch.standings
        assert standing.replacement == text + "\n   121\tlast = 1"
        assert str(press.store.recall(standing.original)) == standing.replacement
        with pressing(settings, press.store) as fresh:
            assert [p.body for p in sent(fresh, bodies, name)] == [p.body for p in found]
    literal = json.dumps(text + "\n   121\tlast = 1", ensure_ascii=False).encode()
    assert literal in found[n].body
    assert again.encode() not in found[n].body.split(b"are summarised here")[1].split(b"last = 1")[1]
    later = [p.body for p in found[n + 1 : ([*compacted(found), len(found)])[1]]]
    assert all(literal in body for body in later)


@pytest.mark.parametrize("fresh", [False, True], ids=["same process", "after a restart"])
def test_a_refusal_to_read_what_has_left_is_answered_with_the_text(name: FormatName, fresh: bool) -> None:
    text = listing("a", 120)
    steps = [read(0, text), *(run(n) for n in range(1, 9))]
    bodies, store = growing(name, [*steps, read(9, REFUSAL), run(10, 5)]), MemoryStore()
    settings = windowed(12_000, budget={"keep_turns": 2, "stages": ("summary",)})
    with pressing(settings, store) as press:
        found = sent(press, bodies[:-2], name)
        assert compacted(found) and b"a_1 = 7" not in found[-1].body
        with pressing(settings, store) as other:
            asking = other if fresh else press
            answered, after = sent(asking, bodies[-2:], name)
    assert last_result(answered.body, name) == text
    assert "restored" in [line.reason for line in answered.receipt.lines]
    assert not compacted([answered, after])
    assert after.body.startswith(up_to_messages_end(answered.body, name))


def test_a_refusal_that_stands_in_the_tail_is_answered_when_what_it_points_at_goes(name: FormatName) -> None:
    """At first sight the read was shown exact, so the refusal was true; behind the compaction it would not be."""
    text = listing("a", 110).replace("\t", "  ")
    steps = [read(0, text), *(run(n) for n in range(1, 5)), read(5, REFUSAL), run(6), run(7)]
    bodies = growing(name, [*steps, *(run(n) for n in range(8, 14))])
    settings = windowed(12_000, budget={"keep_turns": 3, "stages": ("summary",)})
    with pressing(settings) as press:
        found = sent(press, bodies, name)
        n = compacted(found)[0]
        with pressing(settings, press.store) as fresh:
            assert [p.body for p in sent(fresh, bodies, name)] == [p.body for p in found]
    gone = n - 3
    assert gone > 0 and REFUSAL.encode() in found[n - 1].body
    assert text.splitlines()[50].encode() not in b"".join(raw_messages(found[n].body, name)[: FRONT[name]])
    if REFUSAL.encode() in found[n].body:
        assert json.dumps(text).encode() in found[n].body, "the refusal points at a text that is not there"


def test_a_new_read_never_points_at_what_has_left(name: FormatName) -> None:
    text = listing("a", 120)
    steps = [read(0, text), *(run(n) for n in range(1, 9)), read(9, text), run(10, 5)]
    with pressing(SETTINGS) as press:
        found = sent(press, growing(name, steps), name)
    assert compacted(found)
    shown = last_result(found[-2].body, name)
    assert "a_119 = " in shown and "Read src/a.py" not in shown


def test_after_too_many_compactions_the_work_should_be_split(name: FormatName) -> None:
    settings = windowed(12_000, budget={"keep_turns": 2, "stages": ("summary",), "max_generations": 2})
    with pressing(settings) as press:
        found = sent(press, growing(name, [decided(n) for n in range(24)]), name)
    cuts = [pressure_of(found[n]) for n in compacted(found)]
    assert [c.escalate for c in cuts] == [c.generation > 2 for c in cuts]
    assert len(cuts) >= 3


def test_a_client_that_rewrites_its_own_history_is_compacted_at_once_from_what_it_sends_now(name: FormatName) -> None:
    """What was decided belongs to the old history; the new one is a conversation of its own from there on."""
    steps = [decided(n) for n in range(12)]
    old, changed = steps[1], replace(steps[1], calls=(Call("e1", "[cleared]", "Edit", {"file_path": "src/part_1.py"}),))
    bodies = growing(name, steps)
    (other,) = growing(name, [steps[0], changed, *steps[2:]])[-1:]
    with pressing(SETTINGS) as press:
        found = sent(press, bodies, name)
        (again,) = sent(press, [other], name)
        rebuild = rebuild_of(press.store, other, name)
        assert compacted(found) and old != changed
        assert [str(press.store.recall(sha)).encode() for sha in rebuild.covered] == raw_messages(other, name)[
            FRONT[name] : FRONT[name] + len(rebuild.covered)
        ]
    assert pressure_of(again).reason == "summarised"
    assert pressure_of(again).after_tokens <= pressure_of(again).target_tokens
    assert rebuild.generation == 1


def test_messages_that_are_not_sent_are_no_reuse_of_a_smaller_text(name: FormatName) -> None:
    bodies = growing(name, [run(n) for n in range(12)])
    with pressing(SETTINGS) as press:
        found = sent(press, bodies, name)
    n = compacted(found)[0]
    assert (found[n].receipt.reused, found[n].receipt.reused_bytes_saved) == (0, 0)
    later = found[n + 1].receipt
    assert (later.reused, later.reused_bytes_saved) == (0, 0)
    assert later.body_bytes - later.sent_bytes == len(bodies[n + 1]) - len(found[n + 1].body) > 0
