"""Find, once for a recording, what each reply uses of earlier tool results, and where else that stands.

An edit uses the text it replaces, if a result shows that in one piece, as it stands or without line numbers; any call
uses the identifiers in its input that are words of a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from coldpress.lab.blocks import strings
from coldpress.lab.edit_calls import old_texts
from coldpress.lab.identifiers import identifiers
from coldpress.lab.message_texts import MessageTexts, Texts
from coldpress.lab.results import AGES
from coldpress.model.trajectory import Trajectory

UNKNOWN_TOOL: Final = "unknown"
"""The tool of a result whose call is not in the conversation, as a compaction may leave it."""

UseKind = Literal["edit", "identifier"]


@dataclass(frozen=True, slots=True)
class Source:
    """A tool result that a text stands in.

    Attributes:
        call: id of its call.
        tool: the tool's name.
        message: index of its message in the conversation.
        turn: index of the request that brought it.
        parts: its texts.
    """

    call: str
    tool: str
    message: int
    turn: int
    parts: tuple[str, ...] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Use:
    """What a reply used of earlier results.

    Attributes:
        kind: an edit's old text, or an identifier.
        text: it.
        turn: index of the request that the reply answers.
        sources: the results that it stands in, the newest last; at least one.
        places: indices of the messages that hold it, results and everything else, in order.
        elsewhere: whether the user or the model said it too, or a call has it in its input: then it can be used
            without any result.
    """

    kind: UseKind
    text: str = field(repr=False)
    turn: int
    sources: tuple[Source, ...]
    places: tuple[int, ...] = field(repr=False)
    elsewhere: bool

    @property
    def source(self) -> Source:
        """The newest result that it stands in: a use counts for that one's tool and age."""
        return self.sources[-1]

    @property
    def age(self) -> int:
        """Turns between the newest source and the use: 1 where the first reply to a result uses it."""
        return self.turn - self.source.turn + 1


@dataclass(frozen=True, slots=True)
class Reply:
    """What one reply uses: `edits` counts old texts, in results or not; `calls` tool calls."""

    edits: int = 0
    calls: int = 0
    uses: tuple[Use, ...] = ()


@dataclass(frozen=True)
class Told:
    """One conversation.

    Attributes:
        messages: all of them but the last reply, in order, JSON text.
        sent: how many of them each request holds.
        replies: what the replies to its own requests use, by index of the turn; those that call nothing are left out.
        originals: the messages, to look them up.
        results: the texts of every result, by id of its call.
    """

    messages: tuple[bytes, ...] = field(repr=False)
    sent: tuple[int, ...]
    replies: Mapping[int, Reply] = field(repr=False)
    originals: frozenset[bytes] = field(repr=False)
    results: Mapping[str, tuple[str, ...]] = field(repr=False)


class Uses:
    """What the replies of one recording use.

    Attributes:
        texts: of its messages, and of whatever is sent in their place.
        conversations: by name of their trajectory.
    """

    def __init__(self, texts: Texts, conversations: Mapping[str, Told]) -> None:
        self.texts = texts
        self.conversations = conversations
        self._holding: dict[tuple[str, str], tuple[int, ...]] = {}

    @classmethod
    def of(cls, trajectories: Iterable[Trajectory]) -> Uses:
        """Look at every reply of a recording that its conversations asked for themselves."""
        texts = Texts()
        return cls(texts, {one.name: _Reading(texts).read(one) for one in trajectories})

    def holding(self, conversation: str, text: str) -> tuple[int, ...]:
        """Give the indices of the messages in which a text stands, be it in the middle of a word."""
        known = self._holding.get((conversation, text))
        if known is None:
            messages = self.conversations[conversation].messages
            known = tuple(index for index, one in enumerate(messages) if self.texts.of(one).holds(text))
            self._holding[conversation, text] = known
        return known


def age_group(age: int) -> int:
    """Give the group of an age, by where it begins.

    >>> [age_group(age) for age in (1, 5, 6, 50, 51, 900)]
    [1, 1, 6, 21, 51, 51]
    """
    return max(first for first in AGES if first <= age)


class _Reading:
    """Reads one conversation from its beginning."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._messages: list[bytes] = []
        self._said: list[MessageTexts] = []
        self._sources: list[tuple[Source, tuple[str, ...]]] = []
        self._by_word: dict[str, list[Source]] = {}
        self._words_said: dict[str, list[int]] = {}
        self._tools: dict[str, str] = {}

    def read(self, trajectory: Trajectory) -> Told:
        sent: list[int] = []
        replies: dict[int, Reply] = {}
        for index, turn in enumerate(trajectory.turns):
            for message in turn.added:
                self._add(message.encode(), index)
            sent.append(len(self._messages))
            reply = turn.reply.encode()
            if index >= trajectory.shared_turns:
                found = self._reply(self._texts.of(reply), index)
                if found.calls:
                    replies[index] = found
            self._add(reply, index)
        messages = tuple(self._messages[:-1])
        results = {source.call: source.parts for source, _ in self._sources}
        return Told(messages, tuple(sent), replies, frozenset(messages), results)

    def _add(self, message: bytes, turn: int) -> None:
        texts, place = self._texts.of(message), len(self._messages)
        self._messages.append(message)
        self._said.append(texts)
        for call in texts.calls:
            self._tools[call.id] = call.tool
        for result in texts.results:
            tool = self._tools.get(result.call, UNKNOWN_TOOL)
            source = Source(result.call, tool, place, turn, result.parts)
            self._sources.append((source, result.readings))
            for word in result.words:
                self._by_word.setdefault(word, []).append(source)
        for word in texts.said_words:
            self._words_said.setdefault(word, []).append(place)

    def _reply(self, reply: MessageTexts, turn: int) -> Reply:
        olds = [old for call in reply.calls for old in old_texts(call.tool, call.arguments)]
        words = {word for call in reply.calls for text in strings(call.arguments) for word in identifiers(text)}
        uses = (*self._edits(olds, turn), *self._identifiers(words, turn))
        return Reply(len(olds), len(reply.calls), uses)

    def _edits(self, olds: Sequence[str], turn: int) -> Iterator[Use]:
        for old in olds:
            sources = tuple(source for source, texts in self._sources if any(old in text for text in texts))
            if sources:
                said = [place for place, one in enumerate(self._said) if any(old in text for text in one.said)]
                places = tuple(sorted({*said, *(source.message for source in sources)}))
                yield Use("edit", old, turn, sources, places, bool(said))

    def _identifiers(self, words: Iterable[str], turn: int) -> Iterator[Use]:
        for word in sorted(words):
            sources = tuple(self._by_word.get(word, ()))
            if sources:
                said = self._words_said.get(word, ())
                places = tuple(sorted({*said, *(source.message for source in sources)}))
                yield Use("identifier", word, turn, sources, places, bool(said))
