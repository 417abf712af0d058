"""What `pii` takes out of a result is out for good: of what leaves, and of everything that is kept or told."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bodies import changed_literals, messages_bytes, skeleton, texts
from cases import talk
from compacting import FORMATS, Call, Step, applied, compacted, growing, request, run, valid, windowed, written
from support import failed_quietly, pressing, settings

from coldpress.config import Settings
from coldpress.config.pii_keys import PiiKeys, PiiRuleKeys
from coldpress.config.plugin_keys import PluginConfigKeys
from coldpress.config.plugin_settings import PluginSettings
from coldpress.drive import Driver, Inbound, guard
from coldpress.drive.detectors import Libraries
from coldpress.engine.pii import Hit
from coldpress.engine.policy import Policy, Rule
from coldpress.model.errors import DetectorFailed, Withheld
from coldpress.model.records import Operation
from coldpress.stores.base import DEFAULT_BOUNDS, Store
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore
from coldpress.wire.registry import FormatName

CANARY = "ghp_1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R"
WHO = "ada@lovelace.uk"
SHORT = f"me: {WHO}!"
"""Twenty bytes."""

both = pytest.mark.parametrize("name", FORMATS)


def plugged(**keys: Any) -> PluginSettings:
    """The plugin with these settings, and no other."""
    return PluginSettings(order=("pii",), builtin=PluginConfigKeys(pii=PiiKeys(**keys)))


def guarded(operation: Operation = "press", policy: Policy | None = None, **keys: Any) -> Settings:
    more = {} if policy is None else {"policy": policy}
    return settings(operation, plugins=plugged(**keys), **more)


def one(name: FormatName, output: str, **more: Any) -> bytes:
    return request(name, written(name, [Step((Call("c1", output, **more),))]))


def leaky(number: int, lines: int = 60) -> str:
    """The output of a command with a token and an address in its middle."""
    head, tail = talk.log(f"n{number}", 2), talk.log(f"m{number}", lines - 2)
    return f"{head}\nGITHUB_TOKEN={CANARY}\nAuthor: Ada <{WHO}>\n{tail}"


def clean(body: bytes) -> bool:
    return CANARY.encode() not in body and WHO.encode() not in body


@both
@pytest.mark.parametrize("operation", ["press", "observe", "drain"])
def test_what_is_sensitive_is_taken_out_and_nothing_around_it(name: FormatName, operation: Operation) -> None:
    body = one(name, SHORT)
    with pressing(guarded(operation)) as press:
        prepared = press(body, name)
    assert changed_literals(body, prepared.body, name) == [(SHORT, "me: [redacted email 1]!")]
    assert prepared.changed and not failed_quietly(prepared)
    (line,) = prepared.receipt.lines
    assert (line.reason, line.mode, line.original, line.rule) == ("redacted", "redact", "", "pii: email 1")
    assert prepared.receipt.body_bytes == len(body) and prepared.receipt.sent_bytes == len(prepared.body)
    valid(prepared.body, name)


@both
def test_where_nothing_is_found_the_clients_own_object_goes_on(name: FormatName) -> None:
    body = one(name, "mail user@example.com, version 1.2.3")
    with pressing(guarded()) as press:
        prepared = press(body, name)
    assert prepared.body is body and not prepared.changed and not prepared.receipt.lines


@both
def test_off_is_off(name: FormatName) -> None:
    body = one(name, SHORT)
    with pressing(guarded()) as press:
        assert press(body, name, "off").body is body


@both
def test_failures_and_diffs_are_no_exception(name: FormatName) -> None:
    output = f"Traceback (most recent call last):\n  File 'a.py', line 3\nKeyError: {CANARY}\nExit code 1"
    body = one(name, output, failed=True)
    with pressing(guarded()) as press:
        prepared = press(body, name)
    assert changed_literals(body, prepared.body, name) == [(output, output.replace(CANARY, "[redacted secret 1]"))]


@both
def test_each_tool_has_its_own_action_and_the_first_row_counts(name: FormatName) -> None:
    rows = (PiiRuleKeys(match="web*", action="off"), PiiRuleKeys(match="kind:web", action="block"))
    steps = [Step((Call("c1", SHORT, "WebFetch", {"url": "x"}), Call("c2", SHORT)))]
    body = request(name, written(name, steps))
    with pressing(guarded(tools=rows)) as press:
        prepared = press(body, name)
    assert texts(prepared.body, name) == [SHORT, "me: [redacted email 1]!"]


@both
def test_report_tells_and_lets_go(name: FormatName) -> None:
    body = one(name, f"{SHORT} {WHO} {CANARY}")
    with pressing(guarded(action="report")) as press:
        prepared, again = press.all([body, body], name)
    assert prepared.body is body
    at = 3 if name == "anthropic" else 4
    told = [(f.kind, f.where, f.messages) for f in prepared.receipt.findings]
    assert told == [("sensitive", "Bash: email 2", (at,)), ("sensitive", "Bash: secret 1", (at,))]
    assert not again.receipt.findings


@both
def test_block_holds_the_request_back_each_time_and_says_nothing_of_the_text(name: FormatName) -> None:
    store, body = MemoryStore(), one(name, f"{SHORT} {CANARY}")
    with pressing(guarded(action="block"), store) as press:
        for _ in range(2):
            with pytest.raises(Withheld, match=r"Bash \(message \d\): email 1, secret 1") as caught:
                press(body, name)
            assert caught.value.sensitive and clean(str(caught.value).encode())
        press(one(name, "nothing"), name)
    store.flush()
    newest, *blocked = store.receipts(limit=9, lineage=None, before=None)
    assert newest.receipt.sent_bytes > 0 and len(blocked) == 2
    for entry in blocked:
        assert entry.receipt.sent_bytes == 0 and entry.receipt.notes == ("withheld:sensitive",)
        assert [f.kind for f in entry.receipt.findings] == ["withheld", "withheld"]
        assert entry.outcome is not None and entry.outcome.status == 400


@both
@pytest.mark.parametrize("file", [False, True], ids=["in memory", "on disk"])
def test_a_decision_stands_in_the_next_process_whatever_is_set_then(
    name: FormatName, file: bool, tmp_path: Path
) -> None:
    bodies = growing(name, [Step((Call(f"c{n}", leaky(n, 20)),)) for n in range(6)], since=1)
    store: Store = SqliteStore(tmp_path / "s.sqlite3", bounds=DEFAULT_BOUNDS) if file else MemoryStore()
    with pressing(guarded(), store) as press:
        first = press.all(bodies[:4], name)
    if file:
        store.close()
        store = SqliteStore(tmp_path / "s.sqlite3", bounds=DEFAULT_BOUNDS)
    other = guarded(kinds=("phone",), allow=(WHO,), action="report")
    with pressing(other, store) as press:
        again, later = press.all([bodies[3], bodies[4]], name)
    assert again.body == first[3].body and not again.receipt.lines
    assert messages_bytes(later.body, name).startswith(messages_bytes(again.body, name))
    assert WHO in texts(later.body, name)[-1] and clean(messages_bytes(again.body, name))
    if file:
        store.close()


@both
def test_what_was_sent_before_the_plugin_was_on_stays_as_it_was(name: FormatName) -> None:
    store = MemoryStore()
    bodies = growing(name, [Step((Call(f"c{n}", SHORT),)) for n in range(4)], since=1)
    with pressing(settings(), store) as press:
        press.all(bodies[:2], name)
    with pressing(guarded(), store) as press:
        found = press.all(bodies[1:], name)
    for prepared, body in zip(found, bodies[1:], strict=True):
        kept = texts(prepared.body, name)
        assert kept == [SHORT, SHORT, *["me: [redacted email 1]!"] * (len(kept) - 2)]
        assert skeleton(prepared.body, name) == skeleton(body, name)


@both
def test_what_some_model_has_seen_elsewhere_is_taken_out_too(name: FormatName) -> None:
    body = growing(name, [Step((Call(f"c{n}", SHORT),)) for n in range(3)])[-1]
    with pressing(guarded()) as press:
        assert texts(press(body, name).body, name) == ["me: [redacted email 1]!"] * 3


MASKED = Policy((Rule("bash", ("mask",), age=2), Rule("read", ("dedupe", "lossless"))))
VIEWS = [
    pytest.param(Policy((Rule("bash", ("deterministic",), first_pass=True),)), id="head and tail"),
    pytest.param(Policy((Rule("bash", ("keyword",), ungated=True),)), id="matching lines"),
    pytest.param(Policy((Rule("bash", ("dedupe", "lossless")),)), id="repeats"),
    pytest.param(MASKED, id="masks"),
]


def everything_kept(path: Path) -> bytes:
    """All that is on disk, and every text that is packed in it."""
    raw = b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
    connection = sqlite3.connect(path)
    store = SqliteStore(path, bounds=DEFAULT_BOUNDS)
    shas = [row[0].hex() for row in connection.execute("SELECT sha FROM originals")]
    raw += b"".join(store.recall(sha).encode() for sha in shas)
    for entry in store.receipts(limit=99, lineage=None, before=None):
        raw += repr(entry).encode()
        raw += b"".join(event.body for event in store.events(entry.receipt.request_id))
    chains = [row[0] for row in connection.execute("SELECT after FROM batches")]
    raw += repr(store.batches(chains)).encode()
    raw += b"".join(repr(store.notes(scope)).encode() for scope in store.note_scopes())
    store.close()
    connection.close()
    return raw


def test_the_search_of_what_is_kept_finds_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite3"
    store = SqliteStore(path, bounds=DEFAULT_BOUNDS, raw_log=True)
    held = settings()
    with pressing(replace(held, store=replace(held.store, raw_log=True)), store) as press:
        press(one("anthropic", leaky(1)))
        store.flush()
        assert CANARY.encode() in everything_kept(path)
    store.close()


@both
@pytest.mark.parametrize("policy", VIEWS)
def test_no_view_and_no_file_holds_it(
    name: FormatName, policy: Policy, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    steps = [Step((Call(f"c{n}", leaky(n % 3, 90), arguments={"command": "make token"}),)) for n in range(8)]
    path = tmp_path / "s.sqlite3"
    store = SqliteStore(path, bounds=DEFAULT_BOUNDS, raw_log=True)
    held = guarded(policy=policy)
    with (
        caplog.at_level(logging.DEBUG),
        pressing(replace(held, store=replace(held.store, raw_log=True)), store) as press,
    ):
        bodies = growing(name, steps, since=1)
        found = press.all(bodies, name)
        before = b""
        for prepared in found:
            assert clean(prepared.body) and not failed_quietly(prepared)
            assert clean(repr(prepared.receipt).encode())
            valid(prepared.body, name)
        before = found[-2].body
        assert press(bodies[-2], name).body == before
        store.flush()
        everything = everything_kept(path)
    store.close()
    assert clean(everything) and clean(caplog.text.encode())
    assert b"GITHUB_TOKEN=[redacted secret 1]" in found[0].body


@both
@pytest.mark.parametrize("stages", [("mask",), ("summary",), ("mask", "summary")], ids="+".join)
def test_no_compaction_brings_it_back(name: FormatName, stages: Sequence[str], tmp_path: Path) -> None:
    failing = Step((Call("bad", f"error: login with {CANARY} refused\nExit code 1", failed=True),))
    steps = [failing, *(Step((Call(f"c{n}", leaky(n)),), user=f"Go on with {n}.") for n in range(14)), run(99)]
    held = windowed(12_000, budget={"keep_turns": 2, "stages": stages}, plugins=plugged())
    path = tmp_path / "s.sqlite3"
    store = SqliteStore(path, bounds=DEFAULT_BOUNDS)
    with pressing(held, store) as press:
        found = press.all(growing(name, steps), name)
        assert any(map(applied, found)) and (stages != ("summary",) or compacted(found))
        for prepared in found:
            assert clean(prepared.body) and not failed_quietly(prepared)
            valid(prepared.body, name)
        store.flush()
        assert clean(everything_kept(path))
    store.close()


class Broken:
    """A library that fails on every text, or takes longer than there is time."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def secrets(self, text: str, *, seconds: float) -> tuple[Hit, ...]:
        if not self.seconds:
            raise DetectorFailed("broken")
        from threading import Event

        Event().wait(self.seconds)
        return ()

    def is_phone(self, number: str) -> bool:
        raise AssertionError("not asked where a library is missing")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "libraries", lambda kinds: Broken())
    monkeypatch.setattr(guard, "missing", lambda kinds: ())


