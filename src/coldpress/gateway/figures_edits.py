"""Name the numbers of `/stats` about edits: made and applied, what they removed, and why others were not made."""

from __future__ import annotations

from typing import Final

from coldpress.gateway.figures import counter, gauge, views

_D = "decisions"

EDITS: Final = (
    *views(
        f"{_D}.transformations",
        "transformations",
        "New views of results, made and sent: `first_sight` and `aged` together.",
    ),
    *views(f"{_D}.first_sight", "first_sight", "New views of results that no model had seen."),
    *views(f"{_D}.aged", "aged", "New views of results that a model had seen before."),
    *views(f"{_D}.by_mode.*", "transformations_by_mode", "Transformations by mode.", labels=("mode",)),
    counter(
        f"{_D}.by_tool.*.looked_at",
        "results_looked_at_by_tool",
        "Results of a tool when they were first seen, those too small for any rule aside. At most 200 tools; the rest "
        "is `other`.",
        "results",
        labels=("tool",),
    ),
    counter(
        f"{_D}.by_tool.*.eligible",
        "results_eligible_by_tool",
        "Those that a rule or a plugin allowed to become smaller, pressed or not.",
        "results",
        over=f"{_D}.by_tool.*.looked_at",
        labels=("tool",),
    ),
    *views(f"{_D}.by_tool.*", "transformations_by_tool", "Transformations by tool.", labels=("tool",)),
    counter(
        f"{_D}.reuses",
        "reuses",
        "Views that were sent again, one per view and request. Not texts that were given back exact.",
        "applications",
    ),
    counter(
        f"{_D}.reused_bytes_saved",
        "reused_bytes_saved",
        "UTF-8 bytes that those had fewer than their originals.",
        "bytes",
        over=f"{_D}.reuses",
    ),
    counter(
        f"{_D}.restorations",
        "restorations",
        "Texts that were given back exact, each once: refusals to read again, and reads that were made again.",
        "results",
    ),
    counter(
        f"{_D}.applications",
        "applications",
        "Views that went upstream, each once per request (transformations and reuses), and restorations.",
        "applications",
    ),
    *views(f"{_D}.would_press", "would_press", "Views that were made and not sent (`observe`)."),
)

REMOVED: Final = (
    gauge(
        f"{_D}.bytes_removed.transformations",
        "transformations_bytes_removed",
        "UTF-8 bytes that new views have fewer, each once. A plugin's text may be longer.",
        "bytes",
        over=f"{_D}.transformations.count",
    ),
    gauge(
        f"{_D}.bytes_removed.applications",
        "applications_bytes_removed",
        "UTF-8 bytes that texts had fewer upstream, on each request anew. Never to be added to the number above.",
        "bytes",
        over=f"{_D}.applications less {_D}.restorations",
    ),
    gauge(
        f"{_D}.tokens_removed.transformations.tokens",
        "transformations_tokens_removed",
        "Tokens that new views have fewer, each once, estimated.",
        "tokens",
        over=f"{_D}.tokens_removed.transformations.views",
    ),
    counter(
        f"{_D}.tokens_removed.transformations.views",
        "transformations_tokens_counted",
        "Transformations with an estimate of tokens.",
        "views",
        over=f"{_D}.transformations.count",
    ),
    gauge(
        f"{_D}.tokens_removed.applications.tokens",
        "applications_tokens_removed",
        "Tokens that all edits took out of requests, each time, on the provider's scale. Never to be added to those of "
        "transformations.",
        "tokens",
        over=f"{_D}.tokens_removed.applications.requests",
    ),
    counter(
        f"{_D}.tokens_removed.applications.prompt_tokens",
        "applications_prompt_tokens",
        "Prompts of those requests as they were sent.",
        "tokens",
        over=f"{_D}.tokens_removed.applications.requests",
    ),
    counter(
        f"{_D}.tokens_removed.applications.requests",
        "applications_requests_counted",
        "Requests of which both are known.",
        "requests",
        over=f"{_D}.requests",
    ),
)

REASONS: Final = (
    counter(
        f"{_D}.eligible.results",
        "results_eligible",
        "Results that a rule or a plugin allowed to become smaller, at first sight or after an exposure, pressed or "
        "not. Each once, when it was first seen.",
        "results",
        over=f"{_D}.eligible.looked_at",
    ),
    counter(
        f"{_D}.eligible.looked_at",
        "results_looked_at",
        "Results when they were first seen, those too small for any rule aside.",
        "results",
    ),
    counter(
        f"{_D}.eligible.candidates",
        "candidates",
        "Results seen before that could have gone. One that waits counts on each request.",
        "results",
        over=f"{_D}.eligible.cuts",
    ),
    counter(f"{_D}.eligible.cuts", "cuts_weighed", "Requests on which that was weighed.", "requests"),
    counter(
        f"{_D}.reasons.results.*",
        "results",
        "What was decided on each result, by reason; made smaller: `pressed`, `aged`, `exposed`, `plugin`, `redacted`.",
        "results",
        labels=("reason",),
    ),
    counter(
        f"{_D}.reasons.cuts.*",
        "cuts",
        "Requests on which results seen before were weighed, by reason.",
        "requests",
        over=f"{_D}.eligible.cuts",
        labels=("reason",),
    ),
    counter(
        f"{_D}.cuts_applied.*",
        "cuts_applied",
        "Of those, where results were made smaller.",
        "requests",
        over=f"{_D}.eligible.cuts",
        labels=("reason",),
    ),
    counter(
        f"{_D}.cuts_declined.*",
        "cuts_declined",
        "Of those, where nothing was done.",
        "requests",
        over=f"{_D}.eligible.cuts",
        labels=("reason",),
    ),
)
