"""Ask a second provider once where the first one did not serve a request, and never with what the first one knows.

It is asked before any byte of an answer has gone to the client, only where the model has a price at both, and with a
key of its own. The client gets its answer where that is a success; else it gets what it would have got without: the
first one's answer, with the `retry-after` that holds for the provider it will ask again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from coldpress.gateway.admission import Admission
from coldpress.gateway.errors import UpstreamFailed
from coldpress.gateway.exchange import Exchange
from coldpress.gateway.headers import failover_headers, failover_query, with_betas_of, with_own_key
from coldpress.gateway.settings import Provider
from coldpress.gateway.upstream import Call, Reply, Upstream
from coldpress.model.conversation import Span
from coldpress.model.records import Failover, FailoverWhy
from coldpress.wire.addition import without
from coldpress.wire.encoding import UnknownEncoding, decode_body
from coldpress.wire.model_name import NamedModel, named_model, with_model

log = logging.getLogger(__name__)

STATUSES: Final = frozenset({429, 500, 502, 503, 504, 529})
"""Answers after which another provider may serve the same request; every other one is about the request itself."""

_SUBSCRIPTION: Final = "subscription"
"""The receipt's word for a request that a subscription pays for."""


class Prices(Protocol):
    """Who knows what has a price."""

    def is_priced(self, provider: str, model: str | None, at: float) -> bool:
        """Whether a model has a price at a provider. Blocking at first."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A request for the second provider, and the model it names there."""

    call: Call = field(repr=False)
    model: str


class Failovers:
    """Sends requests of one gateway, to a second provider where the first one fails.

    Args:
        providers: all of them.
        upstream: the connections.
        admission: whose limits hold for the second provider too.
        prices: who knows what has a price.
        expanded_bytes: largest body once expanded.

    Attributes:
        counts: requests that their provider did not serve, by what came of it.
    """

    def __init__(
        self,
        providers: Iterable[Provider],
        upstream: Upstream,
        *,
        admission: Admission,
        prices: Prices,
        expanded_bytes: int,
    ) -> None:
        self._by_name = {provider.name: provider for provider in providers}
        self._upstream = upstream
        self._admission = admission
        self._prices = prices
        self._expanded_bytes = expanded_bytes
        self.counts: Counter[FailoverWhy] = Counter()

    async def send(self, exchange: Exchange, call: Call) -> Reply:
        """Send a request and wait for the head of the answer that the client gets; notes at `exchange` whose it is.

        Raises:
            UpstreamFailed: no answer came.
        """
        other = self._by_name.get(exchange.route.provider.failover or "")
        if other is None or not exchange.may_fail_over:
            return await self._upstream.send(call)
        first: Reply | None = None
        failed: UpstreamFailed | None = None
        try:
            first = await self._upstream.send(call)
            if first.status not in STATUSES:
                return first
            after = str(first.status)
        except UpstreamFailed as error:
            failed, after = error, error.code
        try:
            second = await self._ask(exchange, call, other, after)
        except BaseException:
            if first is not None:
                first.close()
            raise
        if second is not None:
            if first is not None:
                first.close()
            return second
        if first is None:
            assert failed is not None
            raise failed
        return first

    async def _ask(self, exchange: Exchange, call: Call, other: Provider, after: str) -> Reply | None:
        """Ask the second provider; `None` where its answer is not the one to give."""
        question = await self._question(exchange, call, other)
        if not isinstance(question, _Question):
            self._note(exchange, Failover(other.name, after, question))
            return None
        if not self._admission.move(exchange.place, other.name):
            self._note(exchange, Failover(other.name, after, "busy"))
            return None
        try:
            reply = await self._upstream.send(question.call)
        except UpstreamFailed:
            self._note(exchange, Failover(other.name, after, "no_answer", question.model))
            return None
        if not 200 <= reply.status < 300:
            reply.close()
            self._note(exchange, Failover(other.name, after, "refused", question.model, reply.status))
            return None
        self._note(exchange, Failover(other.name, after, "served", question.model, reply.status))
        return reply

    async def _question(self, exchange: Exchange, call: Call, other: Provider) -> _Question | FailoverWhy:
        """Write the request for the second provider, or say why it may not have it."""
        if exchange.format not in other.formats:
            return "other_format"
        if exchange.receipt is not None and _SUBSCRIPTION in exchange.receipt.notes:
            return "subscription"
        if exchange.route.address.model is not None:
            return "unknown_model"  # it stands in the path, where nobody here puts another
        found = await asyncio.to_thread(self._read, call, exchange.added)
        if found is None:
            return "unknown_model"
        plain, named = found
        model = other_model(exchange.route.provider, named)
        if not await asyncio.to_thread(self._are_priced, exchange, named, other, model):
            return "unpriced"
        headers, body = call.headers, call.body
        if exchange.added:
            headers, body = with_betas_of(headers, exchange.headers.forward), plain
        if model != named.name:
            headers = [pair for pair in headers if pair[0] != "content-encoding"]
            body = with_model(plain, named, model)
        headers = failover_headers(headers)
        if other.api_key is not None:
            headers = with_own_key(headers, other.api_key, exchange.format)
        url = failover_query(other.url + call.url.removeprefix(exchange.route.provider.url))
        return _Question(Call(other.name, call.method, url, headers, body), model)

    def _read(self, call: Call, added: Sequence[Span]) -> tuple[bytes, NamedModel] | None:
        """Read a request as it went out: its plain body without what was for the first provider, and its model."""
        if not isinstance(call.body, bytes):
            return None
        encoding = next((value for name, value in call.headers if name == "content-encoding"), "")
        try:
            # It was expanded on its way in, so it is within the bound.
            plain = decode_body(call.body, encoding, limit_bytes=self._expanded_bytes) if encoding else call.body
        except UnknownEncoding:
            return None
        plain = without(plain, added)
        named = named_model(plain)
        return None if named is None else (plain, named)

    def _are_priced(self, exchange: Exchange, named: NamedModel, other: Provider, model: str) -> bool:
        at = exchange.received_at
        provider = exchange.route.provider.name
        return self._prices.is_priced(provider, named.name, at) and self._prices.is_priced(other.name, model, at)

    def _note(self, exchange: Exchange, what: Failover) -> None:
        exchange.failover = what
        self.counts[what.why] += 1
        facts = {"request_id": exchange.request_id, "provider": exchange.route.provider.name, "to": what.to}
        log.warning("provider failed", extra={**facts, "after": what.after, "failover": what.why})


def other_model(provider: Provider, named: NamedModel) -> str:
    """Name the model that the second provider is asked for."""
    return provider.failover_model if provider.failover_model is not None else named.name
