"""A provider's refusal of a prompt that is longer than the model takes, as far as it says by how much."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Overflow:
    """A prompt did not fit. Tokens are the provider's own count; `None` where it did not tell, or contradicts itself.

    Attributes:
        prompt_tokens: of the refused prompt. Some count what the request reserves for the answer into it.
        window_tokens: what a prompt may have: the context window, less what the request reserves for the answer where
            the refusal names that. Never more than the prompt had, where both are told.
    """

    prompt_tokens: int | None = None
    window_tokens: int | None = None
