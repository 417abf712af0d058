"""Compounding drift: a summary is made of the last summary, and each round takes a little more from what was exact."""

from __future__ import annotations

import json
import re
from typing import Final

from failure_modes.naive import Naive, one_shot, paraphrase
from failure_modes.world import Run, World, coldpress, say, source

from coldpress.testing import Part

FACTS: Final = {
    "quota": "4,312",
    "cap": "$4,300",
    "refund": "$1,845.90",
    "table": "refunds_2024_q3",
    "release": "v2.14.9",
    "deadline": "17:30 UTC",
}
BRIEFING: Final = (
    "Before you read, note: the cap is $4,300 for everything. The quota is 4,312 rows per batch. "
    "The refund is $1,845.90 and not a cent more. Never write to any table but refunds_2024_q3. "
    "It must run on v2.14.9 and nothing newer. The deadline is 17:30 UTC sharp."
)
CHAPTERS: Final = tuple(f"docs/chapter_{n:02}.py" for n in range(1, 47))


def answer(shown: str) -> tuple[Part, ...]:
    """Read chapter after chapter, say something about each, and at the end use the numbers as they are shown."""
    last = max(map(int, re.findall(r"chapter_(\d\d)", shown)), default=0)
    if last < len(CHAPTERS):
        said = f"Chapter {last} was about nothing that matters here." if last else "I begin."
        return say(said, "Read", file_path=CHAPTERS[last])
    return say(json.dumps([fact for fact in FACTS.values() if fact in shown]))


MANUAL: Final = World(
    task="Read the manual, chapter by chapter, then pay the refund.",
    model=answer,
    tools={"Read": lambda given: source(given["file_path"], lines=40)},
    window_tokens=12_000,
    says={1: BRIEFING},
)


def kept_by_round(run: Run, rounds: list[int]) -> list[int]:
    """How many facts the window holds on the first request behind each compaction."""
    return [sum(fact in run.asked[at].text for fact in FACTS.values()) for at in rounds]


class Counted(Naive):
    """Notes on which requests it compacted."""

    def __init__(self, window_tokens: int) -> None:
        super().__init__(one_shot(paraphrase), window_tokens)
        self.requests, self.at = 0, list[int]()

    def shown(self) -> dict[str, object]:
        if self.rounds > len(self.at):
            self.at.append(self.requests)
        self.requests += 1
        return super().shown()


def test_off_every_round_knows_less() -> None:
    arm = Counted(MANUAL.window_tokens)
    run = MANUAL.run(arm)
    kept = kept_by_round(run, arm.at)
    assert len(kept) >= 3
    assert kept == sorted(kept, reverse=True), kept
    assert kept[0] > kept[1] > kept[-1] == 0, kept
    assert json.loads(run.answer) == [], "an exact-use question finds nothing to go by"


def test_on_the_fifteenth_round_knows_what_the_first_one_did() -> None:
    with coldpress(MANUAL, stages=("summary",)) as arm:
        run = MANUAL.run(arm)
        pressed = [entry.receipt.pressure for entry in arm.session.receipts()]
        rounds = [at for at, one in enumerate(pressed) if one is not None and one.reason == "summarised"]
        generations = [one.generation for one in arm.compactions]
        assert kept_by_round(run, rounds) == [len(FACTS)] * len(rounds)
        assert generations == list(range(1, len(rounds) + 1)) and len(rounds) == 15
        assert [one.escalate for one in arm.compactions][:5] == [False] * 5, "and the ledger advises to split the work"
        assert all(one.escalate for one in arm.compactions[5:])
        assert "drift" not in arm.findings
        assert json.loads(run.answer) == list(FACTS.values())
        texts = [arm.session.recall(one.summary) for one in arm.compactions]
        assert [_covered(text) for text in texts] == [(2, 1 + one.summarised) for one in arm.compactions]


def _covered(text: str) -> tuple[int, int]:
    """Which messages a summary says that it was made of: each from the first one on, never a summary."""
    match = re.search(r"messages m(\d+) to m(\d+) of this conversation", text)
    assert match is not None
    return int(match[1]), int(match[2])
