"""Structural summaries of recorded sessions: every item holds, they are small, and they stay within their bounds."""

from __future__ import annotations

from pathlib import Path

from bodies import conversation

from coldpress.engine.summary.bound import MOST_BYTES
from coldpress.engine.summary.check import checked
from coldpress.engine.summary.render import render
from coldpress.engine.summary.structural import build
from coldpress.engine.transcript import message_text, source_texts
from coldpress.lab.importers.claude_code import read_file
from coldpress.lab.rebuild import requests
from coldpress.measure.tokens import estimate
from coldpress.model.conversation import Conversation

LONG = 20_000
KEPT = 12


def last_requests(path: Path) -> list[Conversation]:
    """The last request of each long run in a recording."""
    bodies = (list(requests(trajectory))[-1:] for trajectory in read_file(path).trajectories)
    found = [conversation(body) for last in bodies for body in last]
    return [c for c in found if len(c.messages) > 4 * KEPT]


def test_summaries_of_the_long_recordings(shared: Path) -> None:
    ratios = []
    for path in sorted((shared / "trajectories" / "dev" / "claude-code-long").glob("*.jsonl")):
        for found in last_requests(path):
            start = next(i for i, message in enumerate(found.messages) if message.role == "assistant")
            stop = len(found.messages) - KEPT
            made = build(found, start, stop, task_stop=start)
            assert checked(made.summary, source_texts(found)).dropped == 0
            shown = render(made.summary, first=start + 1, last=stop, generation=1, recall=None, left_out=made.left_out)
            assert len(shown.encode()) < MOST_BYTES + 1_500
            assert len(made.summary) >= 5
            covered = sum(estimate(message_text(found, index)) for index in range(start, stop))
            if covered > LONG:
                ratios.append(estimate(shown) / covered)
    assert len(ratios) > 10
    assert max(ratios) < 0.06
