"""What really went through a gateway with its raw log on becomes trajectories: who said what, when, for how much."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import anthropic
import httpx
import openai
import pytest
from support import settings

from coldpress.demo.play import recording_path
from coldpress.drive import Driver
from coldpress.gateway.serve import serving
from coldpress.gateway.settings import gateway_settings
from coldpress.lab.importers import any as any_importer
from coldpress.lab.importers.chains import Imported
from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.raw_log import export_lines, read_events, read_file
from coldpress.lab.rebuild import requests
from coldpress.model.errors import RecordingError
from coldpress.stores.base import RawEvent
from coldpress.stores.sqlite import SqliteStore
from coldpress.testing import BreakOff, Call, HttpError, Rules, Say, Script, Shell, StrictUpstream, Think, Turn

from .accounts import refused, unaccounted

MODEL, CHAT_MODEL = "claude-opus-4-6", "gpt-5-mini"
SYSTEM = "Be brief."
TOOL: dict[str, Any] = {
    "name": "Bash",
    "description": "Run a command.",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
}
CHAT_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "Bash", "description": "Run a command.", "parameters": TOOL["input_schema"]},
}
SCRIPT = Script(
    turns=(
        Turn((Think("First I look."), Say("I look."), Shell("ls"))),
        Turn((Shell("cat a.txt"), Shell("cat b.txt"))),
    ),
    closing=Turn((Say("Done."),)),
)
CHAT_SCRIPT = replace(
    SCRIPT, turns=(Turn((Say("I look."), Shell("ls"))), Turn((Shell("cat a.txt"), Shell("cat b.txt"))))
)


@contextmanager
def gateway(upstream: StrictUpstream, path: Path) -> Iterator[str]:
    """A gateway with its raw log on, in a thread of its own; its store is closed at the end."""
    found = settings()
    providers = tuple(
        replace(found.bare_path_provider(name), url=upstream.url) for name in ("anthropic", "openai_chat")
    )
    local = replace(
        found, host="127.0.0.1", port=0, providers=providers, store=replace(found.store, path=path, raw_log=True)
    )
    ready, stop, loop, urls = Event(), asyncio.Event(), asyncio.new_event_loop(), list[str]()

    async def serve() -> None:
        with closing(SqliteStore(path, raw_log=True)) as store, closing(Driver(local, store)) as driver:
            async with serving(gateway_settings(local, control_port=0), driver) as running:
                urls.append(running.url)
                ready.set()
                await stop.wait()

    thread = Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(10)
        yield urls[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


def by_anthropic(url: str, *, stream: bool) -> list[Any]:
    """Play the script as a client of the Messages API; gives the messages of its last request."""
    client = anthropic.Anthropic(base_url=url, api_key="secret-of-the-user", max_retries=0)
    messages: list[Any] = [{"role": "user", "content": "Look around."}]
    asked: dict[str, Any] = {
        "model": MODEL, "max_tokens": 2000, "system": SYSTEM, "tools": [TOOL],
        "thinking": {"type": "adaptive"},
    }  # fmt: skip
    while True:
        if stream:
            with client.messages.stream(messages=messages, **asked) as events:
                reply = events.get_final_message()
        else:
            reply = client.messages.create(messages=messages, **asked)
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return messages
        shown = [block.model_dump(exclude_none=True) for block in reply.content]
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": f"out of {call.input}"} for call in calls]
        messages += [{"role": "assistant", "content": shown}, {"role": "user", "content": results}]


def by_openai(url: str, *, stream: bool) -> list[Any]:
    """Play the script as a client of Chat Completions; gives the messages of its last request."""
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="secret-of-the-user", max_retries=0)
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Look around."}]
    asked: dict[str, Any] = {"model": CHAT_MODEL, "tools": [CHAT_TOOL]}
    while True:
        if stream:
            options = {"include_usage": True}
            with client.chat.completions.stream(messages=messages, stream_options=options, **asked) as events:  # type: ignore[call-overload]
                said = events.get_final_completion().choices[0].message
        else:
            said = client.chat.completions.create(messages=messages, **asked).choices[0].message
        if not said.tool_calls:
            return messages
        calls = [
            {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
            for c in said.tool_calls
        ]
        messages.append({"role": "assistant", "content": said.content, "tool_calls": calls})
        messages += [{"role": "tool", "tool_call_id": c["id"], "content": f"out of {c['function']}"} for c in calls]


CLIENTS = [
    pytest.param(by_anthropic, SCRIPT, False, id="messages"),
    pytest.param(by_anthropic, SCRIPT, True, id="messages, streamed"),
    pytest.param(by_openai, CHAT_SCRIPT, False, id="chat"),
    pytest.param(by_openai, CHAT_SCRIPT, True, id="chat, streamed"),
]
Play = Callable[..., list[Any]]


def texts(trajectory_messages: list[dict[str, Any]]) -> list[str]:
    """All that is said, in order, whatever the form."""
    found = []
    for message in trajectory_messages:
        for block in message["content"]:
            found.append(block.get("text") or block.get("thinking") or str(block.get("content") or block.get("input")))
    return found


def last_request(found: Imported) -> dict[str, Any]:
    (trajectory,) = found.trajectories
    body: dict[str, Any] = json.loads(list(requests(trajectory, found.head))[-1])
    return body


def sound(found: Imported) -> None:
    assert (refused(found), unaccounted(found)) == ([], [])


@pytest.mark.parametrize(("play", "script", "stream"), CLIENTS)
def test_a_conversation_comes_back_as_it_was(tmp_path: Path, play: Play, script: Script, stream: bool) -> None:
    path = tmp_path / "store.sqlite3"
    with StrictUpstream(script, rules=Rules(check_signatures=False)) as upstream:
        with gateway(upstream, path) as url:
            played = play(url, stream=stream)
        served = [exchange.usage for exchange in upstream.inference]
    found = read_file(path)
    sound(found)
    (trajectory,) = found.trajectories
    assert [turn.tools for turn in trajectory.turns] == [("Bash",), ("Bash", "Bash"), ()]
    assert [turn.usage.prompt for turn in trajectory.turns] == [usage.prompt for usage in served]
    assert [turn.usage.output for turn in trajectory.turns] == [usage.output for usage in served]
    assert '"text":"Done."' in trajectory.turns[-1].reply
    times = [time for turn in trajectory.turns for time in (turn.sent_at, turn.replied_at)]
    assert None not in times and times == sorted(times, key=lambda time: time or 0.0)
    assert {turn.model for turn in trajectory.turns} <= {MODEL, CHAT_MODEL}
    assert dict(found.counts.kinds) == {"request": 3, "reply": 3}
    assert found.counts.skipped == (), "what is read from a reply is what the client made of it"
    assert found.head is not None
    assert (found.head.system, len(found.head.tools)) == (SYSTEM, 1)
    said = texts(last_request(found)["messages"])
    if play is by_anthropic:
        as_blocks = [m if isinstance(m["content"], list) else {"content": [{"text": m["content"]}]} for m in played]
        assert said == texts(as_blocks)
        assert [turn.thinking for turn in trajectory.turns] == [True] * 3
    else:
        outputs = [message["content"] for message in played if message["role"] == "tool"]
        assert [text for text in said if text.startswith("out of")] == outputs


def test_an_export_says_the_same_as_the_store(tmp_path: Path) -> None:
    path, export = tmp_path / "store.sqlite3", tmp_path / "store.jsonl"
    with StrictUpstream(SCRIPT, rules=Rules(check_signatures=False)) as upstream, gateway(upstream, path) as url:
        by_anthropic(url, stream=True)
    export.write_text("".join(export_lines(path)), encoding="utf-8")
    (stored,), (exported,) = read_file(path).trajectories, read_file(export).trajectories
    assert exported.turns == stored.turns
    assert "secret-of-the-user" not in export.read_text(encoding="utf-8")
    assert read_file(export).counts == replace(read_file(path).counts, lines=6)
    sound(read_file(export))


def test_two_conversations_at_once_are_told_apart_and_one_taken_up_again_is_a_fork(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    with StrictUpstream(Script(closing=Turn((Say("Yes."),)))) as upstream, gateway(upstream, path) as url:
        client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)

        def ask(*texts: str) -> None:
            roles = ("user", "assistant")
            messages: Any = [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
            client.messages.create(model=MODEL, max_tokens=100, messages=messages)

        ask("a")
        ask("b")
        ask("a", "Yes.", "and then?")
        ask("b", "Yes.", "what else?")
        ask("a", "Yes.", "no, rather")
    found = read_file(path)
    sound(found)
    assert [(one.requests, one.shared_turns) for one in found.trajectories] == [(2, 0), (2, 0), (1, 1)]
    assert ["rather" in found.trajectories[2].turns[1].added[0], found.trajectories[2].turns[0].added[0][-5:]] == [
        True,
        found.trajectories[0].turns[0].added[0][-5:],
    ]


def test_what_the_client_makes_of_a_reply_is_what_later_requests_show(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    with StrictUpstream(Script(closing=Turn((Say("A long answer."),)))) as upstream, gateway(upstream, path) as url:
        client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        first: Any = [{"role": "user", "content": "a"}]
        client.messages.create(model=MODEL, max_tokens=100, messages=first)
        shown: Any = [{"role": "assistant", "content": "A short one."}, {"role": "user", "content": "b"}]
        client.messages.create(model=MODEL, max_tokens=100, messages=[*first, *shown])
    found = read_file(path)
    sound(found)
    (one,) = found.trajectories
    assert "A short one." in one.turns[0].reply
    assert one.turns[0].usage.known
    assert dict(found.counts.skipped)["replies that the client showed in other words (its words count)"] == 1


def test_errors_cut_replies_and_requests_without_any_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    faulty = Script(
        closing=Turn((Say("word " * 40),)),
        faults={0: HttpError(529), 1: BreakOff(after=4)},
    )
    with StrictUpstream(faulty) as upstream, gateway(upstream, path) as url:
        client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        asked: dict[str, Any] = {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": "a"}]}
        with pytest.raises(anthropic.APIStatusError):
            client.messages.create(**asked)
        with pytest.raises((anthropic.APIError, httpx.HTTPError)), client.messages.stream(**asked) as events:
            events.get_final_message()
        client.messages.create(**asked)
    found = read_file(path)
    sound(found)
    skipped = dict(found.counts.skipped)
    assert skipped["replies that are errors"] == 1
    assert skipped["replies that broke off"] == 1
    assert skipped["requests without a reply that can be used"] == 1
    turns = [turn for one in found.trajectories for turn in one.turns]
    assert sorted(len(turn.reply) for turn in turns)[0] < 150, "the cut one holds what came"
    assert len(turns) == 2


def logged(found: Imported) -> Iterator[RawEvent]:
    """What a gateway's log would hold of a recorded run."""
    at = 0.0
    for trajectory in found.trajectories:
        own = trajectory.turns[trajectory.shared_turns :]
        for body, turn in zip(requests(trajectory, found.head), own, strict=True):
            said = {"type": "message", "model": turn.model, "content": json.loads(turn.reply)["content"]}
            at += 1
            yield RawEvent(f"r{at}", at, "request", (), body)
            yield RawEvent(f"r{at}", at + 0.5, "reply", (), json.dumps(said).encode())


