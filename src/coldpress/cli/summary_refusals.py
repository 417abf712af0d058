"""Tell apart why no model wrote a summary: it was not worth it, not asked, not reached, no use, or too late."""

from __future__ import annotations

from typing import Final, Literal

SummarySymptom = Literal[
    "summary_gated",
    "summary_not_asked",
    "summary_unanswered",
    "summary_unusable",
    "summary_outgrown",
    "summary_fault",
]

NOT_ASKED: Final = frozenset({"unpriced", "too_expensive", "too_large", "no_key", "busy"})
UNANSWERED: Final = frozenset({"http_error", "timeout", "breaker_open"})
_GATE: Final = "gate_"
_FAULT: Final = "fault_"


def refusal_kind(word: str) -> SummarySymptom:
    """Say where a word of `Pressure.refused` belongs; what is none of the known ones was said of an answer.

    >>> refusal_kind("gate_does_not_pay"), refusal_kind("timeout"), refusal_kind("not_json")
    ('summary_gated', 'summary_unanswered', 'summary_unusable')
    """
    if word.startswith(_GATE):
        return "summary_gated"
    if word.startswith(_FAULT):
        return "summary_fault"
    if word in NOT_ASKED:
        return "summary_not_asked"
    if word in UNANSWERED:
        return "summary_unanswered"
    return "summary_outgrown" if word == "outgrown" else "summary_unusable"


MEANING_AND_REMEDY: Final[dict[SummarySymptom, tuple[str, str]]] = {
    "summary_gated": (
        "no model was asked for a summary: it does not pay, or not enough is known to tell",
        "does_not_pay, waiting: nothing, or a larger expected_applications where conversations go on for long; "
        "unpriced: prices of the agent's model (providers.NAME.pricing); unknown_usage, unknown_cache: the provider "
        "does not report what it read; rules write the summary meanwhile",
    ),
    "summary_not_asked": (
        "no model was asked for a summary: the settings or their limits do not let it be asked",
        "unpriced: summariser.pricing; too_expensive: summariser.max_usd_per_call; too_large: "
        "summariser.most_input_tokens; no_key: set the variable of summariser.api_key_env; busy: nothing where it is "
        "rare, else a faster model",
    ),
    "summary_unanswered": (
        "the summariser's endpoint gave no answer, and rules wrote the summary instead",
        "see the log of coldpress serve; http_error: address, key and model in [summariser]; timeout: a faster model, "
        "or a longer summariser.timeout_seconds; breaker_open: it failed again and again and rests",
    ),
    "summary_unusable": (
        "a model's answer was no summary, and rules wrote it instead",
        "another model in [summariser]; stopped_early: a larger summariser.max_output_tokens",
    ),
    "summary_outgrown": (
        "a summary came when the conversation had gone on past it or been changed, and was paid for in vain",
        "a faster model in [summariser], or an earlier trigger (budget.trigger)",
    ),
    "summary_fault": (
        "writing a summary ended in a fault of coldpress itself, and rules wrote it instead",
        "see the log of coldpress serve, and report it",
    ),
}
"""What each means and what to do now."""
