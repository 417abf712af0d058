"""Play the session in an artificially small window, with and without coldpress: which requests still fit, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from coldpress.config import Settings
from coldpress.demo.play import Played, play
from coldpress.lab.importers.recording import Recording
from coldpress.model.records import Operation
from coldpress.stores.memory import MemoryStore

WINDOW_SHARE: Final = 0.4
"""Of the longest prompt as the client wrote it: small enough that masks alone do not do in the bundled session."""


@dataclass(frozen=True, slots=True)
class SmallWindow:
    """What became of the session. Requests are numbered from 1.

    Attributes:
        window_tokens: of the upstream and of the gateway's budget.
        peak_off_tokens: the longest prompt as the client wrote it.
        peak_press_tokens: the longest that the upstream accepted from the pressing gateway.
        requests: how many there are.
        refused_off, refused_press: those that the upstream refused as too long.
        refusal_off: its words for the first without coldpress; `None` where all fitted.
        masked: results that became one line under pressure.
        summaries: how often a summary took the place of messages, each made from the originals anew.
        summarised: messages that the last of them stands for.
    """

    window_tokens: int
    peak_off_tokens: int
    peak_press_tokens: int
    requests: int
    refused_off: tuple[int, ...]
    refused_press: tuple[int, ...]
    refusal_off: str | None
    masked: int
    summaries: int
    summarised: int

    def json(self) -> dict[str, object]:
        """Give the result for programs."""
        return asdict(self)


def play_in_small_window(recording: Recording, settings: Settings, *, peak_tokens: int) -> SmallWindow:
    """Play a recording twice more, with a window of `WINDOW_SHARE` of its longest prompt.

    Recorded replies stay as they were, also behind a request that was refused: an agent would have ended there.

    Args:
        recording: the session.
        settings: of the gateway; the window of its budget is replaced.
        peak_tokens: the longest prompt as the client wrote it.

    Raises:
        DemoFailed: a request was refused for another reason than its length, or lost.
    """
    window_tokens = max(1, int(peak_tokens * WINDOW_SHARE))
    budgets = replace(settings.budgets, default=replace(settings.budgets.default, window_tokens=window_tokens))
    small = replace(settings, budgets=budgets)

    def played(operation: Operation) -> list[Played]:
        return play(recording, small, MemoryStore(), operation=operation, progress=_silent, window_tokens=window_tokens)

    off, press = played("off"), played("press")
    events = [one.receipt.pressure for one in press if one.receipt and one.receipt.pressure]
    summarised = [event.summarised for event in events if event.reason == "summarised"]
    return SmallWindow(
        window_tokens=window_tokens,
        peak_off_tokens=peak_tokens,
        peak_press_tokens=longest(press),
        requests=len(press),
        refused_off=_refused(off),
        refused_press=_refused(press),
        refusal_off=next((one.refused for one in off if one.refused), None),
        masked=sum(event.cleared for event in events),
        summaries=len(summarised),
        summarised=summarised[-1] if summarised else 0,
    )


def longest(session: Sequence[Played]) -> int:
    """Give the tokens of the longest prompt that was accepted."""
    return max((one.usage.prompt or 0 for one in session), default=0)


def _refused(session: Sequence[Played]) -> tuple[int, ...]:
    return tuple(number for number, one in enumerate(session, 1) if one.refused)


def _silent(done: int, of: int) -> None:
    """Tell nobody."""
