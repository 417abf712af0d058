"""A batch of aged results stands, byte for byte, in every conversation that holds its request and in no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from bodies import changed_literals, messages_bytes, without_marks
from cases.talk import assistant, log, user
from promises.test_operations import FailingStore
from provider import LATER, MODEL, Json, Provider, Turn, growing, marked, priced, saying, step, talk
from support import Press, failed_quietly, pressing

from coldpress.engine.policy import Policy
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore

STEPS = [step(n) for n in range(16)]
BODIES = growing(STEPS)
CUT = 10
"""The request that comes after a pause: four results are older than six turns then."""
MASKED = [log(f"n{n}", 60) for n in range(CUT - 6)]


def views(body: bytes, sent: bytes) -> dict[str, str]:
    """What takes the place of each text that went out otherwise than it came."""
    return dict(changed_literals(body, sent))


def cut(press: Press, provider: Provider, bodies: list[bytes] = BODIES, at: int = CUT) -> list[Turn]:
    """The conversation up to a request after a pause, on which the cold prefix takes what is aged."""
    turns = talk(press, bodies[: at + 1], provider, pauses={at: LATER})
    assert [turn.applied for turn in turns] == [0] * at + [at - 6]
    assert turns[-1].why == "cold"
    assert not [note for turn in turns for note in failed_quietly(turn.prepared)]
    return turns


def listed(body: bytes) -> bytes:
    """The same request with every result as an array of one text."""
    request = json.loads(body)
    for message in request["messages"]:
        for block in message["content"]:
            if block["type"] == "tool_result" and isinstance(block["content"], str):
                block["content"] = [{"type": "text", "text": block["content"]}]
    return json.dumps(request, separators=(",", ":")).encode()


def test_a_batch_masks_what_is_aged_and_nothing_else() -> None:
    with pressing(priced()) as press:
        turn = cut(press, Provider())[-1]
    found = views(turn.body, turn.sent)
    assert list(found) == MASKED
    assert all(view.startswith("[coldpress: Bash make t") and "no longer shown" in view for view in found.values())
    assert [line.reason for line in turn.prepared.receipt.lines if line.mode == "mask"] == ["aged"] * len(MASKED)


@pytest.mark.parametrize(
    "later",
    [
        pytest.param(lambda body: body, id="as it was"),
        pytest.param(without_marks, id="without cache marks"),
        pytest.param(listed, id="results as arrays of one text"),
        pytest.param(lambda body: body.replace(b'"max_tokens":1000', b'"max_tokens":9'), id="other settings"),
        pytest.param(lambda body: body.replace(MODEL.encode(), b"other-model"), id="another model"),
    ],
)
@pytest.mark.parametrize("where", ["same process", "restarted", "restarted under another policy", "sibling"])
def test_every_later_request_sends_the_same_views(later: Callable[[bytes], bytes], where: str) -> None:
    provider, store = Provider(), MemoryStore()
    changed = {"restarted under another policy": {"policy": Policy(())}}
    with pressing(priced(), store) as first, pressing(priced(**changed.get(where, {})), store) as other:
        if where == "sibling":
            talk(other, BODIES[: CUT - 1], Provider())  # it knows the conversation, from before the cut
        before = views(BODIES[CUT], cut(first, provider)[-1].sent)
        using = first if where == "same process" else other
        for number in range(CUT, len(BODIES)):
            (turn,) = talk(using, [later(BODIES[number])], provider)
            after = views(turn.body, turn.sent)
            assert {text: after.get(text) for text in before} == before


def test_a_batch_outlives_the_process_on_disk(tmp_path: Path) -> None:
    path, provider = tmp_path / "store.sqlite3", Provider()
    store = SqliteStore(path)
    with pressing(priced(), store) as press:
        before = cut(press, provider)[-1].sent
    store.close()
    reopened = SqliteStore(path)
    with pressing(priced(), reopened) as press:
        again, later = talk(press, BODIES[CUT : CUT + 2], provider)
    reopened.close()
    assert again.sent == before
    assert without_marks(later.sent).startswith(without_marks(messages_bytes(before)))


@pytest.mark.parametrize("marks", [1, 2, 3])
@pytest.mark.parametrize("restart", [False, True])
def test_moved_cache_marks_change_no_view(marks: int, restart: bool) -> None:
    provider = Provider()
    with pressing(priced()) as press:
        before = views(BODIES[CUT], cut(press, provider)[-1].sent)
        with pressing(priced(), press.store) as again:
            using = again if restart else press
            for number in range(CUT, len(STEPS)):
                said = saying(STEPS[:number])
                (turn,) = talk(using, [marked(said, marks=marks)], provider)
                assert {t: v for t, v in views(turn.body, turn.sent).items() if t in before} == before


@pytest.mark.parametrize("pause", [1.0, LATER], ids=["at once", "when the cache is cold again"])
@pytest.mark.parametrize("restart", [False, True])
def test_a_retry_of_the_request_of_a_batch_sends_the_same_bytes(restart: bool, pause: float) -> None:
    provider = Provider()
    with pressing(priced()) as press:
        turn = cut(press, provider)[-1]
        with pressing(priced(), press.store) as again:
            for _ in range(2):
                (retry,) = talk(again if restart else press, [turn.body], provider, pauses=[pause])
                assert retry.sent == turn.sent
                assert retry.applied == 0, "nothing was decided anew"


@pytest.mark.parametrize("restart", [False, True])
def test_a_retry_adds_nothing_to_a_batch_that_took_only_the_newest(restart: bool) -> None:
    """A warm batch may leave old results in front; a cold retry of its request would take them too."""
    steps = [step(0, log("far", 12)), *(step(n, log(f"n{n}", 700), tool="Task") for n in range(1, 3))]
    steps += [step(n, log(f"n{n}", 120)) for n in range(3, 30)]
    bodies, provider = growing(steps), Provider()
    with pressing(priced()) as press:
        turns = talk(press, bodies, provider)
        warm = next(turn for turn in turns if turn.applied)
        assert warm.cut is not None
        assert warm.why == "pays"
        assert warm.cut.candidates > warm.cut.applied > 0
        with pressing(priced(), press.store) as again:
            (retry,) = talk(again if restart else press, [warm.body], provider, pauses=[LATER])
        assert without_marks(retry.sent) == without_marks(warm.sent)
        assert retry.applied == 0


def fork_at(messages: int, word: str = "No, try something else.") -> Callable[[int], list[Json]]:
    """The conversation up to a message, with other words behind it, and so many further steps."""
    said = saying(STEPS)[:messages]

    def build(more: int) -> list[Json]:
        ahead = said if said[-1]["role"] == "assistant" else [*said, assistant("Hm.")]
        return [*ahead, *saying([step(100 + n) for n in range(more)], first=user(word))]

    return build


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize(
    ("messages", "holds"),
    [
        pytest.param(2 * CUT - 5, False, id="rewound behind what the batch masked"),
        pytest.param(2 * CUT - 1, False, id="rewound to the request before"),
        pytest.param(2 * CUT + 1, True, id="goes on from the request of the batch"),
        pytest.param(2 * CUT + 3, True, id="goes on from a later request"),
    ],
)
def test_only_a_fork_behind_the_request_of_a_batch_gets_its_views(messages: int, holds: bool, restart: bool) -> None:
    provider, build = Provider(), fork_at(messages)
    with pressing(priced()) as press:
        before = views(BODIES[CUT], cut(press, provider)[-1].sent)
        talk(press, BODIES[CUT + 1 : CUT + 3], provider)
        with pressing(priced(), press.store) as again:
            for more in range(3):
                # Draining: what the fork's own prefix, cold as it is, would get anew is another test's matter.
                (turn,) = talk(again if restart else press, [marked(build(more))], provider, operation="drain")
                assert views(turn.body, turn.sent) == (before if holds else {})


def test_a_fork_has_batches_of_its_own_and_the_two_never_mix() -> None:
    provider, build = Provider(), fork_at(2 * CUT - 1)
    with pressing(priced()) as press:
        main = cut(press, provider)
        (fork,) = talk(press, [marked(build(3))], provider, pauses=[LATER])
        assert fork.why == "cold"
        theirs = views(fork.body, fork.sent)
        assert set(theirs) > set(MASKED), "it has come further"
        (later,) = talk(press, [BODIES[CUT + 1]], provider, operation="drain")
        assert views(later.body, later.sent) == views(main[-1].body, main[-1].sent)
        with pressing(priced(), press.store) as again:
            for body, expected in ((BODIES[CUT + 1], later.sent), (fork.body, fork.sent)):
                assert talk(again, [body], provider)[0].sent == expected


def test_two_conversations_with_the_same_results_never_mix() -> None:
    other = growing(STEPS, first=user("Another task."))
    with pressing(priced()) as press:
        mine = cut(press, Provider())
        theirs = talk(press, other[: CUT + 3], Provider())
    assert views(mine[-1].body, mine[-1].sent)
    for turn in theirs:
        assert turn.sent is turn.body


def test_every_original_is_recalled_byte_for_byte() -> None:
    with pressing(priced()) as press:
        turn = cut(press, Provider())[-1]
        lines = [line for line in turn.prepared.receipt.lines if line.reason == "aged"]
        assert [press.store.recall(line.original) for line in lines] == MASKED
        for line, view in zip(lines, views(turn.body, turn.sent).values(), strict=True):
            shown = view.split("SHA-256 begins ")[1].split(".")[0]
            assert press.store.recall(shown) == press.store.recall(line.original)


@pytest.mark.parametrize("restart", [False, True])
def test_a_store_that_fails_leaves_aged_results_exact_and_they_stay_so(restart: bool) -> None:
    store, provider = FailingStore(), Provider()
    with pressing(priced(), store) as press, pressing(priced(), store) as again:
        talk(press, BODIES[:CUT], provider)
        store.full = True
        (failed,) = talk(press, BODIES[CUT : CUT + 1], provider, pauses=[LATER])
        assert failed.sent is failed.body
        assert failed.why == "store_failed"
        assert failed.applied == 0
        assert "store_failed" in failed.prepared.receipt.notes
        store.full = False
        later = talk(press, BODIES[CUT : CUT + 2], provider)
        later += talk(again if restart else press, BODIES[CUT : CUT + 4], provider)
        assert [views(turn.body, turn.sent) for turn in later] == [{}] * 6, "it is warm again, and stays exact"


def test_a_request_whose_batch_failed_never_gets_one_on_a_retry() -> None:
    """Its text went out exact: a view on the retry would be gone again on the next request."""
    store, provider = FailingStore(), Provider()
    with pressing(priced(), store) as press:
        talk(press, BODIES[:CUT], provider)
        store.full = True
        talk(press, BODIES[CUT : CUT + 1], provider, pauses=[LATER])
        store.full = False
        retry, later = talk(press, BODIES[CUT : CUT + 2], provider, pauses=[LATER])
        assert without_marks(later.sent).startswith(without_marks(messages_bytes(retry.sent)))


def test_what_failed_can_be_cut_on_a_later_request() -> None:
    store, provider = FailingStore(), Provider()
    with pressing(priced(), store) as press:
        talk(press, BODIES[:CUT], provider)
        store.full = True
        talk(press, BODIES[CUT : CUT + 1], provider, pauses=[LATER])
        store.full = False
        (later,) = talk(press, BODIES[CUT + 1 : CUT + 2], provider, pauses=[LATER])
        assert (later.why, later.applied) == ("cold", CUT + 1 - 6)


def test_a_replica_that_decides_at_the_same_time_gives_way_to_the_first() -> None:
    """Two replicas get the same request; each has seen another part of the conversation, so each would cut alone."""
    store = MemoryStore()
    with pressing(priced(), store) as one, pressing(priced(), store) as two:
        shared = Provider()
        talk(one, BODIES[:CUT], shared)
        talk(two, BODIES[:CUT], shared)
        (first,) = talk(one, [BODIES[CUT]], shared, pauses=[LATER])
        (second,) = talk(two, [BODIES[CUT]], shared)
        assert first.applied and second.sent == first.sent
        tails = [talk(press, [BODIES[CUT + 1]], shared)[0].sent for press in (two, one)]
        assert tails[0] == tails[1]
