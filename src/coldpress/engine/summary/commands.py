"""Tell which runs of commands belong together, which failed last, and what their error lines are."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coldpress.engine import exactness_data, shellkinds_data
from coldpress.engine.command_lines import line_of
from coldpress.engine.memo import Memo, unremembered
from coldpress.engine.shellwords import split
from coldpress.engine.summary.events import Event, Ran

MAX_ERROR_LINES: Final = 4
MAX_LINE_CHARS: Final = 240


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WITH_SUBCOMMAND: Final = _words(
    """
    npm yarn pnpm bun cargo go git make docker uv poetry npx dotnet mvn gradle gradlew bundle kubectl gh pip mise just
    task hatch nox tox terraform ansible rake mix composer
    """
)
"""Programs whose first operand says what they do."""

_CHECKS: Final = _words(
    """
    pytest unittest mypy ruff flake8 pylint pyright eslint tsc jest vitest mocha go cargo make cmake ctest ninja tox nox
    npm pnpm yarn bun gradle gradlew mvn dotnet rake rspec phpunit mix just mise shellcheck golangci-lint bazel gcc cc
    clang rustc javac prettier black
    """
)
"""Programs that are run again and again to see whether something works now."""

_ANSI: Final = re.compile(r"(?:\x1b|\\u001b)(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_TELLS_MOST: Final = re.compile(r"\w*(?:Error|Exception)\b|error\b|ERROR|FAILED|failed\b|panic|fatal|assert|^E  ")
_EMPTY_WORDS: Final = re.compile(r"Traceback \(most recent|[ \t]+at |=+ |stack traceback|goroutine ")


_ROOTS: Final = ("", ".")
_NAMES_A_PATH: Final = re.compile(r"[/.:]")
_MIN_LINE_CHARS: Final = 8
"""A shorter line (`FAIL`) says nothing that the command's being here does not."""


@dataclass(frozen=True, slots=True)
class Command:
    """What a command line comes to: the program that counts in it, and what it was given."""

    program: str
    operands: frozenset[str]

    @property
    def checks(self) -> bool:
        """Whether it is a check that is run until it passes: a test, a build, a linter."""
        return self.program.split(" ", 1)[0] in _CHECKS

    def covers(self, other: Command) -> bool:
        """Whether a run of this that passes shows that the other would: the same program on as much or more."""
        if self.program != other.program:
            return False
        if not self.operands or not other.operands:
            return not self.operands
        return all(any(_lies_in(o, mine) for mine in self.operands) for o in other.operands)


def _lies_in(path: str, folder: str) -> bool:
    """Whether a file or a folder lies in a folder, as Go (`./...`), pytest (`a.py::test`) and others name them."""
    path, folder = _bare(path), _bare(folder)
    return folder in _ROOTS or path == folder or path.startswith((f"{folder}/", f"{folder}::"))


def _bare(name: str) -> str:
    return name.removeprefix("./").removesuffix("...").rstrip("/")


