"""Keep what a plugin answered to a tool schema first, so that the same schema goes out with the same bytes."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import Final

MOST_ANSWERS: Final = 4096
"""Tools of a few hundred tool sets."""


class FirstAnswers:
    """Answers by plugin, tool and the schema it was asked about. Used from several threads.

    The least recently used go first: what was forgotten is answered anew.
    """

    def __init__(self, most: int = MOST_ANSWERS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str, bytes], str | None] = OrderedDict()

    def first(self, plugin: str, tool: str, before: str, wanted: str | None) -> str | None:
        """Give the first answer to a schema: this one where there was none yet.

        Args:
            plugin: who answers.
            tool: the tool's name.
            before: JSON text of the schema that was asked about.
            wanted: JSON text of the answer, `None` where the schema was left as it was.
        """
        key = _key(plugin, tool, before)
        with self._lock:
            if key not in self._known:
                self._known[key] = wanted
                if len(self._known) > self._most:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
            return self._known[key]

    def known(self, plugin: str, tool: str, before: str) -> str | None:
        """Give the first answer to a schema; `None` where it was left as it was, or where there was none yet."""
        with self._lock:
            return self._known.get(_key(plugin, tool, before))


def _key(plugin: str, tool: str, before: str) -> tuple[str, str, bytes]:
    return plugin, tool, hashlib.sha256(before.encode("utf-8", "surrogatepass")).digest()
