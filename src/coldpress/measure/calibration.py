"""Learn from reported usage how many tokens one conversation's provider counts for each token that we count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LOWEST_SCALE: Final = 0.5
HIGHEST_SCALE: Final = 3.0

_PRIOR_TOKENS: Final = 4_000
_MOST_EVIDENCE_TOKENS: Final = 40_000
_FEWEST_TOKENS: Final = 100
_LARGEST_STEP: Final = 1.5


@dataclass(frozen=True, slots=True)
class Calibration:
    """How one lineage's reported tokens compare with the counted ones.

    Counted tokens are those of a `Counter`, which are on the scale of its family already: a new calibration is 1.0.

    Attributes:
        scale: reported tokens for one counted, between `LOWEST_SCALE` and `HIGHEST_SCALE`.
        evidence_tokens: counted tokens that the scale rests on, at most 40,000, so that it can follow a change.
    """

    scale: float = 1.0
    evidence_tokens: int = 0

    def after_turn(
        self,
        *,
        estimated_before: int | None,
        reported_before: int | None,
        estimated_now: int | None,
        reported_now: int | None,
    ) -> Calibration:
        """Learn from two consecutive requests of one conversation, the later with all messages of the earlier.

        Only what was added between them is compared, so the head, which nobody counts, and everything else that stayed
        cancels out. The growth has to be 100 tokens or more, by both counts; else nothing is learned. A ratio that is
        more than 1.5 times off the present scale counts as 1.5 times: a recorded turn may hold an image, hidden
        reasoning or a reminder that was not there for long, and one such turn must not spoil the scale.

        Args:
            estimated_before: counted tokens of the messages of the earlier request, as sent; not scaled.
            reported_before: tokens of its whole prompt, as the provider reported them.
            estimated_now: the same for the later request.
            reported_now: the same for the later request.
        """
        if estimated_before is None or reported_before is None or estimated_now is None or reported_now is None:
            return self
        if min(estimated_before, reported_before) < 0:
            return self
        return self._learned(estimated_now - estimated_before, reported_now - reported_before)

    def after(self, *, estimated: int | None, reported: int | None) -> Calibration:
        """Learn from one request alone: all that was counted of it, head included, against its reported prompt.

        For a lone request, or one whose head was counted too. Where two requests follow each other, `after_turn` is
        the better teacher.
        """
        return self if estimated is None or reported is None else self._learned(estimated, reported)

    def scaled(self, estimated: int) -> int:
        """Put counted tokens on the provider's scale."""
        return round(estimated * self.scale)

    def predicted(self, *, estimated_before: int, reported_before: int, estimated_now: int) -> int:
        """Predict the prompt tokens of a request from an earlier one's report and the growth since; at least 0."""
        return max(0, reported_before + self.scaled(estimated_now - estimated_before))

    def _learned(self, counted: int, reported: int) -> Calibration:
        if counted < _FEWEST_TOKENS or reported < _FEWEST_TOKENS:
            return self
        ratio = min(max(reported / counted, self.scale / _LARGEST_STEP), self.scale * _LARGEST_STEP)
        counted = min(counted, _PRIOR_TOKENS)
        known = _PRIOR_TOKENS + self.evidence_tokens
        scale = (self.scale * known + ratio * counted) / (known + counted)
        return Calibration(
            min(max(scale, LOWEST_SCALE), HIGHEST_SCALE),
            min(self.evidence_tokens + counted, _MOST_EVIDENCE_TOKENS),
        )
