"""Let a request pass without what may not leave, or not at all: `Screening` looks, this decides what becomes of it."""

from __future__ import annotations

import asyncio
import logging
import os
from concurrent.futures import Executor
from dataclasses import replace
from typing import Final, Literal

from coldpress.config.pii_keys import PiiKeys
from coldpress.drive.detectors import EXTRA, libraries, missing
from coldpress.drive.exchange import Inbound, Screened
from coldpress.drive.faults import Fault
from coldpress.drive.receipts import withheld_receipt
from coldpress.drive.screening import Looked, Screening, Ticket
from coldpress.drive.screening_pass import Found
from coldpress.model.conversation import Conversation
from coldpress.model.errors import Withheld
from coldpress.model.records import Finding, Operation, Outcome
from coldpress.stores.base import Store
from coldpress.wire.span import Misread

log = logging.getLogger(__name__)

BESIDE_BYTES: Final = 4 * 1024
"""Requests with more unread bytes than this are looked through in a thread: that many take about two milliseconds."""

Screens = Literal["no", "open", "closed"]

REFUSED_STATUS: Final = 400
MOST_TOLD: Final = 5
"""Results that a refusal names."""


class Guard:
    """Looks through requests before they are read for anything else. Use from one event loop.

    Args:
        keys: settings of `pii`, `None` where it is off: then everything passes as it is.
        store: where decisions and receipts are kept.
        workers: threads to look in.
    """

    def __init__(self, keys: PiiKeys | None, store: Store, workers: Executor) -> None:
        self._store = store
        self._workers = workers
        self._screening: Screening | None = None
        if keys is None:
            return
        self._lacking = missing(keys.kinds)
        seed = int.from_bytes(os.urandom(8), "little")
        self._screening = Screening(keys, store, libraries(keys.kinds), whole=not self._lacking, seed=seed)
        if self._lacking:
            facts = {"missing": ", ".join(self._lacking), "mend": EXTRA}
            log.warning("pii looks with its own patterns only", extra=facts)

    @property
    def screens(self) -> Screens:
        """Whether requests are looked through, and whether one goes on that cannot be."""
        if self._screening is None:
            return "no"
        return "closed" if self._screening.keys.fails_closed else "open"

    async def screened(self, inbound: Inbound, operation: Operation, *, keep: bool = True) -> Inbound:
        """Give the request without what may not leave; the same one where that was done before.

        Args:
            inbound: as the client sent it.
            operation: what may be done with it; `off` leaves it as it is.
            keep: whether a model is asked: decisions hold from then on, and the ledger tells of a refusal.

        Raises:
            Withheld: it may not leave at all.
        """
        screening = self._screening
        if screening is None or inbound.screened is not None or operation == "off":
            return inbound
        looked, why, is_closed = None, "failed", screening.keys.fails_closed
        with Fault("a request was not looked through", inbound.request_id).kept():
            try:
                looked = await self._looked(screening, inbound, keep=keep)
            except TimeoutError:
                why = "too_slow"
            except Misread:
                why = "unreadable"
        refuse = _Refusing(self._store, inbound, operation, keep=keep)
        if looked is None:
            if is_closed:
                raise refuse.unseen(why)
            log.warning("a request left unseen by pii", extra={"request": inbound.request_id, "why": why})
            return replace(inbound, screened=Screened(len(inbound.body), notes=(f"pii:{why}",)))
        if looked.blocked:
            raise refuse.found(looked.blocked, looked.conversation)
        if looked.failed and is_closed:
            raise refuse.unseen("no_detector" if self._lacking else "detector_failed")
        return replace(inbound, body=looked.body, screened=looked.screened)

    async def _looked(self, screening: Screening, inbound: Inbound, *, keep: bool) -> Looked:
        """Look here, or beside the event loop; raises `TimeoutError` where that takes too long."""
        checkpoint, ticket = screening.find(inbound), Ticket()
        unread = len(inbound.body) - (checkpoint.length if checkpoint is not None else 0)
        if unread <= BESIDE_BYTES:
            return screening.look(inbound, checkpoint, ticket, keep=keep)
        work = asyncio.get_running_loop().run_in_executor(
            self._workers, lambda: screening.look(inbound, checkpoint, ticket, keep=keep)
        )
        try:
            async with asyncio.timeout(screening.keys.seconds):
                return await asyncio.shield(work)
        except TimeoutError:
            if ticket.take():
                raise
            return await work  # it had just ended


class _Refusing:
    """Writes a refusal into the ledger, and says it."""

    def __init__(self, store: Store, inbound: Inbound, operation: Operation, *, keep: bool) -> None:
        self._store = store
        self._inbound = inbound
        self._operation: Operation = operation
        self._keep = keep

    def found(self, blocked: tuple[Found, ...], conversation: Conversation) -> Withheld:
        findings = tuple(finding for what in blocked for finding in what.findings("withheld"))
        self._write(findings, "sensitive", conversation)
        told = [f"{what.tool or 'a tool'} (message {what.message}): {_counts(what)}" for what in blocked]
        more = f"; and {len(told) - MOST_TOLD} more results" if len(told) > MOST_TOLD else ""
        return Withheld(
            f"coldpress: this request was not sent, since results hold what must not leave: "
            f"{'; '.join(told[:MOST_TOLD])}{more}. Take it out of the conversation, or change action or allow in "
            "plugins.config.pii",
            sensitive=True,
        )

    def unseen(self, why: str) -> Withheld:
        self._write((), why, None)
        mend = f"; install what it needs: {EXTRA}" if why == "no_detector" else ""
        return Withheld(
            f"coldpress: this request was not sent, since pii could not look through it ({why}){mend}; "
            'plugins.config.pii.on_failure = "open" would let it go',
            sensitive=False,
        )

    def _write(self, findings: tuple[Finding, ...], why: str, conversation: Conversation | None) -> None:
        if not self._keep:
            return
        receipt = withheld_receipt(self._inbound, self._operation, findings, why, conversation)
        self._store.put((), (), receipt)
        self._store.add_outcome(Outcome(self._inbound.request_id, REFUSED_STATUS, "complete", 0.0))


def _counts(what: Found) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in what.counts)
