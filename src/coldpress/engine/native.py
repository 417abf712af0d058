"""Decide what a provider is asked to do to a prompt by itself, and why not, the same for a whole conversation.

What is asked goes by the settings, the client and the request's head, never by how far a conversation is. A server that
clears does so anew on every request, over the whole history that the client sends. Asked in other words from one
request to the next it would clear elsewhere, or no more, and the cached prompt would be lost each time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from coldpress.engine.binding import binds
from coldpress.measure.economics import Prompt, Removal, net_usd
from coldpress.measure.rates import Prices, Unpriced
from coldpress.model.native import Declined, NativeAsked, Primitive
from coldpress.wire.registry import FormatName

MEMORY: Final = "memory"
"""The only name that Anthropic's memory tool may have."""

CLEAR_TRIGGER_TOKENS: Final = 100_000
CLEAR_KEEP: Final = 3
"""Anthropic's own defaults."""

OWN_FIELDS: Final = ("context_management", "compaction", "thread")
"""Fields of Messages by which a client itself says what the server does to its history."""

FIRST_COMPACTED: Final[dict[str, tuple[int, int]]] = {
    "fable": (5, 0),
    "mythos": (5, 0),
    "opus": (4, 6),
    "sonnet": (4, 6),
    "haiku": (5, 5),
}
"""The first version of each Claude family that is known to compact; later ones are taken to do so as well.

Source: platform.claude.com, "Compaction", as of November 2026."""