def said(found: Imported) -> list[tuple[tuple[str, ...], str]]:
    return [(turn.added, turn.reply) for one in found.trajectories for turn in one.turns]


def test_ids_that_a_server_uses_again_are_told_apart() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "call_0", "function": {"name": "look"}}]}
    answer = {"role": "tool", "tool_call_id": "call_0", "content": "out"}
    history: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]
    events = []
    for at in range(3):
        body = {"model": "m", "messages": history}
        events.append(RawEvent(f"r{at}", at, "request", (), json.dumps(body).encode()))
        events.append(RawEvent(f"r{at}", at + 0.5, "reply", (), json.dumps({"choices": [{"message": call}]}).encode()))
        history = [*history, call, answer]
    found = read_events(events, Tally(), name="ids")
    assert [one.requests for one in found.trajectories] == [3]
    assert (refused(found), unaccounted(found), found.counts.skipped) == ([], [], ())


def test_a_recorded_session_comes_back_from_its_log_byte_for_byte() -> None:
    recorded = any_importer.read_file(recording_path())
    found = read_events(logged(recorded), Tally(), name="again")
    assert said(found) == said(recorded)
    assert unaccounted(found) == []


def test_real_sessions_come_back_from_their_logs_byte_for_byte(shared: Path) -> None:
    dev = shared / "trajectories" / "dev"
    for path in (min((dev / "claude-code-long").iterdir()), min((dev / "openhands").iterdir())):
        recorded = any_importer.read_file(path)
        found = read_events(logged(recorded), Tally(), name="again")
        assert said(found) == said(recorded)
        assert [one.shared_turns for one in found.trajectories] == [one.shared_turns for one in recorded.trajectories]


