"""Choose the models that a list of prices shows: those of the settings and tables, and the newest of each family."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from coldpress.cli.quote import Quote, check_provider, quote
from coldpress.config.builtin_providers import BUILTIN_PROVIDERS
from coldpress.config.settings import Settings
from coldpress.measure import price_list
from coldpress.measure.price_tables import PRICE_TABLES
from coldpress.model.errors import ColdpressError

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?(?![\d.]*b\b)")
"""A number of a version, read as a decimal since makers write 4.20 before 4.7; sizes (`120b`) belong to the family."""
_MEDIA: Final = re.compile(r"image|realtime|audio|voxtral|whisper|tts|ocr|embed|research|search")
"""Models that no agent of tools runs on, by words in their names; the list does not say what a model is for."""
_FILLER: Final = re.compile(r"[-.:@]|latest|preview")
_RESELLS: Final = "openrouter"
"""Its hundreds of models are other providers' models."""


def overview(
    settings: Settings, *, provider: str | None, table: str | None, at: datetime, every: bool
) -> tuple[Quote, ...]:
    """List prices.

    Args:
        settings: prices of theirs come first.
        provider: only this provider's models, all of them.
        table: only this table's models.
        at: the moment.
        every: all models of all providers of the list, not only the newest of the built-in ones.

    Returns:
        Those of the models whose prices are known.

    Raises:
        ColdpressError: nobody knows the provider.
    """
    check_provider(settings, provider)
    if table is not None:
        rows = next(known.rows for known in PRICE_TABLES if known.name == table)
        return tuple(quote(settings, row.model, provider=None, table=table, at=at) for row in rows)
    if provider is not None:
        return tuple(_quotes(settings, _models_of(settings, provider), at))
    ours = [(known.name, model) for known in settings.providers for model in known.prices]
    of_tables = [
        quote(settings, row.model, provider=None, table=known.name, at=at)
        for known in PRICE_TABLES
        for row in known.rows
    ]
    names = price_list.providers() if every else _builtin_ids()
    listed = [
        (name, model)
        for name in names
        for model in (price_list.models(name) if every else newest(price_list.models(name)))
    ]
    return (*_quotes(settings, ours, at), *of_tables, *_quotes(settings, listed, at))


def newest(models: tuple[str, ...]) -> tuple[str, ...]:
    """Keep the newest model for text of each family, in the order given: a family is a name without its numbers.

    >>> newest(("claude-opus-4-8", "claude-opus-5", "claude-3-opus-latest", "claude-haiku-4-5"))
    ('claude-opus-5', 'claude-haiku-4-5')
    """
    best: dict[str, str] = {}
    for model in models:
        if _MEDIA.search(model.lower()):
            continue
        family = _FILLER.sub("", _NUMBER.sub("", model.lower()))
        if family not in best or _version(model) > _version(best[family]):
            best[family] = model
    return tuple(model for model in models if model in best.values())


def _version(model: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Its version, then its date or build: `grok-4.7` is newer than `grok-4-0709`."""
    numbers = _NUMBER.findall(model)
    return (
        tuple(float(number) for number in numbers if float(number) < 100),
        tuple(float(number) for number in numbers if float(number) >= 100),
    )


def _builtin_ids() -> tuple[str, ...]:
    found = (price_list.provider_id(row.name) for row in BUILTIN_PROVIDERS if row.name != _RESELLS)
    return tuple(dict.fromkeys(name for name in found if name is not None))


def _models_of(settings: Settings, provider: str) -> list[tuple[str, str]]:
    known = settings.provider(provider)
    ours = list(known.prices) if known else []
    return [(provider, model) for model in dict.fromkeys((*ours, *price_list.models(provider)))]


def _quotes(settings: Settings, places: list[tuple[str, str]], at: datetime) -> Iterator[Quote]:
    """Those of the models that have prices."""
    for provider, model in places:
        try:
            yield quote(settings, model, provider=provider, table=None, at=at)
        except ColdpressError:
            continue
