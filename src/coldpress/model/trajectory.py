"""A recorded agent run: what the client added and what the model answered, request by request."""

from __future__ import annotations

from dataclasses import dataclass

from coldpress.model.usage import Usage


@dataclass(frozen=True, slots=True)
class Turn:
    """One request and its reply.

    Attributes:
        added: the messages that the client appended since the previous reply, each as the JSON text of
            one element of `messages` in Anthropic's form, with block lists as content and without cache marks.
        reply: the assistant message that came back, in the same form.
        model: the model that answered.
        sent_at: time of the last thing added, in seconds since 1970: the request left at or after it.
        replied_at: time when the last block of the reply was recorded, in seconds since 1970.
        usage: what the provider reported; a bucket the recording cannot be trusted with is `None`.
        request_id: the provider's name for the request, where recorded.
        tools: names of the tools that the reply called, in order.
        reported_usd: what the recording says the request cost, by the provider or by the client's own price
            table; `None` where it says nothing, or zero for want of a price.
        thinking: whether the client asked for thinking, where the recording says so. `None` where it does not: then
            what was so before goes on.
        restarted: whether the client was started anew since the previous reply, as far as the recording shows it.
    """

    added: tuple[str, ...]
    reply: str
    model: str
    sent_at: float | None
    replied_at: float | None
    usage: Usage
    request_id: str | None = None
    tools: tuple[str, ...] = ()
    reported_usd: float | None = None
    thinking: bool | None = None
    restarted: bool = False


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One conversation of a run, as a straight line: request i shows every earlier turn and `turns[i].added`.

    Attributes:
        name: a readable name, unique within one recording.
        session: the harness's session id; side chains, forks and what follows a compaction share it.
        side_chain: whether a sub-agent spoke, not the main agent.
        turns: in order.
        shared_turns: leading turns that belong to an earlier trajectory of the recording (this one was
            forked off behind them, by a rewind). They are history here and were requested there.
    """

    name: str
    session: str
    side_chain: bool
    turns: tuple[Turn, ...]
    shared_turns: int = 0

    @property
    def requests(self) -> int:
        """How many requests this trajectory made itself."""
        return len(self.turns) - self.shared_turns

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that any reply called, each once, sorted."""
        return tuple(sorted({tool for turn in self.turns for tool in turn.tools}))
