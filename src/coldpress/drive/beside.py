"""What we put beside a client's own fields on a request: what the provider is asked to do or to tell by itself."""

from __future__ import annotations

from dataclasses import dataclass

from coldpress.model.native import NativeAsked
from coldpress.wire.addition import Addition


@dataclass(frozen=True, slots=True)
class Beside:
    """Additions to one request.

    Attributes:
        additions: members of the body, in the order of their places.
        betas: words that the header `anthropic-beta` must name, beside the client's own.
        asked: for the receipt; `None` where the settings switch nothing on.
    """

    additions: tuple[Addition, ...] = ()
    betas: tuple[str, ...] = ()
    asked: NativeAsked | None = None


NOTHING = Beside()
