"""Receipts, outcomes and decisions to put into stores."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from coldpress.model.edits import Batch, Rebuild, Standing
from coldpress.model.identity import EditKey, original_sha
from coldpress.model.misses import Attribution, MissCause
from coldpress.model.native import Applied, Declined, NativeAsked
from coldpress.model.records import Cut, Line, Operation, Outcome, Pressure, PressureReason, Reason, Receipt
from coldpress.model.summary import Item, Summary
from coldpress.model.usage import Usage

NOON = 1_800_000_000.0
DAY = 86_400.0


class Clock:
    """A clock that stands still until it is told to move."""

    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def key(name: str, block: int = 0, part: int = 0) -> EditKey:
    return EditKey(hashlib.sha256(name.encode()).digest(), block, part)


def noise(seed: str, size_bytes: int) -> str:
    """Text that does not compress to less than half, the same for the same seed."""
    blocks = (hashlib.sha256(f"{seed}/{i}".encode()).hexdigest() for i in range(size_bytes // 64 + 1))
    return "".join(blocks)[:size_bytes]


def pressed(name: str, text: str, view: str = "view") -> tuple[tuple[str, str], Standing]:
    """An original and the decision to show `view` in its place."""
    sha = original_sha(text)
    return (sha, text), Standing(key(name), view, "deterministic", sha)


def line(tool: str = "Bash", *, reason: Reason = "pressed", original: str = "", tokens: bool = True) -> Line:
    return Line(
        tool,
        "shell",
        "deterministic",
        reason,
        "kind:shell",
        original,
        bytes_before=1000,
        bytes_after=400,
        tokens_before=250 if tokens else None,
        tokens_after=100 if tokens else None,
    )


def batch(after: str, *names: str, view: str = "aged view") -> tuple[list[tuple[str, str]], Batch]:
    """Originals, and the decisions to show views in their places, taken together at a message."""
    pairs = [pressed(name, f"text of {name}", f"{view} of {name}") for name in names]
    return [original for original, _ in pairs], Batch(key(after).chain, tuple(standing for _, standing in pairs))


def rebuilt(after: str, *messages: str, literal: str = '{"role":"user"}') -> tuple[list[tuple[str, str]], Batch]:
    """Texts of messages that go, and a batch that says so with a summary of them."""
    originals = [(original_sha(text), text) for text in messages]
    covered = tuple(sha for sha, _ in originals)
    summary = Summary(goal=(Item("keep it", 1, ("it",)),), failures=(Item("make: *** [all] Error 2", 3),))
    rebuild = Rebuild(key("anchor").chain, key(messages[-1]).chain, literal, summary, 1, covered, 900, 80, "structural")
    return originals, Batch(key(after).chain, (), rebuild)


def pressure(
    reason: PressureReason = "summarised",
    *,
    cleared: int = 0,
    summarised: int = 0,
    summary: str = "",
    summariser: str = "",
    summariser_usd: float | None = 0.0,
    refused: Sequence[str] = (),
    dropped: int = 0,
    escalate: bool = False,
) -> Pressure:
    """A prompt of 70 in 100 thousand tokens; a result cleared frees 1,000 tokens, a message summarised 2,000."""
    return Pressure(
        reason=reason,
        window_tokens=100_000,
        trigger_tokens=65_000,
        target_tokens=45_000,
        before_tokens=70_000,
        after_tokens=70_000 - 1000 * cleared - 2000 * summarised,
        cleared=cleared,
        cleared_tokens=1000 * cleared,
        summarised=summarised,
        summarised_tokens=2000 * summarised,
        generation=int(bool(summary)),
        summary=summary,
        summariser=summariser,
        summariser_usd=summariser_usd,
        dropped=dropped,
        refused=tuple(refused),
        escalate=escalate,
    )


def receipt(
    request_id: str,
    *,
    at: float = NOON,
    lineage: str = "lineage-1",
    session: str | None = None,
    operation: Operation = "press",
    lines: Sequence[Line] = (),
    reused: int = 0,
    harness: str | None = None,
    cut: Cut | None = None,
) -> Receipt:
    return Receipt(
        request_id=request_id,
        received_at=at,
        provider="anthropic",
        format="anthropic",
        model="some-model",
        lineage=lineage,
        harness_session=session,
        operation=operation,
        messages=3,
        body_bytes=5000,
        sent_bytes=4000,
        lines=tuple(lines),
        reused=reused,
        reused_bytes_saved=reused * 600,
        notes=("head_changed",),
        harness=harness,
        cut=cut,
    )


def outcome(request_id: str, usage: Usage | None = None, *, status: int | None = 200) -> Outcome:
    return Outcome(request_id, status, "complete", 1.5, usage or Usage())


def attribution(
    cause: MissCause = "client", why: str = "tools", tokens: int | None = 4_000, usd: float | None = 0.25
) -> Attribution:
    """A miss, as the provider told it."""
    return Attribution(cause, why, tokens, usd, told=True)


def native() -> NativeAsked:
    """What a provider was asked to do by itself: one thing asked for, one left out."""
    return NativeAsked(("clear_tool_uses", "diagnostics"), (Declined("compaction", "client"),), 12_000)


def applied() -> tuple[Applied, ...]:
    """What a provider says it did: a clearing, and a summary it billed."""
    return (
        Applied("clear_tool_uses", 9_000, 12),
        Applied("compact_threshold", usage=Usage(fresh=100, read=60_000, output=900), usd=0.125),
    )
