"""Name the decisions of the engine that a driver asks for, so that a replay can make others, or remember them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from coldpress.engine import aged_view, first_sight
from coldpress.engine.aged_view import KeptView, View, no_summary
from coldpress.engine.cut import Choose, by_gate
from coldpress.engine.policy import Rule, RuleMode
from coldpress.engine.session import Seen
from coldpress.measure import weights
from coldpress.measure.tokens import Counter
from coldpress.measure.weights import Weight
from coldpress.model.conversation import Conversation


class MakeView(Protocol):
    """Makes the view of an aged result, as `coldpress.engine.aged_view.view` does."""

    def __call__(
        self, conversation: Conversation, seen: Seen, rule: Rule, mode: RuleMode, *, summary_of: KeptView = no_summary
    ) -> View | None:
        """Give it, `None` where there is none worth having."""
        ...


@dataclass(frozen=True, slots=True)
class Deciders:
    """What decides.

    Attributes:
        choose: which aged results go now.
        decide: which view a result gets at first sight.
        view: which view it would get once it is aged.
        weigh: how many tokens a message has.
    """

    choose: Choose = by_gate
    decide: first_sight.Decide = first_sight.decide
    view: MakeView = aged_view.view
    weigh: Callable[[Conversation, int, Counter], Weight] = weights.weigh
