"""Ask libraries what is sensitive in a text: kept up by others, installed with the extra `pii`, and maybe not there."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from coldpress.engine.pii import Hit, SensitiveKind
from coldpress.model.errors import DetectorFailed

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner

EXTRA: Final = "pip install 'coldpress[pii]'"

LIBRARIES: Final[dict[SensitiveKind, tuple[str, str]]] = {
    "secret": ("kingfisher_sdk", "kingfisher-secret-scanner"),
    "phone": ("phonenumbers", "phonenumberslite"),
}
"""For what is sensitive of each kind: the module that knows more of it than our own patterns, and its package."""

_LONE: Final = dict.fromkeys(range(55296, 57344), "�")
"""Lone surrogates are no UTF-8; what takes their place has one character as well."""


class Detector(Protocol):
    """What knows more than our own patterns; safe to use from any thread. Raises `DetectorFailed`."""

    def secrets(self, text: str, *, seconds: float) -> tuple[Hit, ...]:
        """Find credentials; may give up after so many seconds."""

    def is_phone(self, number: str) -> bool:
        """Judge a telephone number that begins with `+`."""


@dataclass(frozen=True, slots=True)
class Libraries:
    """The libraries of the extra, the ones that are asked for and there; others are never called."""

    scanner: Scanner | None

    def secrets(self, text: str, *, seconds: float) -> tuple[Hit, ...]:
        """Find credentials with Kingfisher's rules, without a network."""
        if self.scanner is None:
            return ()
        raw = text.translate(_LONE).encode() if not text.isascii() else text.encode()
        try:
            findings = self.scanner.scan(raw, timeout=seconds)
        except (TimeoutError, RuntimeError, ValueError, TypeError) as error:
            raise DetectorFailed(f"kingfisher: {type(error).__name__}") from error
        spans = [
            (finding.location["start_offset"], finding.location["end_offset"])
            for finding in findings
            if finding.visible
        ]
        at = _characters(raw, [offset for span in spans for offset in span]) if len(raw) != len(text) else None
        hits = (Hit(*span, "secret") if at is None else Hit(at[span[0]], at[span[1]], "secret") for span in spans)
        return tuple(hit for hit in hits if 0 <= hit.start < hit.end <= len(text))

    def is_phone(self, number: str) -> bool:
        """Say whether the plan of the number's country has such a number."""
        import phonenumbers  # noqa: PLC0415  of an extra

        try:
            return phonenumbers.is_valid_number(phonenumbers.parse(number, None))
        except phonenumbers.NumberParseException:
            return False


def missing(kinds: Collection[SensitiveKind]) -> tuple[str, ...]:
    """Name the packages that are not installed and that one of these kinds would be found better with."""
    wanted = (LIBRARIES[kind] for kind in LIBRARIES if kind in kinds)
    return tuple(package for module, package in wanted if importlib.util.find_spec(module) is None)


def libraries(kinds: Collection[SensitiveKind]) -> Libraries:
    """Give what is installed; the first call with `secret` takes about a second, for a thousand rules are read."""
    asked = "secret" in kinds and importlib.util.find_spec("kingfisher_sdk") is not None
    return Libraries(_scanner() if asked else None)


@functools.cache
def _scanner() -> Scanner:
    from kingfisher_sdk import Scanner  # noqa: PLC0415  of an extra, and 35 MB

    return Scanner(redact=True)


def _characters(raw: bytes, offsets: list[int]) -> dict[int, int]:
    """Turn places in UTF-8 into places in the text, in one pass."""
    found, characters, at = dict[int, int](), 0, 0
    for offset in sorted(set(offsets)):
        characters += len(raw[at:offset].decode(errors="ignore"))
        found[offset], at = characters, offset
    return found
