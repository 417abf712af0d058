"""The memory tool on real stores: durable when it answers, one command at a time, and behind the official SDK."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from coldpress.engine.notes import NoteLimits, lineage_scope, project_scope
from coldpress.library.memory_tool import MEMORY_TOOL, MemoryTool
from coldpress.model.errors import StoreError
from coldpress.model.notes import Note
from coldpress.stores.base import Store
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore

SCOPE = project_scope("webshop")
PLAN = "/memories/plan.md"
AT = 1_790_000_000.0


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "store.sqlite3")
    yield made
    made.close()


def memory(store: Store, **more: NoteLimits) -> MemoryTool:
    return MemoryTool(store, SCOPE, clock=lambda: AT, **more)


def test_a_whole_life_of_notes(store: Store) -> None:
    tool = memory(store)
    tool.execute({"command": "create", "path": PLAN, "file_text": "one\n"})
    tool.execute({"command": "insert", "path": PLAN, "insert_line": 1, "insert_text": "two"})
    tool.execute({"command": "str_replace", "path": PLAN, "old_str": "one", "new_str": "1"})
    assert store.notes(SCOPE) == (Note("plan.md", "1\ntwo\n", "agent"),)
    tool.execute({"command": "rename", "old_path": PLAN, "new_path": "/memories/old/plan.md"})
    assert store.notes(SCOPE) == (Note("old/plan.md", "1\ntwo\n", "agent"),)
    assert tool.execute({"command": "view", "path": "/memories"}).endswith("6\t/memories/old/plan.md")
    tool.execute({"command": "delete", "path": "/memories/old"})
    assert store.notes(SCOPE) == ()


def test_a_refused_command_changes_nothing(store: Store) -> None:
    kept = Note("plan.md", "one", "user")
    store.put_note(SCOPE, kept, now=AT)
    tool = memory(store, limits=NoteLimits(most_file_bytes=4))
    for given in (
        {"command": "create", "path": "/memories/../out", "file_text": "x"},
        {"command": "create", "path": "/memories/big", "file_text": "12345"},
        {"command": "str_replace", "path": PLAN, "old_str": "none", "new_str": "x"},
        {},
    ):
        assert tool.execute(given).startswith("Not done: ")
    assert store.notes(SCOPE) == (kept,)


def test_scopes_do_not_see_each_other(store: Store) -> None:
    memory(store).execute({"command": "create", "path": PLAN, "file_text": "mine"})
    other = MemoryTool(store, lineage_scope("a" * 24))
    assert "no files yet" in other.execute({"command": "view", "path": "/memories"})
    assert "Not done" in other.execute({"command": "delete", "path": PLAN})
    assert [note.text for note in store.notes(SCOPE)] == ["mine"]


def test_what_was_answered_is_seen_by_another_process_at_once(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    with SqliteStore(path) as writing, SqliteStore(path) as reading:
        memory(writing).execute({"command": "create", "path": PLAN, "file_text": "kept"})
        assert reading.notes(SCOPE) == (Note("plan.md", "kept", "agent"),)


def test_two_tools_on_one_store_lose_no_line(store: Store) -> None:
    store.put_note(SCOPE, Note("log.md", "", "user"), now=AT)

    def insert(who: str) -> None:
        for number in range(20):
            given = {"command": "insert", "path": "/memories/log.md", "insert_line": 0, "insert_text": f"{who}{number}"}
            memory(store).execute(given)

    threads = [threading.Thread(target=insert, args=(who,)) for who in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    (note,) = store.notes(SCOPE)
    assert sorted(note.text.split()) == sorted(f"{who}{number}" for who in "abc" for number in range(20))


def test_a_store_that_is_gone_is_an_error_and_no_answer(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.sqlite3")
    store.close()
    with pytest.raises(StoreError):
        memory(store).execute({"command": "create", "path": PLAN, "file_text": "x"})


REPLIES = (
    {"command": "create", "path": PLAN, "file_text": "ship on Friday"},
    {"command": "view", "path": "/memories/../../etc/passwd"},
    {"command": "view", "path": PLAN, "view_range": [1, -1]},
    {"command": "chmod", "path": PLAN},
)


class Upstream:
    """The provider's side: each call is answered with the next command, the last with a word."""

    def __init__(self) -> None:
        self.requests: list[dict[str, object]] = []

    def answer(self, body: bytes) -> dict[str, object]:
        self.requests.append(json.loads(body))
        turn = len(self.requests) - 1
        content: dict[str, object] = {"type": "text", "text": "done"}
        if turn < len(REPLIES):
            content = {"type": "tool_use", "id": f"t{turn}", "name": "memory", "input": REPLIES[turn]}
        return {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [content],
            "stop_reason": "tool_use" if turn < len(REPLIES) else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def results(self) -> list[tuple[str, bool]]:
        """Text and error flag of every tool result that came back, in order.

        The newest message of each request: some versions of the SDK send the older ones again, some do not.
        """
        newest = [request["messages"][-1]["content"] for request in self.requests]  # type: ignore[index]
        return [
            (_text(block["content"]), bool(block.get("is_error"))) for content in newest for block in _blocks(content)
        ]


def _blocks(content: object) -> list[dict[str, object]]:
    return [b for b in content if b["type"] == "tool_result"] if isinstance(content, list) else []


def _text(content: object) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)  # type: ignore[attr-defined]


