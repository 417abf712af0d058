"""Say how what is worked out from one message may be remembered: the engine keeps nothing, whoever calls it may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeVar

T = TypeVar("T")

Place = tuple[bytes, int]
"""A block, by `Message.chain` and its index: what follows from it and the messages before it is the same for ever."""

NOWHERE: Final[Place] = (b"", -1)


class Memo(Protocol):
    """Gives what was worked out before, or works it out."""

    def __call__(self, place: Place, what: str, make: Callable[[], T], *, size: Callable[[T], int]) -> T:
        """Give what `make` gives.

        Args:
            place: the block that it is about.
            what: names what is worked out, one name for one `make`.
            make: works it out, from nothing but the block and what stands before it in the conversation.
            size: says how many characters of text a value holds.
        """
        ...


def unremembered(place: Place, what: str, make: Callable[[], T], *, size: Callable[[T], int]) -> T:
    """Work it out each time."""
    return make()
