"""What every store promises: decisions, originals, the ledger, the raw log."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stores.conftest import Open
from stores.samples import DAY, NOON, Clock, key, line, noise, outcome, pressed, receipt

from coldpress.model.edits import Standing
from coldpress.model.errors import AmbiguousOriginal, StoreError, UnknownOriginal
from coldpress.model.identity import EditKey, original_sha
from coldpress.model.records import Outcome
from coldpress.model.usage import Usage
from coldpress.stores.amounts import Bucket, Views
from coldpress.stores.base import Store

ODD_TEXTS = [
    pytest.param("", id="empty"),
    pytest.param("\0", id="one NUL"),
    pytest.param("a\0b\0", id="NUL inside and at the end"),
    pytest.param("one\r\ntwo\rthree\n", id="every line ending"),
    pytest.param("\ufeffwith a mark", id="byte order mark"),
    pytest.param("\U0001f9ca\U0010ffff", id="four bytes, and the last code point"),
    pytest.param("e\u0301 \u00e9", id="decomposed and composed are two texts"),
    pytest.param("\u2028\u2029\x85\x1b[31m", id="odd separators and escapes"),
    pytest.param("x" * 3_000_000, id="three million of one letter"),
]


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_an_original_comes_back_byte_for_byte(store: Store, text: str) -> None:
    original, standing = pressed("a", text)
    store.put([original], [standing], None).result()
    assert store.recall(original[0]).encode() == text.encode()


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_a_replacement_and_its_recipe_come_back_as_they_were(store: Store, text: str) -> None:
    (sha, source), _ = pressed("a", "source")
    decided = Standing(key("a"), text, "dedupe+lossless", sha, recipe=text)
    store.put([(sha, source)], [decided], None).result()
    assert store.standing([key("a")]) == {key("a"): decided}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=5))
def test_whatever_texts_are_put_every_one_is_recalled(store: Store, texts: list[str]) -> None:
    store.put([(original_sha(text), text) for text in texts], [], None).result()
    assert [store.recall(original_sha(text)) for text in texts] == texts


def test_a_text_that_was_sent_exact_is_a_decision_too(store: Store) -> None:
    exact = Standing(key("a"), None)
    store.put([], [exact], None).result()
    assert store.standing([key("a"), key("b")]) == {key("a"): exact}


def test_keys_differ_by_message_block_and_part(store: Store) -> None:
    keys = [EditKey(key(name).chain, block, part) for name in "ab" for block in (0, 1) for part in (0, 1)]
    decided = [Standing(k, None, f"mode {n}") for n, k in enumerate(keys)]
    store.put([], decided, None).result()
    assert store.standing(keys) == dict(zip(keys, decided, strict=True))


def test_thousands_of_decisions_are_found_at_once(store: Store) -> None:
    decided = [Standing(key(f"m{n}"), None, f"mode {n}") for n in range(3000)]
    store.put([], decided, None).result()
    assert store.standing([s.key for s in decided]) == {s.key: s for s in decided}


def test_the_first_decision_stays(store: Store) -> None:
    (first_original, first), (second_original, second) = pressed("a", "one", "first"), pressed("a", "two", "second")
    store.put([first_original], [first], None).result()
    store.put([second_original], [second], None).result()
    assert store.standing([key("a")]) == {key("a"): first}
    assert store.recall(second_original[0]) == "two"


def test_the_first_decision_stays_within_one_put(store: Store) -> None:
    original, first = pressed("a", "one", "first")
    second = Standing(key("a"), "second", "deterministic", original[0])
    store.put([original], [first, second], None).result()
    assert store.standing([key("a")]) == {key("a"): first}


def test_many_threads_agree_on_one_decision(store: Store) -> None:
    start = threading.Barrier(8)

    def decide(n: int) -> Standing:
        original, mine = pressed("a", "text", f"view {n}")
        start.wait()
        store.put([original], [mine], receipt(f"r{n}")).result()
        return store.standing([key("a")])[key("a")]

    with ThreadPoolExecutor(8) as threads:
        seen = set(threads.map(decide, range(8)))
    assert len(seen) == 1
    assert store.totals().requests == 8


def test_threads_that_write_and_read_at_once_lose_nothing(store: Store) -> None:
    def work(thread: int) -> None:
        for n in range(40):
            original, decided = pressed(f"{thread}/{n}", f"text {thread} {n}")
            done = store.put([original], [decided], receipt(f"{thread}/{n}", lineage=str(thread)))
            assert store.standing([decided.key]) == {decided.key: decided}
            assert store.recall(original[0]) == original[1]
            store.add_outcome(outcome(f"{thread}/{n}"))
            done.result()

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(6)))
    store.flush()
    totals = store.totals()
    assert (totals.requests, totals.lineages, totals.usage.answered) == (240, 6, 240)
    assert totals.stored.originals.rows == totals.stored.standings.rows == 240


def test_a_decision_without_its_original_is_refused_with_the_whole_put(store: Store) -> None:
    original, good = pressed("good", "kept nowhere")
    _, bad = pressed("bad", "never put")
    with pytest.raises(StoreError, match="put it along"):
        store.put([original], [good, bad], receipt("r")).result()
    assert store.standing([good.key, bad.key]) == {}
    assert store.receipt("r") is None
    with pytest.raises(UnknownOriginal):
        store.recall(original[0])


def test_a_decision_may_name_an_original_that_was_put_before(store: Store) -> None:
    original, decided = pressed("a", "text")
    store.put([original], [], None).result()
    store.put([], [decided], None).result()
    assert store.standing([decided.key]) == {decided.key: decided}


@pytest.mark.parametrize(
    ("sha", "text", "message"),
    [
        pytest.param("0" * 64, "text", "not the SHA-256 of its text", id="a wrong name"),
        pytest.param("0" * 64, "\ud800", "lone surrogate", id="a text that is not Unicode"),
    ],
)
def test_an_original_that_could_not_be_recalled_is_refused(store: Store, sha: str, text: str, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        store.put([(sha, text)], [], None).result()
    original, decided = pressed("a", "next")
    store.put([original], [decided], None).result()
    assert store.recall(original[0]) == "next"


def test_durable_waits_for_what_was_found_and_refuses_what_was_not_kept(store: Store) -> None:
    original, decided = pressed("a", "text")
    store.put([original], [decided], None)
    store.durable([decided.key]).result()
    store.durable([]).result()
    with pytest.raises(StoreError, match="send the text exact"):
        store.durable([decided.key, key("never")]).result()


# --- recall -----------------------------------------------------------------------------------


def test_a_beginning_of_the_name_is_enough_where_it_fits_one(store: Store) -> None:
    original, _ = pressed("a", "text")
    store.put([original], [], None).result()
    for digits in (8, 9, 31, 63):
        assert store.recall(original[0][:digits]) == "text"
    assert store.recall(f"  {original[0].upper()}\n") == "text"


def test_a_beginning_that_fits_two_is_refused_and_names_both(store: Store) -> None:
    texts = ("coldpress 3792", "coldpress 60500")  # found by search: both names begin with 12349f4e
    store.put([(original_sha(text), text) for text in texts], [], None).result()
    first, second = sorted(original_sha(text) for text in texts)
    with pytest.raises(AmbiguousOriginal) as refused:
        store.recall(first[:8])
    assert first[:16] in str(refused.value) and second[:16] in str(refused.value)
    assert {store.recall(original_sha(text)) for text in texts} == set(texts)


@pytest.mark.parametrize(
    "sha",
    [
        pytest.param("f" * 64, id="never stored"),
        pytest.param("", id="nothing"),
        pytest.param("abcdef0", id="too short"),
        pytest.param("f" * 65, id="too long"),
        pytest.param("zz" * 32, id="not hexadecimal"),
        pytest.param("%" * 8, id="a pattern"),
    ],
)
def test_a_name_of_nothing_is_unknown(store: Store, sha: str) -> None:
    store.put([pressed("a", "text")[0]], [], None).result()
    with pytest.raises(UnknownOriginal, match="digits"):
        store.recall(sha)


# --- ledger -----------------------------------------------------------------------------------


def test_a_receipt_comes_back_whole_and_gets_its_outcome(store: Store) -> None:
    kept = receipt("r", lines=[line(), line("Read", reason="exact_by_policy", tokens=False)], reused=2, session="s")
    ended = Outcome("r", 200, "complete", 2.5, Usage(fresh=10, read=90, output=5))
    store.put([], [], kept).result()
    entry = store.receipt("r")
    assert entry is not None and (entry.receipt, entry.outcome) == (kept, None)
    store.add_outcome(ended)
    store.flush()
    entry = store.receipt("r")
    assert entry is not None and (entry.receipt, entry.outcome) == (kept, ended)
    assert store.receipt("another") is None


def test_an_outcome_may_come_before_its_receipt_and_the_first_stays(store: Store) -> None:
    store.add_outcome(outcome("r", Usage(fresh=1)))
    store.add_outcome(outcome("r", Usage(fresh=2)))
    store.put([], [], receipt("r")).result()
    entry = store.receipt("r")
    assert entry is not None and entry.outcome == outcome("r", Usage(fresh=1))


def test_the_first_receipt_of_a_request_stays(store: Store) -> None:
    store.put([], [], receipt("r", reused=1)).result()
    store.put([], [], receipt("r", reused=9)).result()
    assert store.totals().reuses == 1


def test_receipts_are_read_newest_first_by_lineage_and_in_pages(store: Store) -> None:
    for n in range(6):
        store.put([], [], receipt(f"r{n}", at=NOON + n, lineage="even" if n % 2 == 0 else "odd"))
    store.flush()

    def read(limit: int, lineage: str | None, before: float | None) -> list[str]:
        return [e.receipt.request_id for e in store.receipts(limit=limit, lineage=lineage, before=before)]

    assert read(10, None, None) == ["r5", "r4", "r3", "r2", "r1", "r0"]
    assert read(2, None, None) == ["r5", "r4"]
    assert read(2, None, NOON + 4) == ["r3", "r2"]
    assert read(10, "even", NOON + 4) == ["r2", "r0"]
    assert read(0, None, None) == read(-1, None, None) == read(10, "none", None) == []


@pytest.mark.parametrize(
    ("beginning", "requests", "lineages"),
    [
        pytest.param("", ("a%", "ab1", "ab2", "b", "ä\U0001f642", "ä\U0010ffff"), ("abcdef", "ä", "ö"), id="all"),
        pytest.param("ab", ("ab1", "ab2"), ("abcdef",), id="two and one"),
        pytest.param("a%", ("a%",), (), id="no wild cards"),
        pytest.param("A", (), (), id="upper and lower case differ"),
        pytest.param("ä\U0010ffff", ("ä\U0010ffff",), (), id="the last code point"),
        pytest.param("abcdefg", (), (), id="longer than any"),
    ],
)
def test_names_are_found_by_their_beginning(
    store: Store, beginning: str, requests: tuple[str, ...], lineages: tuple[str, ...]
) -> None:
    names = ("b", "ab2", "a%", "ab1", "ä\U0001f642", "ä\U0010ffff")
    for name, lineage in zip(names, ("abcdef", "ä", "abcdef", "ä", "ö", "ö"), strict=True):
        store.put([], [], receipt(name, lineage=lineage))
    store.flush()
    assert store.names_like("request", beginning, limit=9) == requests
    assert store.names_like("lineage", beginning, limit=9) == lineages
    assert store.names_like("request", beginning, limit=1) == requests[:1]
    assert store.names_like("request", beginning, limit=0) == store.names_like("lineage", beginning, limit=-1) == ()


def test_receipts_of_one_moment_are_read_in_reverse_order_of_arrival(store: Store) -> None:
    for name in ("a", "b", "c"):
        store.put([], [], receipt(name))
    store.flush()
    assert [e.receipt.request_id for e in store.receipts(limit=9, lineage=None, before=None)] == ["c", "b", "a"]


def test_lineages_are_listed_the_most_recently_active_first(store: Store) -> None:
    store.put([], [], receipt("1", at=NOON, lineage="old", session="s", lines=[line(), line()]))
    store.put([], [], receipt("2", at=NOON + 5, lineage="new"))
    store.put([], [], receipt("3", at=NOON + 3, lineage="old", reused=2))
    store.flush()
    new, old = store.lineages(limit=5)
    assert (new.lineage, new.harness_session, new.requests, new.pressed) == ("new", None, 1, 0)
    assert (old.lineage, old.harness_session, old.requests, old.pressed, old.reused) == ("old", "s", 2, 2, 2)
    assert (old.first_at, old.last_at) == (NOON, NOON + 3)
    assert [s.lineage for s in store.lineages(limit=1)] == ["new"]


def test_totals_count_new_views_reuses_and_applications_apart(store: Store) -> None:
    store.put([], [], receipt("1", lines=[line(), line(tokens=False), line(reason="too_small")]))
    store.put([], [], receipt("2", lines=[line(reason="restored")], reused=2))
    store.put([], [], receipt("3", operation="observe", lines=[line(reason="observe")]))
    store.flush()
    totals = store.totals()
    assert totals.transformations == Views(2, 2000, 800, 250, 100, uncounted=1)
    assert totals.would_press == Views(1, 1000, 400, 250, 100)
    assert (totals.restorations, totals.reuses, totals.reused_bytes_saved, totals.applications) == (1, 2, 1200, 5)
    assert (totals.requests, totals.body_bytes, totals.sent_bytes) == (3, 15_000, 12_000)
    assert totals.operations == (("observe", 1), ("press", 2))
    assert totals.since == NOON


def test_usage_that_nobody_reported_is_counted_and_not_added(store: Store) -> None:
    store.add_outcome(outcome("1", Usage(fresh=10, read=90, output=5)))
    store.add_outcome(outcome("2", Usage(fresh=0, output=7)))
    store.add_outcome(outcome("3"))
    store.add_outcome(outcome("4", status=429))
    store.add_outcome(Outcome("5", None, "upstream_failed", 0.1))
    store.flush()
    totals = store.totals()
    assert (totals.usage.answered, totals.usage.unknown) == (3, 1)
    assert totals.usage.fresh == Bucket(10, replies=2)
    assert totals.usage.read == Bucket(90, replies=1)
    assert totals.usage.write_long == Bucket(0, replies=0)
    assert totals.usage.output == Bucket(12, replies=2)
    assert totals.ended == (("complete", 4), ("upstream_failed", 1))


@pytest.mark.parametrize("tokens", [-1, 1 << 40, 1 << 70])
def test_a_count_that_no_reply_can_hold_is_not_recorded_and_that_is_told(store: Store, tokens: int) -> None:
    store.add_outcome(outcome("bad", Usage(fresh=tokens)))
    store.add_outcome(outcome("good", Usage(fresh=1)))
    store.flush()
    totals = store.totals()
    assert (totals.usage.answered, totals.usage.fresh.tokens, totals.unrecorded) == (1, 1, 1)


def test_an_empty_store_has_no_oldest_time_and_counts_nothing(store: Store) -> None:
    totals = store.totals()
    assert (totals.since, totals.requests, totals.usage.answered, totals.unrecorded) == (None, 0, 0, 0)
    assert store.receipts(limit=5, lineage=None, before=None) == store.lineages(limit=5) == []


def test_the_ledger_holds_no_text_of_a_conversation(store: Store) -> None:
    original, decided = pressed("a", "the secret plan", "a view of the plan")
    store.put([original], [decided], receipt("r", lines=[line(original=original[0])])).result()
    assert "plan" not in repr(store.receipts(limit=5, lineage=None, before=None))


# --- raw log ----------------------------------------------------------------------------------


def test_the_raw_log_is_off_unless_asked_for(store: Store) -> None:
    store.log_event("r", NOON, "request", [], b"body")
    store.flush()
    assert store.events("r") == []


def test_the_raw_log_keeps_bodies_and_takes_secrets_out_of_headers(open_store: Open) -> None:
    store = open_store(raw_log=True)
    store.log_event("r", NOON, "request", [("Authorization", "Bearer k"), ("Accept", "*/*")], b"\x00\xff body")
    store.log_event("r", NOON + 1, "reply", [("content-type", "text/event-stream")], b"")
    store.log_event("other", NOON, "request", [], b"other")
    store.flush()
    sent, got = store.events("r")
    assert (sent.direction, sent.at, sent.body) == ("request", NOON, b"\x00\xff body")
    assert sent.headers == (("Authorization", "removed"), ("Accept", "*/*"))
    assert (got.direction, got.body) == ("reply", b"")


def test_the_same_body_is_kept_once(open_store: Open) -> None:
    store = open_store(raw_log=True)
    body = noise("body", 100_000).encode()
    store.log_event("r0", NOON, "request", [], body)
    store.flush()
    once = store.totals().stored.raw.size_bytes
    for n in range(1, 5):
        store.log_event(f"r{n}", NOON, "request", [], body)
    store.flush()
    assert store.totals().stored.raw.size_bytes < once + 4 * 1000
    assert store.events("r4")[0].body == body


# --- closing ----------------------------------------------------------------------------------


def test_a_closed_store_says_so_and_may_be_closed_again(store: Store, clock: Clock) -> None:
    original, decided = pressed("a", "text")
    store.put([original], [decided], None).result()
    store.close()
    store.close()
    store.flush()
    store.add_outcome(outcome("r"))
    for use in (
        lambda: store.put([], [], receipt("r")).result(),
        lambda: store.standing([key("b")]),
        lambda: store.recall(original[0]),
        lambda: store.receipt("r"),
        lambda: store.sweep(clock.now + DAY),
    ):
        with pytest.raises(StoreError, match="closed"):
            use()
