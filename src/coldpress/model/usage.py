"""Tokens a provider says it counted, in buckets that never overlap. Unknown is `None`, never zero."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one reply.

    The whole prompt is `fresh + read + write_short + write_long`. `reasoning` is inside `output`.
    A bucket that the provider did not report is `None`.
    """

    fresh: int | None = None
    read: int | None = None
    write_short: int | None = None
    write_long: int | None = None
    output: int | None = None
    reasoning: int | None = None

    @property
    def known(self) -> bool:
        """Whether the provider reported the prompt at all."""
        return self.fresh is not None

    @property
    def prompt(self) -> int | None:
        """Tokens of the whole prompt; `None` where the provider did not report them.

        A provider without a separate write price reports no writes: those buckets count as none here.
        """
        if self.fresh is None:
            return None
        return self.fresh + (self.read or 0) + (self.write_short or 0) + (self.write_long or 0)

    def plus(self, other: Usage) -> Usage:
        """Add two replies bucket by bucket; a bucket that only one of them reported is that one's.

        >>> Usage(fresh=1, read=2).plus(Usage(fresh=10, output=5))
        Usage(fresh=11, read=2, write_short=None, write_long=None, output=5, reasoning=None)
        """
        return Usage(*(_sum(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)))


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other
