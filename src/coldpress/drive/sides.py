"""What is put beside a client's own fields, and sent beside its requests: every part, where the settings say so."""

from __future__ import annotations

from collections.abc import Callable

from coldpress.config.settings import Settings
from coldpress.drive.accounts import Accounts
from coldpress.drive.beside import NOTHING, Beside
from coldpress.drive.diagnosis import Diagnosis
from coldpress.drive.exchange import Inbound
from coldpress.drive.insight import Insight
from coldpress.drive.marking import Marking
from coldpress.drive.native import Natives
from coldpress.drive.on_demand import OnDemand
from coldpress.drive.settle import Settler
from coldpress.drive.warmth import Sleep, Warmth
from coldpress.engine.session import Session
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
        settler: knows which decisions hold no more.
        clock: seconds since 1970.
        sleep: waits for seconds of that clock.

    Attributes:
        warmth: keeps what lies idle in the provider's cache.
        on_demand: has long conversations summarised by the provider.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        accounts: Accounts,
        insight: Insight,
        settler: Settler,
        *,
        clock: Callable[[], float],
        sleep: Sleep,
    ) -> None:
        rows = settings.providers
        self._asked = frozenset(row.name for row in rows if row.native.wished or row.native.diagnostics)
        self._asked |= {row.name for row in rows if row.warmth.marks or row.native.compact_on_demand_tokens is not None}
        diagnosed = frozenset(row.name for row in rows if row.native.diagnostics)
        marked = frozenset(row.name for row in rows if row.warmth.marks)
        self._natives = Natives(settings, accounts, store)
        self._diagnosis = Diagnosis(diagnosed.__contains__, insight.last_reply)
        self._marking = Marking(marked.__contains__)
        self.warmth = Warmth(settings, store, accounts.prices, insight.note_refreshed, clock=clock, sleep=sleep)
        self.on_demand = OnDemand(settings, store, accounts, insight, settler.taken_back, clock=clock)

    def has_any(self, inbound: Inbound) -> bool:
        """Whether anything may be put beside a request: not where nobody can send the headers that go with it."""
        return inbound.provider in self._asked and inbound.ask is not None

    def least(self, inbound: Inbound, operation: Operation, session: Session = Session()) -> Beside:  # noqa: B008
        """Give what a request cannot do without that nobody could read or decide on; `session` is what goes of it."""
        if operation not in ("press", "drain") or not self.has_any(inbound):
            return NOTHING
        return joined(self._natives.least(inbound), self.on_demand.least(session))

    def beside(
        self, inbound: Inbound, conversation: Conversation, session: Session, *, draining: bool = False
    ) -> Beside:
        """Give all of it, or while draining what was asked for before; may ask the store, so it may block."""
        on_demand = self.on_demand.beside(inbound, conversation, session, draining=draining)
        if draining:
            return joined(self._natives.beside(inbound, conversation, draining=True), on_demand)
        return joined(
            on_demand,
            self._natives.beside(inbound, conversation),
            self._diagnosis.beside(inbound, conversation),
            self._marking.beside(inbound, conversation),
        )

    def ended(self, outcome: Outcome) -> None:
        """Take note of how a request ended."""
        self.warmth.ended(outcome)
        self._natives.ended(outcome)
        self.on_demand.ended(outcome)

    async def close(self) -> None:
        """Ask for nothing more."""
        await self.warmth.close()
        await self.on_demand.close()


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
            replaced_messages=next(
                (told.replaced_messages for told in asked if told.replaced_messages is not None), None
            ),
        )
        if asked
        else None,
    )
