"""Say which of what an agent used of tool results stood in nothing that was sent, by tool and age.

Open-loop: the recorded agent saw everything. What is counted is what it used from a tool result, at a moment when that
stood in nothing that was sent. What depends on the recording alone is worked out once
(`coldpress.lab.evidence_sources`); a run is asked only whether it is still there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from coldpress.lab.evidence_sources import Reply, Use, Uses, age_group
from coldpress.lab.results import Loss
from coldpress.lab.sent_messages import SentMessages


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the replies of some requests used.

    Attributes:
        edits: old texts of edits; `edits_of_results` of them stand in an earlier result as it was received, and
            `edits_lost` of these in nothing that was sent.
        identifiers: those in the input of calls that stand in an earlier result, each once a reply; `identifiers_lost`
            of them stood in nothing that was sent.
        calls: tool calls.
    """

    edits: int = 0
    edits_of_results: int = 0
    edits_lost: int = 0
    identifiers: int = 0
    identifiers_lost: int = 0
    calls: int = 0

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence(
            self.edits + other.edits,
            self.edits_of_results + other.edits_of_results,
            self.edits_lost + other.edits_lost,
            self.identifiers + other.identifiers,
            self.identifiers_lost + other.identifiers_lost,
            self.calls + other.calls,
        )


@dataclass(frozen=True, slots=True)
class Lost:
    """A use whose text stood in nothing that was sent.

    `shown_turns` says for how many requests its newest source was sent as it was received, before it went; 0 where it
    never was. Of results that a fork has from its origin it is the most that it can have been.
    """

    use: Use
    shown_turns: int


@dataclass(frozen=True, slots=True)
class Looked:
    """One request and its reply: what the reply used, and what of it was lost.

    Attributes:
        conversation: name of its trajectory, `turn` the request's index in there.
        reply: what was used.
        lost: in the order of `reply.uses`.
    """

    conversation: str
    turn: int
    reply: Reply = field(repr=False)
    lost: tuple[Lost, ...] = ()

    @property
    def evidence(self) -> Evidence:
        """The counts."""
        edits = sum(use.kind == "edit" for use in self.reply.uses)
        lost = sum(one.use.kind == "edit" for one in self.lost)
        return Evidence(
            edits=self.reply.edits,
            edits_of_results=edits,
            edits_lost=lost,
            identifiers=len(self.reply.uses) - edits,
            identifiers_lost=len(self.lost) - lost,
            calls=self.reply.calls,
        )


class Judge:
    """Looks at what one run sent of a recording; every conversation's requests in order."""

    def __init__(self, uses: Uses) -> None:
        self._uses = uses
        self._views: dict[str, _View] = {}

    def look(self, conversation: str, turn: int, sent: bytes | None) -> Looked:
        """Say what a reply used and was not shown.

        Args:
            conversation: name of its trajectory.
            turn: index of the request in there.
            sent: the body as the model saw it; `None` for the client's own.
        """
        reply = self._uses.conversations[conversation].replies.get(turn, _NOTHING)
        if sent is None:
            return Looked(conversation, turn, reply)
        view = self._views.get(conversation)
        if view is None:
            view = self._views[conversation] = _View(self._uses, conversation, first=turn)
        view.take(sent, turn)
        return Looked(conversation, turn, reply, view.lost(reply.uses))


_NOTHING = Reply()


class _View:
    """What one conversation shows, as it was last sent; `first` is the first request that it made itself."""

    def __init__(self, uses: Uses, conversation: str, *, first: int) -> None:
        self._uses = uses
        self._name = conversation
        self._told = uses.conversations[conversation]
        self._sent = SentMessages()
        self._messages: Sequence[bytes] = ()
        self._shown: set[bytes] = set()
        self._gone: dict[str, int] = {}
        self._first = first

    def take(self, body: bytes, turn: int) -> None:
        """Take in a body, and note which results are exact no more."""
        before, cut = self._messages, self._sent.cut(body)
        self._messages = cut.messages
        gone, came = before[cut.same :], cut.messages[cut.same :]
        new = set(came)
        if new.issuperset(gone):
            self._shown |= new
            return
        self._shown = set(cut.messages)
        for result in self._exact(gone) - self._exact(came):
            self._gone[result] = turn

    def lost(self, uses: Sequence[Use]) -> tuple[Lost, ...]:
        """Say which uses stand in nothing that this shows."""
        own, shown = self._told.messages, self._shown
        missed = [use for use in uses if not any(own[place] in shown for place in reversed(use.places))]
        if not missed:
            return ()
        others = [text for message in self._others() for text in self._uses.texts.of(message).all]
        missed = [use for use in missed if not any(use.text in text for text in others)]
        return tuple(Lost(use, self._shown_turns(use)) for use in missed if not self._inside(use))

    def _others(self) -> list[bytes]:
        """Messages that the client did not write like that."""
        return [message for message in self._messages if message not in self._told.originals]

    def _inside(self, use: Use) -> bool:
        """Whether an identifier stands in a longer word of a message that was sent as it was."""
        if use.kind == "edit":
            return False
        places = self._uses.holding(self._name, use.text)
        return any(self._told.messages[place] in self._shown for place in places)

    def _exact(self, messages: Sequence[bytes]) -> set[str]:
        """Name the results in some messages that are as they were received."""
        received = self._told.results
        results = (result for message in messages for result in self._uses.texts.of(message).results)
        return {result.call for result in results if received.get(result.call) == result.parts}

    def _shown_turns(self, use: Use) -> int:
        """Say how long the newest source was sent exact; it came with the request `source.turn`."""
        source = use.source
        return max(0, self._gone.get(source.call, self._first) - source.turn)


def losses(
    looked: Iterable[Looked], *, recording: str, content: str, arm: str, tariff: str, refetched: Iterable[Use] = ()
) -> tuple[Loss, ...]:
    """Group what the replies of a run used by the tool and the age of its newest source.

    Args:
        looked: requests of one recording with one arm.
        recording, content, arm, tariff: of the rows.
        refetched: the uses for which a result would have been fetched again.

    Returns:
        One row for each tool and group of ages that something was used from, in order. Their sums are the counts of
        `Looked.evidence`, `edits` being those that stand in a result.
    """
    counts: Counter[tuple[str, int, str]] = Counter()
    for one in looked:
        counts.update((*_group(use), f"{use.kind}s") for use in one.reply.uses)
        counts.update((*_group(lost.use), f"{lost.use.kind}s_lost") for lost in one.lost)
    counts.update((*_group(use), "refetches") for use in refetched)
    return tuple(
        Loss(
            recording,
            content,
            arm,
            tariff,
            tool,
            age_from,
            **{name: counts[tool, age_from, name] for name in _COUNTS},
        )
        for tool, age_from in sorted({(tool, age_from) for tool, age_from, _ in counts})
    )


_COUNTS: Final = ("edits", "edits_lost", "identifiers", "identifiers_lost", "refetches")


def _group(use: Use) -> tuple[str, int]:
    return use.source.tool, age_group(use.age)
