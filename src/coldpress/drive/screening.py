"""Look through the results of a request for what may not leave, before anybody else reads it; blocking.

Everything behind this reads the body that comes out of it, as if the client had never sent anything else: so no view,
summary, plugin or store can hold what was taken out. A decision names the text as the client sent it and holds for
ever: what leaves of a text does not change with the settings, the libraries or the process.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from coldpress.config.pii_keys import PiiKeys, PiiToolAction
from coldpress.drive.detectors import Detector
from coldpress.drive.exchange import Inbound, Screened
from coldpress.drive.screening_pass import SMALLEST_BYTES, Found, Judged, Redaction, ScreeningPass
from coldpress.engine.catalogue import Classified
from coldpress.engine.pii import Hit
from coldpress.engine.pii_patterns import Sought, found
from coldpress.engine.plan import places
from coldpress.engine.policy import NO_RULE, Policy, Rule
from coldpress.model.conversation import Conversation
from coldpress.model.edits import Standing
from coldpress.model.errors import DetectorFailed, StoreError
from coldpress.model.identity import EditKey, request_key, screening_key
from coldpress.stores.base import Store
from coldpress.wire.prefix import Checkpoint, Reader, Reading
from coldpress.wire.span import splice

log = logging.getLogger(__name__)

MOST_MESSAGES: Final = 50_000
"""Messages that are remembered as looked through, all conversations together."""

OWN_PATTERNS: Final = "pii:own_patterns"
"""The receipt's word for texts that the libraries could not look through."""


class Ticket:
    """Settles whether a request goes by what was found in it, or went before that was known."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False

    def take(self) -> bool:
        """Say whether the caller is the first."""
        with self._lock:
            first, self._taken = not self._taken, True
        return first


@dataclass(frozen=True, slots=True)
class Looked:
    """What came of one request.

    Attributes:
        body: that may leave; the client's own object where nothing is taken out.
        conversation: as the client sent it.
        screened: for the receipt.
        blocked: what is in results that nothing sensitive may leave in: the request is to be refused.
        failed: some text was not looked through by the libraries that the settings ask for.
    """

    body: bytes = field(repr=False)
    conversation: Conversation
    screened: Screened
    blocked: tuple[Found, ...] = ()
    failed: bool = False


class Screening:
    """Looks through requests; safe to use from any thread.

    Args:
        keys: settings of `pii`; readable.
        store: where decisions are kept.
        detector: libraries.
        whole: whether all the libraries that the settings could use are there.
        seed: for the hash of prefixes.
    """

    def __init__(self, keys: PiiKeys, store: Store, detector: Detector, *, whole: bool, seed: int) -> None:
        self.keys = keys
        self._store = store
        self._detector = detector
        self._whole = whole
        self._sought = Sought(keys.kinds, keys.allowed)
        self._reader: Reader[tuple[Redaction, ...]] = Reader(seed=seed, max_messages=MOST_MESSAGES)
        self._lock = threading.Lock()
        rules = tuple(Rule(row.match, ("exact",)) for row in keys.tools)
        self._policy = Policy(rules)
        self._actions: dict[Rule, PiiToolAction] = {NO_RULE: keys.action}
        for rule, row in zip(rules, keys.tools, strict=True):
            self._actions.setdefault(rule, row.action)

    def find(self, inbound: Inbound) -> Checkpoint[tuple[Redaction, ...]] | None:
        """Find how far the request is known."""
        with self._lock:
            return self._reader.find(inbound.body, inbound.format)

    def look(
        self, inbound: Inbound, checkpoint: Checkpoint[tuple[Redaction, ...]] | None, ticket: Ticket, *, keep: bool
    ) -> Looked:
        """Look through what is new in a request.

        Args:
            inbound: the request as it came.
            checkpoint: what `find` gave for it.
            ticket: where somebody else has taken it, nothing of this holds.
            keep: whether what is decided holds from now on; not where nothing is asked of a model.

        Raises:
            Misread: the body cannot be read.
        """
        reading = self._reader.read(inbound.body, inbound.format, checkpoint, inbound.address)
        conversation = reading.conversation
        work = ScreeningPass(
            conversation, self._decided(conversation), self._judged, time.monotonic() + self.keys.seconds
        )
        work.run()
        edits = (*(reading.extra or ()), *work.edits)
        body = splice(inbound.body, edits)
        notes = (OWN_PATTERNS,) if work.failed else ()
        screened = Screened(len(inbound.body), body is not inbound.body, tuple(work.lines), tuple(work.reported), notes)
        looked = Looked(body, conversation, screened, tuple(work.blocked), work.failed)
        refused = bool(work.blocked) or (work.failed and self.keys.fails_closed)
        if ticket.take() and keep and not refused:
            self._keep(reading, edits, work.fresh)
        return looked

    def _keep(
        self, reading: Reading[tuple[Redaction, ...]], edits: tuple[Redaction, ...], fresh: list[Standing]
    ) -> None:
        """Let what was decided hold. Nobody waits until it is on disk: decided anew, it would be the same."""
        if fresh:
            try:
                self._store.put((), fresh, None)
            except StoreError as error:
                log.warning("what may leave is not written down", extra={"why": str(error)})
        known = tuple(edit for edit in edits if edit.message < reading.boundary)
        with self._lock:
            self._reader.remember(reading, known)

    def _decided(self, conversation: Conversation) -> Mapping[EditKey, Standing]:
        """Look up what was decided earlier; what went out before anybody looked stays as it was."""
        found = list(places(conversation, smallest=SMALLEST_BYTES))
        if not found:
            return {}
        try:
            known = self._store.standing([screening_key(place.key) for place in found])
            undecided = [place for place in found if screening_key(place.key) not in known]
            sent = self._sent_until(conversation, undecided[0].message) if undecided else -1
        except StoreError as error:
            log.warning("what was decided earlier cannot be read", extra={"why": str(error)})
            return {}
        exact = (screening_key(place.key) for place in undecided if place.message <= sent)
        return known | {key: Standing(key, None) for key in exact}

    def _sent_until(self, conversation: Conversation, first: int) -> int:
        """Give the last message, from `first` on, that some process sent a request with already; -1 for none."""
        chains = {message.chain: index for index, message in enumerate(conversation.messages[first:], first)}
        held = self._store.standing([request_key(chain) for chain in chains])
        sent = [chains[key.chain] for key in held] + [chains[after] for after in self._store.batches(list(chains))]
        return max(sent, default=-1)

    def _judged(self, tool: str, classified: Classified | None, text: str, until: float) -> Judged:
        """Say what is to be done about a text, and what is in it."""
        rule = self._policy.rule_for(tool, classified.kind if classified is not None else "unknown")
        action = self._actions[rule]
        if action == "off":
            return Judged(action, (), False)
        failed = not self._whole
        more: tuple[Hit, ...] = ()
        try:
            more = self._detector.secrets(text, seconds=max(0.001, until - time.monotonic()))
        except DetectorFailed as error:
            log.warning("a text was not looked through by a library", extra={"why": str(error)})
            failed = True
        is_phone = {"is_phone": self._detector.is_phone} if self._knows_phones else {}
        return Judged(action, found(text, self._sought, more=more, **is_phone), failed)

    @property
    def _knows_phones(self) -> bool:
        return self._whole and "phone" in self.keys.kinds
