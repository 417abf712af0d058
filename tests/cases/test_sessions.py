"""Recorded sessions, rebuilt into requests and pressed turn by turn, keep every promise on every turn."""

from __future__ import annotations

import asyncio
import functools
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import pytest
from bodies import changed_literals, conversation, without_marks
from cases.talk import dump, log
from support import settings

from coldpress.config import Settings
from coldpress.drive import Driver, Inbound, Prepared
from coldpress.engine.budget import BudgetRule, Budgets
from coldpress.engine.catalogue import classify
from coldpress.engine.policy import Policy, Rule
from coldpress.lab.importers.claude_code import read_file
from coldpress.lab.rebuild import requests
from coldpress.lab.recorded import Recorded
from coldpress.lab.replay import Replay, Sent
from coldpress.lab.replay_service import Service, settings_of
from coldpress.lab.tariffs import TARIFFS
from coldpress.measure.tokens import estimate
from coldpress.model.conversation import Conversation
from coldpress.stores.base import Store
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore
from coldpress.testing.anthropic_rules import check_messages_request
from coldpress.wire.registry import FormatName

DEV = Path(__file__).resolve().parents[3] / "shared" / "data" / "trajectories" / "dev"
SESSIONS = sorted(path for folder in ("claude-code", "claude-code-long") for path in (DEV / folder).glob("*.jsonl"))
CHATS = sorted((DEV / "tau-bench").glob("*.json"))
NEVER = {"mutation", "plan", "memory", "diff", "subagent", "mcp", "unknown"}

pytestmark = pytest.mark.skipif(not SESSIONS, reason="needs the real recordings, which are not part of the repository")


@dataclass
class Line:
    """A gateway's worth of driver that can be stopped and started again."""

    settings: Settings
    store: Store
    number: int = 0
    originals: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.driver = Driver(self.settings, self.store)

    async def send(self, body: bytes, name: FormatName) -> Prepared:
        self.number += 1
        inbound = Inbound(f"r{self.number}", float(self.number), "anthropic", name, body, None, {})
        prepared = await self.driver.prepare(inbound)
        assert not [note for note in prepared.receipt.notes if note.startswith(("pass_through", "store_failed"))]
        lines = prepared.receipt.lines
        self.originals |= {line.original for line in lines if line.reason in ("pressed", "restored")}
        return prepared

    def stop(self) -> None:
        self.driver.close()
        self.store.close()


def run(bodies_of: list[list[bytes]], name: FormatName, path: Path, found: Settings) -> Counter[str]:
    """Send conversations twice, once without a break and once with a restart in the middle; give what was pressed."""
    total = sum(len(bodies) for bodies in bodies_of)

    async def play() -> Counter[str]:
        steady, stopped = Line(found, MemoryStore()), Line(found, SqliteStore(path))
        pressed, sent = Counter[str](), 0
        for bodies in bodies_of:
            last: tuple[bytes, bytes] | None = None
            for body in bodies:
                if sent == total // 2:
                    stopped.stop()
                    stopped = Line(found, SqliteStore(path), stopped.number, stopped.originals)
                sent += 1
                ours = (await steady.send(body, name)).body
                assert (await stopped.send(body, name)).body == ours, "a second run and a restart give the same bytes"
                prefix = without_marks(sent_prefix(body, ours, name))
                assert last is None or last[0] != model_of(body) or prefix.startswith(last[1])
                last = (model_of(body), prefix)
            pressed += exactly(bodies[-1], ours, name, stopped.originals, stopped.store)
        steady.stop()
        stopped.stop()
        return pressed

    return asyncio.run(play())


NO_BUDGET = Budgets(BudgetRule(stages=()))
"""What is looked at here is first sight: no prompt is brought down."""

BEHIND_MESSAGES: dict[FormatName, bytes] = {"anthropic": b'],"system":[{', "openai_chat": b'],"tools":['}


def sent_prefix(body: bytes, ours: bytes, name: FormatName) -> bytes:
    """What we send up to the end of the last message: what follows is the client's own, of the same length."""
    return ours[: len(ours) - (len(body) - body.rindex(BEHIND_MESSAGES[name]))]


def model_of(body: bytes) -> bytes:
    return body[: body.index(b',"messages":')]


def exactly(body: bytes, ours: bytes, name: FormatName, originals: set[str], store: Store) -> Counter[str]:
    """Check the last request of a conversation, which shows all of its results; give what was pressed, by kind."""
    found = conversation(body, name)
    pressed = Counter[str]()
    for old, _ in changed_literals(body, ours, name):
        sha = sha256(old.encode()).hexdigest()
        assert sha in originals
        assert store.recall(sha).encode() == old.encode()
    theirs = conversation(ours, name)
    calls = zip(results_with_calls(found), results_with_calls(theirs), strict=True)
    for (text, tool, arguments, failed), (new, *_) in calls:
        if new != text:
            assert failed is not True, (tool, arguments)
            pressed[classify(tool, arguments).kind] += 1
    return pressed


