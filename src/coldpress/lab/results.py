"""Say what a replay of one recording came to, by arm and tariff: the rows that sweeps keep and reports read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

AGES: Final[tuple[int, ...]] = (1, 6, 11, 21, 51)
"""Where the groups of ages begin that losses are counted by, in turns between a result and its use."""


@dataclass(frozen=True, slots=True)
class Bill:
    """One recording with one arm at one tariff. Simulated and open-loop; input alone; one row of `bills`.

    Attributes:
        recording: its name, `content` the first 16 hex digits of its file's SHA-256.
        kind: of program that recorded it, `coldpress.lab.importers.any.Kind`.
        task: what it belongs to: the name of the folder that it stands in.
        arm, tariff: their names.
        conversations, requests: how many it holds.
        bill_usd: of all requests as they were sent, refetches included.
        control_usd: of the client's own bodies.
        refetch_usd: of it, what fetching hidden results again would have cost, `refetches` times (estimated).
        prompt_tokens: of all requests together, as sent; `control_prompt_tokens` as written by the client.
        peak_tokens: of the longest prompt; `control_peak_tokens` likewise.
        fresh_tokens, read_tokens, written_tokens: of `prompt_tokens`.
        cuts: requests on which results were newly hidden, `cold_cuts` of them with a cold cache.
        compactions: requests on which a budget made something smaller.
        edits: old texts of edits; `edits_of_results` of them stand in an earlier result, `edits_lost` of these in
            nothing that was sent.
        identifiers: uses of identifiers from earlier results; `identifiers_lost` of them stood in nothing sent.
        least_usd: the bill of the clairvoyant schedule, refetches aside, over the candidates of this arm, or else of
            the best clairvoyant arm; `None` where nobody asked, and for an arm with a budget. Regret is
            `(bill_usd - refetch_usd) / least_usd - 1`.
        paid_usd: what the reported usage comes to at the recorded model's list prices, input alone; `None` where
            usage or price are unknown. The same for all arms and tariffs.
    """

    recording: str
    content: str
    kind: str
    task: str
    arm: str
    tariff: str
    conversations: int
    requests: int
    bill_usd: float
    control_usd: float
    refetch_usd: float
    refetches: int
    prompt_tokens: int
    control_prompt_tokens: int
    peak_tokens: int
    control_peak_tokens: int
    fresh_tokens: int
    read_tokens: int
    written_tokens: int
    cuts: int
    cold_cuts: int
    compactions: int
    edits: int
    edits_of_results: int
    edits_lost: int
    identifiers: int
    identifiers_lost: int
    least_usd: float | None = None
    paid_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of a bill; one row of `turns`.

    Attributes:
        recording, content, arm, tariff: as in `Bill`.
        conversation: name of its trajectory, `side_chain` whether a sub-agent speaks.
        number: among the recording's requests in the order of time, from 0.
        at_seconds: since the recording's first request.
        usd: of its input, `control_usd` with the client's own body.
        fresh_tokens, read_tokens, written_tokens: of its prompt.
        removed_tokens: what its prompt is shorter by than the client's.
        cold: whether less than half of the client's own prompt was read.
        cut: the driver's word for what it decided about aged results, empty for nothing.
    """

    recording: str
    content: str
    arm: str
    tariff: str
    conversation: str
    side_chain: bool
    number: int
    at_seconds: float
    usd: float
    control_usd: float
    fresh_tokens: int
    read_tokens: int
    written_tokens: int
    removed_tokens: int
    cold: bool
    cut: str


@dataclass(frozen=True, slots=True)
class Loss:
    """What later calls used from the results of one tool that were of one age then; one row of `losses`.

    Attributes:
        recording, content, arm, tariff: as in `Bill`.
        tool: whose results.
        age_from: the group of ages, one of `AGES`: turns between the result and its use.
        edits, edits_lost: edits that quote such a result, and those whose text stood in nothing that was sent.
        identifiers, identifiers_lost: likewise uses of identifiers.
        refetches: results that would have had to be fetched again.
    """

    recording: str
    content: str
    arm: str
    tariff: str
    tool: str
    age_from: int
    edits: int
    edits_lost: int
    identifiers: int
    identifiers_lost: int
    refetches: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that could not be replayed, and why, for people."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything that one recording came to; `skipped` instead where it could not be replayed."""

    bills: tuple[Bill, ...] = ()
    turns: tuple[Turn, ...] = field(default=(), repr=False)
    losses: tuple[Loss, ...] = field(default=(), repr=False)
    skipped: Skipped | None = None


Backend = Literal["processes", "dask", "ray"]
"""What runs a sweep: processes of this machine, a Dask cluster or a Ray cluster."""
