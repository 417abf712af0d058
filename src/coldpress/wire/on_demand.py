"""Ask Anthropic for a summary of the leading messages of a request that was sent, and read the block that it answers.

The request is the one that was sent, to the byte, less the messages behind those that are summarised: so it reads the
same cached prompt, and the block stands for what the model was shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from coldpress.model.conversation import Conversation, Span
from coldpress.wire.addition import member
from coldpress.wire.format import top_level
from coldpress.wire.marks import insertion, read_marks
from coldpress.wire.span import Misread, Patch, splice

BETA: Final = "compact-2026-09-04"
STOPPED: Final = "compaction"
"""How a reply ends that is a summary and nothing else."""

_ASKED: Final = b'{"type":"summarize"}'
_MOST_MARKS: Final = 4
_OWN_MARK: Final = b',"cache_control"'
_QUESTION: Final = b',"diagnostics"'


@dataclass(frozen=True, slots=True)
class Block:
    """The provider's summary.

    Attributes:
        message: JSON text of the message to send in the place of what was summarised; its block is as it came.
        text: what the block says.
    """

    message: str
    text: str


@dataclass(frozen=True, slots=True)
class _Value:
    span: Span
    literal: bytes


def summary_body(conversation: Conversation, splices: Iterable[Patch], stop: int, *, long: bool) -> bytes:
    """Give the body that asks for a summary of the first `stop` messages of a request.

    Args:
        conversation: the request as the client wrote it, in the Messages format.
        splices: what was put into it before it was sent, in the order of the spans.
        stop: messages that are summarised; 1 or more, and fewer than there are.
        long: the client's marks ask for the long lifetime.

    Raises:
        Misread: the body cannot be read.
    """
    body, messages = conversation.body, conversation.messages
    source, fields = top_level(body)
    dropped = Span(messages[stop - 1].span.end, messages[-1].span.end)
    # A diagnosis compares with another reply than this one's, and nobody waits for it.
    put = [one for one in splices if not _is_within(one.span, dropped) and not one.literal.startswith(_QUESTION)]
    patches: list[Patch] = [*put, _Value(dropped, b"")]
    if "stream" in fields and source.raw(fields["stream"]) != b"false":
        patches.append(_Value(fields["stream"], b"false"))
    is_marked = "cache_control" in fields or any(one.literal.startswith(_OWN_MARK) for one in put)
    if not is_marked and (mark := _mark(conversation, stop, long=long)) is not None:
        patches.append(mark)
    patches.append(member(body, "compaction", _ASKED))
    return splice(body, sorted(patches, key=lambda patch: patch.span.start))


def read_block(body: bytes) -> Block | None:
    """Read a reply that should be one summary and nothing else; `None` where it is not, or the summary failed.

    Raises:
        Misread: it cannot be read.
    """
    source, fields = top_level(body)
    if "stop_reason" not in fields or source.string(fields["stop_reason"]) != STOPPED:
        return None
    content = fields.get("content")
    if not source.is_array(content):
        return None
    blocks = source.elements(content)
    if len(blocks) != 1 or not source.is_object(blocks[0]):
        return None
    inner = source.members(blocks[0])
    kind, text, seal = (source.string(inner.get(name)) for name in ("type", "content", "signature"))
    if kind != STOPPED or not text or not seal:
        return None
    try:
        block = source.raw(blocks[0]).decode()
    except UnicodeDecodeError as error:
        raise Misread("the block is no UTF-8") from error
    return Block('{"role":"assistant","content":[' + block + "]}", text)


def _is_within(span: Span, dropped: Span) -> bool:
    return dropped.start <= span.start and span.end <= dropped.end


def _mark(conversation: Conversation, stop: int, *, long: bool) -> Patch | None:
    """Mark the end of what is summarised, where the request before it left an entry: else only the head is read."""
    marks = read_marks(conversation)
    if not marks:
        return None  # the client caches nothing, or nobody knows how many marks there are
    left = [mark for mark in marks if mark.message is None or mark.message < stop]
    if len(left) >= _MOST_MARKS or any(mark.message == stop - 1 for mark in left):
        return None
    return insertion(conversation, stop - 1, long=long)
