"""Decide when a provider is asked for a summary on demand, where the messages it stands for end, and what it replaces.

The provider writes one signed block. It stands first in every later request, in the place of the messages that were
sent for it; what is behind them goes out as before, to the byte, so that reasoning bound to what stood before it holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from coldpress.engine.budget import KEEP_TURNS
from coldpress.engine.gate import Terms, preflight
from coldpress.engine.native import OWN_FIELDS, Asking, Native, compacts
from coldpress.engine.rebuild import Written, covered, index_of, restores
from coldpress.engine.session import Session
from coldpress.engine.zones import zones
from coldpress.measure.economics import Prompt, Removal
from coldpress.measure.rates import Unpriced
from coldpress.measure.tokens import estimate
from coldpress.model.conversation import Conversation
from coldpress.model.edits import Rebuild
from coldpress.model.identity import original_sha

SUMMARY_TOKENS: Final = 4_000
"""Taken for the length of a summary that nobody has written yet. Anthropic's own example has one of 3,500."""

AGAIN_SHARE: Final = 0.25
"""Where nothing came of it, it is tried again when the prompt has grown by this share of the setting."""

_MORE_TURNS: Final = (1, 2, 4)
"""Times the usual number of turns that stay: as few as will do."""


@dataclass(frozen=True, slots=True)
class Sum:
    """What the gate looks at, in tokens on the provider's scale.

    Attributes:
        head: in front of the messages.
        summarised: up to the end of the messages that go.
        prompt: all of it.
    """

    head: int
    summarised: int
    prompt: int


def why_not(native: Native, asking: Asking, *, may_send: bool) -> str | None:
    """Name the first thing that speaks against on-demand summaries in a conversation; `None` where nothing does.

    Args:
        native: what the settings let a provider be asked for.
        asking: the request.
        may_send: somebody can send a request of ours in the client's name.
    """
    return next(_reasons(native, asking, may_send=may_send), None)


def _reasons(native: Native, asking: Asking, *, may_send: bool) -> Iterator[str]:
    if asking.format != "anthropic":
        yield "format"
    if not asking.first_party or not may_send:
        yield "provider"
    if "thread" in asking.fields:
        yield "thread"
    if asking.stateful:
        yield "stateful"
    if asking.replays or any(name in asking.fields for name in OWN_FIELDS):
        yield "client"
    if native.clear_tool_uses or native.clear_thinking or native.compact_threshold_tokens is not None:
        yield "edits"
    if not compacts(asking.model):
        yield "model"
    if isinstance(asking.routes, Unpriced) or not asking.routes:
        yield "no_price"
    elif len(asking.routes) > 1:
        yield "failover"  # the second provider could do nothing with the block


def stops(conversation: Conversation, session: Session, *, floor: int, keep_turns: int = KEEP_TURNS) -> Iterator[int]:
    """Give how many leading messages may be summarised, the most first; nothing where none may.

    What stays begins a reply of the model, or is what the user said before one, so what goes ends on a finished turn.
    No result that must stay as it is refers to one that goes: it would point nowhere.

    Args:
        conversation: the request that was sent.
        session: the state after it.
        floor: index of the first message that may be edited without losing reasoning that is bound to it.
        keep_turns: replies that stay at the end, each with what follows it.
    """
    stood = 1 if session.rebuild is None else session.rebuild.stop + 1
    found: list[int] = []
    for times in _MORE_TURNS:
        if times * keep_turns >= len(session.replies):
            break
        stop = zones(conversation, session, keep_turns=times * keep_turns).tail
        if stop <= stood or stop in found or stop >= len(conversation.messages):
            continue
        found.append(stop)
        if not refers(conversation, session, stop, floor=floor):
            yield stop


def refers(conversation: Conversation, session: Session, stop: int, *, floor: int) -> bool:
    """Whether a result that stays, and must stay as it is, is shown by reference to one of the first `stop` messages.

    Those from `floor` on may be given back exact, as every summary does it.
    """
    given_back, _ = restores(conversation, session, 0, stop)
    chains = {message.chain: index for index, message in enumerate(conversation.messages[:floor])}
    return any(standing.key.chain in chains for standing in given_back)


def objection(tokens: Sum, terms: Terms, usd: float) -> str | None:
    """Say why a summary does not pay, by the gate's own sums; `None` where it does.

    The kept turns and the summary are written anew once; every later request reads less.

    Args:
        tokens: of the prompt.
        terms: prices and forecast; the cache is warm, since the prompt was just answered.
        usd: what the request for the summary is expected to cost.
    """
    freed = tokens.summarised - tokens.head - SUMMARY_TOKENS
    if freed <= 0:
        return "never_pays"
    prompt = Prompt(tokens.prompt, tokens.prompt)
    reason = preflight(prompt, [Removal(tokens.head, freed)], replace(terms, rent_share=None), summariser_usd=usd)
    if reason is None:
        return None
    return "no_price" if reason == "unpriced" else "never_pays"


def write(conversation: Conversation, session: Session, stop: int, *, message: str, text: str, tokens: int) -> Written:
    """Put the provider's message in the place of the leading messages.

    Args:
        conversation: the request.
        session: the state after it.
        stop: how many messages go.
        message: JSON text of the message that holds the block, to the letter.
        text: what the block says.
        tokens: of the messages that go, on the scale of `coldpress.measure.tokens.estimate`.
    """
    before = 0 if session.rebuild is None else session.rebuild.rebuild.generation
    originals = tuple(covered(conversation, range(stop)))
    index = index_of(conversation, 0, stop)
    rebuild = Rebuild(
        anchor=b"",
        last=conversation.messages[stop - 1].chain,
        literal=message,
        generation=before + 1,
        covered=tuple(sha for sha, _ in originals),
        covered_tokens=tokens,
        literal_tokens=estimate(text),
        summariser=conversation.head.model or "",
        block=original_sha(text),
        index=original_sha(index),
    )
    shown = ((original_sha(one), one) for one in (text, index))
    given_back, restored = restores(conversation, session, 0, stop)
    return Written(0, rebuild, (*originals, *shown), given_back, restored)


def stands(session: Session) -> bool:
    """Whether a provider's own summary stands for the beginning of a conversation."""
    return session.rebuild is not None and session.rebuild.rebuild.is_providers


def summarised_at(session: Session) -> tuple[int, ...]:
    """Give the messages that decisions with a provider's summary are kept by, as indices."""
    return tuple(batch.at for batch in session.aged if batch.rebuild is not None and batch.rebuild.rebuild.is_providers)


def without_summaries(session: Session) -> Session:
    """Give a state in which no provider's summary stands: the history goes out whole, with all other edits."""
    if not summarised_at(session):
        return session
    aged = tuple(
        replace(batch, rebuild=None) if batch.rebuild is not None and batch.rebuild.rebuild.is_providers else batch
        for batch in session.aged
    )
    return Session.of(session.first, aged, session.seen, session.replies, session.head_identity, calls=session.calls)
