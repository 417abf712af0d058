"""Turn a Claude Code session file into trajectories: one per main chain, side chain, fork and compaction.

The file is a tree: each line names its parent. The lines of one model reply form one node, and the results of its
calls are its answers, wherever they hang (parallel calls make the tree branch at every result). Each reply is
one request, whose history is the path from the root. A reply whose predecessor already has a successor is a fork: the
user went back. A compaction starts from the root again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from coldpress.lab.importers.claude_code_lines import Block, Line, read
from coldpress.lab.importers.claude_code_tree import Reply, Tree
from coldpress.lab.importers.counts import Counts, Tally
from coldpress.lab.jsontext import compact_json
from coldpress.model.trajectory import Trajectory, Turn

LOST_RESULT = "The recording holds no result for this call."
"""Said, as a failed result, in the place of a result that is missing in the middle of a recording."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The trajectories of one file in the order in which they began, and what was read and left out."""

    trajectories: tuple[Trajectory, ...]
    counts: Counts


def read_file(path: Path) -> Imported:
    """Read one session file.

    Raises:
        OSError: the file cannot be read.
        UnicodeDecodeError: the file is not UTF-8.
    """
    with path.open(encoding="utf-8") as lines:
        return read_lines(lines, name=path.stem)


def read_lines(lines: Iterable[str], *, name: str) -> Imported:
    """Read the lines of one session file; `name` begins the names of its trajectories."""
    tally = Tally()
    tree = Tree(read(lines, tally), tally)
    chains = _Chains(tree, tally)
    for reply in tree.replies:
        chains.add(reply)
    tree.count_unused()
    return Imported(chains.trajectories(name), tally.counts())


class _Chains:
    """Straight lines of turns, grown reply by reply."""

    def __init__(self, tree: Tree, tally: Tally) -> None:
        self._tree = tree
        self._tally = tally
        self._turns: list[list[Turn]] = []
        self._replies: list[list[Reply]] = []
        self._shared: list[int] = []
        self._place: dict[int, tuple[int, int]] = {}

    def add(self, reply: Reply) -> None:
        """Append a reply to the chain it continues, or begin another one."""
        previous, between = self._tree.before(reply)
        chain = self._chain_behind(previous)
        self._place[reply.at] = (chain, len(self._turns[chain]))
        self._turns[chain].append(_turn(self._added(previous, between), between, previous, reply))
        self._replies[chain].append(reply)

    def _chain_behind(self, previous: Reply | None) -> int:
        chain, index = self._place.get(previous.at, (-1, -1)) if previous else (-1, -1)
        if chain >= 0 and index == len(self._turns[chain]) - 1:
            return chain
        shared = index + 1
        self._turns.append(self._turns[chain][:shared] if chain >= 0 else [])
        self._replies.append(self._replies[chain][:shared] if chain >= 0 else [])
        self._shared.append(shared)
        return len(self._turns) - 1

    def _added(self, previous: Reply | None, between: list[Line]) -> tuple[str, ...]:
        """Write the client's messages as they are sent: results first, in the order they came in."""
        blocks = self._answers(previous) if previous else []
        role, messages = "user", list[str]()
        for line in between:
            if line.role != role and blocks:
                messages.append(_message(role, blocks))
                blocks = []
            role = line.role or role
            blocks += [block for block in line.blocks if block.type != "tool_result"]
        if blocks:
            messages.append(_message(role, blocks))
        return tuple(messages)

    def _answers(self, reply: Reply) -> list[Block]:
        calls = [block.call_id for block in reply.blocks if block.type == "tool_use" and block.call_id]
        answers = [block for _, block in sorted(reply.answers.values(), key=lambda found: found[0])]
        for call in calls:
            if call not in reply.answers:
                self._tally.skipped["calls without a result (a failed one stands in)"] += 1
                answers.append(_lost_result(call))
        return answers

    def trajectories(self, name: str) -> tuple[Trajectory, ...]:
        """Name the chains and take them as values."""
        return tuple(
            Trajectory(
                name if number == 0 else f"{name}#{number + 1}",
                replies[0].lines[0].session,
                bool(replies[0].lines[0].side),
                tuple(turns),
                shared,
            )
            for number, (turns, replies, shared) in enumerate(
                zip(self._turns, self._replies, self._shared, strict=True)
            )
        )


def _lost_result(call: str) -> Block:
    result = {"tool_use_id": call, "type": "tool_result", "content": LOST_RESULT, "is_error": True}
    return Block("tool_result", compact_json(result), call)


def _message(role: str, blocks: list[Block]) -> str:
    return f'{{"role":"{role}","content":[{",".join(block.json for block in blocks)}]}}'


def _turn(added: tuple[str, ...], between: list[Line], previous: Reply | None, reply: Reply) -> Turn:
    """Make a turn. Usage is that of the reply's last line: all lines repeat it, the last one may know more."""
    last, blocks = reply.lines[-1], reply.blocks
    times = [line.at for line in (*between, *(previous.lines if previous else ())) if line.at is not None]
    return Turn(
        added=added,
        reply=_message("assistant", blocks),
        model=last.model,
        sent_at=max(times, default=None),
        replied_at=last.at,
        usage=last.usage,
        request_id=last.request_id,
        tools=tuple(block.tool for block in blocks if block.tool is not None),
    )
