"""Put a summary in the place of a run of messages: what is sent instead, and what has to be stored and restored for it.

What takes their place, in order: the prose of users and of the system that stood among them, to the letter; notes and
summary; turns that are carried over byte for byte. Cache marks are no part of it: where the client's messages carry
one, `placed_rebuild` sets it anew on each request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from coldpress.engine.first_sight import RecipeStep
from coldpress.engine.reduce import dedupe
from coldpress.engine.refusals import answers
from coldpress.engine.session import PlacedRebuild, Session
from coldpress.measure.tokens import estimate
from coldpress.model.conversation import Conversation, Span, Text, ToolCall, ToolResult
from coldpress.model.edits import Rebuild, Standing
from coldpress.model.identity import original_sha
from coldpress.model.summary import Summary

_MARK_KEY: Final = b'"cache_control"'
_MARK_FIELD: Final = _MARK_KEY + rb"\s*:\s*(\{[^{}]*\})"
_MARK: Final = re.compile(rb",\s*" + _MARK_FIELD + rb"|" + _MARK_FIELD + rb"\s*,")
"""A cache mark with the comma that goes with it; text holds the word with escaped quotes."""

_STRING: Final = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_FIRST: Final = re.compile(
    rb'\{"role":(' + _STRING + rb'),"content":(?:(' + _STRING + rb')|(\[(?:[^"\]]|' + _STRING + rb")*)\])\}", re.DOTALL
)
"""The first message as `_prose` writes it, with its role and its text or its blocks. A JSON decoder would refuse lone
surrogates, which a client's words may hold."""


@dataclass(frozen=True, slots=True)
class Writing:
    """What is to stand in the place of messages.

    Attributes:
        start, stop: the messages that go, half-open; equal where something is only put in.
        kept: message and block of every text among them that stays to the letter, in order.
        block: text of the message of notes and summary.
        carried: indices of messages that are carried over, in order.
        summary: what `block` says.
        generation: see `Rebuild`, like `summariser`.
        covered_tokens: of the messages that go.
        index: what `index_of` gives for them, if `block` names it.
    """

    start: int
    stop: int
    kept: tuple[tuple[int, int], ...]
    block: str
    carried: tuple[int, ...] = ()
    summary: Summary | None = None
    generation: int = 0
    covered_tokens: int = 0
    summariser: str = ""
    index: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """The decision, and what it needs.

    Attributes:
        start: index of the first message that goes.
        rebuild: to be stored and placed.
        originals: SHA-256 and JSON text, without cache marks, of every message that goes, then those of `block` and
            `index`.
        restores: decisions that give results behind them back exact, since what they repeat is not sent any more.
        restored: SHA-256 and text of what these restore.
    """

    start: int
    rebuild: Rebuild
    originals: tuple[tuple[str, str], ...]
    restores: tuple[Standing, ...] = ()
    restored: tuple[tuple[str, str], ...] = ()


def write(conversation: Conversation, session: Session, writing: Writing) -> Written:
    """Write what takes the place of messages.

    Args:
        conversation: the request.
        session: the state after it.
        writing: what is to be written; `start` is 1 or more: some message stands in front.
    """
    messages = conversation.messages
    gone = (_unmarked(conversation, at) for at in range(writing.start, writing.stop))
    originals = tuple((original_sha(text), text) for text in gone)
    literal = ",".join((_prose(conversation, writing), *(_unmarked(conversation, at) for at in writing.carried)))
    texts = tuple((original_sha(text), text) for text in (writing.block, writing.index) if text)
    restores, restored = _restores(conversation, session, writing.start, writing.stop)
    rebuild = Rebuild(
        anchor=messages[writing.start - 1].chain,
        last=messages[writing.stop - 1].chain,
        literal=literal,
        summary=writing.summary,
        generation=writing.generation,
        covered=tuple(sha for sha, _ in originals),
        covered_tokens=writing.covered_tokens,
        literal_tokens=estimate(literal),
        summariser=writing.summariser,
        block=original_sha(writing.block),
        index=original_sha(writing.index) if writing.index else "",
    )
    return Written(writing.start, rebuild, (*originals, *texts), restores, restored)


def index_of(conversation: Conversation, start: int, stop: int) -> str:
    """List messages by number, from 1, each with the SHA-256 by which its JSON text is recalled: `m12 9f2c...`.

    Args:
        conversation: as the client sent it.
        start, stop: indices of the messages, half-open.
    """
    named = ((at + 1, original_sha(_unmarked(conversation, at))) for at in range(start, stop))
    return "".join(f"m{number} {sha}\n" for number, sha in named)


def placed_rebuild(conversation: Conversation, at: Mapping[bytes, int], rebuild: Rebuild) -> PlacedRebuild | None:
    """Find where in this request a rebuild belongs; `None` where its messages are not there.

    Args:
        conversation: the request.
        at: index of each message by its chain.
        rebuild: a decision.
    """
    anchor, last = at.get(rebuild.anchor), at.get(rebuild.last)
    if anchor is None or last is None or last < anchor:
        return None
    messages = conversation.messages
    span = Span(messages[anchor].span.end, messages[last].span.end)
    literal = b"," + rebuild.literal.encode()
    if conversation.body.find(_MARK_KEY, span.start, span.end) >= 0:
        mark = next((mark for i in range(anchor + 1, last + 1) for mark in _marks(conversation, i)), None)
        literal = b"," + marked(rebuild.literal.encode(), mark[1] or mark[2]) if mark else literal
    return PlacedRebuild(anchor + 1, last + 1, span, rebuild, literal)


