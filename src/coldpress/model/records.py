"""What the ledger keeps: one receipt per request, with a line per tool result that was looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from coldpress.model.misses import Attribution
from coldpress.model.native import Applied, NativeAsked
from coldpress.model.overflow import Overflow
from coldpress.model.plugins import PluginNote
from coldpress.model.usage import Usage

Operation = Literal["press", "observe", "drain", "off"]
"""What the gateway may do: press; decide and record only; keep standing edits but make none; nothing."""

Reason = Literal[
    "pressed",  # made smaller
    "restored",  # a refusal to read again was answered with the exact text
    "exact_by_policy",  # the rule says exact, or no rule matched
    "too_small",  # under the size a rule asks for
    "gain_too_small",  # a view was made and saves less than it must
    "failed_result",  # the result tells of a failure
    "protected_kind",  # mutation, plan, memory or diff
    "already_pressed",  # carries our marker, or the client has cut it itself
    "unpaired",  # its call is missing or ambiguous
    "unreadable",  # holds a lone surrogate
    "aged",  # seen by the model before, and made smaller now
    "drain",  # no new edits while draining
    "observe",  # would have been pressed
    "exposed",  # made smaller after the model was shown it exact
    "plugin",  # a plugin's text stands in its place
    "redacted",  # secrets or personal data were taken out of it
    "not_exposed",  # waits until the model has seen it once
    "no_match",  # nothing in it matched what it was asked for
]


@dataclass(frozen=True, slots=True)
class Line:
    """What was decided about one text of one tool result when it was first seen.

    Sizes are UTF-8 bytes of the text; tokens are estimates of `coldpress.measure.tokens`, `None` where not counted.
    """

    tool: str
    kind: str
    mode: str
    reason: Reason
    rule: str
    original: str
    bytes_before: int
    bytes_after: int
    tokens_before: int | None = None
    tokens_after: int | None = None


CacheState = Literal["warm", "cold", "unknown"]

CutReason = Literal[
    "pays",  # applied: what it saves is expected to exceed what it rewrites, and waiting longer would cost more
    "cold",  # applied: the prefix is paid in full anyway
    "pressure",  # applied: the prompt would outgrow the window, whatever it costs
    "on_demand",  # applied: the provider's own summary of the older part has come, and stands for it from now on
    "ordered",  # applied: the settings ask for it, whatever it costs
    "waiting",  # cutting now beats never cutting; a larger batch or a cold cache is worth waiting for
    "does_not_pay",  # what it would save is less than what it would rewrite
    "nothing_aged",  # no result may be made smaller
    "unpriced",  # no prices for this model
    "unknown_cache",  # nothing is known of what the provider holds
    "unknown_usage",  # the provider does not report what it read
    "unknown_requests",  # no forecast of how many requests are to come
    "binding_model",  # reasoning that is bound to the text before it stands behind every candidate
    "stopped",  # the provider dropped reasoning after an edit in this conversation
    "native",  # the provider takes old results out of the prompt by itself
    "drain",  # no new edits while draining
    "observe",  # would have been applied
    "store_failed",  # the store could not keep it
]
"""Why aged results were made smaller on a request, or were not."""


@dataclass(frozen=True, slots=True)
class Belief:
    """What was believed of the provider's cache when a request was decided on.

    Attributes:
        state: whether the prefix that was sent last is still held.
        why: fixed word: `first_request`, `idle`, `model_changed`, `head_changed`, `not_caching`, `within_lifetime`,
            `restarted`, `other_branch`, `alternating`.
        idle_seconds: time since the conversation's last request, `None` where there is none.
        lifetime_seconds: how long an unused prefix is believed to be held; `None` where nothing is known.
        read_tokens: tokens of the prompt that are expected to be read; `None` where nothing is known.
    """

    state: CacheState
    why: str
    idle_seconds: float | None = None
    lifetime_seconds: float | None = None
    read_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """What was decided about all aged results together: applied, or declined with the reason.

    Attributes:
        reason: `pays`, `cold` and `pressure` were applied, every other reason was not.
        candidates: results that could have gone; `applied` of them went. Messages that were summarised together count
            as one more. Where prices, cache or usage are unknown, all results that are old enough: no views of them
            were made.
        removed_tokens: tokens that the applied (or the best declined) ones free.
        rewrite_tokens: tokens that are written again because of them and would have been read.
        requests: expected further requests, this one included; `None` where there is no forecast.
        net_usd: expected saving over those requests, rewrite and summariser taken off; `None` where unknown.
        prices: source and date of the prices, empty where there are none.
        summariser_usd: what summaries cost, spent or to be spent.
        mark: a cache mark of ours was set before the first edit.
    """

    reason: CutReason
    candidates: int = 0
    applied: int = 0
    removed_tokens: int = 0
    rewrite_tokens: int = 0
    requests: float | None = None
    net_usd: float | None = None
    prices: str = ""
    summariser_usd: float = 0.0
    mark: bool = False


PressureReason = Literal[
    "masked",  # applied: masks alone brought the prompt down to the target
    "summarised",  # applied: messages were summarised, after masks or without
    "masked_short",  # applied: masks went out and the target is not reached; nothing more could be done
    "summary_awaited",  # a summary is being written; nothing goes before it is there
    "no_gain",  # what could be done frees too little to break the cache for, or makes the prompt larger
    "nothing_to_take",  # everything stands in the keep zones or is exact
    "binding_model",  # reasoning that is bound to the text before it stands behind everything that could go
    "no_time",  # there was no time to work it out; what is worked out all the same is used on a later request
    "no_raw_log",  # the raw log is required and is not kept
    "on_demand",  # the provider itself summarises the conversation on demand, so no other summary is made
    "client_compacts",  # the client itself has its history summarised: the request goes with what stands, and no more
    "drain",  # no new edits while draining
    "observe",  # only observed: what could have gone was not worked out
    "store_failed",  # the store could not keep it
]
"""What came of a prompt above the trigger."""


@dataclass(frozen=True, slots=True)
class Pressure:
    """A request whose prompt came up to the trigger, and what was done. Tokens are on the provider's scale.

    Attributes:
        reason: what came of it.
        window_tokens: of the effective window; `trigger_tokens` and `target_tokens` are shares of it.
        before_tokens: of the prompt as it would have been sent, `after_tokens` as it is sent.
        cleared: results that became one line, with `cleared_tokens` taken away so.
        summarised: messages that went, with `summarised_tokens` taken away so, the summary's own taken off.
        generation: of the summary, see `Rebuild`; 0 where none was made.
        summary: SHA-256 of the summary's text, to recall; empty where none was made.
        summariser: who wrote it.
        summariser_usd: what that cost; `None` where it is not known.
        dropped: items of the summary that were dropped, since what they quote does not stand in the message they cite.
        refused: why summaries were not taken, a fixed word each.
        escalate: the work should be split: there were too many compactions, or this one frees too little.
        narrowed: the keep zone had to be made smaller than the settings ask for.
    """

    reason: PressureReason
    window_tokens: int
    trigger_tokens: int
    target_tokens: int
    before_tokens: int
    after_tokens: int
    cleared: int = 0
    cleared_tokens: int = 0
    summarised: int = 0
    summarised_tokens: int = 0
    generation: int = 0
    summary: str = ""
    summariser: str = ""
    summariser_usd: float | None = 0.0
    dropped: int = 0
    refused: tuple[str, ...] = ()
    escalate: bool = False
    narrowed: bool = False


FindingKind = Literal[
    "amnesia_loop",  # a call was made again whose result had been taken away
    "ruled_out_retried",  # an approach that the summary rules out was tried again
    "stop_signal_lost",  # a prohibition of the user's stands in what went and nowhere in what is shown
    "head_reserialised",  # system prompt or tools changed in bytes and not in meaning
    "drift",  # an item of the last summary is in neither the new one, nor the window, nor the notes
    "cached_tokens_dropped",  # after an event, the provider read less than what was sent unchanged
    "window_overflow",  # the provider refused the prompt as too long for the model's window
    "sensitive",  # a result holds secrets or personal data, and went out as it is
    "withheld",  # the request was refused because of what a result holds
]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a watcher noticed. It holds no text of the conversation.

    Attributes:
        kind: what.
        where: what it is about: a tool's name, a section of the summary, `system` or `tools`. Of what is sensitive the
            tool, then its kind and how many there are: `Bash: email 2`.
        messages: numbers of the messages it rests on, counted from 1.
        tokens: how many it costs, where that is known; of `window_overflow` the window, as the provider told it.
    """

    kind: FindingKind
    where: str = ""
    messages: tuple[int, ...] = ()
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Offloaded:
    """What was asked of a model about single results on one request, for summaries in their place.

    Attributes:
        wanted: results for which a summary was wanted.
        calls: requests that were sent to the model, those that failed included.
        reused: summaries that were kept from earlier and cost nothing.
        refused: why summaries were not taken, a fixed word each.
        input_tokens: that the model reported over all calls; `None` where one did not say.
        output_tokens: likewise.
        usd: what the calls cost; `None` where one of them cannot be priced.
        why: what came of it, a fixed word: `applied`, `asked`, `preflight:REASON` and `final_gate:REASON` (it does not
            pay), `unpriced`; the operation where that is why nobody was asked; empty where there is nothing to add.
    """

    wanted: int
    calls: int = 0
    reused: int = 0
    refused: tuple[str, ...] = ()
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    usd: float | None = 0.0
    why: str = ""


