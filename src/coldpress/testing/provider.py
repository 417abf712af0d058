"""The scripted model behind Messages and Chat Completions, with the caches and the key that all requests share."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from coldpress.measure.cache import PrefixCache
from coldpress.measure.cache_rules import DEEPSEEK, OPENAI_STEPS
from coldpress.testing.chat_provider import ChatProvider
from coldpress.testing.chat_wire import Dialect
from coldpress.testing.messages_provider import MessagesProvider
from coldpress.testing.meter import Meter
from coldpress.testing.script import Script
from coldpress.testing.served import MIB, Rules, Served, decode_json, encoding_header, faulty, refused

__all__ = ["MIB", "Provider", "Rules", "Served", "decode_json", "encoding_header", "faulty", "refused"]

_DEEPSEEK_SECONDS = 12 * 3600.0
"""The provider promises hours to days."""


class Provider:
    """The scripted model behind both wires, with its caches and its signing key."""

    def __init__(self, script: Script, rules: Rules, *, clock: Callable[[], float] = time.monotonic) -> None:
        meter = Meter(clock, automatic=rules.chat_cache or _usual_cache(rules.dialect))
        self._messages = MessagesProvider(script, rules, meter)
        self._chat = ChatProvider(script, rules, meter)

    def messages(self, body: Mapping[str, object], *, number: int, request_id: str, betas: str) -> Served:
        """Answer `POST /v1/messages`; `betas` is its `anthropic-beta`, joined with commas."""
        return self._messages.messages(body, number=number, request_id=request_id, betas=betas)

    def count_tokens(self, body: Mapping[str, object], *, request_id: str, betas: str | None = None) -> Served:
        """Answer `POST /v1/messages/count_tokens`; without `betas`, all of them are taken as given."""
        return self._messages.count_tokens(body, request_id=request_id, betas=betas)

    def chat(self, body: Mapping[str, object], *, number: int, request_id: str) -> Served:
        """Answer `POST .../chat/completions`."""
        return self._chat.chat(body, number=number, request_id=request_id)


def _usual_cache(dialect: Dialect) -> PrefixCache:
    if dialect == "deepseek":
        return PrefixCache(DEEPSEEK, short_seconds=_DEEPSEEK_SECONDS)
    return PrefixCache(OPENAI_STEPS)
