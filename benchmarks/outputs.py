"""Make the tool calls and tool outputs of a coding agent, cut from the standard library's own sources.

Sizes follow what recorded agent sessions show: a log-normal with a median of 384 bytes, a ninth decile of
4 kB and a 99th percentile of 27 kB. Large outputs are mostly file reads, so that reads hold about 70 % of the
bytes. The same seed and the same Python give the same calls.
"""

from __future__ import annotations

import random
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SIZE_MU = 5.95  # ln 384
SIZE_SIGMA = 1.829  # (ln 4000 - ln 384) / 1.2816, the ninth decile of a normal
READ_CAP_BYTES = 96_000
SHELL_CAP_BYTES = 29_000  # the client cuts shell output at 30,000 characters
OTHER_CAP_BYTES = 20_000
LARGE_BYTES = 1_200
REREAD_SHARE = 0.15
FAILED_SHARE = 0.1
ROOT = "/srv/app"


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call with its answer. `failed` is what a wire format would flag as an error."""

    name: str
    arguments: dict[str, object]
    output: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A source file as the agent sees it."""

    path: str
    lines: tuple[str, ...]
    size: int

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return self.path.rsplit("/", 1)[1]

    @property
    def relative(self) -> str:
        """The path as seen from the root of the code base."""
        return self.path.removeprefix(ROOT + "/")


