"""Rebuild what a recorded run showed to the provider's cache: every prompt as pieces, in the order they were sent.

Recordings hold neither system prompt nor tools. That head is one piece here. Sizes come from what the provider
reported: the tokens of all prompts are taken as known, and what one prompt has more than the one before is spread over
the blocks that were added, in proportion to their estimates.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from coldpress.lab.cache_clients import Client, forgets_thinking, thinks_when_asked
from coldpress.measure.cache import Piece, messages_scope
from coldpress.measure.cache_rules import Life
from coldpress.model.trajectory import Trajectory, Turn
from coldpress.model.usage import Usage

Note = Literal["opening", "restarted", "edited", "thinking", "model"]
"""What is known of a request beside its text.

`opening`: the first with its head, whose reported read was used. `restarted`: the client was. `edited`: history shrank,
so the client changed it. `thinking`: turned on or off since the last request. `model`: changed since then.
"""

_EDITED_BELOW = 0.5
_EDITED_TOKENS = 1500
_SHARE_OF_READ = 0.6
_SUGGESTION_TOKENS = 200


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request as the cache saw it.

    `reported` is `None` for a request that the recording does not hold and that is only inferred. Times are seconds
    since 1970.
    """

    pieces: tuple[Piece, ...]
    scope: bytes
    messages_scope: bytes
    sent_at: float
    answered_at: float
    model: str
    chain: str
    turn: int
    reported: Usage | None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class _Block:
    """One content block of the history."""

    digest: bytes
    tokens: int
    thinking: bool
    result: bool


@dataclass(frozen=True, slots=True)
class _State:
    """A conversation after a request: what it showed, and in which settings."""

    shown: tuple[_Block, ...] = ()
    model: str = ""
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """One request of a recorded conversation."""

    trajectory: Trajectory
    index: int

    @property
    def turn(self) -> Turn:
        return self.trajectory.turns[self.index]

    @property
    def previous(self) -> Turn | None:
        return self.trajectory.turns[self.index - 1] if self.index else None

    @property
    def life(self) -> Life:
        """Lifetime that the client's marks ask for, by what the provider reported as written."""
        return "long" if any(turn.usage.write_long for turn in self.trajectory.turns) else "short"


def prompts(trajectories: Sequence[Trajectory], client: Client, count: Callable[[str], int]) -> tuple[Prompt, ...]:
    """Rebuild all requests of one recording, in the order in which they were sent.

    Side chains, forks and what follows a compaction share the recording's heads, so they belong together. A request
    whose usage or time is not recorded is left out.

    Args:
        trajectories: of one recording.
        client: which program made it.
        count: estimates the tokens of a text; its scale does not matter.
    """
    found = _Rebuilder(trajectories, client, count).all()
    return tuple(sorted(found, key=lambda prompt: (prompt.sent_at, prompt.answered_at)))