class Passed:
    """Commands that passed, looked up by what they cover: as many as there are of them, it takes no longer."""

    def __init__(self) -> None:
        self._known: set[Command] = set()
        self._on_all: set[str] = set()
        self._in: dict[tuple[str, str], set[int]] = {}
        self._lengths: dict[str, set[int]] = {}

    def note(self, command: Command) -> None:
        """Take note of a run that passed."""
        if command in self._known:
            return
        self._known.add(command)
        if not command.operands:
            self._on_all.add(command.program)
        for folder in map(_bare, command.operands):
            self._in.setdefault((command.program, folder), set()).add(len(self._known))
            self._lengths.setdefault(command.program, set()).add(len(folder))

    def covers(self, command: Command) -> bool:
        """Whether one of them `Command.covers` this one."""
        if command.program in self._on_all:
            return True
        each = [self._covering(command.program, operand) for operand in command.operands]
        return bool(each) and bool(set[int].intersection(*sorted(each, key=len)))

    def _covering(self, program: str, operand: str) -> set[int]:
        """Name the commands in one of whose folders something lies."""
        path, lengths = _bare(operand), self._lengths.get(program, set())
        ends = (n for n in lengths if n <= len(path) and (n == len(path) or path.startswith(("/", "::"), n)))
        folders = (*_ROOTS, *(path[:end] for end in ends))
        return set().union(*(self._in.get((program, folder), ()) for folder in folders))


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that failed, with nothing later that shows it would pass.

    Attributes:
        run: the latest one.
        checks: whether it is a test, a build or a linter.
        went_on: whether other calls were made after it.
    """

    run: Ran
    checks: bool
    went_on: bool


def standing_failures(happened: Sequence[Event], *, memo: Memo = unremembered) -> tuple[Failure, ...]:
    """Find calls of any tool whose latest run failed and was not made good, in order.

    A later passing run makes good what it covers (`pytest` covers `pytest tests/a.py`); a failed edit is made good
    by a later change of the same file, other calls by the same call.
    """
    runs = [event for event in happened if isinstance(event, Ran)]
    found: list[Failure] = []
    passed, failed = Passed(), set[Command]()
    for place in range(len(runs) - 1, -1, -1):
        run = runs[place]
        command = memo(run.place, "command", functools.partial(read, run), size=_chars)
        if not run.failed:
            passed.note(command)
        elif command not in failed and not passed.covers(command):
            failed.add(command)
            found.append(Failure(run, run.classified.command is not None and command.checks, place < len(runs) - 1))
    return tuple(reversed(found))


def _chars(command: Command) -> int:
    return len(command.program) + sum(map(len, command.operands))


def read(run: Ran) -> Command:
    """Say what a call comes to. A call of a tool that runs no command line is its name and its target."""
    if run.classified.command is not None:
        return command_of(run.classified.command)
    first = run.arguments_text.split("\n", 1)[0] if run.classified.kind == "mutation" else run.arguments_text
    return Command(run.classified.tool, frozenset((first,)))


def command_of(line: str) -> Command:
    """Find what counts in a command line: the first check in it, else all of it.

    >>> command_of("cd x && timeout 60 python -m pytest -q tests/a.py 2>&1 | tail -5")
    Command(program='pytest', operands=frozenset({'tests/a.py'}))
    """
    for pipeline in split(line) or ():
        for stage in pipeline:
            words = _unwrapped(stage.words)
            if words and (found := _named(words)).checks:
                return found
    # What no check runs over and over is told apart to the letter: another version of a package is another try.
    return Command(line_of(line).text, frozenset())


def error_lines(run: Ran) -> tuple[str, ...]:
    """Give the lines of a failed run that tell what went wrong, byte for byte, at most `MAX_ERROR_LINES`, in order."""
    lines = [piece for line in run.text.split("\n") if len(piece := _exact(line)) >= _MIN_LINE_CHARS]
    telling = [at for at, line in enumerate(lines) if _tells(line)]
    best = sorted(telling, key=lambda at: (_TELLS_MOST.search(lines[at]) is None, -at))[:MAX_ERROR_LINES]
    chosen = [lines[at] for at in sorted(best)] if telling else lines[-2:]
    return tuple(dict.fromkeys(line for line in map(_cut, chosen) if line))


def _tells(line: str) -> bool:
    if _EMPTY_WORDS.match(line):
        return False
    plain = "\n" + line + "\n"
    return bool(
        exactness_data.CERTAIN.search(plain)
        or exactness_data.LIKELY.search(plain)
        or exactness_data.HEAD_WORDS.match(line)
        or any(needle in line and pattern.search(line) for needle, pattern in exactness_data.ANYWHERE)
    )


def is_coloured(line: str) -> bool:
    """Whether a line holds a terminal's escapes, as they are or as JSON writes them."""
    return "\x1b" in line or "\\u001b" in line


def _exact(line: str) -> str:
    """Give the longest piece of a line between its colours; the line without its end where it has none."""
    if is_coloured(line):
        line = max(_ANSI.split(line), key=len)
    return line.strip("\r").rstrip()


def _cut(line: str) -> str:
    if len(line) <= MAX_LINE_CHARS:
        return line
    # Between two words only: half a name is another name.
    return line[: max(0, line.rfind(" ", 0, MAX_LINE_CHARS))].rstrip()


def _unwrapped(words: Sequence[str]) -> tuple[str, ...]:
    left = list(words)
    while left:
        word = posixpath.basename(left[0])
        if shellkinds_data.KEYWORDS & {word} or re.match(r"[A-Za-z_]\w*\+?=", left[0]):
            left = left[1:]
        elif word in shellkinds_data.WRAPPERS:
            options, operands = shellkinds_data.WRAPPERS[word]
            left = left[1:]
            while left and left[0].startswith("-"):
                left = left[2:] if left[0] in options else left[1:]
            left = left[operands:]
        else:
            return (word, *left[1:])
    return ()


def _named(words: Sequence[str]) -> Command:
    program, rest = words[0], list(words[1:])
    if re.fullmatch(r"python[\d.]*|py", program) and rest[:1] == ["-m"] and len(rest) > 1:
        program, rest = rest[1], rest[2:]
    elif program in {"uv", "poetry", "npx", "hatch"} and rest[:1] == ["run"] and len(rest) > 1:
        return _named([posixpath.basename(rest[1]), *rest[2:]])
    operands = [word for word in rest if not word.startswith("-")]
    if program in _WITH_SUBCOMMAND and operands:
        # `npm run x` and `npm run y` are two things.
        taken = 2 if operands[0] in {"run", "exec", "compose"} else 1
        program, operands = " ".join((program, *operands[:taken])), operands[taken:]
    return Command(program, frozenset(word for word in operands if _NAMES_A_PATH.search(word)))


def first_line(run: Ran) -> str:
    """Give the first line of the command, or of another call's arguments, as far as the result's own message shows it.

    Empty where it shows no whole word of it.
    """
    whole = run.arguments_text if run.classified.command is None else run.classified.command
    line = next((line.strip() for line in whole.split("\n") if line.strip()), "")
    while line and line not in run.shown_call:
        line = line[: max(0, line.rfind(" "))].rstrip()
    return line
