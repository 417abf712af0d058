"""Five compactions lose no canary: each is shown, noted, or a recall away; free-form summaries lose most of them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import pytest
from drive.asking import settings as summariser_settings
from failure_modes.canaries import CANARIES, TASK, TOOLS, Canary, session
from failure_modes.naive import Naive, one_shot, paraphrase
from failure_modes.world import CACHED, MODEL, SYSTEM, Json, Pressed, World, coldpress, shown_text, texts_of

from coldpress import Session
from coldpress.engine.budget import Stage
from coldpress.engine.notes import lineage_scope
from coldpress.model.errors import UnknownOriginal
from coldpress.testing import Rules, Say, Script, StrictUpstream, Turn, summariser
from coldpress.testing.provider import Provider

Where = Literal["window", "notes", "recall", "lost"]
ROUNDS: Final = 5
STEPS: Final = 150
SEEDS: Final = (7, 31)
WORLD: Final = World(TASK, lambda shown: (), dict.fromkeys(TOOLS, str), window_tokens=24_000)
QUESTIONS: Final = [canary for canary in CANARIES if canary.question]


@dataclass(frozen=True)
class Round:
    """What was found behind one compaction: where each canary is that had been said by then."""

    number: int
    where: dict[str, Where]

    def __str__(self) -> str:
        return f"round {self.number}: " + ", ".join(f"{name}: {place}" for name, place in self.where.items())


def rounds(arm: Pressed, seed: int) -> list[Round]:
    """Send a session request by request to a strict provider, and look behind each compaction, five times."""
    provider = Provider(Script(), Rules(window_tokens=WORLD.window_tokens), clock=lambda: 0.0)
    found: list[Round] = []
    arm.add({"role": "user", "content": [{"type": "text", "text": TASK}]})
    for number, turn in enumerate(session(seed, STEPS)):
        for message in turn:
            arm.add(message)
        body = {"model": MODEL, "max_tokens": 9, "system": SYSTEM, "tools": WORLD.offered, "cache_control": CACHED}
        body = json.loads(json.dumps({**body, **arm.shown()}))
        served = provider.messages(body, number=number, request_id=f"r{number}", betas="")
        assert served.refusal is None, served.refusal
        arm.learn(json.loads(b"".join(served.written.pieces)))
        said = [canary for canary in CANARIES if canary.text in _history(arm.history)]
        if len(arm.compactions) > len(found):
            where = {canary.name: _where(canary, body, arm) for canary in said}
            found.append(Round(len(found) + 1, where))
        if len(found) == ROUNDS:
            break
    return found


def _history(messages: Sequence[Json]) -> str:
    return "\n".join(text for message in messages for text in texts_of(message))


def _where(canary: Canary, body: Json, arm: Pressed) -> Where:
    shown = shown_text(body)
    if canary.text in shown:
        return "window"
    store, last = arm.session._line.runtime.store, arm.session.last
    assert last is not None
    if any(canary.text in note.text for note in store.notes(lineage_scope(last.lineage))):
        return "notes"
    return "recall" if any(canary.text in text for text in _recalled(shown, arm.session)) else "lost"


def _recalled(shown: str, asked: Session) -> list[str]:
    """Follow what the window itself says: digests in markers, and the list of originals that a summary names."""
    found: list[str] = []
    for line in shown.splitlines():
        if line.lstrip().startswith("[coldpress"):
            for sha in re.findall(r"\b[0-9a-f]{8,64}\b", line):
                found += _followed(sha, asked)
    return found


def _followed(sha: str, asked: Session) -> list[str]:
    try:
        text = asked.recall(sha)
    except UnknownOriginal:
        return []  # some other hexadecimal word
    listed = re.findall(r"^m\d+ ([0-9a-f]{64})$", text, re.MULTILINE)
    return [_history([json.loads(asked.recall(one))]) for one in listed] if listed else [text]


def table(found: Sequence[Round]) -> str:
    return "\n".join(map(str, found))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "stages", [pytest.param(("mask", "summary"), id="both stages"), pytest.param(("summary",), id="summaries alone")]
)
def test_on_no_canary_is_lost_in_five_rounds(stages: Sequence[Stage], seed: int) -> None:
    with coldpress(WORLD, stages=stages) as arm:
        found = rounds(arm, seed)
    _require_all(found)


KEPT: Final = {
    "constraints": r"[Bb]ackfills must not exceed \d+ rows per batch",
    "artifacts": r"tn-[0-9a-f]+|OPS-\d+",
    "failures": r"^E       (ValueError: .*)$",
}


@pytest.mark.parametrize("seed", SEEDS)
def test_on_no_canary_is_lost_with_a_models_summary(seed: int) -> None:
    """The model keeps some facts and gets others wrong: those are dropped, counted, and not shown."""
    careful = summariser(KEPT)  # type: ignore[arg-type]

    def careless(asked: Any) -> Turn:
        assert careful.answer is not None
        turn = careful.answer(asked)
        assert turn is not None and isinstance(turn.parts[0], Say)
        told = json.loads(turn.parts[0].text)
        told.setdefault("artifacts", []).append({"text": "commit 9f2c71d", "message": 4, "quotes": ["9f2c71d"]})
        told.setdefault("constraints", []).append({"text": "The cap is $4,800.", "message": 8, "quotes": ["$4,800"]})
        return Turn((Say(json.dumps(told)),))

    with StrictUpstream(Script(answer=careless)) as upstream:
        asked = summariser_settings("anthropic", upstream.url)
        with coldpress(WORLD, stages=("summary",), urgent=0.65, summariser=asked) as arm:
            found = rounds(arm, seed)
            compactions, shown = arm.compactions, shown_text(arm.shown())
    _require_all(found)
    assert {one.summariser for one in compactions} == {"claude-sonnet-4-5"}
    assert all(one.dropped == 2 for one in compactions), [one.dropped for one in compactions]
    assert "9f2c71d" not in shown and "$4,800" not in shown


def _require_all(found: Sequence[Round]) -> None:
    """Five rounds, nothing lost, and every question answered by what is shown or noted."""
    assert len(found) == ROUNDS
    assert set(found[-1].where) == {canary.name for canary in CANARIES}, "all of them had been said by then"
    assert not [name for one in found for name, where in one.where.items() if where == "lost"], table(found)
    asked = {canary.name for canary in QUESTIONS}
    missing = [n for one in found for n, where in one.where.items() if n in asked and where not in ("window", "notes")]
    assert not missing, table(found)
    assert "recall" in found[-1].where.values(), "what was never worth a line is a recall away"


@pytest.mark.parametrize("seed", SEEDS)
def test_off_free_form_summaries_lose_most_of_them(seed: int) -> None:
    arm = Naive(one_shot(paraphrase), WORLD.window_tokens)
    arm.add({"role": "user", "content": [{"type": "text", "text": TASK}]})
    for turn in session(seed, STEPS):
        arm.add(turn[0])
        # The tool is told how long its prompt is, as by the provider's usage: a token for every 3.5 characters.
        arm.learn({"usage": {"input_tokens": round(len(_history(arm.history)) / 3.5)}})
        arm.add(turn[1])
        if arm.rounds == ROUNDS:
            break
    assert arm.rounds == ROUNDS
    left = _history(arm.history)
    lost = {canary.name for canary in CANARIES if canary.text not in left}
    assert lost >= {"prohibition", "cap", "credit", "last commit", "error line", "ticket", "key", "hit"}, lost
