"""Make recordings of coding agents that never ran, as many and as long as asked, for tests and for measuring speed.

An agent reads files of a made-up project, searches it, edits lines that it quotes from what it read, runs the tests,
and reads files again. What a result holds follows from the project as edited so far, so that texts of edits and names
in later calls do stand in earlier results. Sizes and pauses are of the kind that real sessions show: results of some
hundred bytes to some ten thousand, reads the largest; most calls seconds apart, some minutes, a few hours.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from coldpress.lab.importers.recording import FORMAT
from coldpress.model.errors import ConfigError

Json = dict[str, object]

MODEL: Final = "claude-sonnet-5-5"
BEGIN_SECONDS: Final = 1_790_000_000.0
_SYSTEM: Final = "You are a coding agent. Work on the user's task with your tools, and say when you are done. " * 40
_TEXT: Final = (
    "account batch cache client column config cursor delta engine event field filter handle index job key ledger limit "
    "merge node offset order packet parser price query queue range record report request result route row rule schema "
    "scope segment session shard sheet signal slot source stream table target task token total trace usage value window"
)
_WORDS: Final = tuple(_TEXT.split())
_LINES: Final = (
    "    {a} = {b}.{c}({d})",
    "    if {a} is None:",
    "        return {b}_{c}",
    "    for {a} in {b}.{c}s:",
    "        {a}.{b}({c}_{d}, limit={n})",
    "    # {a} of the {b} before its {c} is read",
    '    log.info("{a} {b}", extra={{"{c}": {d}}})',
)
_EDITED_SHARE: Final = 0.55
"""Of calls that could edit what was read: do."""


def _tool(name: str, *needed: str) -> Json:
    properties: Json = {key: {"type": "string", "description": f"The {key} to use. " * 8} for key in needed}
    schema: Json = {"type": "object", "properties": properties, "required": list(needed)}
    return {"name": name, "description": f"{name} something in the project. " * 12, "input_schema": schema}


_TOOLS: Final = (
    _tool("Read", "file_path"),
    _tool("Bash", "command", "description"),
    _tool("Edit", "file_path", "old_string", "new_string"),
    _tool("Grep", "pattern", "path"),
)


def write_corpus(folder: Path, *, recordings: int, requests: int, seed: int, tasks: int = 5) -> tuple[Path, ...]:
    """Write recordings into a folder, in sub-folders by task.

    The same arguments write the same bytes; more recordings leave the first ones as they were.

    Args:
        folder: to write to; made where it is missing.
        recordings: how many.
        requests: how many each has on average; single ones have half to one and a half times as many.
        seed: of everything that is drawn.
        tasks: how many sub-folders.

    Raises:
        ConfigError: a number is too small; says which.
        OSError: the folder cannot be written.
    """
    for name, number, least in (("recordings", recordings, 1), ("requests", requests, 2), ("tasks", tasks, 1)):
        if number < least:
            raise ConfigError(f"{name} is {number}; use {least} or more")
    paths = list[Path]()
    for number in range(recordings):
        path = folder / f"task-{number % tasks + 1}" / f"session-{number:05}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(recording_text(requests=requests, seed=seed, number=number), encoding="utf-8")
        paths.append(path)
    return tuple(paths)


def recording_text(*, requests: int, seed: int, number: int) -> str:
    """Write one recording, see `coldpress.lab.importers.recording`.

    Args:
        requests: how many it has on average.
        seed, number: of the corpus, and of the recording in it; both decide what is drawn.
    """
    drawn = random.Random(f"{seed} {number}")
    length = drawn.randint(max(2, requests // 2), requests + requests // 2)
    turns = list(_turns(_Project(drawn), drawn, length))
    made: Json = {"format": FORMAT, "session": f"made-{seed}-{number}", "model": MODEL, "system": _SYSTEM}
    made |= {"max_tokens": 8192, "tools": list(_TOOLS), "turns": turns}
    return json.dumps(made, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of a tool, and what it gave."""

    tool: str
    given: Json
    result: str


