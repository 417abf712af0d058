"""Go through a request's new messages: apply what stands, decide what is at first sight, leave the rest exact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import msgspec

from coldpress.engine.catalogue import Classified, classify
from coldpress.engine.compacted import compacted_before
from coldpress.engine.first_sight import SMALLEST_BYTES, Candidate, Decide, Offered, Verdict, decide, name_of
from coldpress.engine.markers import is_reread_refusal
from coldpress.engine.policy import Policy
from coldpress.engine.rebuild import placed_rebuild
from coldpress.engine.result_parts import told_failed
from coldpress.engine.session import AgedEdits, RestoredCall, Seen, Session
from coldpress.model.conversation import Conversation, TextLiteral, ToolCall, ToolResult
from coldpress.model.edits import Batch, Edit, Standing
from coldpress.model.identity import EditKey
from coldpress.model.records import Line, Operation

REFERABLE = ("source", "shell", "search", "listing", "web")
"""Kinds of results that a later result may repeat or refer to. Others are remembered where their rule acts later."""


_SHORTEST_REFUSAL_BYTES = 40


@dataclass(frozen=True, slots=True)
class Plan:
    """What to send and what to write down.

    Attributes:
        edits: every edit of this request, in the order of their spans.
        fresh: decisions made now on texts at first sight, replacements and exact ones.
        originals: `(sha256, text)` of every text that is replaced from now on.
        lines: the ledger's lines for the decisions worth one, each about the text of `line_keys` at its position.
        reused: standing edits that were already decided.
        session: the state after this request, for the whole of its messages.
    """

    edits: tuple[Edit, ...]
    fresh: tuple[Standing, ...]
    originals: tuple[tuple[str, str], ...]
    lines: tuple[Line, ...]
    reused: int
    session: Session
    line_keys: tuple[EditKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """One text of a tool result in a conversation."""

    key: EditKey
    message: int
    result: ToolResult
    literal: TextLiteral


def places(conversation: Conversation, *, smallest: int = SMALLEST_BYTES, first: int | None = None) -> Iterator[Place]:
    """Go through the texts that a decision can be about, from message `first` on, else in those that were read anew.

    Texts of fewer than `smallest` bytes in the body, quotes included, are left out as too short to gain, except for a
    client's refusal to read a file again.
    """
    for index in range(conversation.known if first is None else first, len(conversation.messages)):
        message = conversation.messages[index]
        for block, result in message.results:
            for literal in result.texts:
                if len(literal.span) >= smallest or _may_be_refusal(conversation, literal):
                    yield Place(EditKey(message.chain, block, literal.part), index, result, literal)


def _may_be_refusal(conversation: Conversation, literal: TextLiteral) -> bool:
    if not literal.readable or len(literal.span) < _SHORTEST_REFUSAL_BYTES:
        return False
    return is_reread_refusal(conversation.text(literal))


def propose(
    conversation: Conversation,
    session: Session,
    standing: Mapping[EditKey, Standing],
    policy: Policy,
    operation: Operation,
    *,
    batches: Mapping[bytes, Batch] = MappingProxyType({}),
    calls: Sequence[RestoredCall] = (),
    intents: Mapping[int, str] = MappingProxyType({}),
    offered: Mapping[EditKey, Offered] = MappingProxyType({}),
    smallest: int = SMALLEST_BYTES,
    choose_view: Decide = decide,
) -> Plan:
    """Decide what this request sends, aged results apart (`coldpress.engine.cut`).

    Args:
        conversation: the request.
        session: the state of its known prefix.
        standing: decisions made earlier on texts in the new messages.
        policy: the rules.
        operation: `drain` makes no new edits; `observe` records what `press` would do and keeps all exact.
        batches: batches decided earlier, by the chain of a message from `undecided_from` on.
        calls: calls in the new messages that are sent as the model wrote them, in the order of their spans.
        intents: why calls in the new messages were made, by where their arguments start in the body.
        offered: texts that plugins would put in the place of results at first sight.
        smallest: as for `places`.
        choose_view: decides on each result at first sight.
    """
    if batches:
        held = {batch.at for batch in session.aged}
        session = session.with_aged(found for found in _found(conversation, batches) if found.at not in held)
    choices = _Choices(policy, operation, offered, choose_view)
    found = tuple(places(conversation, smallest=smallest))
    compacted = compacted_before(conversation) if found else 0
    work = _Work(conversation, session, choices, calls=calls, intents=intents, compacted=compacted)
    first_new = conversation.last_assistant + 1
    for place in found:
        known = standing.get(place.key)
        if known is not None:
            work.apply(place, known)
        elif place.message < first_new:
            work.leave(place)
        else:
            work.decide(place)
    return work.plan()


def _found(conversation: Conversation, batches: Mapping[bytes, Batch]) -> Iterator[AgedEdits]:
    """Find the places of the texts that batches are about, in the order in which the batches were decided."""
    at = {message.chain: index for index, message in enumerate(conversation.messages)}
    for index in range(undecided_from(conversation), len(conversation.messages)):
        batch = batches.get(conversation.messages[index].chain)
        if batch is not None:
            yield placed_batch(conversation, at, batch, index)


def undecided_from(conversation: Conversation) -> int:
    """Give the first message that a batch may be kept by which the state of the known prefix does not hold.

    A batch that is kept by the last reply of that prefix may be about messages behind the prefix, and is none of its
    state then.
    """
    known = conversation.known
    replies = (index for index in range(known - 1, -1, -1) if conversation.messages[index].role == "assistant")
    return next(replies, known)


def placed_batch(conversation: Conversation, at: Mapping[bytes, int], batch: Batch, index: int) -> AgedEdits:
    """Find where in this request the decisions of a batch belong; those whose text is not there are left out.

    Args:
        conversation: the request.
        at: index of each message by its chain.
        batch: decided on a request that this one contains.
        index: of the message that it is kept by.
    """
    placed = (placed_edit(conversation, at, standing) for standing in batch.standings)
    rebuild = None if batch.rebuild is None else placed_rebuild(conversation, at, batch.rebuild)
    return AgedEdits(index, tuple(edit for edit in placed if edit is not None), rebuild)


def placed_edit(conversation: Conversation, at: Mapping[bytes, int], standing: Standing) -> Edit | None:
    """Find where in this request a decision belongs; `None` where its text is not there.

    Args:
        conversation: the request.
        at: index of each message by its chain.
        standing: a decision with a replacement.
    """
    key = standing.key
    message = at.get(key.chain)
    if message is None or key.block >= len(conversation.messages[message].blocks):
        return None
    block = conversation.messages[message].blocks[key.block]
    if not isinstance(block, ToolResult):
        return None
    literal = next((text for text in block.texts if text.part == key.part), None)
    if literal is None:
        return None
    return _edit(conversation, literal, message, standing)


def _edit(conversation: Conversation, literal: TextLiteral, message: int, standing: Standing) -> Edit:
    replacement = standing.replacement or ""
    # Decisions with a replacement are made on readable texts; the size on the wire is near enough for any other.
    size = len(conversation.text(literal).encode()) if literal.readable else len(literal.span) - 2
    written = msgspec.json.encode(replacement)
    return Edit(literal.span, written, message, standing, size - len(replacement.encode()))


@dataclass(frozen=True, slots=True)
class _Choices:
    """What a new result's view goes by."""

    policy: Policy
    operation: Operation
    offered: Mapping[EditKey, Offered]
    choose: Decide

    def verdict(self, candidate: Candidate) -> Verdict:
        return self.choose(candidate, self.policy, self.offered.get(candidate.key))


