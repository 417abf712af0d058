"""Tell which of Codex's token counts belongs to which reply.

Each count names the tokens of the last request and of the session so far. The same count is written again when a turn
begins and when rate limits change: then its total has not grown. Counts without a prompt are Codex's own estimates
after a compaction. Programs of autumn 2025 write the count in front of the items of its reply, later ones behind them,
and the newest also write a `token_usage_record` that names the response.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.jsonvalues import JsonObject, count_in, object_in, text_in
from coldpress.model.usage import Usage


@dataclass(frozen=True, slots=True)
class Count:
    """The tokens of one request, the provider's name for its reply, and the number of the object that tells them."""

    usage: Usage
    response_id: str | None = None
    source: int | None = None


class Meter:
    """Reads the counts of one file in order."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._total: JsonObject = {}

    def count(self, kind: str, payload: JsonObject, source: int) -> Count | None:
        """Read a `token_count` event or a `token_usage_record`; `None`, and counted, where it tells of no request."""
        record = kind == "token_usage_record"
        info = payload if record else object_in(payload, "info")
        last = object_in(info, "usage" if record else "last_token_usage")
        total = object_in(info, "thread_token_usage" if record else "total_token_usage")
        if total and total == self._total:
            self._tally.set_aside("token counts that were written before", source)
            return None
        usage = usage_of(last)
        if usage is None:
            self._tally.set_aside("token counts of no request", source)
            return None
        self._total = total
        return Count(usage, text_in(payload, "response_id"), source)


def usage_of(counts: JsonObject) -> Usage | None:
    """Split one request's counts into buckets that do not overlap; `None` where there is no prompt.

    `input_tokens` holds the cached and the written ones. Counts that do not add up leave the prompt unknown.

    >>> usage_of({"input_tokens": 100, "cached_input_tokens": 80, "output_tokens": 7, "reasoning_output_tokens": 5})
    Usage(fresh=20, read=80, write_short=None, write_long=None, output=7, reasoning=5)
    """
    prompt = count_in(counts, "input_tokens")
    if prompt is None or prompt <= 0:
        return None
    read, written = count_in(counts, "cached_input_tokens"), count_in(counts, "cache_write_input_tokens")
    output, reasoning = count_in(counts, "output_tokens"), count_in(counts, "reasoning_output_tokens")
    fresh = prompt - (read or 0) - (written or 0)
    if fresh < 0 or (read or 0) < 0 or (written or 0) < 0:
        return Usage(output=output, reasoning=reasoning)
    return Usage(fresh=fresh, read=read, write_short=written, output=output, reasoning=reasoning)


def tells_of_a_request(kind: str, payload: JsonObject) -> bool:
    """Whether a token count, or a `token_usage_record`, has a prompt."""
    info = payload if kind == "token_usage_record" else object_in(payload, "info")
    last = object_in(info, "usage" if kind == "token_usage_record" else "last_token_usage")
    return usage_of(last) is not None


def counts_come_first(kinds: Iterable[str]) -> bool:
    """Tell whether a file writes the count in front of its reply.

    Args:
        kinds: `count` for each count with a prompt and `reply` for each item of the model, in order.
    """
    return next(iter(kinds), "reply") == "count"