_VERSION: Final = re.compile(
    rf"(?:^|[/:.~-])({'|'.join(sorted(FIRST_COMPACTED))})-v?(\d{{1,2}})(?:[-.](\d{{1,2}}))?(?!\d)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Native:
    """What the settings let a provider be asked for; everything is off by default.

    Attributes:
        clear_tool_uses: old tool results are taken out of prompts.
        clear_thinking: it is said which turns keep their reasoning.
        clear_thinking_keep: the newest turns that do; `None` for all.
        clear_trigger_tokens: prompts longer than this are cleared of tool results.
        clear_keep: the newest tool calls whose results stay.
        exclude_tools: tools whose results stay.
        compact_threshold_tokens: Anthropic summarises longer prompts; `None` for none.
        memory_tool: the memory tool is declared.
        compaction_tokens: OpenAI compacts longer prompts; `None` for none.
        compact_on_demand_tokens: Anthropic is asked to summarise longer prompts, in a request of ours, if not `None`.
        diagnostics: the provider says why its cache was missed.
        clients: product names of clients that send back what they do not know, in lower case.
    """

    clear_tool_uses: bool = False
    clear_thinking: bool = False
    clear_thinking_keep: int | None = None
    clear_trigger_tokens: int = CLEAR_TRIGGER_TOKENS
    clear_keep: int = CLEAR_KEEP
    exclude_tools: tuple[str, ...] = ()
    compact_threshold_tokens: int | None = None
    memory_tool: bool = False
    compaction_tokens: int | None = None
    compact_on_demand_tokens: int | None = None
    diagnostics: bool = False
    clients: frozenset[str] = frozenset()

    @property
    def wished(self) -> tuple[Primitive, ...]:
        """What is decided on here, in the order in which Anthropic wants its edits listed."""
        switched: tuple[tuple[Primitive, bool], ...] = (
            ("clear_thinking", self.clear_thinking),
            ("clear_tool_uses", self.clear_tool_uses),
            ("compact_threshold", self.compact_threshold_tokens is not None),
            ("memory_tool", self.memory_tool),
            ("compaction", self.compaction_tokens is not None),
        )
        return tuple(primitive for primitive, on in switched if on)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A request, as far as this decision looks at it.

    Attributes:
        format: wire format.
        model: asked for; `None` where the request names none.
        fields: keys of the body beside the messages.
        routes: prices of every upstream that may serve it.
        requests: expected requests of a conversation, the same on each of them.
        tools: names of the tools that the client offers.
        harness: the client's product name.
        first_party: the provider runs the models itself, or the settings name an upstream of the user's.
        stateful: the server holds history that the request does not show.
        stored: the server keeps this request (Responses without `store: false`).
        thinks: the request asks for reasoning.
        replays: a summary of a threshold compaction stands among its messages.
        dropped: the client left out a summary that a reply of this conversation carried.
        before: what the request before it was asked; `None` where it is the first of its conversation.
        draining: only what stands already may go on.
        long: the client writes its cache with the long lifetime.
    """

    format: FormatName
    model: str | None
    fields: frozenset[str]
    routes: tuple[Prices, ...] | Unpriced
    requests: float
    tools: tuple[str, ...] = ()
    harness: str | None = None
    first_party: bool = True
    stateful: bool = False
    stored: bool = False
    thinks: bool = False
    replays: bool = False
    dropped: bool = False
    before: frozenset[Primitive] | None = None
    draining: bool = False
    long: bool = False


def decide(native: Native, asking: Asking) -> NativeAsked | None:
    """Say what is asked for on a request and what is left out; `None` where the settings switch nothing on."""
    asked: list[Primitive] = []
    declined: list[Declined] = []
    least = None
    for primitive in native.wished:
        why = _why_not(primitive, native, asking)
        if why is None and primitive == "clear_tool_uses":
            found = _least_of(native, asking)
            least, why = (None, found) if isinstance(found, str) else (found, None)
        if why is None:
            asked.append(primitive)
        else:
            declined.append(Declined(primitive, why))
    if not asked and not declined:
        return None
    return NativeAsked(tuple(asked), tuple(declined), least)


def compacts(model: str | None) -> bool:
    """Whether a Claude model writes summaries of its own prompts; one whose name tells no version is taken not to.

    >>> [compacts(name) for name in ("claude-opus-4-6", "claude-opus-5-20261101", "claude-haiku-4-5", "claude-3-opus")]
    [True, True, False, False]
    """
    found = _VERSION.search((model or "").lower())
    return found is not None and (int(found[2]), int(found[3] or 0)) >= FIRST_COMPACTED[found[1]]


def least_cleared(
    trigger_tokens: int, routes: tuple[Prices, ...], *, requests: float, long: bool = False
) -> int | Unpriced | None:
    """Give the fewest tokens that a clearing must free to pay, by the gate's own sums; `None` where no number does.

    Nothing in front of what goes is taken to be read again, so all that stays of a prompt as long as the trigger is
    written: N*D*C > (trigger - D)*(W - C) at every route.

    Args:
        trigger_tokens: length of the prompt that is cleared first.
        routes: prices of every upstream that may serve the conversation, one or more.
        requests: N, the one at hand included.
        long: writes are of the long lifetime.
    """
    worst = 0
    for prices in routes:
        found = _least_at(trigger_tokens, prices, requests, long=long)
        if not isinstance(found, int):
            return found
        worst = max(worst, found)
    return worst


@lru_cache(256)
def _least_at(trigger_tokens: int, prices: Prices, requests: float, *, long: bool) -> int | Unpriced | None:
    prompt = Prompt(trigger_tokens, trigger_tokens)

    def net(tokens: int) -> float | Unpriced:
        return net_usd(prompt, (Removal(0, tokens),), prices, requests=requests, long=long)

    low, high = 0, trigger_tokens
    most = net(high)
    if isinstance(most, Unpriced):
        return most
    if most <= 0:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        found = net(middle)
        if not isinstance(found, Unpriced) and found > 0:
            high = middle
        else:
            low = middle
    return high


def _least_of(native: Native, asking: Asking) -> int | str:
    """The least that a clearing must free, or the word for why there is none."""
    if isinstance(asking.routes, Unpriced) or not asking.routes:
        return "no_price"
    found = least_cleared(native.clear_trigger_tokens, asking.routes, requests=asking.requests, long=asking.long)
    if isinstance(found, Unpriced):
        return "no_price"
    return "never_pays" if found is None else found


def _why_not(primitive: Primitive, native: Native, asking: Asking) -> str | None:
    """Name the first thing that speaks against one primitive."""
    reasons = _of_responses if primitive == "compaction" else _of_messages
    why = next(reasons(primitive, native, asking), None)
    if why is not None or not asking.draining:
        return why
    stands = primitive in (asking.before or ()) or (primitive == "compact_threshold" and asking.replays)
    return None if stands else "drain"


def _of_responses(_: Primitive, native: Native, asking: Asking) -> Iterator[str]:
    if asking.format != "openai_responses":
        yield "format"
    if not asking.first_party:
        yield "provider"
    if "context_management" in asking.fields:
        yield "client"
    if asking.stateful:
        yield "stateful"
    if asking.stored:
        yield "stored"
    if asking.dropped:
        yield "compaction_dropped"
    if not _is_known(native, asking):
        yield "client_unknown"


def _of_messages(primitive: Primitive, native: Native, asking: Asking) -> Iterator[str]:
    if asking.format != "anthropic":
        yield "format"
    if not asking.first_party:
        yield "provider"
    if "thread" in asking.fields:
        yield "thread"
    if asking.stateful:
        yield "stateful"
    yield from _MORE[primitive](native, asking)


def _of_edits(asking: Asking) -> Iterator[str]:
    if any(name in asking.fields for name in OWN_FIELDS):
        yield "client"


def _of_clearing(_: Native, asking: Asking) -> Iterator[str]:
    yield from _of_edits(asking)


def _of_thinking(_: Native, asking: Asking) -> Iterator[str]:
    yield from _of_edits(asking)
    if not asking.thinks:
        yield "no_thinking"


def _of_compacting(native: Native, asking: Asking) -> Iterator[str]:
    yield from _of_edits(asking)
    if asking.replays:
        return  # a request that shows a summary is refused without the edit that wrote it
    if not compacts(asking.model):
        yield "model"
    if asking.dropped:
        yield "compaction_dropped"
    if not _is_known(native, asking):
        yield "client_unknown"


def _of_memory(native: Native, asking: Asking) -> Iterator[str]:
    if MEMORY in asking.tools:
        yield "client"
    if not asking.tools:
        yield "no_tools"
    if binds(asking.model):
        yield "model"  # were it ever missing, all reasoning behind it would be refused
    if asking.before is not None and "memory_tool" not in asking.before:
        yield "begun"
    if not _is_known(native, asking):
        yield "client_unknown"


_MORE: Final[dict[Primitive, Callable[[Native, Asking], Iterator[str]]]] = {
    "clear_thinking": _of_thinking,
    "clear_tool_uses": _of_clearing,
    "compact_threshold": _of_compacting,
    "memory_tool": _of_memory,
}


def _is_known(native: Native, asking: Asking) -> bool:
    return asking.harness is not None and asking.harness in native.clients
