"""What clients do that their recordings do not hold, as far as it decides what a prefix cache reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Client:
    """The habits of one client program.

    Every number here is one for all recordings of the client; those that are fitted say so.

    Attributes:
        name: the client.
        provider: who serves it in the recordings, for rules and prices.
        head_share: share of a run's first prompt that is system prompt and tools, where the first reply does not tell.
            Fitted on runs whose replies tell it later.
        tail_tokens: tokens behind the last mark that are reported as fresh, with thinking off. Fitted.
        thinking_tail_tokens: the same with thinking on. Fitted.
        marked_messages: how many of the last messages carry a mark on their last block, besides the head.
        thinks_aloud: with thinking on every reply of the recordings holds a thinking block, so one without shows that
            it was off. Else thinking counts as on from the first such block.
        suggests: after a reply that calls no tool the client asks for the user's next words. The request shows the
            conversation with a mark behind that reply. It is not recorded, and it leaves an entry in the cache.
        suggests_after_seconds: the request is not sent, or given up, where the user is faster. Fitted.
        suggestion_seconds: time from the reply to the answer of that request. Fitted: entries were read 301.0 s
            after the reply and no more after 301.9 s.
        suggests_below_tokens: it is not sent where the last request read less than all but this much of its prompt.
        restart: text of a turn that shows that the program was ended, beside what the recording itself tells.
        restart_changes: what a new process writes anew: the messages from the first on, or the head.
        believed_seconds: lifetime to assume where the provider publishes none.
        readable_after_seconds: time from sending a prompt until it can be read, at least. Fitted.
    """

    name: str
    provider: str
    head_share: float
    tail_tokens: int
    thinking_tail_tokens: int
    marked_messages: int = 1
    thinks_aloud: bool = False
    suggests: bool = False
    suggests_after_seconds: float = 4.0
    suggestion_seconds: float = 1.5
    suggests_below_tokens: int = 10_000
    restart: str | None = None
    restart_changes: Literal["head", "messages"] = "messages"
    believed_seconds: float | None = None
    readable_after_seconds: float = 0.0


CLAUDE_CODE: Final = Client(
    name="claude-code",
    provider="anthropic",
    head_share=0.6,
    tail_tokens=1,
    thinking_tail_tokens=10,
    # Newer versions mark one. In these recordings all three prompts that add 20 to 27 blocks read what stood
    # before those, which only a mark on the message before the last can find.
    marked_messages=2,
    thinks_aloud=True,
    suggests=True,
    # The reminders at the conversation's beginning are written anew.
    restart="<command-name>/exit</command-name>",
)
PI: Final = Client(
    name="pi",
    provider="anthropic",
    head_share=0.6,
    tail_tokens=1,
    thinking_tail_tokens=10,
    # Its system prompt ended with the time at which it was built, to the second (system-prompt.ts of
    # packages/coding-agent in a public version; version 0.73 sends the day alone).
    restart_changes="head",
)
MINI_SWE_AGENT: Final = Client(
    name="mini-swe-agent",
    provider="google",
    head_share=0.0,
    tail_tokens=0,
    thinking_tail_tokens=0,
    believed_seconds=600.0,
    readable_after_seconds=10.0,
)

CLIENTS: Final[Mapping[str, Client]] = {client.name: client for client in (CLAUDE_CODE, PI, MINI_SWE_AGENT)}
"""By the kind of recording."""

_FORGETS_THINKING: Final = re.compile(r"claude-(3|sonnet-4(?![-.]6)|haiku-4|opus-4(?![-.][5-9]))")
_ASKED_FOR_THINKING: Final = re.compile(r"claude-(3|sonnet-4(?![-.]6)|haiku-4|opus-4(?![-.][6-9]))")


def forgets_thinking(model: str) -> bool:
    """Tell whether the provider leaves out earlier thinking once the user speaks again.

    It does by default on Claude models before Opus 4.5 and Sonnet 4.6; a request can ask to keep it.

    >>> [forgets_thinking(f"claude-{name}") for name in ("sonnet-4-5-20250929", "opus-4-5-20251101", "sonnet-4-6")]
    [True, False, False]
    """
    return _FORGETS_THINKING.search(model) is not None


def thinks_when_asked(model: str) -> bool:
    """Tell whether thinking is on or off by a parameter of each request, and not left to the model.

    Where it is, a reply with a thinking block shows that it was on: recordings do not hold the parameter.
    """
    return _ASKED_FOR_THINKING.search(model) is not None
