"""Say what a scripted model answers: turns of text, thinking and tool calls, how they travel, and what goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from coldpress.model.records import Miss
from coldpress.model.usage import Usage

StopReason = Literal["end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "pause_turn"]
"""Anthropic's words; on the chat wire they become `stop`, `tool_calls`, `length` and `content_filter`, on Gemini's
`STOP`, `MAX_TOKENS` and `SAFETY`. A `refusal` that says nothing is a blocked prompt there."""


@dataclass(frozen=True, slots=True)
class Say:
    """Text of the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Think:
    """Thinking of the model, signed by the upstream; on the chat wire, `reasoning_content` of the DeepSeek dialect."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the tool with exactly this name and these arguments.

    Attributes:
        tool: its name.
        arguments: as the model writes them.
        reason: put in front of the arguments, into every text field that the offered schema requires and that they
            lack: so does a model that is asked to say what a call is for. `None` writes the arguments alone.
    """

    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell command, through whichever shell tool the client offers."""

    command: str


@dataclass(frozen=True, slots=True)
class Read:
    """Reading a file, through whichever reading tool the client offers; without one, `cat` in its shell."""

    path: str


Part = Say | Think | Call | Shell | Read


@dataclass(frozen=True, slots=True)
class HttpError:
    """Refuse with this status, in the provider's own error shape.

    `retry_after_seconds` adds the header. `message` and `kind` default to what the provider says with this status.
    """

    status: int
    retry_after_seconds: int | None = None
    message: str | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Close the connection without a single byte of an answer."""


@dataclass(frozen=True, slots=True)
class BreakOff:
    """Close the connection in the middle: after so many events of a stream, or so many bytes of a whole answer."""

    after: int = 3


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """Answer 200, send so many events, then an error event, and end the stream properly."""

    after: int = 3
    kind: str = "overloaded_error"
    message: str = "Overloaded"


Fault = HttpError | Disconnect | BreakOff | ErrorEvent


@dataclass(frozen=True, slots=True)
class Delivery:
    """How an answer travels.

    Attributes:
        first_byte_delay_seconds: wait before the status line.
        event_delay_seconds: wait before each event of a stream.
        chunk_bytes: cut the body into pieces of this size whatever the events are; 1 splits at every byte.
        crlf: end the lines of a stream with CR LF.
        gzip: compress the answer, with the header for it.
        omit_usage: leave usage out, as some compatible servers do.
        delta_characters: how much text, or how much of a call's arguments, one event of a stream holds.
    """

    first_byte_delay_seconds: float = 0.0
    event_delay_seconds: float = 0.0
    chunk_bytes: int | None = None
    crlf: bool = False
    gzip: bool = False
    omit_usage: bool = False
    delta_characters: int = 60


@dataclass(frozen=True, slots=True)
class Step:
    """A sampling step before the answer, with tokens of its own.

    Attributes:
        kind: `compaction` is billed but left out of the totals, `advisor_message` is billed to its `model`, `message`
            is a turn of a server-side tool loop.
        usage: what the step is billed for.
        model: the model that took it, `None` for the one that was asked.
    """

    kind: Literal["message", "compaction", "advisor_message"]
    usage: Usage
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Aside:
    """What the provider tells of a request beside the answer, on the Messages wire only.

    Attributes:
        steps: sampling steps before the answer; with any, the usage lists them all (`iterations`).
        served_by: a fallback model that answers after the asked one declined.
        miss: why the cache was missed; told to requests that ask for `diagnostics`.
        transformations: kind and reason of what was done to reasoning in the history, beside what the check of the
            signatures finds; told to requests with the beta for it.
    """

    steps: tuple[Step, ...] = ()
    served_by: str | None = None
    miss: Miss | None = None
    transformations: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer. Without a `stop_reason`, it is `tool_use` where there is a call and `end_turn` otherwise."""

    parts: tuple[Part, ...]
    stop_reason: StopReason | None = None
    delivery: Delivery | None = None
    fault: Fault | None = None
    aside: Aside = Aside()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a script may look at to choose its answer.

    Attributes:
        format: the wire the request came on.
        body: the decoded JSON body.
        number: 0 for the first inference request this upstream received, then 1, 2, ...
        calls_made: assistant messages with tool calls in the conversation so far.
        tools: names of the tools the client offers.
    """

    format: Literal["anthropic", "openai_chat", "openai_responses", "gemini"]
    body: Mapping[str, object]
    number: int
    calls_made: int
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """Turns in order, chosen by how many tool-calling turns the conversation already holds, or by `progress`.

    So a side request, a retry, a fork and a sub-agent each get the turn that fits *their* conversation.

    Attributes:
        turns: the answers with tool calls, first to last.
        closing: the answer once all of them are done.
        side: the answer to a request that offers no tools (titles, summaries, clients without tools).
        delivery: how answers travel, unless their turn says otherwise.
        faults: what goes wrong, by `Asked.number`; a retry has the next number and gets through.
        answer: decides instead of all of the above where it does not return `None`.
        progress: how many of the turns a conversation has had; `None` counts its tool-calling turns. Where messages may
            be replaced by a summary, `coldpress.testing.said_steps` knows better.
    """

    turns: tuple[Turn, ...] = ()
    closing: Turn = Turn((Say("All done."),))
    side: Turn = Turn((Say("A short title"),))
    delivery: Delivery = Delivery()
    faults: Mapping[int, Fault] = field(default_factory=dict)
    answer: Callable[[Asked], Turn | None] | None = None
    progress: Callable[[Asked], int] | None = None

    def choose(self, asked: Asked) -> Turn:
        """Give the answer to a request, with its delivery and fault filled in."""
        turn = self.answer(asked) if self.answer is not None else None
        if turn is None:
            turn = self._by_progress(asked)
        return replace(turn, delivery=turn.delivery or self.delivery, fault=self.faults.get(asked.number, turn.fault))

    def _by_progress(self, asked: Asked) -> Turn:
        if self.turns and not asked.tools:
            return self.side
        done = self.progress(asked) if self.progress is not None else asked.calls_made
        return self.turns[done] if done < len(self.turns) else self.closing


def task(*steps: Part | tuple[Part, ...], thinking: bool = False, done: str = "All done.") -> Script:
    """Make a script that works through a task with the client's own tools.

    Args:
        steps: one per turn; a tuple is several calls in parallel.
        thinking: let every turn begin with a thinking block, where the request asks for thinking.
        done: the last answer.

    >>> task(Shell("git log"), (Read("a.py"), Read("b.py"))).turns[1].parts[1:]
    (Read(path='a.py'), Read(path='b.py'))
    """
    turns = []
    for number, step in enumerate(steps, start=1):
        calls = step if isinstance(step, tuple) else (step,)
        opening: tuple[Part, ...] = (Think(f"Step {number} of {len(steps)} comes next."),) if thinking else ()
        turns.append(Turn((*opening, Say(f"Step {number} of {len(steps)}."), *calls)))
    return Script(turns=tuple(turns), closing=Turn((Say(done),)))