def results_with_calls(found: Conversation) -> Iterator[tuple[str, str, str, bool | None]]:
    """Text, tool, arguments and failure flag of every text of every tool result, in order."""
    for message in found.messages:
        for _, result in message.results:
            for literal in result.texts:
                if literal.readable:
                    tool, arguments = (result.call.name, found.arguments(result.call)) if result.call else ("", "{}")
                    yield found.text(literal), tool, arguments, result.failed


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_a_claude_code_session(path: Path, tmp_path: Path) -> None:
    bodies = [list(requests(trajectory)) for trajectory in read_file(path).trajectories]
    pressed = run(bodies, "anthropic", tmp_path / "s.sqlite3", settings(budgets=NO_BUDGET))
    assert not NEVER & set(pressed)
    if path.parent.name == "claude-code-long":
        assert pressed["source"] > 0
        assert pressed.total() > 10


def chats(path: Path, *, large: bool) -> list[bytes]:
    """The requests of a recorded run: one for each of the model's answers; its outputs are short unless grown."""
    said = json.loads(path.read_text())["traj"]
    for number, message in enumerate(said):
        if large and message["role"] == "tool":
            message["content"] += "\n" + log(str(number))
    names = sorted({c["function"]["name"] for m in said for c in m.get("tool_calls") or ()})
    tools = [{"type": "function", "function": {"name": n, "parameters": {"type": "object"}}} for n in names]
    return [
        dump({"model": "gpt-5-mini", "messages": said[:at], "tools": tools})
        for at, message in enumerate(said)
        if message["role"] == "assistant"
    ]


ALL_TOOLS = Policy((Rule("*", ("lossless", "deterministic"), first_pass=True),))


@pytest.mark.parametrize("path", CHATS, ids=lambda path: path.stem)
@pytest.mark.parametrize("large", [False, True], ids=["as recorded", "with large results"])
def test_a_chat(path: Path, large: bool, tmp_path: Path) -> None:
    bodies = chats(path, large=large)
    assert len(bodies) > 3
    pressed = run([bodies], "openai_chat", tmp_path / "s.sqlite3", settings(policy=ALL_TOOLS, budgets=NO_BUDGET))
    assert not large or pressed.total() > 0


AGED = [path for path in SESSIONS if path.stem.startswith(("entire-b8", "entire-a0", "entire-6a", "entire-a4"))]
"""Long sessions with what follows compactions, one of them with sub-agents, and a short one; cold and warm cuts."""

MADE = ("pressed", "aged", "restored")

TARIFF = "claude-opus-4-6"
"""Five minutes or an hour, and written at 12.5 or 20 times the price of a read: pauses leave cold points."""


@dataclass
class Watch:
    """Looks at every request of a replay as it goes out, and remembers what a later one needs."""

    sent: list[bytes] = field(default_factory=list)
    cuts: Counter[str] = field(default_factory=Counter)
    originals: set[str] = field(default_factory=set)
    latest: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)
    _prefixes: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)

    def __call__(self, one: Sent) -> None:
        """Anything that must hold of each request: accepted upstream, and begun as the last one unless cut."""
        assert check_messages_request(json.loads(one.sent)) is None
        self.sent.append(sha256(one.sent).digest())
        self.originals |= {
            line.original for line in one.receipt.lines if line.reason in ("pressed", "aged", "restored")
        }
        cut = one.receipt.cut.reason if one.receipt.cut and one.receipt.cut.applied else None
        if cut is not None:
            self.cuts[cut] += 1
        prefix = without_marks(sent_prefix(one.received, one.sent, "anthropic"))
        model, before = self._prefixes.get(one.conversation, (b"", b""))
        assert cut is not None or model != model_of(one.received) or prefix.startswith(before)
        self._prefixes[one.conversation] = (model_of(one.received), prefix)
        self.latest[one.conversation] = (one.received, one.sent)


def replayed(path: Path, store: Store, restart_before: int | None = None) -> Watch:
    """Replay a session with usage fed back, sources pressed from five turns on."""
    service = Service(TARIFFS[TARIFF](), "anthropic")
    replay = Replay(Recorded(path.stem, read_file(path).trajectories, functools.cache(estimate)), service)
    found = settings_of(service, source_age=5, first_sight=True, keep_thinking=False, models=replay.models)
    watch = Watch()
    replay.run(found, store=store, see=watch, restart_before=restart_before)
    return watch


@pytest.mark.parametrize("path", AGED, ids=lambda path: path.stem)
def test_a_session_whose_replies_are_heard(path: Path, tmp_path: Path) -> None:
    with MemoryStore() as store:
        steady = replayed(path, store)
    with MemoryStore() as store:
        assert replayed(path, store).sent == steady.sent, "a second run gives the same bytes"
    half = len(steady.sent) // 2
    with closing(SqliteStore(tmp_path / "s.sqlite3")) as kept:
        stopped = replayed(path, kept, restart_before=half)
        # What the cache holds is forgotten, so later cuts may fall elsewhere. What was sent is not: every request of
        # a conversation begins as the last one did, across the restart too, or names the cut that changed it.
        assert stopped.sent[:half] == steady.sent[:half]
        pressed = Counter[str]()
        for received, sent in stopped.latest.values():
            bodies = without_marks(received), without_marks(sent)
            pressed += exactly(*bodies, "anthropic", stopped.originals, kept)
    assert not NEVER & set(pressed)
    assert path.stem.startswith("entire-a4") or (steady.cuts["cold"] and steady.cuts["pays"] and pressed["source"])