@both
@pytest.mark.usefixtures("broken")
def test_where_a_library_fails_our_own_patterns_go_on_or_nothing_does(name: FormatName) -> None:
    body = one(name, SHORT)
    with pressing(guarded()) as press:
        prepared = press(body, name)
    assert clean(prepared.body) and prepared.receipt.notes == ("pii:own_patterns",)
    for keys in ({"on_failure": "closed"}, {"tools": (PiiRuleKeys(match="other", action="block"),)}):
        with pressing(guarded(**keys)) as press, pytest.raises(Withheld, match="could not look") as caught:
            press(body, name)
        assert not caught.value.sensitive


@both
def test_a_library_that_is_missing_is_a_failure(name: FormatName, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "libraries", lambda kinds: Libraries(None))
    monkeypatch.setattr(guard, "missing", lambda kinds: ("kingfisher-secret-scanner",))
    body = one(name, SHORT)
    with pressing(guarded(action="block", on_failure="open")) as press, pytest.raises(Withheld, match="email 1"):
        press(body, name)
    with pressing(guarded(on_failure="closed")) as press, pytest.raises(Withheld, match=r"coldpress\[pii") as caught:
        press(body, name)
    assert not caught.value.sensitive


@both
def test_a_request_that_takes_too_long_goes_or_stays_and_nothing_of_it_holds(
    name: FormatName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "libraries", lambda kinds: Broken(0.2))
    monkeypatch.setattr(guard, "missing", lambda kinds: ())
    store, body = MemoryStore(), one(name, leaky(1))
    with pressing(guarded(seconds=0.02), store) as press:
        prepared = press(body, name)
    assert prepared.body is body and "pii:too_slow" in prepared.receipt.notes
    monkeypatch.undo()
    with pressing(guarded(), store) as press:  # it has left: what follows repeats it, and the cache is read
        assert press(body, name).body is body
    monkeypatch.setattr(guard, "libraries", lambda kinds: Broken(0.2))
    with pressing(guarded(seconds=0.02, on_failure="closed")) as press, pytest.raises(Withheld, match="too_slow"):
        press(body, name)


@pytest.mark.parametrize("on_failure", ["open", "closed"])
def test_a_body_that_nobody_can_read(on_failure: str) -> None:
    with pressing(guarded(on_failure=on_failure)) as press:
        if on_failure == "open":
            assert "pii:unreadable" in press(b'{"messages": 1}').receipt.notes
        else:
            with pytest.raises(Withheld, match="unreadable"):
                press(b'{"messages": 1}')


def test_what_is_no_valid_unicode_is_looked_through_as_well() -> None:
    body = talk.one_result("LONE me: ada@lovelace.uk").replace(b"LONE", rb"\ud800")
    with pressing(guarded()) as press:
        sent = press(body).body
    assert clean(sent)
    assert "[redacted email 1]" in json.loads(sent)["messages"][2]["content"][0]["content"]


@both
def test_everything_of_ours_that_fails_sends_on_what_was_left(
    name: FormatName, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = one(name, SHORT)

    async def fails(self: Driver, inbound: Inbound) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Driver, "_prepare", fails)
    with pressing(guarded()) as press:
        prepared = press(body, name)
    assert prepared.changed and clean(prepared.body) and failed_quietly(prepared)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Warnings of requests that fail on purpose are no news."""
    logging.disable(logging.NOTSET)
    yield
