"""Name the numbers of `/stats` about compactions, paid summaries, captured calls, plugins, tokens and money."""

from __future__ import annotations

from typing import Final

from coldpress.gateway.figures import amount, counter

_D = "decisions"

_P = f"{_D}.compactions"
COMPACTIONS: Final = (
    counter(f"{_P}.requests", "pressure_requests", "Requests whose prompt came up to the trigger.", "requests"),
    counter(
        f"{_P}.compactions",
        "compactions",
        "Of those, where something was taken out.",
        "requests",
        over=f"{_P}.requests",
    ),
    counter(
        f"{_P}.applied.*",
        "compactions_applied",
        "The same, by what was done.",
        "requests",
        over=f"{_P}.requests",
        labels=("reason",),
    ),
    counter(
        f"{_P}.declined.*",
        "compactions_declined",
        "The others, by why.",
        "requests",
        over=f"{_P}.requests",
        labels=("reason",),
    ),
    *(
        figure
        for name, what in (
            ("cleared", "Results that became one line."),
            ("summarised", "Messages that a summary took the place of."),
        )
        for figure in (
            counter(f"{_P}.{name}.count", f"compactions_{name}", what, "texts", over=f"{_P}.{name}.requests"),
            counter(
                f"{_P}.{name}.tokens",
                f"compactions_{name}_tokens",
                "Tokens that freed, on the provider's scale.",
                "tokens",
                over=f"{_P}.{name}.requests",
            ),
            counter(
                f"{_P}.{name}.requests", f"compactions_{name}_requests", "Requests on which that was done.", "requests"
            ),
        )
    ),
    counter(
        f"{_P}.summaries.*",
        "compactions_summaries",
        "Summaries that were used, by who wrote them.",
        "summaries",
        labels=("by",),
    ),
    counter(
        f"{_P}.refused.*",
        "compactions_refused",
        "Summaries that were not taken, by reason.",
        "summaries",
        labels=("reason",),
    ),
    counter(
        f"{_P}.dropped_items",
        "compactions_dropped_items",
        "Items of summaries that quote what does not stand there.",
        "items",
    ),
    counter(
        f"{_P}.escalations",
        "compactions_escalations",
        "Requests on which it was said that the work should be split.",
        "requests",
        over=f"{_P}.requests",
    ),
    counter(
        f"{_P}.narrowed",
        "compactions_narrowed",
        "Requests on which fewer turns were kept than the settings ask for.",
        "requests",
        over=f"{_P}.requests",
    ),
    *amount(
        f"{_P}.summariser",
        "compactions_summariser",
        "What summaries of messages cost, those that were not taken too.",
        "Requests for which one was asked",
    ),
)

_S = f"{_D}.summariser"
SUMMARISER: Final = (
    counter(
        f"{_S}.requests",
        "summariser_requests",
        "Requests on which a summary of a single result was wanted.",
        "requests",
    ),
    counter(f"{_S}.wanted", "summariser_wanted", "Results for which one was wanted.", "results", over=f"{_S}.requests"),
    counter(f"{_S}.calls", "summariser_calls", "Calls of the model that writes them.", "calls", over=f"{_S}.requests"),
    counter(
        f"{_S}.reused",
        "summariser_reused",
        "Summaries that were kept from earlier and cost nothing.",
        "summaries",
        over=f"{_S}.wanted",
    ),
    counter(
        f"{_S}.refused.*",
        "summariser_refused",
        "Summaries that were not taken, by reason.",
        "summaries",
        over=f"{_S}.calls",
        labels=("reason",),
    ),
    counter(
        f"{_S}.came_of.*",
        "summariser_outcomes",
        "Requests by what came of asking.",
        "requests",
        over=f"{_S}.requests",
        labels=("why",),
    ),
    *(
        figure
        for name in ("input", "output")
        for figure in (
            counter(
                f"{_S}.{name}_tokens.tokens",
                f"summariser_{name}_tokens",
                "As the model reported them.",
                "tokens",
                over=f"{_S}.{name}_tokens.replies",
            ),
            counter(
                f"{_S}.{name}_tokens.replies",
                f"summariser_{name}_counted",
                "Requests of which every call reported them.",
                "requests",
                over=f"{_S}.requests",
            ),
        )
    ),
    *amount(
        f"{_S}.cost",
        "summariser_cost",
        "What those calls cost; in `money.summariser` too, with the summaries of messages.",
        "Requests with a call",
    ),
)

_C = f"{_D}.capture.*"
CAPTURE: Final = (
    counter(
        f"{_C}.calls",
        "capture_calls",
        "Calls of a tool that was asked to say what each call is for. At most 200 tools; the rest is `other`.",
        "calls",
        labels=("tool",),
    ),
    *(
        counter(f"{_C}.{name}", f"capture_{name}", meaning, "calls", over=f"{_C}.calls", labels=("tool",))
        for name, meaning in (
            ("captured", "The field that was added was filled."),
            ("native", "A field of the tool's own says it."),
            ("absent", "Nothing was said."),
            ("not_text", "Something else than text was said."),
            ("unreadable", "The arguments are not what the tool takes; they were passed on as they came."),
            ("left", "The tool was left as it is."),
            ("restored", "Kept as the model wrote them, for later requests."),
        )
    ),
)

_N = f"{_D}.plugins.*"
PLUGINS: Final = (
    counter(f"{_N}.runs", "plugin_runs", "Hooks that were run.", "runs", labels=("plugin",)),
    counter(f"{_N}.seconds", "plugin_seconds", "How long they took.", "seconds", over=f"{_N}.runs", labels=("plugin",)),
    counter(
        f"{_N}.edits",
        "plugin_edits",
        "Texts, schemas and calls that they changed.",
        "edits",
        over=f"{_N}.runs",
        labels=("plugin",),
    ),
    counter(
        f"{_N}.faults.*",
        "plugin_faults",
        "Runs that went wrong, by how; the request went on without.",
        "runs",
        over=f"{_N}.runs",
        labels=("plugin", "fault"),
    ),
)

USAGE: Final = (
    counter(f"{_D}.usage.answered", "replies_answered", "Replies with a 2xx status.", "replies"),
    counter(
        f"{_D}.usage.unknown",
        "replies_unknown",
        "Of those, the ones that did not report their prompt.",
        "replies",
        over=f"{_D}.usage.answered",
    ),
    counter(
        f"{_D}.usage.*.tokens",
        "usage_tokens",
        "Tokens as reported, by bucket; `reasoning` is part of `output`. Not those that other models were paid for.",
        "tokens",
        over=f"{_D}.usage.*.replies",
        labels=("bucket",),
    ),
    counter(
        f"{_D}.usage.*.replies",
        "usage_replies",
        "Replies that reported that bucket.",
        "replies",
        over=f"{_D}.usage.answered",
        labels=("bucket",),
    ),
    *amount(
        f"{_D}.money.*",
        "money",
        "`bill`, as billed; `gross`, what the removed tokens would have cost; `rewrite`, what was written again "
        "because of an edit; `summariser`, paid for summaries; `net`, gross less rewrite less summariser, over the "
        "replies of which both are known.",
        "Replies",
        labels=("figure",),
    ),
)
