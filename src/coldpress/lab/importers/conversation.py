"""Follow one conversation as a client and a model have it, and make a turn of every reply.

For recordings that are a list in the order of time. What a request shows is what was said so far. A client may cut it
back (the user went back) or put something shorter in its place (a compaction): then what it kept is said again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from coldpress.lab.importers.chains import Chains
from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.dialogue import (
    Block,
    Part,
    Role,
    calls_of,
    message,
    messages,
    says_something,
    text_block,
    tools_of,
)
from coldpress.model.trajectory import Turn
from coldpress.model.usage import Usage

NOT_RECORDED = text_block("(what was said here is not recorded)")
"""Stands where a request must show something of the user and the recording holds nothing."""

UNSHOWN = text_block("(a reply without words, which no later request shows)")
"""Stands for a reply that was paid for and holds nothing that can be shown."""

UNKNOWN_MODEL = "unknown"


@dataclass(frozen=True, slots=True)
class Said:
    """One thing said.

    Attributes:
        role: who said it.
        blocks: what.
        time: when it was recorded, in seconds since 1970.
        at: the place of the reply, for a reply that a request brought; `None` for all that the client says.
        names: the recording's own names for it; none where it has none.
        starts: whether the user's turn begins with it.
        sources: the numbers of the objects that it was read from.
    """

    role: Role
    blocks: tuple[Block, ...]
    time: float | None = None
    at: int | None = None
    names: frozenset[str] = frozenset()
    starts: bool = False
    sources: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """What a recording tells of one request beside its content; see `Turn` for the units."""

    model: str = ""
    usage: Usage = field(default_factory=Usage)
    replied_at: float | None = None
    request_id: str | None = None
    reported_usd: float | None = None


class Conversation:
    """What was said so far; replies become turns of `chains`."""

    def __init__(self, chains: Chains, tally: Tally, *, session: str = "", side_chain: bool = False) -> None:
        self.session = session
        self.side_chain = side_chain
        self.said: list[Said] = []
        self._chains = chains
        self._tally = tally
        self._calls: set[str] = set()
        self._answered: set[str] = set()
        self._shown: set[int] = set()

    def hear(self, said: Said) -> None:
        """Take what the client says. A result without its call, or a second one of a call, is counted and left out."""
        open_calls = _open_calls(self.said)
        kept = tuple(b for b in said.blocks if b.type != "tool_result" or self._is_answer(b, open_calls, said.sources))
        if kept:
            self.said.append(replace(said, blocks=kept))

    def _is_answer(self, block: Block, open_calls: set[str], sources: tuple[int, ...]) -> bool:
        if block.call_id not in self._calls:
            self._tally.set_aside("tool results without their call", *sources)
        elif block.call_id in self._answered:
            self._tally.set_aside("second results of one call", *sources)
        elif block.call_id not in open_calls:
            self._tally.set_aside("tool results that came after the next reply", *sources)
        else:
            self._answered.add(block.call_id)
            return True
        return False

    def reply(
        self,
        at: int,
        blocks: tuple[Block, ...],
        told: Told,
        *,
        names: frozenset[str] = frozenset(),
        sources: tuple[int, ...] = (),
    ) -> None:
        """Take a reply: its request showed all that was said before.

        Args:
            at: names this reply among those of `chains`.
            blocks: what it says; without any that can be shown, later requests do not show it.
            told: what else is known.
            names: the recording's own names for it.
            sources: the numbers of the objects that it was read from.
        """
        stands = says_something(blocks)
        if not stands and not told.usage.known:
            self._tally.set_aside("replies that say nothing", *sources)
            return
        place = next((i for i in range(len(self.said) - 1, -1, -1) if self.said[i].at is not None), -1)
        previous, between = (self.said[place] if place >= 0 else None), self.said[place + 1 :]
        if previous is None and not between:
            self._tally.set_aside("replies to nothing", *sources)
            return
        times = [said.time for said in (*between, *([previous] if previous else [])) if said.time is not None]
        turn = Turn(
            added=self._added(between, calls_of(previous.blocks) if previous else (), first=previous is None),
            reply=message("assistant", blocks if stands else (UNSHOWN,)),
            model=told.model or UNKNOWN_MODEL,
            sent_at=max(times, default=None),
            replied_at=told.replied_at,
            usage=told.usage,
            request_id=told.request_id,
            tools=tools_of(blocks) if stands else (),
            reported_usd=told.reported_usd,
        )
        self._chains.add(
            at, turn, behind=previous.at if previous else None, session=self.session, side_chain=self.side_chain,
            shown_later=stands,
        )  # fmt: skip
        shown = {source for said in between for source in said.sources} | set(sources)
        self._tally.use(*shown)
        self._shown |= shown
        if stands:
            self._calls |= set(calls_of(blocks))
            self.said.append(Said("assistant", blocks, told.replied_at, at, names, sources=sources))
        else:
            self._tally.skipped["replies without words (no later request shows them)"] += 1

    def _added(self, between: list[Said], open_calls: tuple[str, ...], *, first: bool) -> tuple[str, ...]:
        """Write what was said since the reply before; it begins and ends with the user, as a provider asks for."""
        parts = [Part(said.role, said.blocks) for said in between]
        opening = not open_calls and (not parts or parts[0].role == "assistant")
        closing = bool(parts) and parts[-1].role == "assistant"
        for missing, place in ((opening, 0), (closing, len(parts) + 1)):
            if missing:
                parts.insert(place, Part("user", (NOT_RECORDED,)))
                self._tally.skipped["words of the client that are not recorded (a note stands in)"] += 1
        # What is said again was counted when it was said first.
        again = first and any(part.role == "assistant" for part in parts)
        return messages(parts, open_calls=open_calls, tally=Tally() if again else self._tally)

    def replace(self, said: Iterable[Said]) -> None:
        """Put this in the place of all that was said: the next request begins another line, and shows it again."""
        before, self.said = self.said, []
        for item in said:
            open_calls = _open_calls(self.said)
            kept = tuple(b for b in item.blocks if b.type != "tool_result" or b.call_id in open_calls)
            self._calls |= set(calls_of(kept))
            self._answered |= {b.call_id for b in kept if b.type == "tool_result" and b.call_id}
            if kept:
                self.said.append(replace(item, blocks=kept, at=None))
        left = {source for item in self.said for source in item.sources}
        self._drop([s for s in before if not left & set(s.sources)], "client messages forgotten before a reply")

    def forget(self, names: frozenset[str], summary: Said | None, behind: frozenset[str]) -> None:
        """Take what bears only these names out of sight, and put a summary in its place.

        Args:
            names: the recording's names of what goes.
            summary: what stands for it, if anything.
            behind: names of what stands in front of the summary, of all that is left.
        """
        kept = [said for said in self.said if not said.names or not said.names <= names]
        place = sum(1 for said in kept if said.names <= behind)
        self.replace([*kept[:place], *([] if summary is None else [summary]), *kept[place:]])

    def cut_back(self, turns: int) -> int:
        """Forget the user's last turns, and give how many things said that takes away."""
        starts = [place for place, said in enumerate(self.said) if said.starts]
        if turns <= 0 or not starts:
            return 0
        gone = self.said[starts[max(len(starts) - turns, 0)] :]
        del self.said[len(self.said) - len(gone) :]
        self._drop(gone, "client messages taken back before a reply")
        return len(gone)

    def count_unused(self) -> None:
        """Count what no request shows; call it at the end."""
        self._drop(self.said, "client messages that no reply follows")

    def _drop(self, said: Iterable[Said], reason: str) -> None:
        """Count what no request has shown and none will."""
        for one in said:
            if not self._shown.intersection(one.sources):
                self._tally.set_aside(reason, *one.sources)


def _open_calls(said: list[Said]) -> set[str]:
    """Give the calls that a result may still answer: those of the last reply, or of all that is said again as one."""
    found: set[str] = set()
    seen = False
    for one in reversed(said):
        if one.role == "assistant":
            found |= set(calls_of(one.blocks))
            seen = True
            if one.at is not None:
                break
        elif seen:
            break
    return found