class _Work:
    """The state of one pass over a request."""

    def __init__(
        self,
        conversation: Conversation,
        session: Session,
        choices: _Choices,
        *,
        calls: Sequence[RestoredCall],
        intents: Mapping[int, str],
        compacted: int,
    ) -> None:
        self._choices = choices
        self._calls = tuple(calls)
        self._intents = intents
        self._conversation = conversation
        self._before = session
        self._edits: list[Edit] = []
        self._seen: list[Seen] = []
        self._compacted = compacted
        self._shown = [seen for seen in session.shown if seen.message >= compacted]
        # A client's refusal may be about a result that is not sent any more, or that the server does not look at.
        self._hidden = [seen for seen in session.seen if self._is_hidden(seen.message)]
        # Of all batches only those decided on messages that are read now can be about texts in them.
        late = (batch for batch in session.aged if batch.reach >= conversation.known)
        self._aged = {edit.standing.key: edit.standing for batch in late for edit in batch.edits}
        self._fresh: list[Standing] = []
        self._originals: list[tuple[str, str]] = []
        self._lines: list[Line] = []
        self._line_keys: list[EditKey] = []
        self._reused = len(session.edits)
        self._numbers: dict[str, dict[tuple[int, int], int]] = {}

    def apply(self, place: Place, standing: Standing) -> None:
        """Take over a decision made earlier."""
        if standing.replacement is not None:
            self._edit(place, standing)
            self._reused += 1
        self._note(place, standing)

    def leave(self, place: Place) -> None:
        """Keep a text that some model has seen exact, for ever."""
        standing = Standing(place.key, None)
        self._fresh.append(standing)
        self._note(place, standing, left=True)

    def decide(self, place: Place) -> None:
        """Decide on a text at first sight."""
        call = place.result.call
        if call is None or not place.literal.readable:
            self._tell(place, _doubtful(place))
            self.leave(place)
            return
        arguments = self._conversation.arguments(call)
        classified = classify(call.name, arguments)
        candidate = Candidate(
            key=place.key,
            text=self._conversation.text(place.literal),
            tool=call.name,
            classified=classified,
            arguments=arguments,
            wire_failed=told_failed(self._conversation, place.result, classified),
            offered=call.name in self._conversation.head.tools,
            # A marker must not point at a result that the server may clear.
            may_point_back=not self._conversation.head.server_clears,
            seen=self._shown,
            hidden=self._hidden,
            read=lambda seen: self._conversation.text(seen.literal),
            named=self._name,
        )
        verdict = self._choices.verdict(candidate)
        standing, line = verdict.standing, verdict.line
        if standing.replacement is not None and self._choices.operation != "press":
            standing = Standing(place.key, None)
            line = _withheld(line, self._choices.operation)
        if standing.replacement is not None:
            self._originals.append((standing.original, candidate.text))
            self._edit(place, standing)
        self._fresh.append(standing)
        if line is not None:
            self._tell(place, line)
        self._note(place, standing, candidate.classified, arguments)

    def plan(self) -> Plan:
        """Give the result of the pass."""
        conversation, before = self._conversation, self._before
        new = range(conversation.known, len(conversation.messages))
        replies = tuple(index for index in new if _begins_reply(conversation, index))
        session = before.continued(
            tuple(self._edits), tuple(self._seen), replies, conversation.head.identity, calls=self._calls
        )
        return Plan(
            session.edits,
            tuple(self._fresh),
            tuple(self._originals),
            tuple(self._lines),
            self._reused,
            session,
            tuple(self._line_keys),
        )

    def _is_hidden(self, message: int) -> bool:
        rebuild = self._before.rebuild
        return message < self._compacted or (rebuild is not None and message in rebuild)

    def _tell(self, place: Place, line: Line) -> None:
        self._lines.append(line)
        self._line_keys.append(place.key)

    def _edit(self, place: Place, standing: Standing) -> None:
        self._edits.append(_edit(self._conversation, place.literal, place.message, standing))

    def _note(
        self,
        place: Place,
        standing: Standing,
        classified: Classified | None = None,
        arguments: str = "",
        *,
        left: bool = False,
    ) -> None:
        """Remember a text that a later result may repeat."""
        call: ToolCall | None = place.result.call
        if call is None or not place.literal.readable or len(place.literal.span) < SMALLEST_BYTES:
            return
        if classified is None:
            arguments = self._conversation.arguments(call)
            classified = classify(call.name, arguments)
        rule = self._choices.policy.rule_for(call.name, classified.kind)
        if classified.kind not in REFERABLE and rule.youngest is None:
            return
        replaced = standing if standing.replacement is not None else None
        called = name_of(call.name, classified)
        intent = self._intents.get(call.arguments.start) if call.arguments is not None and self._intents else None
        seen = Seen(
            place.key, place.message, place.literal, classified, arguments, call.name, called, replaced, left, intent
        )
        self._seen.append(seen)
        if self._is_hidden(seen.message):
            self._hidden.append(seen)
            return
        self._shown.append(replace(seen, standing=self._aged[seen.key]) if seen.key in self._aged else seen)

    def _name(self, seen: Seen) -> str:
        """Tell calls of the same name apart by their number, as a reader of the conversation counts them."""
        if seen.call not in self._numbers:
            self._numbers[seen.call] = self._numbered(seen.call)
        number = self._numbers[seen.call][seen.message, seen.key.block]
        return seen.call if number == 1 else f"{seen.call} (call {number})"

    def _numbered(self, called: str) -> dict[tuple[int, int], int]:
        """Count the results of one name by message and block: the short, the failed and the cleared ones too."""
        numbers: dict[tuple[int, int], int] = {}
        for index, message in enumerate(self._conversation.messages):
            for block, result in message.results:
                call = result.call
                if call is None or not called.startswith(call.name):
                    continue
                if name_of(call.name, classify(call.name, self._conversation.arguments(call))) == called:
                    numbers[index, block] = len(numbers) + 1
        return numbers


def _begins_reply(conversation: Conversation, index: int) -> bool:
    """Whether a message begins a reply of the model: some clients write one reply as several messages."""
    messages = conversation.messages
    return messages[index].role == "assistant" and (index == 0 or messages[index - 1].role != "assistant")


def _doubtful(place: Place) -> Line:
    """Say of a text why nothing can be decided on it; its size is that of its bytes on the wire."""
    call, size = place.result.call, len(place.literal.span) - 2
    return Line(
        tool=call.name if call else "",
        kind="unknown",
        mode="exact",
        reason="unpaired" if call is None else "unreadable",
        rule="",
        original="",
        bytes_before=size,
        bytes_after=size,
    )


def _withheld(line: Line | None, operation: Operation) -> Line | None:
    """Say in a line that its edit was not made because of the mode of operation."""
    return line and replace(line, reason="drain" if operation == "drain" else "observe")
