"""Remember the engine's decisions from one replay of a recording to the next, where they follow from the same facts.

Most arms treat a new result alike, and most of a replay's time goes into making the same views again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from coldpress.drive.deciders import Deciders
from coldpress.engine import aged_view, first_sight
from coldpress.engine.aged_view import KeptView, View, no_summary
from coldpress.engine.cut import Choose, by_gate
from coldpress.engine.first_sight import Candidate, Offered, Verdict
from coldpress.engine.markers import is_reread_refusal
from coldpress.engine.policy import Policy, Rule, RuleMode
from coldpress.engine.session import Seen
from coldpress.measure import weights
from coldpress.measure.tokens import Counter
from coldpress.measure.weights import Weight
from coldpress.model.conversation import Conversation


class Remembered:
    """Decisions about one recording; keep it as long as the recording is replayed."""

    def __init__(self) -> None:
        self._verdicts: dict[object, Verdict] = {}
        self._views: dict[object, View | None] = {}
        self._weights: dict[object, Weight] = {}

    def deciders(self, choose: Choose = by_gate) -> Deciders:
        """Give deciders for one replay."""
        return Deciders(choose, self._decide, self._view, self._weigh)

    def _decide(self, candidate: Candidate, policy: Policy, offered: Offered | None) -> Verdict:
        if offered is not None or is_reread_refusal(candidate.text):
            return first_sight.decide(candidate, policy, offered)
        rule = policy.rule_for(candidate.tool, candidate.classified.kind)
        referents = first_sight.referents(candidate) if "dedupe" in rule.first_modes else ()
        key = (candidate.key, candidate.tool, candidate.offered, candidate.wire_failed, rule, referents)
        return _kept(self._verdicts, key, lambda: first_sight.decide(candidate, policy))

    def _view(
        self, conversation: Conversation, seen: Seen, rule: Rule, mode: RuleMode, *, summary_of: KeptView = no_summary
    ) -> View | None:
        if mode == "model":
            return aged_view.view(conversation, seen, rule, mode, summary_of=summary_of)
        shown = None if seen.standing is None else seen.standing.replacement
        key = (seen.key, shown, seen.intent, rule, mode, conversation.head.tools)
        return _kept(self._views, key, lambda: aged_view.view(conversation, seen, rule, mode))

    def _weigh(self, conversation: Conversation, index: int, counter: Counter) -> Weight:
        key = (conversation.messages[index].digest, counter.name)
        return _kept(self._weights, key, lambda: weights.weigh(conversation, index, counter))


T = TypeVar("T")


def _kept(known: dict[object, T], key: object, make: Callable[[], T]) -> T:
    if key not in known:
        known[key] = make()
    return known[key]
