"""Explain the words that a report uses, for readers who have nothing else at hand."""

from __future__ import annotations

from typing import Final

WORDS: Final[tuple[tuple[str, str], ...]] = (
    ("arm", "one way to treat the requests of an agent, in a comparison over the same recordings"),
    ("bill", "what the input of all requests costs: tokens read from the cache, written to it and fresh"),
    ("break-even", "the number of requests after which a cut into a warm cache has saved money"),
    ("budget", "a limit on the length of a prompt; what is above it is brought down, by masks or summaries"),
    ("cache", "what a provider keeps of a prompt's beginning; reading it again costs a fraction of the input price"),
    ("candidate", "a result that an arm's rules let go"),
    (
        "clairvoyant",
        "an arm that knows the whole run and chooses the cheapest moments for its candidates, refetches aside",
    ),
    ("cold, warm", "a cache that has run out or cannot be read, and one that is still held"),
    ("compaction", "a request on which a budget made something smaller"),
    ("control", "the client's own requests, nothing changed; what every saving is a share of"),
    ("cut", "making old results smaller on one request; what stands behind them is then written to the cache again"),
    ("edit lost", "an edit whose quoted text stood in an earlier result and in nothing that was sent"),
    ("evidence loss", "the share of what later calls use from results that stood in nothing that was sent"),
    ("first sight", "the first request that carries a result: no model has seen it and nothing is cached behind it"),
    ("gate", "the rule that decides on a request whether old results go, and from which one on: only where it pays"),
    ("identifier", "a name, path or number from a result that a later call uses"),
    ("interval", "a range that 95 % of resamplings of the recordings fall into"),
    ("mask", "one line in the place of an old result: what was called, what came back, how to get it again"),
    (
        "N*D*C > R*(W-C)",
        "a gate: N further requests (6), D tokens taken away, C and W the prices of a read and of a written token, "
        "R tokens behind the cut that are written again; on the left what is saved, on the right what the cut costs",
    ),
    ("open-loop", "said of a figure from recorded runs whose replies stay as they were"),
    ("peak tokens", "the longest prompt of a run; tables give the mean share that it is shorter by"),
    ("recording", "one file of an agent's run, with its sub-agents"),
    (
        "reference experiment",
        "an experiment of July 2026 with the agent OMP on DeepSeek V4, whose ways to mask the reference arms repeat",
    ),
    ("refetch", "a hidden result that a later call would have had to fetch again; the bill holds an estimate of it"),
    (
        "regret",
        "how far a bill without refetches is above that of a clairvoyant arm, of the same rules where one was measured",
    ),
    ("request", "one call of a model; it sends the whole conversation so far"),
    ("source", "what a file read brought; `source_age` says from how many turns on it may be masked, otherwise never"),
    ("tariff", "prices together with how long a cached prefix is held"),
    ("turn", "one reply of the model with what led to it; the age of a result is counted in turns"),
    ("view", "a shorter text in the place of a result, which says what was left out and how to get it back"),
    ("write/read ratio", "the price of a token written to the cache over that of one read from it"),
)
"""In the order of the alphabet."""
