"""A plugin that fails, hangs or oversteps costs what it wanted: request and reply go on, and the books say why."""

from __future__ import annotations

import importlib.metadata
import json
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bodies import changed_literals
from cases.agents import PATIENCE_SECONDS
from cases.replies import calls_of, ended
from cases.talk import Json, assistant, chat, chat_calls, chat_result, log, messages, result, use, user
from cases.through import gateway, send
from plugins.world import Asks
from support import Press, failed_quietly, pressing, settings

from coldpress.config import Settings
from coldpress.config.plugin_settings import Approval, PluginSettings
from coldpress.drive import Prepared
from coldpress.model.errors import CapabilityError
from coldpress.model.plugins import CAPABILITIES, Capability
from coldpress.model.records import Outcome
from coldpress.plugins.discovery import GROUP
from coldpress.stores.sqlite import SqliteStore
from coldpress.testing import Call, Rules, Say, Script, StrictUpstream, Turn
from coldpress.wire.registry import FormatName

FORMATS: tuple[FormatName, ...] = ("anthropic", "openai_chat")
NAME = "from-elsewhere"
FAILURE = "Traceback (most recent call last):\n" + '  File "a.py", line 1, in <module>\n' * 60 + "ValueError: no"


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Settings]:
    """Put plugins where installed packages would be, and give settings in which they are on and approved."""

    def installing(*plugins: Asks, hook_seconds: float = 5.0, first: tuple[str, ...] = ()) -> Settings:
        real, package = importlib.metadata.entry_points, SimpleNamespace(name="a-package", version="1.0")

        def load(plugin: Asks) -> Callable[[], Asks]:
            return lambda: plugin

        points = [SimpleNamespace(name=one.PLUGIN.name, dist=package, load=load(one)) for one in plugins]
        listed = {GROUP: points}
        monkeypatch.setattr(
            importlib.metadata, "entry_points", lambda **of: listed.get(of.get("group", "")) or real(**of)
        )
        on = PluginSettings(
            order=(*first, *(one.PLUGIN.name for one in plugins)),
            approved=tuple(Approval(one.PLUGIN.name, "1.0", one.PLUGIN.capabilities) for one in plugins),
            hook_seconds=hook_seconds,
        )
        return settings(plugins=on)

    return installing


def request(name: FormatName, *outputs: str) -> bytes:
    """A request with these results of a shell, the last of which no model has seen."""
    said: list[Json] = [user("go") if name == "anthropic" else {"role": "user", "content": "go"}]
    for number, output in enumerate(outputs):
        call, command = f"t{number}", {"command": f"make {number}"}
        if name == "anthropic":
            said += [assistant(use(call, **command)), user(result(call, output))]
        else:
            said += [chat_calls((call, "Bash", command)), chat_result(call, output)]
    return messages(*said) if name == "anthropic" else chat(*said)


def edit(text: str, *, at: int = -1) -> Callable[[Any], None]:
    """Put a text in the place of a result."""
    return lambda view: view.results[at].replace(text)


def raising(error: type[BaseException]) -> Callable[[Any], None]:
    def work(subject: Any) -> None:
        if hasattr(subject, "results"):
            subject.results[-1].replace("half done")
            subject.tools[0].replace({"type": "object", "title": "half done"})
        else:
            subject.replace('{"command":"half done"}')
        raise error("words of the conversation")

    return work


def unseen(view: Any) -> None:
    """Oversteps, and says nothing of it."""
    with suppress(CapabilityError):
        view.results[-1].replace("not approved")


def hang(subject: Any) -> None:
    threading.Event().wait(1.0)
    subject.replace("late")


