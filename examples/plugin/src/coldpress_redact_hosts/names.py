"""Turn host names into others and back, without anything of coldpress: easy to test by itself."""

from __future__ import annotations

import hashlib
import re
import threading
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from coldpress.plugins import setting

MOST_NAMES: Final = 10_000
_ALIAS: Final = re.compile(r"\bhost-[0-9a-f]{10}\.invalid\b")


@dataclass(frozen=True)
class Settings:
    """Keys of `[plugins.config.redact-hosts]`."""

    suffixes: tuple[str, ...] = field(
        default=(), metadata=setting("Domains whose hosts are internal, such as `corp.example`.")
    )
    salt: str = field(
        default="redact-hosts",
        metadata=setting(
            "Makes other names of the same hosts; change it and all names in running conversations change."
        ),
    )


class Names:
    """Host names by the names they went out under. Used from several threads.

    An alias is a pure function of the host and the salt: the same host reads the same in every result, on every replica
    and after a restart. That is what keeps a conversation's bytes, and so the provider's cache, as they are.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hosts: dict[str, str] = {}

    def redacted(self, text: str, settings: Settings) -> str:
        """Put aliases in the place of all internal host names, and remember which is whose."""

        def alias_of(found: re.Match[str]) -> str:
            host = found[0]
            alias = f"host-{hashlib.sha256(f'{settings.salt} {host.lower()}'.encode()).hexdigest()[:10]}.invalid"
            with self._lock:
                if alias in self._hosts or len(self._hosts) < MOST_NAMES:
                    self._hosts[alias] = host.lower()
            return alias

        return _pattern(settings.suffixes).sub(alias_of, text)

    def restored(self, text: str) -> str:
        """Put the host names back. An alias that nobody gave out here stays as it is."""
        with self._lock:
            hosts = dict(self._hosts)
        return _ALIAS.sub(lambda found: hosts.get(found[0], found[0]), text)


@lru_cache(8)
def _pattern(suffixes: tuple[str, ...]) -> re.Pattern[str]:
    ends = "|".join(re.escape(suffix.strip(".")) for suffix in sorted(suffixes, key=len, reverse=True))
    return re.compile(rf"(?<![\w.-])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:{ends})(?![\w-]|\.\w)", re.IGNORECASE)
