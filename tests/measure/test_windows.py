"""A nominal window comes from the price list, and where the list does not say there is none."""

from __future__ import annotations

import pytest

from coldpress.measure.windows import window_tokens


@pytest.mark.parametrize(
    ("model", "provider", "expected"),
    [
        pytest.param("claude-sonnet-4-5-20250929", "anthropic", 200_000, id="a model with its date"),
        pytest.param("deepseek-v4-pro", "deepseek", 1_000_000, id="a model of another maker"),
        pytest.param("claude-haiku-4-5", None, 200_000, id="without a provider the maker's counts"),
        pytest.param("claude-haiku-4-5", "my-own-gateway", 200_000, id="so it does where the provider is not known"),
        pytest.param("no-such-model", "anthropic", None, id="a model that is not listed has no known window"),
        pytest.param("", None, None, id="no name, no window"),
    ],
)
def test_window_of_a_model(model: str, provider: str | None, expected: int | None) -> None:
    assert window_tokens(model, provider=provider) == expected
