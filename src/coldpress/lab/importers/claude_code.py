"""Turn a Claude Code session file into trajectories: one per main chain, side chain, fork and compaction.

The file is a tree: each line names its parent. The lines of one model reply form one node, and the results of its
calls are its answers, wherever they hang (parallel calls make the tree branch at every result). Each reply is
one request, whose history is the path from the root. A reply whose predecessor already has a successor is a fork: the
user went back. A compaction starts from the root again.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from coldpress.lab.importers.chains import Chains, Imported
from coldpress.lab.importers.claude_code_lines import Line, read
from coldpress.lab.importers.claude_code_tree import Reply, Tree
from coldpress.lab.importers.conversation import UNKNOWN_MODEL
from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.dialogue import Block, Part, calls_of, message, tools_of
from coldpress.lab.importers.linefiles import decoded
from coldpress.lab.importers.weave import added
from coldpress.model.trajectory import Turn


def read_file(path: Path) -> Imported:
    """Read one session file.

    Raises:
        OSError: the file cannot be read.
    """
    tally = Tally()
    with path.open("rb") as lines:
        return _read(decoded(lines, tally), tally, name=path.stem)


def read_lines(lines: Iterable[str], *, name: str) -> Imported:
    """Read the lines of one session file; `name` begins the names of its trajectories."""
    return _read(lines, Tally(), name=name)


def _read(lines: Iterable[str], tally: Tally, *, name: str) -> Imported:
    tree = Tree(read(lines, tally), tally)
    chains = Chains()
    for reply in tree.replies:
        previous, between = tree.before(reply)
        chains.add(
            reply.at,
            _turn(_said(previous, between, tally), between, previous, reply),
            behind=previous.at if previous else None,
            session=reply.lines[0].session,
            side_chain=bool(reply.lines[0].side),
        )
    tree.count_unused()
    return Imported(chains.trajectories(name), tally.counts())


def _said(previous: Reply | None, between: list[Line], tally: Tally) -> tuple[str, ...]:
    """Write the client's messages as they are sent: results first, in the order they came in."""
    answers = previous.answers.values() if previous else ()
    parts = [Part("user", tuple(block for _, block in sorted(answers, key=lambda found: found[0])))]
    parts += [Part(line.role, _but_results(line.blocks)) for line in between if line.role]
    return added(parts, calls_of(previous.blocks) if previous else (), tally)


def _but_results(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Leave out results: the tree has handed them to the reply whose calls they answer."""
    return tuple(block for block in blocks if block.type != "tool_result")


def _turn(said: tuple[str, ...], between: list[Line], previous: Reply | None, reply: Reply) -> Turn:
    """Make a turn. Usage is that of the reply's last line: all lines repeat it, the last one may know more."""
    last, blocks = reply.lines[-1], reply.blocks
    times = [line.at for line in (*between, *(previous.lines if previous else ())) if line.at is not None]
    return Turn(
        added=said,
        reply=message("assistant", blocks),
        model=last.model or UNKNOWN_MODEL,
        sent_at=max(times, default=None),
        replied_at=last.at,
        usage=last.usage,
        request_id=last.request_id,
        tools=tools_of(blocks),
        thinking=next((line.thinking for line in reversed(between) if line.thinking is not None), None),
    )
