"""The sums over single decisions: views by mode and tool, summaries of results, captured calls, plugins."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from coldpress.stores.amounts import Amount, Bucket, Views


@dataclass(frozen=True, slots=True)
class ToolTotals:
    """What was decided on the results of one tool.

    Attributes:
        looked_at: results when they were first seen, those too small for any rule aside.
        eligible: of those, the ones that a rule or a plugin allowed to become smaller, then or after an exposure.
        views: new views made and sent, of results looked at again later too.
    """

    looked_at: int = 0
    eligible: int = 0
    views: Views = field(default_factory=Views)

    def as_object(self) -> dict[str, object]:
        """Give everything as plain values under names that stay."""
        return {"looked_at": self.looked_at, "eligible": self.eligible, **asdict(self.views)}


@dataclass(frozen=True, slots=True)
class Eligible:
    """How many results could have become smaller, pressed or not.

    Attributes:
        results: that a rule or a plugin allowed to become smaller, out of `looked_at` when they were first seen.
        candidates: results seen before that could have gone, summed over `cuts`: one that waits counts on each request.
        cuts: requests on which that was weighed.
    """

    results: int = 0
    looked_at: int = 0
    candidates: int = 0
    cuts: int = 0


@dataclass(frozen=True, slots=True)
class Removed:
    """What all edits took out of requests, both sent for the first time and again.

    Attributes:
        tokens: estimated, on the provider's scale, over the `requests` of which it is known.
        prompt_tokens: of those requests as they were sent.
    """

    tokens: int = 0
    prompt_tokens: int = 0
    requests: int = 0


@dataclass(frozen=True, slots=True)
class OffloadTotals:
    """Sums of `coldpress.model.records.Offloaded`.

    Attributes:
        requests: on which a summary of a single result was wanted; `came_of` splits them by what came of it.
        wanted: results for which one was wanted.
        calls: requests sent to the model.
        reused: summaries that were kept from earlier.
        refused: summaries that were not taken, by reason.
        input_tokens: as the model reported them, beside the requests of which all calls did.
        output_tokens: likewise.
        cost: over requests with a call (`unpriced`: of unknown cost). Not to be added to `MoneyTotals.summariser`.
    """

    requests: int = 0
    wanted: int = 0
    calls: int = 0
    reused: int = 0
    refused: tuple[tuple[str, int], ...] = ()
    input_tokens: Bucket = field(default_factory=Bucket)
    output_tokens: Bucket = field(default_factory=Bucket)
    cost: Amount = field(default_factory=Amount)
    came_of: tuple[tuple[str, int], ...] = ()

    def as_object(self) -> dict[str, object]:
        """Give everything as plain values under names that stay, counts by word as objects."""
        return {**asdict(self), "refused": dict(self.refused), "came_of": dict(self.came_of)}


@dataclass(frozen=True, slots=True)
class CaptureTotals:
    """Calls of one tool that was asked to say what each call is for; all but `calls` and `restored` split them.

    `restored` of them were kept as the model wrote them, for later requests.
    """

    calls: int = 0
    captured: int = 0
    native: int = 0
    absent: int = 0
    not_text: int = 0
    unreadable: int = 0
    left: int = 0
    restored: int = 0


@dataclass(frozen=True, slots=True)
class PluginTotals:
    """What one plugin did: how often its hooks ran, for how long, what they changed, and what went wrong, by word."""

    runs: int = 0
    seconds: float = 0.0
    edits: int = 0
    faults: tuple[tuple[str, int], ...] = ()

    def as_object(self) -> dict[str, object]:
        """Give everything as plain values under names that stay, faults as an object."""
        return {**asdict(self), "faults": dict(self.faults)}