def marked(literal: bytes, mark: bytes) -> bytes:
    """Set a cache mark on the last block of the first of some messages, which `write` wrote.

    Args:
        literal: JSON text of messages, joined by commas.
        mark: JSON text of a `cache_control` value.
    """
    first = _FIRST.match(literal)
    if first is None:  # `write` wrote it, so it matches; should it not, it is valid as it stands
        return literal
    role, text, blocks = first.groups()
    ending = b',"cache_control":' + mark + b"}]"
    content = blocks[:-1] + ending if blocks else b'[{"type":"text","text":' + text + ending
    return b'{"role":' + role + b',"content":' + content + b"}" + literal[first.end() :]


def _prose(conversation: Conversation, writing: Writing) -> str:
    """Write the texts that stay to the letter, then notes and summary.

    In Messages they are blocks of one message, since the server joins messages of the same role; in Chat Completions
    one message each, with a plain string, which every server takes.
    """
    texts = [(message, *_text(conversation, message, block)) for message, block in writing.kept]
    block = msgspec.json.encode(writing.block).decode()
    if conversation.format == "anthropic":
        literals = [literal for _, _, literal in texts] + [block]
        blocks = ",".join(f'{{"type":"text","text":{literal}}}' for literal in literals)
        return f'{{"role":"user","content":[{blocks}]}}'
    written = [f'{{"role":"{role}","content":{literal}}}' for _, role, literal in texts]
    return ",".join((*written, f'{{"role":"user","content":{block}}}'))


def _text(conversation: Conversation, index: int, block: int) -> tuple[str, str]:
    """Give the role and the JSON literal of a text, as the client wrote it."""
    message = conversation.messages[index]
    text = message.blocks[block]
    if not isinstance(text, Text):
        raise ValueError(f"block {block} of message {index} is no text")
    role = "system" if message.role == "system" else "user"
    return role, conversation.body[text.literal.span.start : text.literal.span.end].decode()


def _unmarked(conversation: Conversation, index: int) -> str:
    """Copy a message byte for byte, without the cache marks that the client sets: they move on and say nothing."""
    pieces, at = [], conversation.messages[index].span.start
    for mark in _marks(conversation, index):
        pieces.append(conversation.body[at : mark.start()])
        at = mark.end()
    pieces.append(conversation.body[at : conversation.messages[index].span.end])
    return b"".join(pieces).decode()


def _marks(conversation: Conversation, index: int) -> Iterable[re.Match[bytes]]:
    """Find the cache marks on the blocks of a message; what a call was made with is none."""
    message = conversation.messages[index]
    calls = [block.arguments for block in message.blocks if isinstance(block, ToolCall) and block.arguments]
    for mark in _MARK.finditer(conversation.body, message.span.start, message.span.end):
        if not any(call.start <= mark.start() < call.end for call in calls):
            yield mark


def _restores(
    conversation: Conversation, session: Session, start: int, stop: int
) -> tuple[tuple[Standing, ...], tuple[tuple[str, str], ...]]:
    """Give results behind the messages that go back exact where they repeat one of those, or refuse to."""
    repeats = [e for e in session.edits if e.message >= stop and "dedupe" in e.standing.mode and e.standing.recipe]
    gone = frozenset(_result_names(conversation, range(start, stop))) if repeats else frozenset[str]()
    answered = tuple(answers(conversation, session, start, stop))
    restores = [standing for standing, _ in answered]
    restored = [(standing.original, refusal) for standing, refusal in answered]
    for edit in repeats:
        standing = edit.standing
        if gone.isdisjoint(_repeated(standing.recipe)):
            continue
        text = _original(conversation, edit.message, standing)
        if text is not None:
            sha = original_sha(text)
            restores.append(Standing(standing.key, text, "restore", sha, saved_tokens=0))
            restored.append((sha, text))
    return tuple(restores), tuple(restored)


def _repeated(recipe: str) -> Iterable[str]:
    for step in msgspec.json.decode(recipe, type=list[RecipeStep]):
        if step.mode == "dedupe":
            yield from dedupe.needed(step.recipe)


def _result_names(conversation: Conversation, messages: range) -> Iterable[str]:
    for index in messages:
        for _, result in conversation.messages[index].results:
            for literal in result.texts:
                if literal.readable:
                    yield original_sha(conversation.text(literal))


def _original(conversation: Conversation, index: int, standing: Standing) -> str | None:
    block = conversation.messages[index].blocks[standing.key.block]
    if not isinstance(block, ToolResult):
        return None
    literal = next((text for text in block.texts if text.part == standing.key.part), None)
    return None if literal is None else conversation.text(literal)
