"""A conversation's scale is learned from requests that were counted, whatever lies between them."""

from __future__ import annotations

from coldpress.drive.memory import Lineage, after_reply
from coldpress.engine.belief import Held
from coldpress.model.records import Belief
from coldpress.model.usage import Usage

HELD = Held(Belief("warm", "within_lifetime"))


def replied(lineage: Lineage, *, prompt: int, counted: int | None) -> Lineage:
    usage = Usage(fresh=0, read=prompt, output=1)
    return after_reply(lineage, HELD, usage=usage, context_tokens=None, counted_tokens=counted)


def test_a_request_that_nobody_counted_does_not_stop_the_learning() -> None:
    """Where every aged result is masked already there is nothing to weigh, and nothing is counted."""
    lineage = replied(Lineage(), prompt=30_000, counted=10_000)
    lineage = replied(lineage, prompt=33_000, counted=None)
    assert (lineage.counted_tokens, lineage.counted_prompt_tokens) == (10_000, 30_000)
    assert lineage.calibration.scale == 1.0
    lineage = replied(lineage, prompt=38_400, counted=16_000)
    # 8,400 reported for 6,000 counted: 1.4, half believed with as much evidence as prior.
    assert lineage.calibration.scale == 1.2
    assert (lineage.counted_tokens, lineage.counted_prompt_tokens) == (16_000, 38_400)
