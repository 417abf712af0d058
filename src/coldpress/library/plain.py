"""Write what callers hold (dicts, SDK objects) as the JSON that an SDK would send for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from coldpress.model.errors import MessageError


@runtime_checkable
class Dumpable(Protocol):
    """A pydantic model, such as the SDKs' messages and content blocks are."""

    def model_dump(
        self, *, mode: str = ..., by_alias: bool = ..., exclude_unset: bool = ..., exclude: object = ...
    ) -> dict[str, object]:
        """Give the model as plain values."""


def plain(value: object) -> object:
    """Turn an SDK object, or a mapping that is no dict, into a dict.

    Objects are dumped as anthropic 2.14.0 and openai 3.57.0 do on the wire (their `_utils/_json.py`): without fields
    that nobody set, and without those that a class says are not for requests.

    Raises:
        NotImplementedError: it is neither.
    """
    if isinstance(value, Dumpable):
        left_out = getattr(value, "__api_exclude__", None)
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude=left_out)
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"a {type(value).__name__}")


_ENCODER = msgspec.json.Encoder(enc_hook=plain)


def encode(value: object, where: str) -> bytes:
    """Give compact JSON; the same value gives the same bytes, and keys stay in their order.

    Args:
        value: what stands at one place of a request.
        where: that place, for the error: `messages[3]`, `tools`.

    Raises:
        MessageError: it holds what JSON cannot.
    """
    try:
        return _ENCODER.encode(value)
    except NotImplementedError as error:
        raise MessageError(f"{where} holds {error}; {_CAN_HOLD}") from error
    except UnicodeEncodeError as error:
        raise MessageError(
            f"{where} holds half of a surrogate pair ({error.object[error.start]!r}), which is no text: no SDK can "
            "send it; decode what it came from with errors='replace'"
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageError(f"{where} cannot be written as JSON: {error}") from error


_CAN_HOLD = "a request can hold dicts, lists, texts, numbers, true, false, null and objects of the SDKs"


def check(value: object, where: str) -> None:
    """Refuse what an encoder would write in a form of its own choosing: bytes, dates, sets, iterators, NaN.

    Raises:
        MessageError: there is such a value; the place is named to the key.
    """
    try:
        _check(value, where)
    except RecursionError as error:
        raise MessageError(f"{where} is nested too deeply for a request, or holds itself") from error


def _check(value: object, where: str) -> None:
    match value:
        case None | str() | bool() | int():
            pass
        case float():
            if not math.isfinite(value):
                raise MessageError(f"{where} is {value}, which JSON cannot hold; use null or a text")
        case Mapping():
            for key, inner in value.items():
                if not isinstance(key, str):
                    raise MessageError(f"{where} has the key {key!r}; keys are texts")
                _check(inner, f"{where}.{key}")
        case list() | tuple():
            for index, inner in enumerate(value):
                _check(inner, f"{where}[{index}]")
        case Dumpable():
            _check(plain(value), where)
        case _:
            raise MessageError(f"{where} is a {type(value).__name__}; {_CAN_HOLD}")


def copied(value: object) -> object:
    """Copy what `check` has let pass, dicts and lists but no texts; `None` where it holds objects of an SDK."""
    try:
        return _copied(value)
    except NotImplementedError:
        return None


def _copied(value: object) -> object:
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_copied(inner) for inner in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise NotImplementedError


def member(value: object, name: str) -> object:
    """Read a key of a mapping or an attribute of an SDK object; `None` where it has none."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def elements(value: object) -> Sequence[object]:
    """Give the elements of a list or tuple; nothing of anything else."""
    return value if isinstance(value, list | tuple) else ()
