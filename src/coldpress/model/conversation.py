"""A request as an agent's client wrote it: a head and messages of blocks, with the place of every text literal.

Nothing here holds the text itself. A `TextLiteral` says where a JSON string stands in the body, and
`Conversation.text` decodes it when somebody asks, so that a long conversation costs what is read of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NewType

import msgspec

CallId = NewType("CallId", str)
ToolName = NewType("ToolName", str)
Role = Literal["system", "user", "assistant", "tool", "other"]


class Span(msgspec.Struct, frozen=True, gc=False):
    """Half-open range of byte offsets in a request body.

    A conversation has tens of thousands of them: as a struct one is made in an eighth of the time that a frozen
    dataclass takes, and the garbage collector does not walk them.
    """

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class TextLiteral:
    """One JSON string literal, quotes included, that a model reads as text.

    `part` is its place in the content array (0 where the content is a plain string). `readable` is
    false where the literal holds something that no Unicode text can (a lone surrogate escape): such
    a literal is never replaced.
    """

    part: int
    span: Span = field(compare=False)
    readable: bool = True


@dataclass(frozen=True, slots=True)
class Text:
    """Prose of a user, an assistant or the system."""

    literal: TextLiteral


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of the model; `Conversation.arguments` reads what it was called with.

    `quoted` is true where the arguments stand as a JSON string (Chat Completions), false where they
    are a JSON object. `arguments` is `None` where the call has none.
    """

    id: CallId
    name: ToolName
    arguments: Span | None = field(compare=False)
    quoted: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back.

    `call` is the call it answers, `None` where pairing is ambiguous or the call is missing (such a
    result is never touched). `failed` is the wire's own flag; `None` where the format has none. `others` are the
    parts of its content that are no text: images and the like.
    """

    call_id: CallId
    call: ToolCall | None
    texts: tuple[TextLiteral, ...]
    failed: bool | None
    others: tuple[Opaque, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Opaque:
    """A block that is carried and never touched: images, thinking, server tools, anything unknown.

    `span` is the place of its JSON value; `None` where nobody noted it.
    """

    kind: str
    span: Span | None = field(default=None, compare=False)


Block = Text | ToolCall | ToolResult | Opaque


@dataclass(frozen=True, slots=True)
class Message:
    """One element of the client's message array.

    `digest` (32 bytes) is the same for the same content: cache marks and the choice between a string
    and a one-text array play no part in it. `chain` (32 bytes) names the message together with all
    messages before it; see `coldpress.model.identity`.
    """

    role: Role
    blocks: tuple[Block, ...]
    digest: bytes
    chain: bytes
    span: Span = field(compare=False)

    @property
    def results(self) -> tuple[tuple[int, ToolResult], ...]:
        """The tool results in this message with their block index, in order."""
        return tuple((i, b) for i, b in enumerate(self.blocks) if isinstance(b, ToolResult))


@dataclass(frozen=True, slots=True)
class Head:
    """What stands outside the messages.

    `identity` (32 bytes) names the stable part of the system prompt; `exact` names its very text.
    `harness_session` is the session id the client sent, for people to group by: never used to decide.
    `subscription` is true where Claude Code's billing line stands in `system[0]`.
    `stateful` is true where the server holds earlier history that the request does not show.
    `server_clears` is true where the request lets the server clear old tool results by itself.
    `settings` names what else stands outside the text and changes how the messages are cached: at Anthropic the
    reasoning parameters and the choice of tools. Empty where there is none.
    """

    model: str | None
    identity: bytes
    exact: bytes
    tools: tuple[ToolName, ...]
    stream: bool
    subscription: bool
    harness_session: str | None
    stateful: bool = False
    server_clears: bool = False
    settings: bytes = b""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One request, read.

    `known` counts the leading messages that were recognised as an earlier request's, by the hash of
    their bytes, and therefore were not parsed again. `tools` is where the list of tools stands (`tools`, or the legacy
    `functions` of Chat Completions), `None` where the request offers none.
    """

    format: Literal["anthropic", "openai_chat", "openai_responses", "gemini"]
    head: Head
    messages: tuple[Message, ...]
    body: bytes = field(compare=False, repr=False)
    known: int = field(default=0, compare=False)
    tools: Span | None = field(default=None, compare=False)

    def text(self, literal: TextLiteral) -> str:
        """Decode one text literal of this request.

        Raises:
            ValueError: the literal is not `readable`.
        """
        if not literal.readable:
            raise ValueError("this literal holds a lone surrogate and has no exact text")
        decoded = msgspec.json.decode(memoryview(self.body)[literal.span.start : literal.span.end])
        if not isinstance(decoded, str):
            raise ValueError(f"bytes {literal.span.start}..{literal.span.end} are not a JSON string")
        return decoded

    def arguments(self, call: ToolCall) -> str:
        """Give the JSON text a call of this request was made with, `{}` where it has none; maybe not valid JSON.

        Where it stands in a string that no Unicode text can hold (a lone surrogate escape) that comes as it is written.
        """
        if call.arguments is None:
            return "{}"
        raw = memoryview(self.body)[call.arguments.start : call.arguments.end]
        if not call.quoted:
            return bytes(raw).decode()
        try:
            decoded = msgspec.json.decode(raw)
        except msgspec.DecodeError:
            return bytes(raw[1:-1]).decode(errors="replace")
        return decoded if isinstance(decoded, str) else "{}"

    @property
    def last_assistant(self) -> int:
        """Index of the last assistant message, -1 where there is none.

        Tool results behind it have not been seen by any model yet: they are at first sight.
        """
        for index in range(len(self.messages) - 1, -1, -1):
            if self.messages[index].role == "assistant":
                return index
        return -1
