"""Say who is to answer for a cache that was missed: the client, we, time, or the provider.

Usage tells whether something was missed, a diagnosis why. A diagnosis compares two requests and says nothing of the
cache: it names the first place where they part, whether or not that prefix was still held (docs of both providers).
So where the reply read all that could be read nothing was missed, whatever was told, and where a prefix had expired
what we changed in it cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from coldpress.engine.shown import Compared, Ours
from coldpress.model.misses import Attribution, MissCause
from coldpress.model.records import Miss

SMALLEST_TOKENS: Final = 1_024
"""Less than this may be a block's or a step's end, a mark in front of the last message, or an estimate."""

_NEARLY_ALL: Final = 0.9
"""How much of what we left alone must be read to tell that the prefix was held, as for learning lifetimes."""

_CERTAIN_SECONDS: Final = 300.0
"""The shortest lifetime any provider documents: where none is known, a shorter pause explains nothing."""

_TOLD: Final[Mapping[str, str]] = {
    "model_changed": "model",
    "tools_changed": "tools",
    "system_changed": "system",
    "prompt_cache_key_changed": "key",
    "text_format_changed": "settings",
    "reasoning_effort_changed": "settings",
    "verbosity_changed": "settings",
    "service_tier_changed": "settings",
    "messages_changed": "messages",
    "input_changed": "input",
    "context_compacted": "provider_edit",
}
"""What the words of Anthropic and OpenAI are about. The others (`unavailable`, `previous_message_not_found`,
`comparison_response_not_found`) say that there is no diagnosis. OpenAI counts the system prompt as input."""

_NOT_FOUND: Final = ("previous_message_not_found", "comparison_response_not_found")

_WORDS: Final[Mapping[Ours, str]] = {"edit": "edit", "summary": "summary", "addition": "addition"}


@dataclass(frozen=True, slots=True)
class Case:
    """What is known of one request and its reply. Tokens are the provider's.

    Attributes:
        compared: the request beside the one before it; `None` where nobody saw that one.
        prompt: of this request, as reported; `None` where the reply does not say.
        read: of these, from the cache; `None` where the reply does not say.
        told: why, where the provider says so.
        is_first: nothing of this conversation was sent before.
        idle_seconds: since the earlier reply; `None` where that is not known.
        lifetime_seconds: how long an unused prefix is believed to be held; `None` where nothing is known.
        removed_tokens: what we took out of what had been sent before, on this request.
        earlier_tokens: prompt of the request before it, as the ledger has it, where nobody saw that one.
        cleared: the provider changed the prompt by itself.
        keeps_nothing: replies in a row have read nothing of what they should have, so it was believed to keep nothing.
        seen_elsewhere: others may have sent requests of this conversation in between.
        caches: the provider is known to keep prefixes.
        minimum_tokens: a shorter prefix is not kept.
        step_tokens: reads are whole numbers of these.
        lookback_blocks: how far a cache mark looks back, in content blocks; `None` where there is no limit.
    """

    compared: Compared | None
    prompt: int | None
    read: int | None
    told: Miss | None = None
    is_first: bool = False
    idle_seconds: float | None = None
    lifetime_seconds: float | None = None
    removed_tokens: int = 0
    earlier_tokens: int | None = None
    cleared: bool = False
    keeps_nothing: bool = False
    seen_elsewhere: bool = False
    caches: bool = True
    minimum_tokens: int = 0
    step_tokens: int = 1
    lookback_blocks: int | None = None

    @property
    def smallest(self) -> int:
        """A smaller miss is none."""
        return max(SMALLEST_TOKENS, self.step_tokens)

    @property
    def is_idle(self) -> bool:
        """Whether an unused prefix is believed to have expired."""
        return (
            self.idle_seconds is not None
            and self.lifetime_seconds is not None
            and self.idle_seconds > self.lifetime_seconds
        )


def attribute(case: Case) -> Attribution | None:
    """Attribute the miss of one request; `None` where there is none, or nothing tells whether there is.

    What was told goes before what follows from the records, but for three contradictions. Where the reply read all
    that the request before it left, there was no miss. Where a change of messages, tools or system prompt is told and
    our records show one of ours in front of it, it is ours, whatever the client changed as well; where they show none
    of either side, it is ours if anything of ours stands in the prompt, and the client's else. What is ours and was
    sent after the prefix had gone, by age or since the provider keeps nothing, is time's or the provider's.
    """
    if case.is_first:
        return None
    missed = missed_tokens(case)
    if missed is not None and missed < case.smallest:
        return None
    told = case.told
    if told is not None and told.reason in _TOLD:
        tokens = _least(told.tokens, missed)
        if missed is not None and tokens is not None and tokens < case.smallest:
            told = None  # it explains less than was missed
        elif tokens is None or tokens >= case.smallest:
            cause, why = _who(case, _TOLD[told.reason])
            gone = _gone(case)
            if cause == "us" and gone is not None:
                return Attribution(*gone, tokens)
            return Attribution(cause, why, tokens, told=True)
    if missed is None:
        return None
    cause, why = _inferred(case)
    return Attribution(cause, why, missed)


def missed_tokens(case: Case) -> int | None:
    """Tokens that a provider which still held all it was given would have read, and that were not read.

    Returns:
        0 where nothing was missed; `None` where reads are not reported, or nothing is known of what was kept.
    """
    readable = _readable(case)
    if case.read is None or readable is None or not case.caches:
        return None
    if readable < case.minimum_tokens:
        return 0
    return max(0, readable - case.read)


def explains_read(found: Attribution | None) -> bool:
    """Whether a small read comes from what was sent, so that it tells nothing of how long a prefix is kept."""
    return found is not None and (found.cause in ("client", "us") or found.why == "provider_edit")


def _least(told: int | None, missed: int | None) -> int | None:
    """Tokens of a miss: OpenAI's number has the new ones too, Anthropic's those that the client took out."""
    known = [tokens for tokens in (told, missed) if tokens is not None]
    return min(known, default=None)


def _readable(case: Case) -> int | None:
    compared = case.compared
    if compared is None:
        kept = case.earlier_tokens
    else:
        kept = compared.before.cached
    if kept is None or case.prompt is None:
        return None
    readable = min(max(0, kept - case.removed_tokens), case.prompt)
    if compared is not None and compared.parted:
        readable = min(readable, round(compared.same_share * case.prompt))
    return readable


def _who(case: Case, what: str) -> tuple[MissCause, str]:
    """Split a change that was told between the client and us."""
    compared = case.compared
    if what == "provider_edit":
        return "provider", what
    if what in ("tools", "system"):
        if compared is None:
            return "unknown", what
        if compared.added:
            return "us", "addition"
        return ("client", what) if what in compared.head or not compared.touched else ("us", "addition")
    if what not in ("messages", "input"):
        return "client", what  # nothing of ours is ever there
    if compared is None:
        return "unknown", "messages"
    if what == "input" and "system" in compared.head:
        return "client", "system"
    if compared.ours is not None:
        return "us", _WORDS[compared.ours]
    if compared.parted or case.cleared or compared.before.cleared:
        return _parted(case, compared)
    return ("us", "edit") if compared.touched else ("client", "messages")


def _parted(case: Case, compared: Compared) -> tuple[MissCause, str]:
    """Split a change of messages that is not ours between client and provider.

    What a client leaves out behind a summary of the provider's is the provider's doing.
    """
    if compared.parted and not compared.before.cleared:
        return "client", "messages"
    return "provider", "provider_edit"


def _inferred(case: Case) -> tuple[MissCause, str]:
    """Say what follows from what was sent and when."""
    compared = case.compared
    if compared is None:
        if case.is_idle:
            return "time", "expired"
        return "unknown", "not_found" if case.told is not None and case.told.reason in _NOT_FOUND else "untold"
    gone = _gone(case)
    if compared.head and not (compared.added and gone is None):
        return "client", compared.head[0]
    if gone is not None:
        return gone
    if compared.added:
        return "us", "addition"
    if compared.ours is not None:
        return "us", _WORDS[compared.ours]
    if compared.parted or case.cleared or compared.before.cleared:
        return _parted(case, compared)
    if case.seen_elsewhere:
        return "unknown", "untold"
    if case.lookback_blocks is not None and compared.new_blocks > case.lookback_blocks:
        return "client", "marks"
    if case.lifetime_seconds is None and (case.idle_seconds is None or case.idle_seconds > _CERTAIN_SECONDS):
        return "unknown", "untold"
    return "provider", "evicted"


def _gone(case: Case) -> tuple[MissCause, str] | None:
    """Say why the prefix was held no more, whatever was sent; `None` where it was, as far as the reply can tell.

    It was held after all where the reply read nearly all that nobody changed, and more of it than the head, which other
    conversations keep alive.
    """
    gone: tuple[MissCause, str] = ("time", "expired") if case.is_idle else ("provider", "evicted")
    if not (case.is_idle or case.keeps_nothing):
        return None
    compared, read = case.compared, case.read
    if compared is None or read is None or case.prompt is None:
        return gone
    kept, head = compared.kept_share * case.prompt, compared.head_share * case.prompt
    return None if kept - head >= SMALLEST_TOKENS and read >= _NEARLY_ALL * kept else gone
