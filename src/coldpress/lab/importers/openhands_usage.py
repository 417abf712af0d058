"""Tell what each request of an OpenHands run cost, from the response it keeps and from totals that only grow."""

from __future__ import annotations

import msgspec

from coldpress.lab.importers.jsonvalues import JsonObject, count_in, number_in, object_in, objects_in, text_in
from coldpress.lab.jsontext import compact_json
from coldpress.model.usage import Usage
from coldpress.wire.usage import UsageFields
from coldpress.wire.usage_fields import read_usage

_BUCKETS = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens")


class Meter:
    """Reads the usage of one run's requests in order.

    What stands in the response itself comes first, then what the run's metrics say of a response by its id, then what
    the running total has grown by since the request before. The running total begins at zero, so a bucket of it is
    only believed once it is more.

    Args:
        metrics: the record's own `metrics`.
    """

    def __init__(self, metrics: JsonObject) -> None:
        self._by_response = {
            name: found for found in objects_in(metrics, "token_usages") if (name := text_in(found, "response_id"))
        }
        self._total: dict[str, int] = {}
        self._paid = 0.0

    def usage(self, response: JsonObject, running: JsonObject) -> Usage:
        """Give the usage of one request.

        Args:
            response: the provider's response in the form of Chat Completions, empty where it was not kept.
            running: the metrics as they stood when the request was done, empty where they are not known.
        """
        grown = self._grown(object_in(running, "accumulated_token_usage"))
        own = _of_response(response)
        if own.known:
            return own
        named = self._by_response.get(text_in(response, "id") or "")
        if named is not None:
            return _usage({key: count_in(named, key) for key in _BUCKETS})
        return _usage(grown)

    def _grown(self, total: JsonObject) -> dict[str, int | None]:
        grown: dict[str, int | None] = {}
        for key in _BUCKETS:
            now, before = count_in(total, key), self._total.get(key, 0)
            grown[key] = now - before if now and now >= before else None
            if now:
                self._total[key] = now
        return grown

    def paid_usd(self, running: JsonObject) -> float | None:
        """Give what the running total of money has grown by, in US dollars; `None` where it has not."""
        now = number_in(running, "accumulated_cost")
        if now is None or now <= self._paid:
            return None
        grown, self._paid = now - self._paid, now
        return grown


def _of_response(response: JsonObject) -> Usage:
    fields = UsageFields("openai")
    try:
        fields.merge(read_usage(compact_json(object_in(response, "usage")).encode()))
    except msgspec.DecodeError:  # text in it that has no UTF-8 form
        return Usage()
    return fields.bill(text_in(response, "model")).usage


def _usage(counts: dict[str, int | None]) -> Usage:
    """Split one request's counts, whose prompt holds what was read from a cache and written to it.

    A prompt of zero tells that nothing was reported. Zeros of the cache say that only where a cache was ever seen.
    """
    prompt, output, read, written = (counts.get(key) for key in _BUCKETS)
    if not prompt or prompt < 0:
        return Usage(output=output or None)
    read, written = read or None, written or None
    fresh = prompt - (read or 0) - (written or 0)
    return Usage(fresh=fresh, read=read, write_short=written, output=output) if fresh >= 0 else Usage(output=output)


def costs(metrics: JsonObject, requests: int) -> list[float | None]:
    """Give the cost of each request in US dollars, from a list that is only believed where it has one for each."""
    found = metrics.get("costs")
    listed = found if isinstance(found, list) else []
    values = [number_in(one, "cost") if isinstance(one, dict) else one for one in listed]
    if len(values) != requests:
        return [None] * requests
    return [
        float(v) if isinstance(v, int | float) and not isinstance(v, bool) and 0 < v < _MOST_USD else None
        for v in values
    ]


_MOST_USD = 1e6
"""What no request costs; a larger number is none."""