def sources() -> tuple[Source, ...]:
    """Read the top modules of the standard library, in order of name."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    found = []
    for path in sorted(folder.glob("*.py")):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        if len(lines) > 40:
            found.append(Source(f"{ROOT}/src/{path.name}", tuple(lines), path.stat().st_size))
    return tuple(found)


def _fill(lines: Iterator[str], size: int) -> list[str]:
    """Take lines until they hold `size` bytes, at least one."""
    taken: list[str] = []
    held = 0
    for line in lines:
        taken.append(line)
        held += len(line.encode()) + 1
        if held >= size:
            break
    return taken


@dataclass(slots=True)
class Agent:
    """An endless, reproducible run of tool calls over one code base."""

    random: random.Random
    files: tuple[Source, ...] = field(default_factory=sources)
    seen: list[tuple[Source, int]] = field(default_factory=list)

    def call(self) -> Call:
        """Make the next call; its size is drawn from the log-normal."""
        size = int(self.random.lognormvariate(SIZE_MU, SIZE_SIGMA))
        return self.sized(size)

    def sized(self, size: int) -> Call:
        """Make a call whose output holds about `size` bytes."""
        kinds: dict[Callable[[int], Call], float]
        if size > LARGE_BYTES:
            kinds = {self.read: 0.74, self.shell: 0.16, self.grep: 0.07, self.glob: 0.03}
        else:
            kinds = {self.read: 0.12, self.shell: 0.42, self.grep: 0.12, self.edit: 0.28, self.glob: 0.06}
        (make,) = self.random.choices(list(kinds), list(kinds.values()))
        return make(size)

    def read(self, size: int) -> Call:
        """Read a range of a source file with numbered lines, sometimes one that was read before."""
        rnd = self.random
        if self.seen and rnd.random() < REREAD_SHARE:
            source, start = rnd.choice(self.seen)
        else:
            source = rnd.choice([f for f in self.files if f.size >= size] or self.files[:1])
            start = rnd.randrange(max(1, len(source.lines) - 30)) if size < source.size // 2 else 0
            self.seen.append((source, start))
        numbered = (f"{i + 1:6d}\t{source.lines[i]}" for i in range(start, len(source.lines)))
        lines = _fill(numbered, min(size, READ_CAP_BYTES))
        arguments: dict[str, object] = {"file_path": source.path}
        if start or start + len(lines) < len(source.lines):
            arguments |= {"offset": start + 1, "limit": len(lines)}
        return Call("Read", arguments, "\n".join(lines))

    def shell(self, size: int) -> Call:
        """Run a command: tests with a progress line a test, a build log, or a plain file listing."""
        size = min(size, SHELL_CAP_BYTES)
        if size < 300:
            return self._status(size)
        if self.random.random() < FAILED_SHARE:
            return self._failure(size)
        return self.random.choice((self.test_log, self.build_log, self.file_list))(size)

    def test_log(self, size: int) -> Call:
        rnd, source = self.random, self.random.choice(self.files)
        name = source.name.removesuffix(".py")
        names = [line.split("(")[0].split()[-1] for line in source.lines if line.lstrip().startswith("def ")] or ["run"]

        def lines() -> Iterator[str]:
            yield "\x1b[1m============================= test session starts ==============================\x1b[0m"
            yield f"platform linux -- Python 3.11.7, pytest-8.3.4, pluggy-1.5.0\nrootdir: {ROOT}\n"
            count = 0
            while True:
                count += 1
                test = f"tests/test_{name}.py::test_{rnd.choice(names)}_{count}"
                yield f"{test} \x1b[32mPASSED\x1b[0m                     \x1b[32m [{min(99, count // 3):3d}%]\x1b[0m"

        taken = _fill(lines(), size)
        seconds = rnd.randrange(200, 9000) / 100
        taken.append(
            f"\n\x1b[32m========= \x1b[1m{len(taken) - 2} passed\x1b[0m\x1b[32m in {seconds:.2f}s =========\x1b[0m"
        )
        return Call("Bash", _command(f"python -m pytest tests/test_{name}.py -v", "Run the tests"), "\n".join(taken))

    def build_log(self, size: int) -> Call:
        rnd = self.random

        def lines() -> Iterator[str]:
            count = 0
            while True:
                source = rnd.choice(self.files)
                count += 1
                yield f"[{count}] copying {source.relative} -> build/lib/{source.name}"
                if count % 9 == 0:
                    yield "\r".join(f"Downloading wheel {p * 10:3d}% |{'#' * p:10s}|" for p in range(1, 11))

        return Call(
            "Bash",
            _command("make build 2>&1", "Build the package"),
            "\n".join([*_fill(lines(), size), "Build finished."]),
        )

    def file_list(self, size: int) -> Call:
        rnd = self.random

        def lines() -> Iterator[str]:
            while True:
                source = rnd.choice(self.files)
                when = f"Mar {rnd.randrange(1, 29):2d} 10:{rnd.randrange(60):02d}"
                yield f"-rw-r--r-- 1 dev dev {source.size:8d} {when} {source.path}"

        return Call(
            "Bash",
            _command(f"find {ROOT}/src -name '*.py' -exec ls -l {{}} +", "List sources"),
            "\n".join(_fill(lines(), size)),
        )

    def _status(self, size: int) -> Call:
        changed = (f" M {self.random.choice(self.files).relative}" for _ in range(8))
        return Call("Bash", _command("git status --short", "Show what changed"), "\n".join(_fill(changed, size)))

    def _failure(self, size: int) -> Call:
        source = self.random.choice(self.files)
        start = self.random.randrange(max(1, len(source.lines) - 20))
        frames = (
            f'  File "{source.path}", line {i + 1}, in run\n    {source.lines[i].strip()}'
            for i in range(start, len(source.lines))
        )
        text = "\n".join(
            [
                "Exit code 1",
                "Traceback (most recent call last):",
                *_fill(frames, size),
                "ValueError: unexpected end of input",
            ]
        )
        return Call("Bash", _command("python -m app.main", "Run it"), text, failed=True)

    def grep(self, size: int) -> Call:
        """Search the sources; every hit has its path, line number and text."""
        word = self.random.choice(("return", "raise", "self", "import", "class", "def "))

        def lines() -> Iterator[str]:
            while True:
                source = self.random.choice(self.files)
                for number, line in enumerate(source.lines, 1):
                    if word in line:
                        yield f"{source.path}:{number}:{line}"

        hits = _fill(lines(), min(size, OTHER_CAP_BYTES))
        return Call(
            "Grep", {"pattern": word, "path": f"{ROOT}/src", "output_mode": "content", "-n": True}, "\n".join(hits)
        )

    def glob(self, size: int) -> Call:
        """List files by pattern."""

        def lines() -> Iterator[str]:
            while True:
                yield f"{ROOT}/src/part_{self.random.randrange(90)}/{self.random.choice(self.files).name}"

        return Call("Glob", {"pattern": "src/**/*.py"}, "\n".join(_fill(lines(), min(size, OTHER_CAP_BYTES))))

    def edit(self, size: int) -> Call:
        """Change a few lines of a file that was read before; the answer shows them again."""
        source, start = self.random.choice(self.seen) if self.seen else (self.files[0], 0)
        old = "\n".join(source.lines[start : start + 3])
        numbered = (f"{i + 1:6d}\t{source.lines[i]}" for i in range(start, len(source.lines)))
        said = f"The file {source.path} has been updated. Here's a numbered snippet of the edited file:"
        return Call(
            "Edit",
            {"file_path": source.path, "old_string": old, "new_string": f"{old}  # checked"},
            "\n".join([said, *_fill(numbered, size)]),
        )


def _command(line: str, description: str) -> dict[str, object]:
    return {"command": line, "description": description}