@dataclass(slots=True)
class _Project:
    """Files that do not exist, and what the agent knows of them."""

    drawn: random.Random
    files: dict[str, list[str]] = field(init=False)
    read: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        names = self.drawn.sample(_WORDS, 12)
        self.files = {f"/srv/app/src/{name}.py": self._source(name) for name in names}

    def call(self) -> _Call:
        """Do the next thing."""
        if self.read and self.drawn.random() < _EDITED_SHARE / 2:
            return self.edit(self.drawn.choice(self.read[-3:]))
        doings: tuple[Callable[[], _Call], ...] = (self.look, self.look, self.search, self.test)
        return self.drawn.choice(doings)()

    def look(self) -> _Call:
        """Read a file; one in three times one that was read before."""
        again = self.read and self.drawn.random() < 1 / 3
        path = self.drawn.choice(self.read if again else sorted(self.files))
        self.read.append(path)
        lines = self.files[path]
        return _Call("Read", {"file_path": path}, "\n".join(f"{at:>6}\t{line}" for at, line in enumerate(lines, 1)))

    def edit(self, path: str) -> _Call:
        """Change two lines that stand in a file, quoted as it has them."""
        lines = self.files[path]
        at = self.drawn.randrange(len(lines) - 1)
        old, new = "\n".join(lines[at : at + 2]), f"{lines[at]}\n{self._line()}"
        lines[at + 1] = new.split("\n")[1]
        told = f"The file {path} has been updated."
        return _Call("Edit", {"file_path": path, "old_string": old, "new_string": new}, told)

    def search(self) -> _Call:
        """Look for a word in all files."""
        word = self.drawn.choice(_WORDS)
        hits = [
            f"{path}:{at}:{line}"
            for path, lines in self.files.items()
            for at, line in enumerate(lines, 1)
            if word in line
        ]
        return _Call("Grep", {"pattern": word, "path": "/srv/app/src"}, "\n".join(hits[:60]) or "No matches found")

    def test(self) -> _Call:
        """Run the tests; one in four times some of them fail."""
        names = [
            f"tests/test_{word}.py::test_{word}_{self.drawn.choice(_WORDS)}" for word in self.drawn.sample(_WORDS, 25)
        ]
        failed = self.drawn.sample(names, 2) if self.drawn.random() < 0.25 else []
        lines = [f"{name} {'FAILED' if name in failed else 'PASSED'}" for name in names]
        lines += [
            f"E   AssertionError: {name.rpartition('_')[2]}_{self.drawn.randint(1, 999)} is None" for name in failed
        ]
        lines.append(f"{len(failed)} failed, {len(names) - len(failed)} passed in {self.drawn.randint(1, 90)}.2s")
        return _Call("Bash", {"command": "python -m pytest -v", "description": "Run the tests"}, "\n".join(lines))

    def _source(self, name: str) -> list[str]:
        count = min(400, int(self.drawn.lognormvariate(4.2, 0.8)) + 8)
        return [f"def {name}_{self.drawn.choice(_WORDS)}({name}):", *(self._line() for _ in range(count))]

    def _line(self) -> str:
        a, b, c, d = self.drawn.sample(_WORDS, 4)
        return self.drawn.choice(_LINES).format(a=a, b=b, c=c, d=d, n=self.drawn.randint(1, 9999))


def _turns(project: _Project, drawn: random.Random, length: int) -> Iterator[Json]:
    """Give the turns of one session: each request carries the results of the calls before it."""
    now = BEGIN_SECONDS + drawn.randint(0, 10**6)
    task = (
        f"Make {drawn.choice(_WORDS)}s in this project cheaper to {drawn.choice(_WORDS)}, and keep its tests passing."
    )
    added: list[Json] = [{"type": "text", "text": task}]
    for at in range(length):
        calls = [project.call() for _ in range(drawn.choice((1, 1, 1, 2)))] if at < length - 1 else []
        blocks: list[Json] = [{"type": "text", "text": f"Next I look at the {drawn.choice(_WORDS)} of it."}]
        ids = [f"toolu_{at:04}{place}" for place in range(len(calls))]
        blocks += [
            {"type": "tool_use", "id": name, "name": call.tool, "input": call.given}
            for name, call in zip(ids, calls, strict=True)
        ]
        replied_at = round(now + drawn.uniform(2, 20), 3)
        yield {
            "sent_at": now,
            "replied_at": replied_at,
            "added": [{"role": "user", "content": added}],
            "reply": {"role": "assistant", "content": blocks},
        }
        added = [
            {"type": "tool_result", "tool_use_id": name, "content": call.result}
            for name, call in zip(ids, calls, strict=True)
        ]
        now = round(replied_at + _pause_seconds(drawn), 3)


def _pause_seconds(drawn: random.Random) -> float:
    """Draw how long the tools, or the user, take: mostly seconds, sometimes longer than a cache lives."""
    which = drawn.random()
    if which < 0.9:
        return drawn.uniform(0.2, 30)
    return drawn.uniform(60, 900) if which < 0.98 else drawn.uniform(3700, 20_000)
