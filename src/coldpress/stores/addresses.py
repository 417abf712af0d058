"""Find the one original that a full or shortened SHA-256 names, or say plainly why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from coldpress.model.errors import AmbiguousOriginal, ExpiredOriginal, UnknownOriginal

FULL_DIGITS = 64
LEAST_DIGITS = 8
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What is remembered of an expired original. `tool` is empty where nobody told; bytes are those of the text."""

    sha: str
    expired_at: float
    tool: str
    text_bytes: int


def normal(asked: str) -> str:
    """Return the digits asked for in lower case.

    Raises:
        UnknownOriginal: this is no SHA-256, nor a beginning of one that is long enough.
    """
    digits = asked.strip().lower()
    if not LEAST_DIGITS <= len(digits) <= FULL_DIGITS or not _HEX.issuperset(digits):
        raise UnknownOriginal(
            f"{asked!r} does not name an original; give its SHA-256, or at least the first {LEAST_DIGITS}"
            " hexadecimal digits of it"
        )
    return digits


def span(digits: str) -> tuple[bytes, bytes]:
    """First and last SHA-256 (32 bytes) that begin with these hexadecimal digits."""
    return bytes.fromhex(digits.ljust(FULL_DIGITS, "0")), bytes.fromhex(digits.ljust(FULL_DIGITS, "f"))


IN_FILE = "that this is the store the gateway writes to"
IN_MEMORY = "that this is the session that made it smaller: what is kept in memory ends with it"


def choose(digits: str, stored: Iterable[str], expired: Sequence[Tombstone], *, also_check: str) -> str:
    """Pick the stored SHA-256 among those that fit; `also_check` says what to look at where none does.

    Raises:
        UnknownOriginal, AmbiguousOriginal, ExpiredOriginal: as their names say.
    """
    live = sorted(set(stored))
    gone = [stone for stone in expired if stone.sha not in live]
    if len(live) + len(gone) > 1:
        names = ", ".join([sha[:16] for sha in live] + [f"{stone.sha[:16]} (expired)" for stone in gone])
        raise AmbiguousOriginal(f"{digits} fits more than one original: {names}; give more digits")
    if live:
        return live[0]
    if gone:
        raise ExpiredOriginal(_epitaph(gone[0]))
    raise UnknownOriginal(
        f"no original {digits} is stored here; check the digits, and {also_check}. What pii took out is kept nowhere"
    )


def _epitaph(stone: Tombstone) -> str:
    when = datetime.fromtimestamp(stone.expired_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    made_by = f"the {stone.tool} call" if stone.tool else "the call"
    return (
        f"original {stone.sha[:16]} ({stone.text_bytes} bytes) expired on {when} and is no longer stored; "
        f"run {made_by} that produced it again to get its output, and allow originals more bytes or days in "
        "the settings to keep them longer"
    )
