"""What is put beside a client's own fields on one request: every part of it, where the settings switch that on."""

from __future__ import annotations

from coldpress.config.settings import Settings
from coldpress.drive.accounts import Accounts
from coldpress.drive.beside import NOTHING, Beside
from coldpress.drive.diagnosis import Diagnosis
from coldpress.drive.exchange import Inbound
from coldpress.drive.insight import Insight
from coldpress.drive.marking import Marking
from coldpress.drive.native import Natives
from coldpress.model.conversation import Conversation
from coldpress.model.native import NativeAsked
from coldpress.model.records import Operation, Outcome
from coldpress.stores.base import Store


class Sides:
    """Asks each of the parts; safe to use from any thread.

    Args:
        settings: frozen settings.
        store: asked for what was put beside earlier requests.
        accounts: prices.
        insight: names the reply that a diagnosis compares with.
    """

    def __init__(self, settings: Settings, store: Store, accounts: Accounts, insight: Insight) -> None:
        rows = settings.providers
        self._asked = frozenset(row.name for row in rows if row.native.wished or row.native.diagnostics)
        self._asked |= {row.name for row in rows if row.warmth.marks}
        diagnosed = frozenset(row.name for row in rows if row.native.diagnostics)
        marked = frozenset(row.name for row in rows if row.warmth.marks)
        self._natives = Natives(settings, accounts, store)
        self._diagnosis = Diagnosis(diagnosed.__contains__, insight.last_reply)
        self._marking = Marking(marked.__contains__)

    def has_any(self, inbound: Inbound) -> bool:
        """Whether anything may be put beside a request: not where nobody can send the headers that go with it."""
        return inbound.provider in self._asked and inbound.ask is not None

    def least(self, inbound: Inbound, operation: Operation) -> Beside:
        """Give what a request cannot do without that nobody could read or decide on."""
        return self._natives.least(inbound) if operation in ("press", "drain") and self.has_any(inbound) else NOTHING

    def beside(self, inbound: Inbound, conversation: Conversation, *, draining: bool = False) -> Beside:
        """Give all of it, or while draining what was asked for before; may ask the store, so it may block."""
        if draining:
            return self._natives.beside(inbound, conversation, draining=True)
        return joined(
            self._natives.beside(inbound, conversation),
            self._diagnosis.beside(inbound, conversation),
            self._marking.beside(inbound, conversation),
        )

    def ended(self, outcome: Outcome) -> None:
        """Take note of how a request ended."""
        self._natives.ended(outcome)


def joined(*parts: Beside) -> Beside:
    """Put parts together: their additions in the order of their places, words that several name once.

    >>> joined(NOTHING, Beside(betas=("a",)), Beside(betas=("b", "a"))).betas
    ('a', 'b')
    """
    some = [part for part in parts if part != NOTHING]
    if len(some) < 2:
        return some[0] if some else NOTHING
    additions = sorted((one for part in some for one in part.additions), key=lambda one: one.span.start)
    asked = [part.asked for part in some if part.asked is not None]
    return Beside(
        tuple(additions),
        tuple(dict.fromkeys(beta for part in some for beta in part.betas)),
        NativeAsked(
            asked=tuple(one for told in asked for one in told.asked),
            declined=tuple(one for told in asked for one in told.declined),
            clear_at_least_tokens=next(
                (told.clear_at_least_tokens for told in asked if told.clear_at_least_tokens is not None), None
            ),
        )
        if asked
        else None,
    )
