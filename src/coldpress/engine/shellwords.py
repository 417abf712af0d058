"""Split a shell command line into pipelines of commands, as far as telling what it runs needs.

This is a reader, not a shell: quotes, substitutions, here-documents, groups and redirections are recognised so that
nothing inside them is taken for a command, and expansions are left as they stand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MAX_DEPTH: Final = 32
"""Groups and substitutions inside each other. Deeper command lines are not read: nobody writes them by hand."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirection. `operator` is without its file descriptor: `>`, `>>`, `<`, `<<`, `>&`, ..."""

    operator: str
    target: str


@dataclass(frozen=True, slots=True)
class Stage:
    """One command of a pipeline. A group (`( ... )`) that feeds a pipe leaves a stage without words."""

    words: tuple[str, ...]
    redirects: tuple[Redirect, ...] = ()


Pipeline = tuple[Stage, ...]


def split(command: str) -> tuple[Pipeline, ...] | None:
    """Split a command line; `None` where quotes or brackets do not close, or nest too deep.

    >>> [[stage.words for stage in pipeline] for pipeline in split("cd src && cat 'a b.py' | head -3") or ()]
    [[('cd', 'src')], [('cat', 'a b.py'), ('head', '-3')]]
    """
    try:
        return _Scanner(command).pipelines(closing="")
    except _Unreadable:
        return None


class _Unreadable(Exception):
    """The command line ends inside a quote or bracket; turned into `None` by `split`."""


_BLANK: Final = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
_COMMENT: Final = re.compile(r"#[^\n]*")
_REDIRECT: Final = re.compile(r"(?:\d+|\{\w+\})?(<<<|<<-|<<|<>|<&|<(?!\()|>>|>\||>&|>(?!\())|(&>>|&>)")
_CONTROL: Final = re.compile(r"&&|\|\||;;&|;;|;&|;|\|&|&|\||\n")
_PLAIN: Final = re.compile(r"[^\s'\"\\$`|&;()<>]+")
_DOUBLE_PLAIN: Final = re.compile(r'[^"\\$`]+')
_ANSI_C: Final = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_BACKTICKS: Final = re.compile(r"`(?:[^`\\]|\\.)*`", re.DOTALL)
_WORD_ENDS: Final = frozenset(" \t\r\n|&;)<>")


class _Builder:
    """Collect words into stages and stages into pipelines."""

    def __init__(self) -> None:
        self.pipelines: list[Pipeline] = []
        self.stages: list[Stage] = []
        self.words: list[str] = []
        self.redirects: list[Redirect] = []
        self.grouped = False

    def end_stage(self) -> None:
        if self.words or self.redirects or self.grouped:
            self.stages.append(Stage(tuple(self.words), tuple(self.redirects)))
        self.words, self.redirects, self.grouped = [], [], False

    def end_pipeline(self) -> None:
        self.end_stage()
        if self.stages:
            self.pipelines.append(tuple(self.stages))
        self.stages = []

    def add_group(self, inner: tuple[Pipeline, ...]) -> None:
        self.pipelines.extend(inner)
        self.grouped = True


