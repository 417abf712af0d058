"""coldpress: make an AI agent's context smaller where that costs nothing or pays."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coldpress.library.session import Session as Session

__version__ = "0.1.0"
__all__ = ["Session", "__version__"]


def __getattr__(name: str) -> object:
    """Load the library face when it is first asked for: a gateway or a command does without it."""
    if name == "Session":
        from coldpress.library.session import Session  # noqa: PLC0415

        globals()["Session"] = Session  # the next look-up finds it without coming here
        return Session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
