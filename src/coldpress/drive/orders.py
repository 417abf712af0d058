"""Remember which messages of which conversation a model was asked to summarise, and whether that was of any use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from coldpress.drive.memory import Recent
from coldpress.model.conversation import Conversation

MOST_BRANCHES: Final = 1_000
"""Conversations of which orders are remembered."""

MOST_ORDERS: Final = 8
"""Orders of one branch that are remembered: forks of one conversation have the first reply, and so the branch."""

MOST_USELESS: Final = 3
"""Useless answers in a row after which no model is asked in that branch, until something was applied."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """Messages that a model was asked about, up to `stop`, whose last has the chain `last`."""

    stop: int
    last: bytes

    def fits(self, conversation: Conversation) -> bool:
        """Whether a request contains these messages, and more."""
        return self.stop < len(conversation.messages) and conversation.messages[self.stop - 1].chain == self.last

    @property
    def name(self) -> str:
        """Names what was asked for; the chain says everything in front of it too."""
        return self.last.hex()


@dataclass(frozen=True, slots=True)
class _Branch:
    """What was ordered in one branch, oldest first, and how many answers in a row were of no use."""

    orders: tuple[Ordered, ...] = ()
    useless: int = 0


class Orders:
    """The orders of all branches (`Question.branch`). Use from one event loop."""

    def __init__(self) -> None:
        self._branches: Recent[str, _Branch] = Recent(MOST_BRANCHES)

    def of(self, branch: str, conversation: Conversation) -> tuple[Ordered, ...]:
        """Give the orders that were about messages of this request, the latest first."""
        return tuple(order for order in reversed(self._known(branch).orders) if order.fits(conversation))

    def add(self, branch: str, ordered: Ordered) -> tuple[Ordered, ...]:
        """Remember an order; gives those that are forgotten for it."""
        known = self._known(branch)
        orders = (*(one for one in known.orders if one != ordered), ordered)
        self._branches.note(branch, _Branch(orders[-MOST_ORDERS:], known.useless))
        return orders[:-MOST_ORDERS]

    def remove(self, branch: str, ordered: Ordered) -> None:
        """Forget an order, so that the same may be asked for again."""
        known = self._known(branch)
        self._branches.note(branch, _Branch(tuple(one for one in known.orders if one != ordered), known.useless))

    def count_useless(self, branch: str) -> None:
        """Count an answer that was of no use."""
        known = self._known(branch)
        self._branches.note(branch, _Branch(known.orders, known.useless + 1))

    def bound_useless(self, branch: str, most: int) -> None:
        """Let no more than so many answers have been of no use."""
        known = self._known(branch)
        self._branches.note(branch, _Branch(known.orders, min(known.useless, most)))

    def may_ask(self, branch: str) -> bool:
        """Whether answers in this branch were of any use lately."""
        return self._known(branch).useless < MOST_USELESS

    def _known(self, branch: str) -> _Branch:
        return self._branches.get(branch) or _Branch()
