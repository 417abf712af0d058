"""Hold an API key so that no log line, error or debug print can show it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Secret:
    """A key read from the environment variable `name`.

    >>> Secret("EXAMPLE_KEY", "sk-1")
    Secret(EXAMPLE_KEY)
    """

    name: str
    _value: str = field(repr=False)

    def reveal(self) -> str:
        """Give the key itself: only for the header that carries it to the provider."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({self.name})"

    def __reduce__(self) -> str:
        # A pickle would hold the key in the clear.
        raise TypeError("a secret is not written anywhere")
