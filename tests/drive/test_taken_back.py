"""A batch that made the provider refuse a conversation holds no more; those that it accepted do."""

from __future__ import annotations

from pathlib import Path

import pytest
from compacting import MODEL, applied, growing, run, windowed
from support import Press, pressing

from coldpress.drive import Prepared
from coldpress.model.records import Failover, Outcome
from coldpress.model.usage import Usage
from coldpress.stores.base import Store
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore
from coldpress.wire.binding_refusal import REFUSED

WINDOW = 12_000
BODIES = growing("anthropic", [run(n) for n in range(40)], model=MODEL)


def end(press: Press, prepared: Prepared, status: int, *words: str, failover: Failover | None = None) -> None:
    usage = Usage(fresh=9_000, read=0, write_short=0, write_long=0, output=1) if status == 200 else Usage()
    told = Outcome(
        prepared.receipt.request_id, status, "complete", 1.0, usage, transformations=words, failover=failover
    )
    press.driver.finish(told)


def until_a_batch(press: Press, start: int) -> tuple[int, Prepared]:
    """Go on, accepted each time, up to a request with a batch of its own, whose reply is not told yet."""
    for number in range(start, len(BODIES)):
        sent = press(BODIES[number])
        if applied(sent):
            return number, sent
        end(press, sent, 200)
    raise AssertionError("no batch was made")


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "store.sqlite3")


@pytest.mark.parametrize("restart", [False, True], ids=["goes on", "restarted"])
def test_the_refused_batch_goes_and_the_accepted_one_stays(store: Store, restart: bool) -> None:
    with pressing(windowed(WINDOW), store) as press:
        number, first = until_a_batch(press, 0)
        end(press, first, 200)
        number, second = until_a_batch(press, number + 1)
        end(press, second, 400, REFUSED)
        if not restart:
            again, later = press(BODIES[number]), press(BODIES[number + 1])
    if restart:
        with pressing(windowed(WINDOW), store) as press:
            again, later = press(BODIES[number], operation="drain"), press(BODIES[number + 1], operation="drain")
    store.close()
    for sent, whole in ((again, BODIES[number]), (later, BODIES[number + 1])):
        assert not applied(sent)
        assert len(whole) > len(sent.body) > len(second.body), "the first batch holds, the second does not"
    first_gone = len(BODIES[number]) - len(again.body)
    assert first_gone == len(BODIES[number + 1]) - len(later.body)


@pytest.mark.parametrize(
    ("status", "words", "failover"),
    [
        pytest.param(200, (), None, id="accepted"),
        pytest.param(529, (), None, id="overloaded"),
        pytest.param(400, (), None, id="refused for another reason"),
        pytest.param(200, ("thinking_dropped:prefix_binding_mismatch",), None, id="reasoning was withheld"),
        pytest.param(200, (), Failover("other", "503", "served", "m", 200), id="another provider answered"),
    ],
)
def test_a_batch_stays_that_nobody_refused(
    store: Store, status: int, words: tuple[str, ...], failover: Failover | None
) -> None:
    with pressing(windowed(WINDOW), store) as press:
        number, sent = until_a_batch(press, 0)
        end(press, sent, status, *words, failover=failover)
        assert press(BODIES[number]).body == sent.body
    store.close()


def test_a_batch_that_failed_to_arrive_is_taken_back_when_the_next_try_is_refused(store: Store) -> None:
    with pressing(windowed(WINDOW), store) as press:
        number, sent = until_a_batch(press, 0)
        end(press, sent, 503)
        retried = press(BODIES[number])
        assert retried.body == sent.body
        end(press, retried, 400, REFUSED)
        assert press(BODIES[number]).body == BODIES[number]
    store.close()


def test_a_branch_that_never_had_the_batch_is_left_alone(store: Store) -> None:
    other = growing("anthropic", [run(n) for n in range(100, 140)], model=MODEL)
    with pressing(windowed(WINDOW), store) as press:
        number, sent = until_a_batch(press, 0)
        aside = [press(body) for body in other]
        made = next(one for one in aside if applied(one))
        end(press, made, 200)
        end(press, sent, 400, REFUSED)
        assert press(BODIES[number]).body == BODIES[number]
        assert press(other[-1]).body == aside[-1].body
    store.close()