def check_conversation(upstream: Upstream, store: Store) -> None:
    created, traversal, viewed, unknown = upstream.results()
    assert created == ("Created /memories/plan.md, 14 bytes.", False)
    assert traversal[1] and "leads elsewhere" in traversal[0]
    assert viewed == ("/memories/plan.md:\n     1\tship on Friday", False)
    assert unknown[1] and "no command" in unknown[0]
    assert upstream.requests[0]["tools"] == [MEMORY_TOOL]
    assert store.notes(SCOPE) == (Note("plan.md", "ship on Friday", "agent"),)


ASKED = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "remember"}]}


@contextmanager
def listening(upstream: Upstream) -> Iterator[str]:
    """The upstream behind a loopback address; the SDKs differ in the HTTP client that one could hand them."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            reply = json.dumps(upstream.answer(self.rfile.read(int(self.headers["content-length"])))).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(10)


def test_the_official_tool_runner_writes_our_notes(store: Store) -> None:
    anthropic = pytest.importorskip("anthropic", reason="needs the anthropic SDK")
    from coldpress.library.anthropic_memory import AnthropicMemory

    upstream = Upstream()
    with listening(upstream) as url, anthropic.Anthropic(api_key="k", base_url=url) as client:
        client.beta.messages.tool_runner(**ASKED, tools=[AnthropicMemory(memory(store))]).until_done()
    check_conversation(upstream, store)


def test_the_official_asynchronous_tool_runner_writes_our_notes(store: Store) -> None:
    anthropic = pytest.importorskip("anthropic", reason="needs the anthropic SDK")
    from coldpress.library.anthropic_memory import AsyncAnthropicMemory

    upstream = Upstream()

    async def talk(url: str) -> None:
        async with anthropic.AsyncAnthropic(api_key="k", base_url=url) as client:
            runner = client.beta.messages.tool_runner(**ASKED, tools=[AsyncAnthropicMemory(memory(store))])
            await runner.until_done()

    with listening(upstream) as url:
        asyncio.run(talk(url))
    check_conversation(upstream, store)


def test_typed_commands_of_the_sdk_are_run_too(store: Store) -> None:
    types = pytest.importorskip("anthropic.types.beta", reason="needs the anthropic SDK")
    from anthropic.lib.tools import ToolError

    from coldpress.library.anthropic_memory import AnthropicMemory

    tool = AnthropicMemory(memory(store))
    tool.create(types.BetaMemoryTool20250818CreateCommand(command="create", path=PLAN, file_text="a\nb"))
    shown = tool.view(types.BetaMemoryTool20250818ViewCommand(command="view", path=PLAN, view_range=[2, 2]))
    assert shown == "/memories/plan.md, lines 2 to 2 of 2:\n     2\tb"
    tool.str_replace(
        types.BetaMemoryTool20250818StrReplaceCommand(command="str_replace", path=PLAN, old_str="a", new_str="A")
    )
    tool.insert(types.BetaMemoryTool20250818InsertCommand(command="insert", path=PLAN, insert_line=2, insert_text="c"))
    new = "/memories/b.md"
    tool.rename(types.BetaMemoryTool20250818RenameCommand(command="rename", old_path=PLAN, new_path=new))
    assert store.notes(SCOPE) == (Note("b.md", "A\nb\nc\n", "agent"),)
    tool.delete(types.BetaMemoryTool20250818DeleteCommand(command="delete", path=new))
    with pytest.raises(ToolError, match="there is no"):
        tool.delete(types.BetaMemoryTool20250818DeleteCommand(command="delete", path=new))


def test_the_example_of_the_docs_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "notes.md").read_text(encoding="utf-8")
    example = page.split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "notes.md", "exec"), {})
    assert capsys.readouterr().out == (
        "Created /memories/plan.md, 9 bytes.\n"
        "Files below /memories, each with its size in bytes, 9 in all:\n9\t/memories/plan.md\n"
    )
