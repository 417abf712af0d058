"""The commands of examples/README.md, without a key: both agents finish a task in a window that it outgrows."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples.loaded import EXAMPLES, example

PAGE = (EXAMPLES / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def upstream() -> Iterator[subprocess.Popen[str]]:
    """`examples/strict_upstream.py`, running."""
    command = [sys.executable, "-u", str(EXAMPLES / "strict_upstream.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("folder", "key", "packages"),
    [
        pytest.param("custom_loop", "ANTHROPIC_API_KEY", ("anthropic",), id="custom_loop"),
        pytest.param("langgraph", "OPENAI_API_KEY", ("langgraph", "langchain_openai"), id="langgraph"),
    ],
)
@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
def test_the_pages_command_finishes_the_task(  # noqa: PLR0917 - every one a fixture or a parameter
    upstream: subprocess.Popen[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    folder: str,
    key: str,
    packages: tuple[str, ...],
) -> None:
    for package in packages:
        pytest.importorskip(package, reason="it comes with the test extra")
    told = re.search(rf'{key}=none python examples/{folder}/agent.py "([^"]+)" --url URL --window (\d+)$', PAGE, re.M)
    assert told is not None, "the page has the command"
    assert upstream.stdout is not None
    line = upstream.stdout.readline()
    url, window = re.findall(r"http://\S+|\d+(?= tokens)", line)
    assert window == told[2], "the page names the window that the upstream has"
    monkeypatch.setenv(key, "none")
    monkeypatch.chdir(tmp_path)
    example(folder).main([told[1], "--url", url, "--window", window])
    assert capsys.readouterr().out.strip() == "All done."
    upstream.send_signal(signal.SIGINT)
    assert upstream.stdout.readline() == "31 requests, 0 refused\n"
    assert upstream.wait(timeout=30) == 0
