"""Warn of settings that hold and yet do nothing, or not what was meant, by what is known of models and prices."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from coldpress.cli.check_budget import ModelBudget
from coldpress.config.settings import Settings
from coldpress.drive.detectors import EXTRA, missing
from coldpress.drive.driver import PLANNING_SHARE
from coldpress.measure.prices import Unpriced, cost_usd, prices_for
from coldpress.measure.windows import window_tokens
from coldpress.model.usage import Usage
from coldpress.plugins.admission import Admission, admissions
from coldpress.plugins.discovery import installed


def budget_warnings(budgets: Sequence[ModelBudget]) -> tuple[str, ...]:
    """Say of which models the settings name a larger window than the price data do."""
    told = []
    for found in budgets:
        nominal = window_tokens(found.model, provider=found.provider)
        if found.budget is None or nominal is None or found.budget.window_tokens <= nominal:
            continue
        at = "budget" if found.source == "settings" else f"budgets[{found.rule}]"
        what_then = (
            "the provider refuses prompts before anything is done about their length"
            if found.budget.trigger_tokens >= nominal
            else "less than was meant is left above the trigger"
        )
        told.append(
            f"{at}.window_tokens is {found.budget.window_tokens}, and {found.model} has a window of {nominal} tokens "
            f"by the price data: {what_then}; say what holds for it in a row of [[budgets]]"
        )
    return tuple(told)


def plugin_warnings(settings: Settings) -> tuple[str, ...]:
    """Say which plugins are on and do nothing, and why, or may take too long. Imports what is on and approved."""
    found = installed() if settings.plugins.others else ()
    judged = admissions(settings.plugins.others, settings.plugins, found, loading="approved")
    idle = (one.warning for one in judged if one.warning)
    return (*idle, *_time_warnings(settings, judged), *_pii_warnings(settings))


def _time_warnings(settings: Settings, judged: Sequence[Admission]) -> tuple[str, ...]:
    """Say that plugins may take longer than there is for them, each within its own time."""
    loaded = (one.loaded for one in judged if one.acts and one.loaded is not None)
    count = sum(bool(one.hooks.hook.before_request.get_hookimpls()) for one in loaded)
    each, most = settings.plugins.hook_seconds, settings.limits.prepare_seconds * PLANNING_SHARE
    if count * each <= most:
        return ()
    plugins = "plugin" if count == 1 else "plugins"
    return (
        f"plugins.hook_seconds is {each:g}: {count} {plugins} may take {count * each:g} s of a request, and reading "
        f"and deciding has {most:g} s ({PLANNING_SHARE:g} of limits.prepare_seconds); past that nothing new in the "
        "request becomes smaller. Lower plugins.hook_seconds or raise limits.prepare_seconds",
    )


def _pii_warnings(settings: Settings) -> tuple[str, ...]:
    """Say what of `pii` cannot do what was asked: packages that are not there, and requests it never sees."""
    keys, told = settings.plugins.pii, list[str]()
    if keys is None:
        return ()
    lacking = missing(keys.kinds)
    if lacking:
        what_then = (
            "every request with a result that was not looked through before is refused (on_failure closed)"
            if keys.fails_closed
            else "our own patterns alone look for secrets and phone numbers (on_failure open)"
        )
        told.append(f"plugins.order: pii lacks {' and '.join(lacking)}: {what_then}; {EXTRA}")
    off = [provider.name for provider in settings.providers if provider.operation == "off"]
    if off:
        told.append(f"plugins.order: pii does not see the requests of {', '.join(off)}, whose operation is off")
    return tuple(told)


def summariser_warnings(settings: Settings, *, now: float) -> tuple[str, ...]:
    """Say why the model that should write summaries would never be asked; `now` is in seconds since 1970."""
    told = settings.summariser
    if told.kind == "structural" or told.prefix == "conversation":
        return ()  # with `conversation` the agent's own model is asked
    at = datetime.fromtimestamp(now, UTC)
    prices = prices_for(told.model, provider=None, at=at, overrides=told.prices, table=told.price_table)
    # A prompt of one token: there is no cheaper question, since all output is counted as used.
    least = cost_usd(Usage(fresh=1, output=told.max_output_tokens), prices)
    if isinstance(least, Unpriced):
        return (
            f"the price of summariser.model {told.model} is not known, so it is never asked and rules write every "
            f'summary; give it in [summariser.pricing."{told.model}"]',
        )
    if least > told.max_usd_per_call:
        return (
            f"summariser.max_usd_per_call is {told.max_usd_per_call:g}, and the output of one summary may cost "
            f"{least:.6f} USD already ({told.max_output_tokens} tokens, summariser.max_output_tokens), so no model is "
            "ever asked",
        )
    return ()