CaptureWhy = Literal[
    "captured",  # the model filled the field that was added for it
    "native",  # the tool has a field of its own that says it
    "absent",  # the model left it out
    "not_text",  # the model put something else into it than text
    "unreadable",  # the arguments are not what the tool takes, so they were passed on as they came
    "left",  # the tool was left as it is
]
"""Whether a call said what it was made for."""


@dataclass(frozen=True, slots=True)
class Capture:
    """A call of the reply whose tool was asked to say what each call is for; holds no text of it.

    Attributes:
        tool: its name.
        why: what became of it.
        restored: its arguments were kept as the model wrote them, to be put back into later requests.
    """

    tool: str
    why: CaptureWhy
    restored: bool = False


@dataclass(frozen=True, slots=True)
class Receipt:
    """One request: what was decided, what was sent, and later what the provider reported.

    `reused` counts smaller views that were made earlier and are sent again, `reused_bytes_saved` the bytes of UTF-8
    that their texts had more; exact texts given back and messages that are not sent are in neither. `lines` are only
    what was decided on this request. `notes` are fixed words for things worth knowing: `head_changed`, `volatile_head`,
    `subscription`, `client_compaction`, `calls_left`, `stopped`, `store_failed`, `pass_through:REASON`. `harness` is
    the client's product name (`claude-cli`), as its user agent says. `prompt_tokens` is the prompt as sent and
    `removed_tokens` what all edits of this request took out of it, both estimated and scaled to the provider's own
    count; `None` where not counted. `pressure` is `None` below the trigger. `offload` is `None` where no summary of a
    single result was wanted,
    `native` where the settings switch nothing on that the provider does by itself.
    """

    request_id: str
    received_at: float
    provider: str
    format: str
    model: str | None
    lineage: str
    harness_session: str | None
    operation: Operation
    messages: int
    body_bytes: int
    sent_bytes: int
    lines: tuple[Line, ...] = ()
    reused: int = 0
    reused_bytes_saved: int = 0
    notes: tuple[str, ...] = ()
    harness: str | None = None
    prompt_tokens: int | None = None
    removed_tokens: int | None = None
    belief: Belief | None = None
    cut: Cut | None = None
    pressure: Pressure | None = None
    findings: tuple[Finding, ...] = ()
    plugins: tuple[PluginNote, ...] = ()
    offload: Offloaded | None = None
    native: NativeAsked | None = None