@pytest.mark.parametrize("word", ["nothing", "overloaded"])
def test_a_batch_whose_end_no_process_saw_is_taken_back_by_the_next_one(store: Store, word: str) -> None:
    """A gateway that was stopped while it waited leaves a batch of which nobody knows whether it is accepted."""
    with pressing(windowed(WINDOW), store) as press:
        number, first = until_a_batch(press, 0)
        end(press, first, 200)
        number, second = until_a_batch(press, number + 1)
        if word == "overloaded":
            end(press, second, 529)
    with pressing(windowed(WINDOW), store) as press:
        retried = press(BODIES[number])
        assert retried.body == second.body
        end(press, retried, 400, REFUSED)
        again = press(BODIES[number])
        assert len(BODIES[number]) > len(again.body) > len(second.body), "the first batch holds, the second does not"
    store.close()


def test_a_batch_that_an_earlier_process_saw_accepted_stays(store: Store) -> None:
    """Reasoning was said behind it: the client has changed something, and puts it right."""
    with pressing(windowed(WINDOW), store) as press:
        number, sent = until_a_batch(press, 0)
        end(press, sent, 200)
    with pressing(windowed(WINDOW), store) as press:
        refused = press(BODIES[number + 1], operation="drain")
        end(press, refused, 400, REFUSED)
        assert press(BODIES[number + 1]).body == refused.body
        assert len(refused.body) < len(BODIES[number + 1])
    store.close()


@pytest.mark.parametrize("restart", [False, True], ids=["goes on", "restarted"])
def test_what_one_model_accepted_is_taken_back_when_another_refuses_it(store: Store, restart: bool) -> None:
    """A model that binds nothing accepts all; the reasoning of the one before it was said behind the exact texts."""
    with pressing(windowed(WINDOW), store) as press:
        number, sent = until_a_batch(press, 0)
        end(press, sent, 200)
        refused = press(other(BODIES[number + 1]), operation="drain")
        if not restart:
            end(press, refused, 400, REFUSED)
            again = press(other(BODIES[number + 1]), operation="drain")
    if restart:
        with pressing(windowed(WINDOW), store) as press:
            end(press, press(other(BODIES[number + 1]), operation="drain"), 400, REFUSED)
            again = press(other(BODIES[number + 1]), operation="drain")
    assert len(refused.body) < len(other(BODIES[number + 1]))
    assert again.body == other(BODIES[number + 1])
    store.close()


def test_a_batch_that_was_accepted_meanwhile_stays(store: Store) -> None:
    with pressing(windowed(WINDOW), store) as press:
        number, sent = until_a_batch(press, 0)
        twin = press(BODIES[number])
        end(press, twin, 200)
        end(press, sent, 400, REFUSED)
        assert press(BODIES[number]).body == sent.body == twin.body
    store.close()


def test_the_answer_of_a_second_provider_says_nothing_of_the_first(store: Store) -> None:
    with pressing(windowed(WINDOW), store) as press:
        number, sent = until_a_batch(press, 0)
        end(press, sent, 200, failover=Failover("other", "503", "served", "m", 200))
        refused = press(BODIES[number + 1], operation="drain")
        assert len(refused.body) < len(BODIES[number + 1])
        end(press, refused, 400, REFUSED)
        assert press(BODIES[number + 1]).body == BODIES[number + 1]
    store.close()


def test_a_request_that_went_out_exact_accepts_no_batch(store: Store) -> None:
    with pressing(windowed(WINDOW), store) as press:
        number, sent = until_a_batch(press, 0)
        end(press, sent, 503)
        watched = press(BODIES[number + 1], operation="observe")
        assert watched.body == BODIES[number + 1]
        end(press, watched, 200)
        refused = press(BODIES[number + 2], operation="drain")
        assert len(refused.body) < len(BODIES[number + 2])
        end(press, refused, 400, REFUSED)
        assert press(BODIES[number + 2]).body == BODIES[number + 2]
    store.close()


def other(body: bytes) -> bytes:
    """The same request to another model."""
    return body.replace(f'"{MODEL}"'.encode(), b'"another-model"')
