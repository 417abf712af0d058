"""Compare a run of a reference arm with what its script and its settings say has to come of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from reference_arms import Arm, Json, Run
from reference_task import ANSWER, GREETING, GREPPED, PURPOSE, READS, REQUESTS, SEARCHED

from coldpress.testing import Exchange

FIELD = "intent"
RERUN = "Repeat the search to recover every result."
PRESSED = GREPPED + 1
"""Number of the request from which on grep is shown smaller, where it is."""
_READS = len(READS) + 1


def problems(arm: Arm, run: Run) -> list[str]:
    """List everything that is not as it has to be, none where all is well."""
    if run.ended is not None:
        return [run.ended]
    if len(run.sent) != REQUESTS:
        return [f"{len(run.sent)} requests reached the upstream, not {REQUESTS}"]
    found = [*_client(run), *_views(arm, run), *_field(arm, run)]
    return [*found, *_ledger(arm, run), *_stats(arm, run)]


def shown(exchange: Exchange, tool: str) -> dict[str, str]:
    """Give what the upstream was shown as the results of a tool, by the id of the call."""
    messages: Any = exchange.request.json["messages"]
    names = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    results = [message for message in messages if message["role"] == "tool"]
    return {one["tool_call_id"]: one["content"] for one in results if names[one["tool_call_id"]] == tool}


def _client(run: Run) -> Iterator[str]:
    """OMP did its work, in streams, with parallel calls, and no request broke a rule."""
    if ANSWER not in run.answer:
        yield "the answer did not come out"
    for number, one in enumerate(run.sent):
        if one.refusal is not None or one.status != 200:
            yield f"request {number} was refused: {one.refusal}"
        if one.request.json.get("stream") is not True:
            yield f"request {number} asked for no stream"
    made = [len(message.get("tool_calls") or ()) for message in _messages(run.sent[-1])]
    if max(made) < 2:
        yield "no calls were made in parallel"
    if not any(text.startswith(GREETING) for text in shown(run.sent[-1], "bash").values()):
        yield "the shell did not get its variable"


def _views(arm: Arm, run: Run) -> Iterator[str]:
    """Every result reached the upstream as the arm says: exact, or in one smaller view, for ever."""
    for number, one in enumerate(run.sent):
        for tool in ("web_search", "grep", "read", "bash"):
            for call, text in shown(one, tool).items():
                is_smaller = (arm.presses and tool == "web_search") or (
                    arm.grep and tool == "grep" and number >= PRESSED
                )
                if (text == run.results[call]) == bool(is_smaller):
                    yield f"request {number}: {tool} is {'exact' if is_smaller else 'changed'}"
    for tool, first in (("web_search", SEARCHED), ("grep", GREPPED)):
        if not shown(run.sent[first], tool) or any(shown(one, tool) for one in run.sent[:first]):
            yield f"{tool} is not shown first on request {first}"
    for tool, since in (("web_search", SEARCHED), ("grep", PRESSED)):
        if len({json.dumps(shown(one, tool)) for one in run.sent[since:]}) != 1:
            yield f"{tool} does not stay the same from request {since} on"
    if arm.presses and not all(RERUN in text for text in shown(run.sent[SEARCHED], "web_search").values()):
        yield "the view of the web search does not say how to get the whole"
    if arm.grep and not all(_holds_what_was_looked_for(run, call, text) for call, text in _last_grep(run).items()):
        yield "the view of grep lacks lines that were looked for"
    if len({json.dumps(one.request.json["tools"]) for one in run.sent}) != 1:
        yield "the tools do not stay the same"


def _last_grep(run: Run) -> dict[str, str]:
    return shown(run.sent[-1], "grep")


def _holds_what_was_looked_for(run: Run, call: str, view: str) -> bool:
    wanted = {line for line in run.results[call].splitlines() if "retry_budget" in line}
    return bool(wanted) and wanted <= set(view.splitlines()) and len(view) < len(run.results[call]) / 2


def _field(arm: Arm, run: Run) -> Iterator[str]:
    """The upstream is asked for the reason in every tool, and told it again; OMP never meets it."""
    for number, one in enumerate(run.sent):
        tools: Any = one.request.json["tools"]
        without = [
            tool["function"]["name"] for tool in tools if FIELD not in tool["function"]["parameters"]["required"]
        ]
        if arm.presses and without:
            yield f"request {number}: {', '.join(without)} do not ask for the reason"
        if not arm.presses and len(without) < len(tools):
            yield f"request {number}: a tool asks for the reason"
        told = [FIELD in json.loads(call["function"]["arguments"]) for call in _calls(one)]
        if told != [arm.presses] * len(told):
            yield f"request {number}: {sum(told)} of {len(told)} calls say why they were made"
    if not run.calls:
        yield "OMP recorded no calls"
    for call in run.calls.values():
        if FIELD in call["arguments"] or f'"{FIELD}"' in call.get("partialArgs", ""):
            yield f"OMP got the reason of a call of {call['name']}"
        if call["name"] == "bash" and call["arguments"].get("env") != {"GREETING": GREETING}:
            yield f"OMP got {call['arguments'].get('env')!r} for a map"
    purposes = [json.loads(call["function"]["arguments"]).get(FIELD) for call in _calls(run.sent[-1])]
    if arm.presses and PURPOSE not in purposes:
        yield "the reason of grep is not told again as the model gave it"


def _ledger(arm: Arm, run: Run) -> Iterator[str]:
    """The receipts say request by request what was decided and why, and what the provider reported."""
    if len(run.receipts) != REQUESTS:
        yield f"the ledger holds {len(run.receipts)} requests, not {REQUESTS}"
        return
    lines = {
        (number, line["tool"]): (line["mode"], line["reason"])
        for number, receipt in enumerate(run.receipts)
        for line in receipt["lines"]
    }
    wanted = {(SEARCHED, "web_search"): ("deterministic", "pressed" if arm.presses else "observe")}
    wanted |= {(GREPPED, "grep"): ("exact", "not_exposed")}
    wanted |= {(PRESSED, "grep"): (arm.grep, "exposed")} if arm.grep and arm.presses else {}
    found = {at: line for at, line in lines.items() if at[1] in ("web_search", "grep")}
    if found != wanted:
        yield f"the ledger says {found}, not {wanted}"
    cuts = [receipt["cut"]["reason"] if receipt["cut"] else None for receipt in run.receipts]
    later = range(PRESSED, PRESSED + 1 if arm.grep else REQUESTS)
    if {number: cut for number, cut in enumerate(cuts) if cut} != dict.fromkeys(later, arm.cut):
        yield f"cuts are {cuts}, not {arm.cut} on {list(later)}"
    offers = {number: one["offload"]["why"] for number, one in enumerate(run.receipts) if one["offload"]}
    if offers != dict.fromkeys(later if arm.summaries else (), arm.summaries):
        yield f"of summaries came {offers}, not {arm.summaries}"
    for number, (receipt, one) in enumerate(zip(run.receipts, run.sent, strict=True)):
        usage = receipt["outcome"]["usage"]
        billed = one.usage
        if billed is None or (usage["read"], usage["fresh"]) != (billed.read, billed.fresh):
            yield f"request {number}: the ledger has {usage}, the upstream billed {billed}"


def _stats(arm: Arm, run: Run) -> Iterator[str]:
    """The sums are those of the script."""
    first, later = int(arm.presses), int(bool(arm.grep) and arm.presses)
    reuses = first * (REQUESTS - SEARCHED - 1) + later * (REQUESTS - PRESSED - 1)
    calls = int(arm.summaries == "applied")
    stats, modes = run.stats, {"deterministic": first, arm.grep or "": later}
    capture = {"web_search": 1, "grep": 1, "read": _READS, "bash": 1} if arm.presses else {}
    wanted: Mapping[str, object] = {
        "requests": REQUESTS,
        "lineages": 1,
        "first_sight": first,
        "aged": later,
        "transformations": first + later,
        "reuses": reuses,
        "applications": first + later + reuses,
        "by_mode": {mode: count for mode, count in modes.items() if count},
        "captured": capture,
        "restored": capture,
        "summariser calls": calls,
        "summariser reuses": 0,
        "unknown usage": 0,
    }
    found = _counts(stats) | {"asked": len(run.asked)}
    for name, value in {**wanted, "asked": calls}.items():
        if found[name] != value:
            yield f"/stats: {name} is {found[name]}, not {value}"


def _counts(stats: Json) -> Json:
    plain = ("requests", "lineages", "reuses", "applications")
    views = ("first_sight", "aged", "transformations")
    return {
        **{name: stats[name] for name in plain},
        **{name: stats[name]["count"] for name in views},
        "by_mode": {mode: one["count"] for mode, one in stats["by_mode"].items()},
        "captured": {tool: one["captured"] for tool, one in stats["capture"].items()},
        "restored": {tool: one["restored"] for tool, one in stats["capture"].items()},
        "summariser calls": stats["summariser"]["calls"],
        "summariser reuses": stats["summariser"]["reused"],
        "unknown usage": stats["usage"]["unknown"],
    }


def _messages(exchange: Exchange) -> list[Json]:
    messages: Any = exchange.request.json["messages"]
    return list(messages)


def _calls(exchange: Exchange) -> list[Json]:
    return [call for message in _messages(exchange) for call in message.get("tool_calls") or ()]