@dataclass(frozen=True, slots=True)
class Miss:
    """Why the provider says its cache was missed, in its own word, and how many tokens that cost."""

    reason: str
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Money:
    """A request in US dollars. Counterfactual sums: what the same request would have cost without our edits.

    Attributes:
        bill_usd: what the reported usage costs; `None` where usage or a rate is unknown (`unpriced` says which).
        gross_usd: what the removed tokens would have cost, each at the price of the tokens around it.
        rewrite_usd: what was written again only because an edit changed the prefix, above its price as a read.
        summariser_usd: what we paid for summaries of which the receipt tells, taken or not; where `unpriced` has
            `summariser` that is not known, and nothing is here.
        prices: source and date of the prices.
        unpriced: what is missing, in a stable order.
    """

    bill_usd: float | None = None
    gross_usd: float | None = None
    rewrite_usd: float | None = None
    summariser_usd: float = 0.0
    prices: str = ""
    unpriced: tuple[str, ...] = ()

    @property
    def net_usd(self) -> float | None:
        """What our edits saved on this request: gross, less rewrite, less summariser; `None` where unknown."""
        if self.gross_usd is None or self.rewrite_usd is None or "summariser" in self.unpriced:
            return None
        return self.gross_usd - self.rewrite_usd - self.summariser_usd


