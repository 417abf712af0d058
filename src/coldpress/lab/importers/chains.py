"""Lay turns out as straight lines: a turn whose predecessor already has a successor begins another trajectory."""

from __future__ import annotations

from dataclasses import dataclass

from coldpress.lab.importers.counts import Counts
from coldpress.lab.rebuild import RequestHead
from coldpress.model.trajectory import Trajectory, Turn


@dataclass(frozen=True, slots=True)
class Imported:
    """The trajectories of one file in the order in which they began, and what was read and left out.

    `head` is what stands outside the messages, `None` where the file does not say. Where a file's trajectories have
    heads of their own, `heads` holds one for each, and `head` is that of the most requests with the tools of all.
    """

    trajectories: tuple[Trajectory, ...]
    counts: Counts
    head: RequestHead | None = None
    heads: tuple[RequestHead | None, ...] = ()

    @property
    def own_heads(self) -> tuple[RequestHead | None, ...]:
        """The head of each trajectory, as far as the file says."""
        return self.heads or (self.head,) * len(self.trajectories)


class Chains:
    """Straight lines of turns, grown turn by turn."""

    def __init__(self) -> None:
        self._turns: list[list[Turn]] = []
        self._origin: list[tuple[str, bool]] = []
        self._shared: list[int] = []
        self._place: dict[int, tuple[int, int]] = {}

    def __len__(self) -> int:
        """How many lines there are so far; they keep the order in which they began."""
        return len(self._turns)

    def add(
        self,
        at: int,
        turn: Turn,
        *,
        behind: int | None,
        session: str,
        side_chain: bool = False,
        shown_later: bool = True,
    ) -> None:
        """Append a turn to the line it continues, or begin another one.

        Args:
            at: names this turn to later ones; each only once.
            behind: the turn whose reply is the last one that this request shows; `None` where it shows none.
            session: the harness's session id, for a line that begins here.
            side_chain: whether a sub-agent speaks, for a line that begins here.
            shown_later: false where the client dropped the reply; the turn then ends a line of its own, and the next
                one continues the line it would have continued.
        """
        chain, index = (-1, -1) if behind is None else self._place.get(behind, (-1, -1))
        if chain < 0 or not shown_later or index < len(self._turns[chain]) - 1:
            self._begin(self._turns[chain][: index + 1] if chain >= 0 else [], (session, side_chain))
            chain = len(self._turns) - 1
        self._place[at] = (chain, len(self._turns[chain]))
        self._turns[chain].append(turn)

    def _begin(self, shared: list[Turn], origin: tuple[str, bool]) -> None:
        self._turns.append(shared)
        self._origin.append(origin)
        self._shared.append(len(shared))

    def trajectories(self, name: str) -> tuple[Trajectory, ...]:
        """Name the lines and take them as values."""
        rows = zip(self._turns, self._origin, self._shared, strict=True)
        return tuple(
            Trajectory(
                name if number == 0 else f"{name}#{number + 1}", session, side_chain, tuple(turns), shared
            )
            for number, (turns, (session, side_chain), shared) in enumerate(rows)
        )  # fmt: skip
