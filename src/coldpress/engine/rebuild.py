"""Put a summary in the place of a run of messages: what is sent instead, and what has to be stored and restored for it.

What takes their place, in order: what users and the system said and attached among them, to the letter; notes and
summary; turns that are carried over byte for byte. Cache marks are no part of it: where the client's messages carry
one, `placed_rebuild` sets it anew on each request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import msgspec

from coldpress.engine.first_sight import RecipeStep
from coldpress.engine.json_bytes import elements, members
from coldpress.engine.rebuild_marks import MARK_KEY, marked, marks
from coldpress.engine.rebuild_size import literal_tokens, opaque_blocks
from coldpress.engine.reduce import dedupe
from coldpress.engine.refusals import answers
from coldpress.engine.session import PlacedRebuild, Session
from coldpress.model.conversation import Block, Conversation, Opaque, Span, Text, ToolResult
from coldpress.model.edits import Rebuild, Standing
from coldpress.model.identity import original_sha
from coldpress.model.summary import Summary


@dataclass(frozen=True, slots=True)
class Writing:
    """What is to stand in the place of messages.

    Attributes:
        start, stop: the messages that go, half-open; equal where something is only put in.
        kept: message and block of everything among them that users or the system said or attached, in order; it stays
            to the letter.
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
    originals = tuple(covered(conversation, range(writing.start, writing.stop)))
    literal = ",".join((_prose(conversation, writing), *(_whole(conversation, at) for at in writing.carried)))
    texts = tuple((original_sha(text), text) for text in (writing.block, writing.index) if text)
    given_back, restored = restores(conversation, session, writing.start, writing.stop)
    rebuild = Rebuild(
        anchor=messages[writing.start - 1].chain,
        last=messages[writing.stop - 1].chain,
        literal=literal,
        summary=writing.summary,
        generation=writing.generation,
        covered=tuple(sha for sha, _ in originals),
        covered_tokens=writing.covered_tokens,
        literal_tokens=literal_tokens(conversation, literal, _copied(conversation, writing)),
        summariser=writing.summariser,
        block=original_sha(writing.block),
        index=original_sha(writing.index) if writing.index else "",
    )
    return Written(writing.start, rebuild, (*originals, *texts), given_back, restored)


def covered(conversation: Conversation, messages: range) -> Iterator[tuple[str, str]]:
    """Give SHA-256 and JSON text of messages that go, without cache marks."""
    for at in messages:
        text = _whole(conversation, at)
        yield original_sha(text), text


def index_of(conversation: Conversation, start: int, stop: int) -> str:
    """List messages by number, from 1, each with the SHA-256 by which its JSON text is recalled: `m12 9f2c...`.

    Args:
        conversation: as the client sent it.
        start, stop: indices of the messages, half-open.
    """
    named = ((at + 1, original_sha(_whole(conversation, at))) for at in range(start, stop))
    return "".join(f"m{number} {sha}\n" for number, sha in named)


def placed_rebuild(conversation: Conversation, at: Mapping[bytes, int], rebuild: Rebuild) -> PlacedRebuild | None:
    """Find where in this request a rebuild belongs; `None` where its messages are not there.

    Args:
        conversation: the request.
        at: index of each message by its chain.
        rebuild: a decision.
    """
    # A provider's own summary stands in front of everything, as if behind a message before the first.
    anchor, last = -1 if rebuild.is_providers else at.get(rebuild.anchor), at.get(rebuild.last)
    if anchor is None or last is None or last < anchor:
        return None
    messages = conversation.messages
    span = Span(messages[anchor].span.end if anchor >= 0 else messages[0].span.start, messages[last].span.end)
    comma = b"," if anchor >= 0 else b""
    literal = comma + rebuild.literal.encode()
    if conversation.body.find(MARK_KEY, span.start, span.end) >= 0:
        mark = next((mark for i in range(anchor + 1, last + 1) for mark in marks(conversation, i)), None)
        literal = comma + marked(rebuild.literal.encode(), mark[1] or mark[2]) if mark else literal
    return PlacedRebuild(anchor + 1, last + 1, span, rebuild, literal)


