"""What a summariser is asked, and the two ways in which it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from coldpress.model.usage import Usage
from coldpress.wire.continuation import Continuation

Reason = Literal[
    "breaker_open",
    "timeout",
    "http_error",
    "refused_by_provider",
    "unpriced",
    "too_expensive",
    "too_large",
    "no_key",
    "stopped_early",
    "bad_reply",
]


@dataclass(frozen=True, slots=True)
class Ask:
    """A question for a summary.

    Attributes:
        system: the instruction.
        texts: the transcript, in order; a later question about more of the same conversation appends to it.
        request: what is asked, behind the transcript.
        continuation: the agent's own request with the question at its end. It is sent in the place of the transcript
            where the settings say `prefix = "conversation"` and its format is the endpoint's.
        prompt_tokens: what the continuation's prompt is believed to have, calibrated; `None` has it counted from its
            bytes, which is more than it has.
        headers: of the agent's request, those that say how its body is read (`anthropic-beta`, `anthropic-version`);
            they go with the continuation.

    Raises:
        ValueError: there is no transcript, or no request.
    """

    system: str = field(repr=False)
    texts: tuple[str, ...] = field(repr=False)
    request: str = field(repr=False)
    continuation: Continuation | None = None
    prompt_tokens: int | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not self.request.strip() or not any(text.strip() for text in self.texts):
            raise ValueError("a question for a summary needs a transcript and a request")


@dataclass(frozen=True, slots=True)
class Written:
    """A whole answer. Whether it is a summary is for its reader to say.

    Attributes:
        text: never empty.
        usage: tokens at the price of the asked model.
        cost_usd: everything this summary cost, earlier attempts included; `None` where some of it is not known.
        model: the model that answered, in the provider's word.
        seconds: from the question to here.
    """

    text: str = field(repr=False)
    usage: Usage
    cost_usd: float | None
    model: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Declined:
    """No usable answer.

    Attributes:
        reason: `unpriced`, `too_large`, `too_expensive`, `no_key` and `breaker_open` sent nothing.
        detail: a sentence for people, without a word of the conversation, the answer or a key.
        cost_usd: what was paid all the same; `None` where that is not known, 0 where nothing was sent or the provider
            answered with an error, which none bills.
        usage: of a reply that came and could not be used.
    """

    reason: Reason
    detail: str
    cost_usd: float | None = 0.0
    usage: Usage = field(default_factory=Usage)
