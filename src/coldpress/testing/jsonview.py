"""Look into decoded JSON without trusting its shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast


def as_object(value: object) -> Mapping[str, object]:
    """Give a JSON object, or an empty one for any other value."""
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def as_array(value: object) -> Sequence[object]:
    """Give a JSON array, or an empty one for any other value."""
    return cast("Sequence[object]", value) if isinstance(value, list) else ()


def as_text(value: object) -> str:
    """Give a JSON string, or the empty one for any other value."""
    return value if isinstance(value, str) else ""


def objects(value: object) -> list[Mapping[str, object]]:
    """Give the objects of a JSON array; other elements are left out."""
    return [as_object(element) for element in as_array(value) if isinstance(element, dict)]