def _prose(conversation: Conversation, writing: Writing) -> str:
    """Write what stays to the letter, then notes and summary.

    In Messages, what users said and attached is in one message with the summary, since the server joins messages of the
    same role; the system's messages stand in front of it. In Chat Completions every message stays one of its own, with
    its role and name and its content as the client writes it: a server that takes strings alone is sent no array.
    """
    ordered = groupby(_ordered(conversation, writing), key=itemgetter(0))
    kept = [(index, [block for _, block in places]) for index, places in ordered]
    block = msgspec.json.encode(writing.block).decode()
    if conversation.format != "anthropic":
        said = [_reduced(conversation, index, blocks) for index, blocks in kept]
        return ",".join((*said, f'{{"role":"user","content":{block}}}'))
    roles = {index: conversation.messages[index].role for index, _ in kept}
    system = [_reduced(conversation, index, blocks) for index, blocks in kept if roles[index] == "system"]
    users = [part for index, blocks in kept if roles[index] != "system" for part in _parts(conversation, index, blocks)]
    content = ",".join((*users, f'{{"type":"text","text":{block}}}'))
    return ",".join((*system, f'{{"role":"user","content":[{content}]}}'))


def _reduced(conversation: Conversation, index: int, blocks: Sequence[int]) -> str:
    """Copy a message with some of its blocks, and all that stands beside them."""
    message = conversation.messages[index]
    if len(blocks) == len(message.blocks):
        return _unmarked(conversation, index, message.span)
    fields = members(conversation.body, message.span)
    parts = ",".join(_parts(conversation, index, blocks))
    written = (
        f'"{key.decode()}":' + (f"[{parts}]" if key == b"content" else _unmarked(conversation, index, value))
        for key, value in fields.items()
        if key != b"cache_control"
    )
    return "{" + ",".join(written) + "}"


def _parts(conversation: Conversation, index: int, blocks: Sequence[int]) -> Iterator[str]:
    """Copy blocks of a message byte for byte, without cache marks, in the order in which the client wrote them."""
    body, message = conversation.body, conversation.messages[index]
    content = members(body, message.span)[b"content"]
    if body[content.start : content.start + 1] == b'"':
        yield f'{{"type":"text","text":{body[content.start : content.end].decode()}}}'
        return
    starts = [_start(message.blocks[block]) for block in blocks]
    for part in elements(body, content):
        if any(part.start <= start < part.end for start in starts):
            yield _unmarked(conversation, index, part)


def _copied(conversation: Conversation, writing: Writing) -> Iterator[tuple[Opaque, str]]:
    """Give the blocks without text that are copied, with their JSON text, in the order in which they stand."""
    for index, place in _ordered(conversation, writing):
        block = conversation.messages[index].blocks[place]
        if isinstance(block, Opaque) and block.span is not None:
            yield block, _unmarked(conversation, index, block.span)
    for index in writing.carried:
        for block, span in opaque_blocks(conversation, index):
            yield block, _unmarked(conversation, index, span)


def _ordered(conversation: Conversation, writing: Writing) -> tuple[tuple[int, int], ...]:
    """Give what is kept in the order in which it is written."""
    if conversation.format != "anthropic":
        return writing.kept
    return tuple(sorted(writing.kept, key=lambda place: conversation.messages[place[0]].role != "system"))


def _start(block: Block) -> int:
    """Where a block that is kept stands in the body."""
    match block:
        case Text(literal):
            return literal.span.start
        case Opaque(span=Span() as span):
            return span.start
        case _:
            raise ValueError(f"{type(block).__name__} is nothing that a user says or attaches")


def _whole(conversation: Conversation, index: int) -> str:
    return _unmarked(conversation, index, conversation.messages[index].span)


def _unmarked(conversation: Conversation, index: int, span: Span) -> str:
    """Copy a piece of a message byte for byte, without the cache marks that the client sets: they move on."""
    pieces, at = [], span.start
    for mark in marks(conversation, index):
        if span.start <= mark.start() and mark.end() <= span.end:
            pieces.append(conversation.body[at : mark.start()])
            at = mark.end()
    pieces.append(conversation.body[at : span.end])
    return b"".join(pieces).decode()


def restores(
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