class _Rebuilder:
    """Walks the conversations of one recording in the order in which they began."""

    def __init__(self, trajectories: Sequence[Trajectory], client: Client, count: Callable[[str], int]) -> None:
        self._trajectories = trajectories
        self._client = client
        self._count = count
        self._heads: dict[bool, int] = {}
        self._after: dict[int, _State] = {}
        self._thinking: dict[bool, bool] = {}
        restarts = {turn.sent_at for line in trajectories for turn in line.turns if turn.restarted}
        self._started = sorted(at for at in restarts if at is not None)

    def all(self) -> Iterator[Prompt]:
        for trajectory in self._trajectories:
            # What follows a compaction goes on with the setting of before.
            state = _State(thinking=self._thinking.get(trajectory.side_chain, False))
            for index, turn in enumerate(trajectory.turns):
                if index >= trajectory.shared_turns and turn.usage.prompt and turn.sent_at is not None:
                    yield from self._request(_Place(trajectory, index), state)
                # A fork shares its first turns with the conversation it was forked off.
                state = self._after.get(id(turn), state)

    def _request(self, place: _Place, state: _State) -> Iterator[Prompt]:
        """Rebuild one request, and before it the one that the client asked by itself."""
        turn, previous, side = place.turn, place.previous, place.trajectory.side_chain
        thinking = self._thinks(turn, state)
        notes = self._notes(place, state, thinking=thinking)
        if "opening" in notes:
            self._heads[side] = self._head_tokens(turn.usage)
        replied = self._blocks([previous.reply]) if previous else ()
        added = self._blocks(turn.added)
        old = state.shown
        if forgets_thinking(turn.model) and any(not block.result for block in added):
            old, replied = _without_thinking(old), _without_thinking(replied)
        before = (*old, *replied)
        whole = (turn.usage.prompt or 0) - self._tail_tokens(turn, thinking=thinking)
        # A shorter prompt shows that the head was taken for larger than it is.
        self._heads[side] = max(0, min(self._heads[side], whole))
        room = whole - self._heads[side]
        shown, edited = _fit(old, (*replied, *added), room, fresh_start="model" in notes)
        if edited:
            notes = (*notes, "edited")
        if previous is not None and self._suggests(place, previous):
            # It showed the history as it was before the client changed it.
            sized = (replace(block, tokens=fit.tokens) for block, fit in zip(before, shown, strict=False))
            pieces = _marked(tuple(sized), (len(before) - 1,), place.life)
            yield self._suggestion(place, previous, state, pieces)
        if "restarted" in notes and self._client.restart_changes == "messages":
            shown = _changed(shown, 0, place.index)
        marks = (len(shown) - 1, len(before) - 1)[: self._client.marked_messages]
        yield self._prompt(place, _marked(shown, marks, place.life), notes, thinking=thinking)
        self._after[id(turn)] = _State(shown, turn.model, thinking)
        self._thinking[side] = thinking

    def _head_tokens(self, first: Usage) -> int:
        """Size the head: what the first request read, unless that is so much that messages were read with it."""
        prompt = first.prompt or 0
        if first.read and first.read <= _SHARE_OF_READ * prompt:
            return first.read
        return round(self._client.head_share * prompt)

    def _thinks(self, turn: Turn, state: _State) -> bool:
        """Whether thinking was on: where it is a parameter the reply shows it, else the recording may say it."""
        if not thinks_when_asked(turn.model):
            return state.thinking if turn.thinking is None else turn.thinking
        return '"type":"thinking"' in turn.reply or (state.thinking and not self._client.thinks_aloud)

    def _tail_tokens(self, turn: Turn, *, thinking: bool) -> int:
        asked = thinking and thinks_when_asked(turn.model)
        return self._client.thinking_tail_tokens if asked else self._client.tail_tokens

    def _notes(self, place: _Place, state: _State, *, thinking: bool) -> tuple[Note, ...]:
        turn, ended = place.turn, self._client.restart
        known: tuple[tuple[Note, bool], ...] = (
            ("opening", place.trajectory.side_chain not in self._heads),
            ("restarted", turn.restarted or (ended is not None and any(ended in text for text in turn.added))),
            ("thinking", bool(state.shown) and thinking != state.thinking),
            ("model", bool(state.shown) and turn.model != state.model),
        )
        return tuple(note for note, holds in known if holds)

    def _suggests(self, place: _Place, previous: Turn) -> bool:
        """Whether the client asks for the user's next words between the reply and this request."""
        client, sent_at = self._client, place.turn.sent_at
        if not client.suggests or place.trajectory.side_chain or previous.tools:
            return False
        if previous.replied_at is None or sent_at is None:
            return False
        unread = (previous.usage.prompt or 0) - (previous.usage.read or 0)
        in_time = sent_at - previous.replied_at >= client.suggests_after_seconds
        return in_time and unread <= client.suggests_below_tokens

    def _prompt(self, place: _Place, messages: Sequence[Piece], notes: tuple[Note, ...], *, thinking: bool) -> Prompt:
        turn = place.turn
        sent_at = turn.sent_at or 0.0
        tail = Piece(f"{place.trajectory.name}/{place.index}/tail".encode(), self._tail_tokens(turn, thinking=thinking))
        return Prompt(
            pieces=(self._head(place, sent_at), *messages, tail),
            scope=turn.model.encode(),
            messages_scope=_settings(thinking=thinking),
            sent_at=sent_at,
            answered_at=max(sent_at + self._client.readable_after_seconds, turn.replied_at or sent_at),
            model=turn.model,
            chain=place.trajectory.name,
            turn=place.index,
            reported=turn.usage,
            notes=notes,
        )

    def _suggestion(self, place: _Place, previous: Turn, state: _State, messages: Sequence[Piece]) -> Prompt:
        """The client's own question after a final reply, marked behind that reply."""
        asked_at = previous.replied_at or 0.0
        question = Piece(f"{place.trajectory.name}/{place.index}/asked".encode(), _SUGGESTION_TOKENS)
        return Prompt(
            pieces=(self._head(place, asked_at), *messages, question),
            scope=previous.model.encode(),
            messages_scope=_settings(thinking=state.thinking),
            sent_at=asked_at,
            answered_at=min(asked_at + self._client.suggestion_seconds, place.turn.sent_at or asked_at),
            model=previous.model,
            chain=place.trajectory.name,
            turn=place.index,
            reported=None,
        )

    def _head(self, place: _Place, at: float) -> Piece:
        side = place.trajectory.side_chain
        starts = bisect_right(self._started, at) if self._client.restart_changes == "head" else 0
        return Piece(f"{side} {starts}".encode(), self._heads[side], place.life, "system")

    def _blocks(self, messages: Sequence[str]) -> tuple[_Block, ...]:
        return tuple(self._block(block) for message in messages for block in json.loads(message)["content"])

    def _block(self, block: dict[str, object]) -> _Block:
        text = json.dumps(block, sort_keys=True, ensure_ascii=False)
        kind = block.get("type")
        shown = str(block.get("thinking", "")) if kind == "thinking" else text
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        return _Block(digest, self._count(shown) + 1, kind in ("thinking", "redacted_thinking"), kind == "tool_result")