BEFORE: dict[str, tuple[tuple[Capability, ...], Callable[[Any], object], str]] = {
    "it raises": (CAPABILITIES, raising(LookupError), "failed"),
    "it calls sys.exit": (CAPABILITIES, lambda view: sys.exit(3), "failed"),
    "it interrupts": (CAPABILITIES, raising(KeyboardInterrupt), "failed"),
    "it runs out of stack": (CAPABILITIES, raising(RecursionError), "failed"),
    "it hangs": (CAPABILITIES, hang, "slow"),
    "it edits without leave": (("read_results",), edit("shorter"), "capability"),
    "it edits without leave in secret": (("read_results",), unseen, "capability"),
    "it reads without leave": (("edit_results",), lambda view: view.results[0].text, "capability"),
    "it edits a failed result": (CAPABILITIES, edit("all is well"), "refused"),
    "it edits what was seen": (CAPABILITIES, edit("shorter", at=0), "refused"),
    "it gives an empty text": (CAPABILITIES, edit(""), "refused"),
    "it gives white space": (CAPABILITIES, edit(" \n\t"), "refused"),
    "it gives half a character": (CAPABILITIES, edit("caf\ud83d"), "refused"),
    "it gives no text": (CAPABILITIES, lambda view: view.results[-1].replace(7), "refused"),
    "it gives a schema that is none": (CAPABILITIES, lambda view: view.tools[0].replace({"a": {1}}), "refused"),
    "it gives a schema with half a character": (
        CAPABILITIES,
        lambda view: view.tools[0].replace({"title": "\udc00"}),
        "refused",
    ),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("case", BEFORE)
def test_the_request_goes_on_as_it_came_and_ledger_and_sums_say_why(
    case: str, name: FormatName, install: Callable[..., Settings]
) -> None:
    may, work, fault = BEFORE[case]
    found = install(Asks(NAME, may=may, before=work), hook_seconds=0.02 if fault == "slow" else 5.0)
    body = request(name, log("a", 12), FAILURE if "failed" in case else log("b", 12))
    with pressing(found) as press:
        prepared = press(body, name)
        assert prepared.body is body
        assert not failed_quietly(prepared)
        entry = press.store.receipt(prepared.receipt.request_id)
        assert entry is not None
        assert {(note.plugin, note.hook) for note in entry.receipt.plugins} == {(NAME, "before_request")}
        assert [note.fault for note in entry.receipt.plugins if note.fault] == [fault]
        assert "words of the conversation" not in repr(entry.receipt)
        assert faults(press) == {fault: 1}


def faults(press: Press, name: str = NAME) -> object:
    """What the sums hold of a plugin's faults."""
    rows: Any = press.driver.stats()["plugins"]
    return rows[name]["faults"]


def test_the_plugins_beside_it_are_heard(install: Callable[..., Settings]) -> None:
    good = Asks("good", before=lambda view: view.results[-1].replace(view.results[-1].text.upper()))
    body = request("anthropic", log("a", 12))
    with pressing(install(Asks(NAME, before=raising(LookupError)), good)) as press:
        sent = press(body).body
        assert changed_literals(body, sent) == [(log("a", 12), log("a", 12).upper())]
        assert (faults(press), faults(press, "good")) == ({"failed": 1}, {})


def test_one_that_always_fails_is_asked_no_more_and_stats_say_so(install: Callable[..., Settings]) -> None:
    plugin = Asks(NAME, before=raising(LookupError))
    bodies = [request("anthropic", *(log(f"n{n}", 12) for n in range(count))) for count in range(1, 6)]
    with pressing(install(plugin)) as press:
        assert [prepared.body for prepared in press.all(bodies)] == bodies
        rows: Any = press.driver.stats()["plugins"]
    assert len(plugin.seen) == 3
    assert (rows[NAME]["state"], rows[NAME]["faults"]) == ("resting", {"failed": 3})


@pytest.mark.parametrize("name", FORMATS)
def test_an_edit_stands_when_its_plugin_fails_rests_and_is_gone(
    name: FormatName, install: Callable[..., Settings]
) -> None:
    turns = iter(range(9))

    def once(view: Any) -> None:
        if next(turns):
            raise LookupError
        view.results[-1].replace("no longer secret")

    bodies = [request(name, *(log(f"n{n}", 12) for n in range(count))) for count in range(1, 7)]
    with pressing(install(Asks(NAME, before=once))) as press:
        sent = [prepared.body for prepared in press.all(bodies, name)]
        with pressing(store=press.store) as other:
            sent.append(other(bodies[-1], name).body)
    for body, now in zip([*bodies, bodies[-1]], sent, strict=True):
        assert changed_literals(body, now, name) == [(log("n0", 12), "no longer secret")]


def head(body: bytes) -> object:
    """A request without its messages, as it is written."""
    return [(key, json.dumps(value)) for key, value in json.loads(body).items() if key != "messages"]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("later", ["another answer", "none", "it raises", "it hangs"])
def test_a_schema_once_edited_is_sent_the_same_whatever_comes_later(
    name: FormatName, later: str, install: Callable[..., Settings]
) -> None:
    """The tools stand at the front of the prefix: one request with others would cost all of it, twice."""
    turns = iter(range(9))

    def work(view: Any) -> None:
        turn = next(turns)
        if turn != 1 or later == "another answer":
            view.tools[0].replace({"type": "object", "title": f"turn {turn}" if later == "another answer" else "mine"})
        elif later == "it hangs":
            hang(view)
        elif later == "it raises":
            raise LookupError

    bodies = [request(name, *(log(f"n{n}", 12) for n in range(count))) for count in range(1, 4)]
    with pressing(install(Asks(NAME, before=work), hook_seconds=0.05 if later == "it hangs" else 5.0)) as press:
        sent = [prepared.body for prepared in press.all(bodies, name)]
        told = faults(press)
    assert head(sent[0]) != head(bodies[0])
    assert [head(body) for body in sent[1:]] == [head(sent[0])] * 2
    assert (
        told
        == {
            "another answer": {"refused": 2},
            "none": {"refused": 1},
            "it raises": {"failed": 1},
            "it hangs": {"slow": 1},
        }[later]
    )


def test_a_plugin_that_outlasts_the_whole_request_shows_the_field_to_nobody(install: Callable[..., Settings]) -> None:
    """Without the schemas that ask for it, a model that saw it in its own calls would fill it, past every filter."""
    go_on, turns = threading.Event(), iter(range(9))

    def work(view: Any) -> None:
        if next(turns) == 2:
            go_on.wait(PATIENCE_SECONDS)

    found = install(Asks(NAME, before=work), hook_seconds=2 * PATIENCE_SECONDS, first=("intent",))
    bodies = [request("anthropic", *(log(f"n{n}", 12) for n in range(count))) for count in range(4)]
    with pressing(found) as press:
        first = press(bodies[0])
        assert through(first, press, '{"intent":"see it","command":"make 0"}') == '{"command":"make 0"}'
        second = press(bodies[1])
        assert b'{"intent":"see it","command":"make 0"}' in second.body
        slow = replace(found, limits=replace(found.limits, prepare_seconds=0.1))
        press.driver._settings = slow
        late = press(bodies[2])
        press.driver._settings = found
        go_on.set()
        again = press(bodies[3])
    assert "pass_through:over_budget" in late.receipt.notes
    assert late.calls is None
    assert b"intent" not in late.body
    assert again.body.startswith(second.body[: second.body.index(b"see it")])


# Calls of the model, on their way to the client.


def through(prepared: Prepared, press: Press, written: str, tool: str = "Bash", call: str = "t0") -> str:
    """Let a call pass to the client as the gateway does, in pieces, and end the reply."""
    got = written
    if prepared.calls is not None:
        passing = prepared.calls.filter_of(tool, call)
        if passing is not None:
            parts = [written[at : at + 5] for at in range(0, len(written), 5)]
            got = "".join([*(passing.feed(part) for part in parts), passing.end()])
        prepared.calls.taken()
    press.driver.finish(Outcome(prepared.receipt.request_id, 200, "complete", 0.1))
    return got


ON_CALL: dict[str, tuple[tuple[Capability, ...], Callable[[Any], object], str]] = {
    "it raises": (CAPABILITIES, raising(LookupError), "failed"),
    "it calls sys.exit": (CAPABILITIES, lambda call: sys.exit(), "failed"),
    "it hangs": (CAPABILITIES, hang, "slow"),
    "it reads without leave": ((), lambda call: call.arguments, "capability"),
    "it edits without leave": (("read_results",), lambda call: call.replace("{}"), "capability"),
    "it gives an empty text": (CAPABILITIES, lambda call: call.replace(""), "refused"),
    "it gives half an object": (CAPABILITIES, lambda call: call.replace('{"a":'), "refused"),
    "it gives half a character": (CAPABILITIES, lambda call: call.replace('{"a":"\ud83d"}'), "refused"),
    "it gives no object": (CAPABILITIES, lambda call: call.replace("[1]"), "refused"),
    "it gives an object that is no text": (CAPABILITIES, lambda call: call.replace({"command": "x"}), "refused"),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("case", ON_CALL)
@pytest.mark.parametrize("intent", [False, True], ids=["alone", "beside intent"])
def test_a_call_reaches_the_client_as_without_the_plugin(
    case: str, name: FormatName, intent: bool, install: Callable[..., Settings]
) -> None:
    may, work, fault = ON_CALL[case]
    plugin = Asks(NAME, may=may, on_call=work)
    found = install(plugin, hook_seconds=0.02 if fault == "slow" else 5.0, first=("intent",) if intent else ())
    written = '{ "command" : "caf\\u00e9", "n": 1.0 }'
    asked = '{ "intent" : "see it", "command" : "caf\\u00e9", "n": 1.0 }' if intent else written
    with pressing(found) as press:
        prepared = press(request(name), name)
        assert json.loads(through(prepared, press, asked)) == json.loads(written)
        entry = press.store.receipt(prepared.receipt.request_id)
        assert entry is not None
        assert entry.outcome is not None
        assert [(note.plugin, note.hook, note.fault) for note in entry.outcome.plugins] == [
            (NAME, "on_tool_call", fault)
        ]
        assert faults(press) == {fault: 1}
    if not intent:
        assert through_again(found, name, written) == written


def through_again(found: Settings, name: FormatName, written: str) -> str:
    """The same once more, in a process of its own."""
    with pressing(found) as press:
        return through(press(request(name), name), press, written)


def test_a_plugin_that_fails_at_the_end_of_a_reply_leaves_it_in_the_books(install: Callable[..., Settings]) -> None:
    with pressing(install(Asks(NAME, after=raising(LookupError)))) as press:
        prepared = press(request("anthropic"))
        through(prepared, press, '{"command":"make"}')
        entry = press.store.receipt(prepared.receipt.request_id)
    assert entry is not None
    assert entry.outcome is not None
    assert (entry.outcome.status, entry.outcome.plugins) == (200, ())


# The same through a gateway: bytes on both sides of it.

SAID = "I look. "
SCRIPT = Script(closing=Turn((Say(SAID), Call("Bash", {"command": "make 0"}, "See it"), Call("Read", {"path": "a"}))))
PATHS: dict[FormatName, str] = {"anthropic": "/v1/messages", "openai_chat": "/v1/chat/completions"}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("case", ["it raises", "it calls sys.exit", "it hangs"])
def test_a_gateway_serves_on_beside_a_plugin_that_fails_at_everything(
    case: str, name: FormatName, stream: bool, install: Callable[..., Settings]
) -> None:
    work = ON_CALL[case][1]
    plugin = Asks(NAME, before=BEFORE[case][1], on_call=work, after=work)
    found = install(plugin, hook_seconds=0.02 if case == "it hangs" else 5.0)
    body = json.dumps({**json.loads(request(name, log("a", 12))), "stream": stream, "max_tokens": 50}).encode()
    with StrictUpstream(SCRIPT, rules=Rules()) as upstream, gateway(upstream.url, found) as gate:
        reply = gate.post(PATHS[name], body)
        (exchange,) = upstream.inference
        outcome = ended(lambda: outcome_of(gate.store.receipt(reply.request_id)))
        stats = ended(lambda: plugin_row(send(gate.url, "GET", "/stats", b"").body))
    assert (reply.status, exchange.request.body) == (200, body)
    wanted = [{"command": "make 0"}, {"path": "a"}]
    assert [json.loads(one) for one in calls_of(reply.body, name, stream)] == wanted
    assert SAID in reply.body.decode()
    fault = BEFORE[case][2]
    assert [(note.hook, note.fault) for note in outcome.plugins] == [("on_tool_call", fault)] * 2
    assert stats["faults"] == {fault: 3}
    assert stats["state"] == "resting"


def outcome_of(entry: Any) -> Outcome | None:
    return entry.outcome if entry is not None else None


def plugin_row(stats: bytes) -> Json | None:
    """The row of the plugin once the reply is in the sums."""
    decisions: Json = json.loads(stats)["decisions"]
    return decisions["plugins"][NAME] if sum(decisions["ended"].values()) else None


def test_what_a_plugin_did_to_a_call_is_on_disk(tmp_path: Path, install: Callable[..., Settings]) -> None:
    file = tmp_path / "s.sqlite3"
    found = install(Asks(NAME, on_call=raising(LookupError)))
    with SqliteStore(file) as store, pressing(found, store) as press:
        prepared = press(request("anthropic"))
        through(prepared, press, '{"command":"make"}')
    with SqliteStore(file) as store:
        entry = store.receipt(prepared.receipt.request_id)
        plugins = dict(store.totals().plugins)
    assert entry is not None
    assert entry.outcome is not None
    (note,) = entry.outcome.plugins
    assert (note.fault, note.detail[:11]) == ("failed", "LookupError")
    assert (plugins[NAME].runs, plugins[NAME].faults) == (1, (("failed", 1),))
