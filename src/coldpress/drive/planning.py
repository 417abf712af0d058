"""Read a request, say what may be done with it, look up what stands and decide on what is at first sight; blocking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from coldpress.config.settings import Settings
from coldpress.drive.calls import Calls
from coldpress.drive.exchange import Inbound
from coldpress.drive.extensions import SMALLEST_BYTES as SMALLEST_FOR_PLUGINS
from coldpress.drive.extensions import Extensions, offered
from coldpress.drive.insight import Insight
from coldpress.drive.planned import Planned
from coldpress.drive.settle import Known, Settler
from coldpress.drive.weighing import Weighing
from coldpress.engine.client_requests import is_client_compaction
from coldpress.engine.first_sight import SMALLEST_BYTES, Decide, Offered, decide
from coldpress.engine.plan import Plan, places, propose, undecided_from
from coldpress.engine.session import Session
from coldpress.model.conversation import Conversation
from coldpress.model.identity import EditKey
from coldpress.model.plugins import PluginNote
from coldpress.model.records import Operation
from coldpress.wire.prefix import Checkpoint, Reader, Reading

CLIENT_COMPACTION: Final = "client_compaction"
"""The receipt's word for a request by which a client summarises its own conversation."""

CALLS_LEFT: Final = "calls_left"
"""The receipt's word for schemas and calls that go as they are, since nobody writes them otherwise on this wire."""


class Planning:
    """Plans requests of many conversations; safe to use from any thread.

    Args:
        settings: frozen settings.
        reader: reads requests, and knows the prefixes of earlier ones.
        settler: what was decided earlier.
        insight: what is known of conversations.
        weighing: knows what is too long.
        calls: what of tools and calls is sent otherwise.
        extensions: plugins of other packages.
        choose_view: decides on each result at first sight.
    """

    def __init__(
        self,
        settings: Settings,
        reader: Reader[Session],
        *,
        settler: Settler,
        insight: Insight,
        weighing: Weighing,
        calls: Calls,
        extensions: Extensions,
        choose_view: Decide = decide,
    ) -> None:
        self._choose_view = choose_view
        self._settings = settings
        self._reader = reader
        self._settler = settler
        self._insight = insight
        self._weighing = weighing
        self._calls = calls
        self._extensions = extensions

    def plan(self, inbound: Inbound, checkpoint: Checkpoint[Session] | None) -> Planned:
        """Read and decide on what is at first sight.

        Raises:
            Misread: the body cannot be read.
            StoreError: what was decided earlier cannot be looked up.
        """
        reading = self._reader.read(inbound.body, inbound.format, checkpoint, inbound.address)
        conversation, before = reading.conversation, self._before(reading)
        operation, notes = self._operation(inbound, conversation)
        if operation == "off":
            return Planned(reading, operation, notes)
        notes += self._insight.head_notes(conversation, before.head_identity)
        if conversation.head.stateful:
            return Planned(reading, operation, (*notes, "pass_through:stateful"))
        known = self._known(conversation, before)
        wanted = self._extensions.before(inbound, conversation, known.standing)
        calls = self._calls.work(conversation, operation, wanted.schemas)
        if self._calls.leaves(conversation, operation, wanted.schemas):
            notes = (*notes, CALLS_LEFT)
        if is_client_compaction(conversation):
            notes = (*notes, CLIENT_COMPACTION)
            return Planned(reading, operation, notes, calls=calls, plugins=wanted.notes)
        held = self._insight.believe(inbound, conversation)
        if operation == "press" and self._insight.stopped(conversation):
            operation, notes = "drain", (*notes, "stopped")
        planned = Planned(reading, operation, notes, held, calls=calls, plugins=wanted.notes)
        return self._proposed(planned, known, offered(wanted))

    def fitted(self, inbound: Inbound, planned: Planned) -> Planned:
        """Let a client's own compaction go exact where that fits, else with everything that stands.

        What it makes of shortened views stays in its summary for good. The history that they kept short for so long may
        be more than the model takes, though, and no summary would come of it at all.
        """
        conversation = planned.conversation
        held = self._insight.believe(inbound, conversation)
        tokens = self._weighing.tokens_too_many(inbound, conversation, held)
        if tokens is None:
            return planned
        known = self._known(conversation, self._before(planned.reading))
        drained = replace(planned, operation="drain", held=held)
        return replace(self._proposed(drained, known, {}), exact_tokens=tokens)

    @property
    def _smallest(self) -> int:
        return SMALLEST_FOR_PLUGINS if self._extensions.looks_at_requests else SMALLEST_BYTES

    def _known(self, conversation: Conversation, before: Session) -> Known:
        """Look up what was decided earlier."""
        keys = [place.key for place in places(conversation, smallest=self._smallest)]
        held = {conversation.messages[batch.at].chain for batch in before.aged}
        looked_for = conversation.messages[undecided_from(conversation) :]
        chains = [message.chain for message in looked_for if message.chain not in held]
        return self._settler.known(conversation, keys, chains)

    def _proposed(self, planned: Planned, known: Known, wanted: Mapping[EditKey, Offered]) -> Planned:
        """Decide on what is at first sight."""
        plan = propose(
            planned.conversation,
            self._before(planned.reading),
            known.standing,
            self._settings.policy,
            planned.operation,
            batches=known.batches,
            calls=planned.calls.restored,
            intents=planned.calls.intents,
            offered=wanted,
            smallest=self._smallest,
            choose_view=self._choose_view,
        )
        return replace(
            planned,
            plan=plan,
            pending=tuple(key for key, found in known.standing.items() if found.replacement is not None),
            pending_batches=tuple(known.batches),
            sent_before=known.sent_before,
            plugins=(*planned.plugins, *_refused(plan, wanted, planned.operation)),
        )

    def _before(self, reading: Reading[Session]) -> Session:
        """The state of the known prefix."""
        if not reading.conversation.known or reading.extra is None:
            return Session()
        return self._settler.taken_back.left(reading.extra, reading.conversation.messages)

    def _operation(self, inbound: Inbound, conversation: Conversation) -> tuple[Operation, tuple[str, ...]]:
        """Settle what may be done: the request's own wish, else the provider's setting, with subscriptions spared."""
        operation = wished(inbound, self._settings)
        if inbound.operation is not None:
            return operation, ()
        if conversation.head.subscription and operation == "press" and not self._settings.press_subscription:
            return "observe", ("subscription",)
        return operation, ()


def wished(inbound: Inbound, settings: Settings) -> Operation:
    """What the request itself, its provider or the settings ask for."""
    if inbound.operation is not None:
        return inbound.operation
    provider = settings.provider(inbound.provider)
    return provider.operation if provider is not None else settings.operation


def _refused(plan: Plan, wanted: Mapping[EditKey, Offered], operation: Operation) -> list[PluginNote]:
    """Say which texts of plugins were not taken, since the result may not be touched."""
    if not wanted or operation != "press":
        return []
    reasons = {key: line.reason for key, line in zip(plan.line_keys, plan.lines, strict=True)}
    taken = {standing.key for standing in plan.fresh if standing.mode.startswith("plugin:")}
    return [
        PluginNote(one.plugin, "before_request", 0.0, fault="refused", detail=reasons.get(key, "decided_before"))
        for key, one in wanted.items()
        if key not in taken
    ]
