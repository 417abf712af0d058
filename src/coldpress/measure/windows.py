"""Look up how many tokens a model's context window has by its maker's word: the nominal window of the price data."""

from __future__ import annotations

from coldpress.measure import price_list


def window_tokens(model: str, *, provider: str | None) -> int | None:
    """Give the nominal context window of a model in tokens; `None` where the list does not say.

    What a model uses well is often less: the settings may name a smaller, effective window.

    Args:
        model: as clients send it.
        provider: a name of our settings or an id of the list; where the list does not know it, the window is the one
            at the model's maker.

    >>> window_tokens("claude-sonnet-4-5-20250929", provider="anthropic")
    200000
    """
    listing = price_list.find(model, provider)
    return listing.context_window if listing else None