def test_a_damaged_store_is_read_as_far_as_it_goes_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    with SqliteStore(path, raw_log=True) as store:
        for event in logged(any_importer.read_file(recording_path())):
            store.log_event(event.request_id, event.at, event.direction, event.headers, event.body)
        store.flush()
    raw, outcomes = path.read_bytes(), set[str]()
    for at in range(60, len(raw), len(raw) // 24):
        path.write_bytes(raw[:at] + bytes(255 - byte for byte in raw[at : at + 40]) + raw[at + 40 :])
        try:
            found = read_file(path)
        except RecordingError:
            outcomes.add("refused")
            continue
        outcomes.add("damaged events" if found.counts.broken else "read")
        assert (refused(found), unaccounted(found)) == ([], [])
    assert outcomes == {"refused", "damaged events", "read"}


def beside(path: Path) -> dict[str, str]:
    files = sorted(one for one in path.parent.iterdir() if one.is_file())
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in files}


def test_a_store_in_use_is_read_with_what_stands_in_its_log_and_nothing_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
    answer = json.dumps({"type": "message", "content": [{"type": "text", "text": "yes"}], "usage": {"input_tokens": 3}})
    with SqliteStore(path, raw_log=True) as store:
        store.log_event("r1", 10.0, "request", (), body)
        store.log_event("r1", 12.0, "reply", (), answer.encode())
        store.flush()
        assert path.with_name("store.sqlite3-wal").stat().st_size > 0
        before = {name: sha for name, sha in beside(path).items() if not name.endswith("-shm")}
        (one,) = read_file(path).trajectories
        assert {name: sha for name, sha in beside(path).items() if not name.endswith("-shm")} == before
        copied = tmp_path / "copied" / "store.sqlite3"
        copied.parent.mkdir()
        for name in ("store.sqlite3", "store.sqlite3-wal"):
            shutil.copyfile(tmp_path / name, copied.with_name(name))
    assert (one.turns[0].sent_at, one.turns[0].replied_at, one.turns[0].usage.fresh) == (10.0, 12.0, 3)
    before = beside(copied)
    assert read_file(copied).trajectories[0].turns == one.turns, "a copy with its log, and without the file of readers"
    assert beside(copied) == before
    before = beside(path)
    assert read_file(path).trajectories[0].turns == one.turns, "closed"
    assert beside(path) == before


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(lambda path: SqliteStore(path, raw_log=False).close(), "raw_log = true", id="raw log was off"),
        pytest.param(
            lambda path: sqlite3.connect(path).executescript("CREATE TABLE t(a); INSERT INTO t VALUES (1);").close(),
            "a database of another program",
            id="another database",
        ),
        pytest.param(lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(2000)), "cannot be read", id="damaged"),
        pytest.param(lambda path: path.write_text('{"request_id": "r"}\n'), "no request with a reply", id="no events"),
    ],
)
def test_a_log_without_conversations_is_refused_in_words(
    tmp_path: Path, make: Callable[[Path], object], words: str
) -> None:
    path = tmp_path / "store.sqlite3"
    make(path)
    with pytest.raises(RecordingError, match=words):
        read_file(path)


def test_a_call_of_the_model_by_exact_name_keeps_its_arguments(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    script = Script(turns=(Turn((Call("Bash", {"command": "echo é"}),)),), closing=Turn((Say("Done."),)))
    with StrictUpstream(script) as upstream, gateway(upstream, path) as url:
        by_openai(url, stream=True)
    (one,) = read_file(path).trajectories
    assert '"input":{"command":"echo é"}' in one.turns[0].reply