FailoverWhy = Literal[
    "served",  # the second provider answered with success, and that is the reply
    "no_answer",  # it was asked, and gave none
    "refused",  # it was asked, and answered with an error; the client got the first one's
    "unknown_model",  # the request could not be read, or names no model
    "unpriced",  # the price of the model is not known at both providers
    "other_format",  # it does not speak the wire format of the request
    "subscription",  # what a subscription pays for has no price of its own
    "busy",  # its own limits left no room
]
"""What came of a request that the first provider did not serve."""


@dataclass(frozen=True, slots=True)
class Failover:
    """A request that its provider did not serve, where another one is named for that.

    Attributes:
        to: the other provider.
        after: what the first one answered: its status, or the fixed word of our own error where no answer came.
        why: what came of it.
        model: as the other provider was asked for it; `None` where it was not asked.
        status: of its answer, `None` where there is none.
    """

    to: str
    after: str
    why: FailoverWhy
    model: str | None = None
    status: int | None = None

    @property
    def served(self) -> bool:
        """Whether the reply is the other provider's."""
        return self.why == "served"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a request ended. `status` is `None` where no answer came; `ended` says how the exchange closed.

    Attributes:
        usage: tokens billed at the price of the model that was asked.
        others: tokens billed at the prices of other models (an advisor's or a fallback's steps), by model.
        context_tokens: prompt as last shown to the model; not the billed one where a reply took several steps.
        miss: why the cache was missed, where the provider was asked and said so.
        transformations: what the provider did to reasoning in the history, one `kind:reason` each.
        money: the request in dollars, `None` where nobody worked it out.
        reported_usd: what the provider itself says the reply cost, in US dollars; `None` where it does not say.
        findings: what the reply showed.
        overflow: what the provider told where it refused the prompt as too long. The driver learns from it; the ledger
            keeps a finding `window_overflow` instead.
        captures: of the reply's calls, in their order.
        failover: where the first provider did not serve it and another one is named for that. Where that one served
            it, usage, money and all else that the reply told are of that one.
        plugins: what plugins did to the reply's calls.
        applied: what the provider did to the prompt by itself.
        attribution: whose doing a miss of the cache was; `None` where nothing was missed, or not enough is known to
            tell whether something was.
        reply_id: the provider's name for the reply; `None` where it has none.
        stop: why the model stopped, in the provider's own word: `end_turn`, `length`, `incomplete:max_output_tokens`,
            `blockReason:SAFETY`; `None` where the reply does not say, as one that was cut short.
    """

    request_id: str
    status: int | None
    ended: Literal["complete", "client_gone", "upstream_failed", "upstream_broken", "error_event"]
    duration_seconds: float
    usage: Usage = field(default_factory=Usage)
    others: tuple[tuple[str, Usage], ...] = ()
    context_tokens: int | None = None
    miss: Miss | None = None
    transformations: tuple[str, ...] = ()
    money: Money | None = None
    reported_usd: float | None = None
    findings: tuple[Finding, ...] = ()
    overflow: Overflow | None = None
    captures: tuple[Capture, ...] = ()
    failover: Failover | None = None
    plugins: tuple[PluginNote, ...] = ()
    applied: tuple[Applied, ...] = ()
    attribution: Attribution | None = None
    reply_id: str | None = None
    stop: str | None = None

    @property
    def edits_noticed(self) -> bool:
        """Whether the provider tells that reasoning no longer fits what stands before it, as after an edit of ours.

        It has dropped that reasoning, refused the request for it, or let it pass where a stricter account is refused.
        """
        told = (word.partition(":") for word in self.transformations)
        return any(not reason.startswith(_NOT_OURS) for _, _, reason in told)


# Another model, account or user, or a turn that is over: that happens whatever is edited.
_NOT_OURS = ("model_", "organization_", "end_user_", "turn_boundary")