def _without_thinking(blocks: Sequence[_Block]) -> tuple[_Block, ...]:
    return tuple(block for block in blocks if not block.thinking)


def _settings(*, thinking: bool) -> bytes:
    return messages_scope(tool_choice="", thinking=str(thinking), pictures=False)


def _marked(blocks: Sequence[_Block], marks: Sequence[int], life: Life) -> tuple[Piece, ...]:
    """Write blocks as pieces; a mark cannot stand on thinking."""
    return tuple(
        Piece(block.digest, block.tokens, life if i in marks and not block.thinking else None)
        for i, block in enumerate(blocks)
    )


def _fit(
    old: Sequence[_Block], new: Sequence[_Block], room: int, *, fresh_start: bool
) -> tuple[tuple[_Block, ...], bool]:
    """Give every block a size so that all sizes together fill `room`; tell whether history must have been edited.

    Old blocks keep their sizes. Where the room left is far less than the new blocks are estimated at, the client has
    taken something out of its history. Which result is not known, so everything from the first one on counts as
    changed.
    """
    left = room - sum(block.tokens for block in old)
    expected = sum(block.tokens for block in new)
    if fresh_start:
        return _sized((*old, *new), room), False
    if left >= _EDITED_BELOW * expected - _EDITED_TOKENS or not old:
        # Slightly too little room shows only that old blocks were taken for larger than they are.
        return (*old, *_sized(new, left)) if left >= 0 else _sized((*old, *new), room), False
    first = next((i for i, block in enumerate(old) if block.result), 0)
    kept = sum(block.tokens for block in old[:first])
    if kept > room:
        first = kept = 0
    changed = _changed((*old, *new), first, room)
    return (*old[:first], *_sized(changed[first:], room - kept)), True


def _sized(blocks: Sequence[_Block], room: int) -> tuple[_Block, ...]:
    """Scale sizes so that they add up to `room` tokens, each at least 0."""
    whole = sum(block.tokens for block in blocks)
    done = passed = 0
    sized = []
    for block in blocks:
        passed += block.tokens
        end = max(0, room) * passed // whole if whole else 0
        sized.append(replace(block, tokens=end - done))
        done = end
    return tuple(sized)


def _changed(blocks: Sequence[_Block], first: int, salt: int) -> tuple[_Block, ...]:
    """Make every block from number `first` on another one."""
    return tuple(
        block if i < first else replace(block, digest=hashlib.sha256(block.digest + str(salt).encode()).digest())
        for i, block in enumerate(blocks)
    )
