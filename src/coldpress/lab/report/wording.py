"""Write numbers and foreign names as a report shows them: money, shares, intervals, counts, and what is unknown."""

from __future__ import annotations

import unicodedata
from typing import Final, Protocol

from coldpress.lab.stats import most_if_none

UNKNOWN: Final = "unknown"
NONE: Final = "–"
"""What a cell holds that no figure belongs in."""

_MINUS: Final = "−"
_SPACE: Final = "\N{NO-BREAK SPACE}"
_LONGEST: Final = 64


class Range(Protocol):
    """A value with its interval."""

    @property
    def value(self) -> float:
        """The figure itself."""

    @property
    def low(self) -> float:
        """Lower end."""

    @property
    def high(self) -> float:
        """Upper end."""


def usd(amount: float | None) -> str:
    """Write money: cents from a dollar on, else four decimals.

    >>> usd(206.389), usd(-0.01234), usd(None)
    ('206.39', '−0.0123', 'unknown')
    """
    if amount is None:
        return UNKNOWN
    return _signed(f"{amount:,.2f}" if abs(amount) >= 1 else f"{amount:.4f}")


def usd_alike(amount: float | None, largest: float) -> str:
    """Write money with the decimals that the largest amount of its column has.

    >>> usd_alike(0.25, 206.4), usd_alike(0.25, 0.3), usd_alike(None, 2.0)
    ('0.25', '0.2500', 'unknown')
    """
    return UNKNOWN if amount is None else _signed(f"{amount:,.{2 if largest >= 1 else 4}f}")


def pct(share: float | None) -> str:
    """Write a share in percent, without the sign for it.

    >>> pct(0.0821), pct(-0.0001)
    ('8.2', '0.0')
    """
    return UNKNOWN if share is None else _signed(f"{100 * share:.1f}")


def pct_range(found: Range | None) -> str:
    """Write a share with its interval, in percent.

    >>> from coldpress.lab.stats import Interval
    >>> pct_range(Interval(0.0821, 0.065, 0.103, 37)).replace("\\N{NO-BREAK SPACE}", " ")
    '8.2 [6.5, 10.3]'
    """
    return UNKNOWN if found is None else f"{pct(found.value)}{_SPACE}[{pct(found.low)},{_SPACE}{pct(found.high)}]"


def usd_range(found: Range | None, largest: float) -> str:
    """Write money with its interval, see `usd_alike`."""
    if found is None:
        return UNKNOWN
    value, low, high = (usd_alike(amount, largest) for amount in (found.value, found.low, found.high))
    return f"{value}{_SPACE}[{low},{_SPACE}{high}]"


def lost(part: int, whole: int, found: Range | None, highest: float | None = None) -> str:
    """Write how many of how many were lost, with the interval of the share or, where none was, the most it could be.

    `highest` is the upper end to show where it is above that of the interval.

    >>> lost(3, 600, None).replace("\\N{NO-BREAK SPACE}", " "), lost(0, 0, None)
    ('3 of 600: 0.5 %', 'none made')
    """
    if not whole:
        return "none made"
    if not part:
        return f"0 of {count(whole)}, {at_most(most_if_none(whole))}"
    share = f"{pct(part / whole)}{_SPACE}%" if part / whole >= 0.0005 else f"under 0.1{_SPACE}%"
    if found is None:
        return f"{count(part)} of {count(whole)}: {share}"
    high = found.high if highest is None else max(found.high, highest)
    return f"{count(part)} of {count(whole)}: {share} [{pct(found.low)},{_SPACE}{pct(high)}]"


def at_most(share: float | None) -> str:
    """Write the most that a share can be.

    >>> [at_most(share).replace("\\N{NO-BREAK SPACE}", " ") for share in (0.0246, 0.0002, None)]
    ['at most 2.5 %', 'under 0.1 %', 'at most unknown']
    """
    if share is None:
        return f"at most {UNKNOWN}"
    return f"under 0.1{_SPACE}%" if share < 0.0005 else f"at most {pct(share)}{_SPACE}%"


def count(number: int) -> str:
    """Write a whole number.

    >>> count(3017)
    '3,017'
    """
    return _signed(f"{number:,}")


def many(number: int, one: str, several: str | None = None) -> str:
    """Write a number with what it counts.

    >>> many(1, "recording"), many(2, "recording"), many(0, "arm", "arms")
    ('1 recording', '2 recordings', '0 arms')
    """
    return f"{count(number)} {one if number == 1 else several or one + 's'}"


def millions(tokens: int) -> str:
    """Write tokens in millions, or as they are where they are few.

    >>> millions(265_400_000), millions(9000)
    ('265.4 million', '9,000')
    """
    return f"{tokens / 1_000_000:,.1f} million" if tokens >= 1_000_000 else count(tokens)


def listed(words: tuple[str, ...]) -> str:
    """Join words as a sentence does.

    >>> listed(("a", "b", "c")), listed(("a",))
    ('a, b and c', 'a')
    """
    return " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)


def plain(name: str, longest: int = _LONGEST) -> str:
    """Make a name of others' safe to read: what steers or hides is spelled out, and the middle of long ones left out.

    >>> plain("a\\u202eb"), plain("x" * 100, 9)
    ('a\\\\u202eb', 'xxxx…xxxx')
    """
    # The middle goes first: a name may be as long as a file.
    if len(name) > longest:
        ahead = longest // 2
        name = f"{name[:ahead]}…{name[len(name) - (longest - 1 - ahead) :]}"
    return "".join(_visible(letter) for letter in name) or "(no name)"


def plain_lines(text: str) -> str:
    """Make a text of several lines safe to read, line by line.

    >>> plain_lines("a = 1\\n\\tb\\u202e")
    'a = 1\\n    b\\\\u202e'
    """
    return "\n".join(plain(line, 400) if line else "" for line in text.expandtabs(4).splitlines())


def _visible(letter: str) -> str:
    steers = unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    return letter.encode("unicode_escape").decode("ascii") if steers else letter


def _signed(number: str) -> str:
    """Write a real minus, and none before zero."""
    if not number.startswith("-"):
        return number
    return _MINUS + number[1:] if number.strip("-0.,") else number[1:]
