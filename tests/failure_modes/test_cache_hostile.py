"""Cache-hostile rebuilds: what stands at the front of the prompt changes turn by turn, and no cache is ever read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

import pytest
from failure_modes.naive import KEPT, paraphrase
from failure_modes.world import SYSTEM, Json, Run, World, coldpress, say, source, texts_of

from coldpress.engine.budget import Stage
from coldpress.testing import Part

FILES: Final = tuple(f"src/part_{n:02}.py" for n in range(1, 31))
LITTLE: Final = 0.5
"""A request that reads less of its prompt than this has paid for its history anew."""


def answer(shown: str) -> tuple[Part, ...]:
    last = max(map(int, re.findall(r"src/part_(\d\d)\.py", shown)), default=0)
    return say(f"Part {last} is fine.", "Read", file_path=FILES[last]) if last < len(FILES) else say("All fine.")


REVIEW: Final = World(
    "Review all parts.", answer, {"Read": lambda given: source(given["file_path"])}, window_tokens=24_000
)


class Rolling:
    """A running summary in the system prompt, written anew on every turn once there is something to summarise."""

    def __init__(self) -> None:
        self.history: list[Json] = []
        self.told = ""

    def add(self, message: Json) -> None:
        self.history.append(message)

    def shown(self) -> Json:
        start = len(self.history) - KEPT
        while 0 < start < len(self.history) and self.history[start]["role"] != "assistant":
            start += 1
        if start <= 1:
            return {"messages": self.history}
        gone = "\n".join(text for message in self.history[1:start] for text in texts_of(message))
        self.told = paraphrase(f"{self.told}\n{gone}")
        return {
            "system": f"{SYSTEM}\nProgress so far: {self.told}",
            "messages": [self.history[0], *self.history[start:]],
        }

    def learn(self, reply: Json) -> None:
        """It looks at no usage."""


class Sliding:
    """Drops the oldest turns on each request until the rest fits into a share of the window."""

    def __init__(self, most_bytes: int) -> None:
        self.history: list[Json] = []
        self._most_bytes = most_bytes

    def add(self, message: Json) -> None:
        self.history.append(message)

    def shown(self) -> Json:
        rest = self.history[1:]
        while len(json.dumps(rest)) > self._most_bytes:
            rest = rest[2:]
        return {"messages": [self.history[0], *rest]}

    def learn(self, reply: Json) -> None:
        """It looks at no usage."""


class Reserialised:
    """Hands the whole history on, with what a gateway of its own adds to the head: tools in the order of a set."""

    def __init__(self, tools: list[Json]) -> None:
        self.history: list[Json] = []
        self._tools = tools
        self._number = 0

    def add(self, message: Json) -> None:
        self.history.append(message)

    def shown(self) -> Json:
        self._number += 1
        turned = self._number % len(self._tools)
        return {"messages": self.history, "tools": [*self._tools[turned:], *self._tools[:turned]]}

    def learn(self, reply: Json) -> None:
        """It looks at no usage."""


def poor(run: Run) -> int:
    """How many requests behind the third one paid for their history anew."""
    return sum(one.read_share < LITTLE for one in run.asked[3:])


@pytest.mark.parametrize(
    "arm",
    [pytest.param(Rolling(), id="running summary"), pytest.param(Sliding(50_000), id="sliding window")],
)
def test_off_the_history_is_paid_for_anew_on_most_turns(arm: Any) -> None:
    run = REVIEW.run(arm)
    assert run.ending == "done"
    assert poor(run) >= 14, [round(one.read_share, 2) for one in run.asked]


def test_off_a_head_in_another_order_reads_nothing_at_all() -> None:
    roomy = World(
        REVIEW.task,
        answer,
        {"Read": REVIEW.tools["Read"], **{f"mcp__tickets__tool_{n:02}": str for n in range(20)}},
        window_tokens=200_000,
    )
    run = roomy.run(Reserialised(roomy.offered))
    assert run.ending == "done"
    assert run.read_tokens == 0 < run.prompt_tokens


@pytest.mark.parametrize(
    "stages", [pytest.param(("mask", "summary"), id="both stages"), pytest.param(("summary",), id="summaries alone")]
)
def test_on_only_the_requests_that_are_compacted_pay(stages: Sequence[Stage]) -> None:
    with coldpress(REVIEW, stages=stages) as arm:
        run = REVIEW.run(arm)
        assert run.ending == "done"
        assert len(run.asked) == len(FILES) + 1
        assert len(arm.compactions) >= 2
        assert poor(run) <= len(arm.compactions)
        assert run.read_tokens >= 0.7 * run.prompt_tokens
        assert "cached_tokens_dropped" not in arm.findings
        heads = {json.dumps([one.body["system"], one.body["tools"], one.body["messages"][0]]) for one in run.asked}
        assert len(heads) == 1


def test_on_it_reads_more_and_pays_less_than_either_baseline() -> None:
    baselines = [REVIEW.run(Rolling()), REVIEW.run(Sliding(50_000))]
    with coldpress(REVIEW) as arm:
        run = REVIEW.run(arm)
    for other in baselines:
        assert run.read_tokens > 1.5 * other.read_tokens
        assert _written(run) < 0.7 * _written(other)


def test_on_turns_that_fill_the_window_are_not_rewritten_on_every_request() -> None:
    """Six turns of 1,400 tokens stay, in a window of 12,000: kept whole, each request would be compacted anew."""
    tight = World(REVIEW.task, answer, REVIEW.tools, window_tokens=12_000)
    with coldpress(tight) as arm:
        run = tight.run(arm)
        assert run.ending == "done"
        assert max(one.usage.prompt or 0 for one in run.asked) <= tight.window_tokens
        assert any(one.narrowed for one in arm.compactions)
        assert poor(run) <= len(arm.compactions) <= len(FILES) / 3


def _written(run: Run) -> int:
    """Tokens that were not read from the cache."""
    return run.prompt_tokens - run.read_tokens
