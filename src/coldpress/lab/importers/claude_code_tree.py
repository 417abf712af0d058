"""Join the lines of a Claude Code session file into a tree of replies and of what the client wrote between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from coldpress.lab.importers.claude_code_lines import UNNAMED_SIDE, Line
from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.dialogue import Block, says_something


@dataclass(slots=True, eq=False)
class Reply:
    """One model reply while its lines are gathered.

    `at` is the place of its first line in the file. `answers` holds the result of each call with its place.
    """

    at: int
    lines: list[Line] = field(default_factory=list)
    answers: dict[str, tuple[int, Block]] = field(default_factory=dict)

    @property
    def blocks(self) -> list[Block]:
        """The content blocks of all lines, in order."""
        return [block for line in self.lines for block in line.blocks]

    @property
    def says_something(self) -> bool:
        """Whether the reply can stand in a history: no provider takes one that only thought."""
        return says_something(self.blocks)


Node = Reply | Line


class Tree:
    """The file as nodes: replies, and the lines the client wrote between them."""

    def __init__(self, records: Iterable[Line], tally: Tally) -> None:
        self._tally = tally
        self._lines: dict[str, Line] = {}
        self._order: dict[str, int] = {}
        self._line_before: dict[str, str] = {}
        self._last_of_side: dict[str, str] = {}
        self._replies: dict[tuple[str, str], Reply] = {}
        self._reply_of: dict[str, Reply] = {}
        self._caller: dict[tuple[str, str], Reply] = {}
        self._used: set[str] = set()
        for line in records:
            self._place(line)

    @property
    def replies(self) -> tuple[Reply, ...]:
        """The replies that can stand in a history, in file order."""
        return tuple(reply for reply in self._replies.values() if reply.says_something)

    def _place(self, line: Line) -> None:
        """Put a line into the tree; a line that was written twice counts once."""
        if line.uuid in self._lines:
            self._tally.set_aside("lines that repeat an earlier one (same uuid)", line.number)
            return
        self._order[line.uuid] = len(self._lines)
        self._lines[line.uuid] = line
        if line.side in self._last_of_side and line.side != UNNAMED_SIDE:
            self._line_before[line.uuid] = self._last_of_side[line.side]
        self._last_of_side[line.side] = line.uuid
        if line.role == "assistant" and line.message is not None:
            self._say(line, line.message)
        for block in line.blocks if line.role == "user" else ():
            self._answer(line, block)

    def _say(self, line: Line, message: str) -> None:
        """Add a line to the reply it is a part of."""
        reply = self._replies.setdefault((line.side, message), Reply(self._order[line.uuid]))
        reply.lines.append(line)
        self._reply_of[line.uuid] = reply
        for block in line.blocks:
            if block.type == "tool_use" and block.call_id:
                self._caller[line.side, block.call_id] = reply

    def _answer(self, line: Line, block: Block) -> None:
        """Hand a tool result to the reply whose call it answers."""
        if block.type != "tool_result" or block.call_id is None:
            return
        caller = self._caller.get((line.side, block.call_id))
        if caller is None:
            self._tally.skipped["tool results without their call"] += 1
        elif block.call_id in caller.answers:
            self._tally.skipped["second results of one call"] += 1
        else:
            caller.answers[block.call_id] = (self._order[line.uuid], block)
            self._used.add(line.uuid)

    def _parent(self, line: Line) -> Line | None:
        """Find the line that this one names as its parent, or the one before it where that is missing."""
        if line.parent is None:
            return None
        found = self._lines.get(line.parent)
        return found or self._lines.get(self._line_before.get(line.uuid, ""))

    def _above(self, line: Line) -> Node | None:
        """Find the next node up; lines that carry no message only lead on, a compaction ends the way."""
        above, seen = self._parent(line), set[str]()
        while above is not None and above.uuid not in seen and not above.boundary and above.side == line.side:
            seen.add(above.uuid)
            reply = self._reply_of.get(above.uuid)
            if reply is not None and reply.says_something:
                return reply
            if above.role is not None and reply is None:
                return above
            above = self._parent(above)
        return None

    def before(self, reply: Reply) -> tuple[Reply | None, list[Line]]:
        """Find the reply before this one and the client's lines between the two, in order."""
        between: list[Line] = []
        node: Node | None = self._above(reply.lines[0])
        while isinstance(node, Line):
            between.append(node)
            node = self._above(node)
        between.reverse()
        self._used.update(line.uuid for line in between)
        return node, between

    def count_unused(self) -> None:
        """Say which lines a trajectory holds, and why others are in none; call it when `before` was asked about all."""
        lines = self._lines.values()
        for reply in self._replies.values():
            if reply.says_something:
                self._tally.use(*(line.number for line in reply.lines))
            else:
                self._tally.set_aside("replies that say nothing", *(line.number for line in reply.lines))
        for line in lines:
            if line.role and line.uuid in self._used:
                self._tally.use(line.number)
            elif line.role and line.uuid not in self._reply_of:
                self._tally.set_aside("client messages that no reply follows", line.number)
        self._tally.skipped["parents that are not in the file (the line before stands in)"] += sum(
            1 for line in lines if line.parent is not None and line.parent not in self._lines
        )
