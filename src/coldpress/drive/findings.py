"""Remember what was found in messages, so that each is judged once however often its conversation is compacted."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeVar, cast

from coldpress.engine.memo import NOWHERE, Place

T = TypeVar("T")

MOST_CHARS: Final = 32_000_000
"""Characters of text that are remembered, all conversations together; about two thirds of it go for what holds it."""

_HOLDING_CHARS: Final = 300
"""What one finding takes beside its text, with its key."""


class Findings:
    """A `coldpress.engine.memo.Memo` that forgets what was used longest ago; safe to use from any thread.

    Args:
        most_chars: of all findings together.
    """

    def __init__(self, most_chars: int = MOST_CHARS) -> None:
        self._most = most_chars
        self._chars = 0
        self._found: OrderedDict[tuple[Place, str], tuple[object, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, place: Place, what: str, make: Callable[[], T], *, size: Callable[[T], int]) -> T:
        """Give what was found before, or what `make` finds."""
        if place == NOWHERE:
            return make()
        key = (place, what)
        with self._lock:
            held = self._found.get(key)
            if held is not None:
                self._found.move_to_end(key)
                return cast("T", held[0])
        made = make()
        self._note(key, made, _HOLDING_CHARS + size(made))
        return made

    def _note(self, key: tuple[Place, str], made: object, chars: int) -> None:
        with self._lock:
            if chars > self._most or key in self._found:
                return
            self._found[key] = made, chars
            self._chars += chars
            while self._chars > self._most:
                self._chars -= self._found.popitem(last=False)[1][1]
