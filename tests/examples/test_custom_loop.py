"""The custom loop works with and without coldpress, and finishes a task that outgrows the window only with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic
import pytest
from examples.loaded import example

from coldpress import Session
from coldpress.testing import Call, Rules, Shell, StrictUpstream, said_steps, task

agent = example("custom_loop")
WINDOW_TOKENS = 12_000
STEPS = 30


class Unchanged:
    """Stands in for a session that does nothing."""

    def compact(self, messages: Sequence[Any], **request: Any) -> list[Any]:
        return list(messages)

    def observe(self, reply: object) -> None:
        pass

    def recall(self, sha: str) -> str:
        raise LookupError(sha)


@contextmanager
def upstream_of(*steps: Any, window_tokens: int = 200_000) -> Iterator[StrictUpstream]:
    from dataclasses import replace

    script = replace(task(*steps), progress=said_steps)
    with StrictUpstream(script, rules=Rules(window_tokens=window_tokens)) as upstream:
        yield upstream


def client_of(upstream: StrictUpstream) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=upstream.url, api_key="k", max_retries=0)


def shell(python: str) -> Shell:
    return Shell(f"{sys.executable} -c '{python}'")


def build(number: int) -> Shell:
    return shell(f'print("\\n".join(f"{number}.{{i}} unit compiled" for i in range(2000)))')


def test_results_are_pressed_and_the_history_stays_whole(tmp_path: Path) -> None:
    with upstream_of(build(1), Shell("ls"), build(2)) as upstream, Session(agent.MODEL) as session:
        run = agent.work("Build it.", client_of(upstream), session, tmp_path)
        assert run.answer == "All done."
        assert all(exchange.refusal is None for exchange in upstream.inference)
        sent = json.loads(upstream.inference[-1].request.body)["messages"]
        assert len(sent) == len(run.history) - 1
        (told,) = run.history[2]["content"]
        assert "1.1000 unit compiled" in told["content"] and "1.1000 unit compiled" not in json.dumps(sent)
        assert all(entry.outcome is None or entry.outcome.status == 200 for entry in session.receipts())
        assert session._line.prompt_tokens == sum(e.usage.prompt or 0 for e in upstream.inference if e.usage)


def test_the_model_recalls_what_it_is_shown_shortened(tmp_path: Path) -> None:
    with Session(agent.MODEL) as session:
        with upstream_of(build(1)) as upstream:
            agent.work("Build it.", client_of(upstream), session, tmp_path)
        sha = session.receipts()[1].receipt.lines[0].original
        with upstream_of(Call("recall", {"sha": sha[:12]})) as upstream:
            run = agent.work("What was it?", client_of(upstream), session, tmp_path)
    (told,) = run.history[2]["content"]
    assert "1.1000 unit compiled" in told["content"] and not told["is_error"]


def overflowing() -> tuple[Shell, ...]:
    """Steps whose results are too short to be pressed at first sight, and together too long for the window."""
    return tuple(
        shell(f'print("\\n".join(f"step {step}, entry {{i}}: balance {{i * 7919 % 9973}}" for i in range(60)))')
        for step in range(STEPS)
    )


def test_without_coldpress_the_task_ends_in_the_providers_overflow(tmp_path: Path) -> None:
    with upstream_of(*overflowing(), window_tokens=WINDOW_TOKENS) as upstream:
        with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
            agent.work("Balance the books.", client_of(upstream), Unchanged(), tmp_path)
        assert 5 < len(upstream.inference) < STEPS


def test_with_coldpress_the_task_is_finished(tmp_path: Path) -> None:
    with (
        upstream_of(*overflowing(), window_tokens=WINDOW_TOKENS) as upstream,
        Session(agent.MODEL, window_tokens=WINDOW_TOKENS) as session,
    ):
        run = agent.work("Balance the books.", client_of(upstream), session, tmp_path)
        assert run.answer == "All done."
        assert [exchange.refusal for exchange in upstream.inference] == [None] * (STEPS + 1)
        assert len(run.history) == 2 * STEPS + 2, "the history is whole"
        pressed = [entry.receipt.pressure for entry in session.receipts() if entry.receipt.pressure]
        assert any(one.summarised or one.cleared for one in pressed)
        assert session._line.prompt_tokens == sum(e.usage.prompt or 0 for e in upstream.inference if e.usage)
