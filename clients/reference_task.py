"""The task of the reference arms: what the model does, what it finds, and a search engine without a network."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from workspace import make_workspace

from coldpress.testing import Asked, Call, Part, Say, Script, Turn

MODEL = "deepseek-v4-pro"
SUMMARISER = "deepseek-v4-flash"
TASK = "Where is the retry budget set, and what do others use? Look at the web and at the sources."
ANSWER = "The retry budget is set in src/budgets.py."
PURPOSE = "Finding where retry_budget is set"
GREETING = "good morning to the tool"
READS = ("src/pool.py", "src/client.py")

SEARCHED = 1
"""Number of the request that shows what the web search found first, counted from 0."""
GREPPED = 2
"""Number of the request that shows what grep found first, beside a read: the calls were made in parallel."""
REQUESTS = 6


def make_sources(folder: Path) -> None:
    """Write the workspace: the small repository of all clients, and sources with many budgets."""
    make_workspace(folder)
    (folder / "src").mkdir()
    lines = [f"{'retry' if n % 25 == 7 else 'page'}_budget_{n} = Budget(limit={n * 37 % 101})" for n in range(1, 181)]
    (folder / "src" / "budgets.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name in ("retry", "pool", "client"):
        functions = [f"def {name}_{n}(x):\n    return x * {n} + {n * 31 % 97}\n" for n in range(1, 41)]
        (folder / "src" / f"{name}.py").write_text("\n".join(functions), encoding="utf-8")


def script_for() -> Script:
    """Write what both models answer: the one that works on the task, and the one that summarises results."""
    turns = tuple(Turn(parts) for parts in _steps())

    def answer(asked: Asked) -> Turn | None:
        if asked.body.get("model") == SUMMARISER:
            return Turn((Say(summary(asked)),))
        if asked.tools and asked.calls_made == len(turns):
            return Turn((Say("One command with a variable of its own."), _command(asked)))
        return None

    return Script(turns=turns, closing=Turn((Say(ANSWER),)), answer=answer)


def _steps() -> tuple[tuple[Part, ...], ...]:
    return (
        (
            Say("I look at what others do."),
            Call("web_search", {"query": "client library retries", "limit": 20}, "Looking at what others do"),
        ),
        (
            Say("Two things at once."),
            Call("grep", {"pattern": "budget", "path": "src/budgets.py"}, PURPOSE),
            Call("read", {"path": "src/retry.py"}, "Reading the retries"),
        ),
        *((Say(f"Next is {path}."), Call("read", {"path": path}, f"Reading {path}")) for path in READS),
    )


def _command(asked: Asked) -> Call:
    """Call the shell with a variable, written as the schema at hand asks for it: as a map, or as a list of entries."""
    schema = next(tool["function"]["parameters"] for tool in _tools(asked) if tool["function"]["name"] == "bash")
    is_list = schema["properties"]["env"]["type"] == "array"
    env = [{"key": "GREETING", "value": GREETING}] if is_list else {"GREETING": GREETING}
    return Call("bash", {"command": "printenv GREETING", "env": env}, "Trying a variable")


def _tools(asked: Asked) -> list[dict[str, dict[str, dict[str, dict[str, dict[str, object]]]]]]:
    tools = asked.body["tools"]
    assert isinstance(tools, list)
    return tools


def summary(asked: Asked) -> str:
    """Answer with the lines of the output that name what was looked for."""
    texts = [message["content"] for message in _messages(asked) if message["role"] == "user"]
    lines = [line for text in texts for line in _plain(text).splitlines()]
    return "\n".join(line for line in lines if "retry_budget" in line and "Budget(" in line)


def _messages(asked: Asked) -> list[dict[str, object]]:
    messages = asked.body["messages"]
    assert isinstance(messages, list)
    return messages


def _plain(content: object) -> str:
    if isinstance(content, str):
        return content
    assert isinstance(content, list)
    return "\n".join(block["text"] for block in content)


@contextmanager
def search_engine() -> Iterator[str]:
    """Serve the JSON API of a SearXNG instance on a free loopback port, and give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Search)
    thread = threading.Thread(target=server.serve_forever, name="search-engine", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _found() -> dict[str, object]:
    """Twenty pages, and answers that hold much of their text, as instances with answer plugins give them."""
    pages = [
        {
            "title": f"Retries in version {n}.{n * 7 % 10} of the client library",
            "url": f"https://docs.example.org/client/{n}/retries",
            "content": " ".join(f"Release {n} retries a request {n + k} times before it gives up." for k in range(6)),
        }
        for n in range(1, 21)
    ]
    answers = [
        "\n".join(
            f"Version {n}.{part}: a request is sent {n * 3 % 11} times, with {n * 70} ms between." for n in range(60)
        )
        for part in range(3)
    ]
    return {"query": "client library retries", "results": pages, "answers": answers}


class _Search(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps(_found()).encode()
        self.send_response(200 if self.path.startswith("/search?") else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