class _Scanner:
    """Read a command line from left to right. `at` is the next character, `heredocs` what the next line starts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.has_case = "case" in text
        self.heredocs: list[tuple[str, bool]] = []

    def pipelines(self, *, closing: str) -> tuple[Pipeline, ...]:
        """Read up to and over `closing`, or to the end where it is empty."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _Unreadable
        into = _Builder()
        while self.at < len(self.text):
            if closing and self.text.startswith(closing, self.at):
                self.at += len(closing)
                break
            self._token(into)
        else:
            if closing:
                raise _Unreadable
        self.depth -= 1
        into.end_pipeline()
        return tuple(into.pipelines)

    def _token(self, into: _Builder) -> None:
        text, at = self.text, self.at
        if match := _BLANK.match(text, at) or _COMMENT.match(text, at):
            self.at = match.end()
        elif match := _REDIRECT.match(text, at):
            self.at = match.end()
            self._redirect(into, match[1] or match[2])
        elif match := _CONTROL.match(text, at):
            self.at = match.end()
            self._control(into, match[0])
        elif text.startswith("((", at):
            self._arithmetic()
        elif text[at] == "(":
            self.at += 1
            into.add_group(self.pipelines(closing=")"))
        elif text[at] == ")":
            # Outside a group this ends the pattern of a `case` branch; anything else is not a command line.
            if not self.has_case:
                raise _Unreadable
            self.at += 1
            into.end_pipeline()
        else:
            into.words.append(self._word())

    def _control(self, into: _Builder, operator: str) -> None:
        if operator in ("|", "|&"):
            into.end_stage()
            return
        into.end_pipeline()
        if operator == "\n":
            self._heredoc_bodies()

    def _redirect(self, into: _Builder, operator: str) -> None:
        if match := _BLANK.match(self.text, self.at):
            self.at = match.end()
        target = self._word() if self.at < len(self.text) else ""
        if operator in ("<<", "<<-"):
            self.heredocs.append((target, operator == "<<-"))
        into.redirects.append(Redirect(operator, target))

    def _heredoc_bodies(self) -> None:
        """Jump over the bodies of the here-documents that the line before this one opened."""
        for delimiter, indented in self.heredocs:
            tabs = r"\t*" if indented else ""
            end = re.compile(rf"^{tabs}{re.escape(delimiter)}\r?$\n?", re.MULTILINE).search(self.text, self.at)
            self.at = end.end() if end else len(self.text)
        self.heredocs = []

    def _word(self) -> str:
        parts: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if match := _PLAIN.match(self.text, self.at):
                self.at = match.end()
                parts.append(match[0])
            elif char in "<>" and self.text.startswith("(", self.at + 1):
                self.at += 2
                self.pipelines(closing=")")
                parts.append("$")
            elif char in _WORD_ENDS:
                break
            elif char == "(":  # an array, an extended pattern or a function's name
                self.at += 1
                self.pipelines(closing=")")
            else:
                parts.append(self._quoted(char))
        return "".join(parts)

    def _quoted(self, char: str) -> str:
        if char == "'":
            end = self.text.find("'", self.at + 1)
            if end < 0:
                raise _Unreadable
            start, self.at = self.at + 1, end + 1
            return self.text[start:end]
        if char == '"':
            self.at += 1
            return self._double()
        if char == "\\":
            escaped = self.text[self.at + 1 : self.at + 2]
            self.at += 2
            return "" if escaped == "\n" else escaped
        return self._expansion()

    def _double(self) -> str:
        parts: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if match := _DOUBLE_PLAIN.match(self.text, self.at):
                self.at = match.end()
                parts.append(match[0])
            elif char == '"':
                self.at += 1
                return "".join(parts)
            elif char == "\\":
                parts.append(self.text[self.at + 1 : self.at + 2])
                self.at += 2
            else:
                parts.append(self._expansion(quoted=True))
        raise _Unreadable

    def _expansion(self, *, quoted: bool = False) -> str:
        """Read what starts with `$` or a backtick; what it would give is shown as `$`."""
        text, at = self.text, self.at
        if text[at] == "`":
            match = _BACKTICKS.match(text, at)
            if not match:
                raise _Unreadable
            self.at = match.end()
        elif not quoted and (match := _ANSI_C.match(text, at)):
            self.at = match.end()
            return match[1]
        elif text.startswith("$((", at):
            self.at += 1
            self._arithmetic()
        elif text.startswith("$(", at):
            self.at += 2
            self.pipelines(closing=")")
        elif text.startswith("${", at):
            self._braces()
        else:
            self.at += 1
        return "$"

    def _arithmetic(self) -> None:
        self.at = self._balanced("(", ")", self.at)

    def _braces(self) -> None:
        self.at = self._balanced("{", "}", self.at + 1)

    def _balanced(self, opening: str, closing: str, start: int) -> int:
        """Find the end of a bracket that starts at `start`, counting only its own kind."""
        depth = 0
        for match in re.compile(rf"\\.|[{opening}{closing}]", re.DOTALL).finditer(self.text, start):
            depth += {opening: 1, closing: -1}.get(match[0], 0)
            if depth == 0:
                return match.end()
        raise _Unreadable
