"""The task of the intent runs: a scripted model that says why it calls where it is asked to, in every way models do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from catalogue import Client
from workspace import make_workspace

from coldpress.testing import Asked, Call, Delivery, Part, Read, Say, Script, Shell, Think, Turn
from coldpress.testing.offered import Offered, offered_tools, resolve

__all__ = ["ANSWER", "FIELD", "MARK", "NO_TEXT", "TASK", "Model", "Written", "make_workspace"]

FIELD = "intent"
TASK = "Build the project, keep a list of what you do, say whether the build went well."
ANSWER = "The build went well, and the list is kept."
MARK = "xqreason"
"""Stands in every reason; no client and no tool writes it."""
NO_TEXT = 470_119_552
"""What the model writes where it fills the field with a number."""
TRACE = "trace.txt"
DELTA_CHARACTERS = 3

Where = Literal["first", "middle", "last", "absent", "number"]


@dataclass(frozen=True, slots=True)
class Command:
    """A shell command that leaves its word in a file and prints it; beside it an optional argument, if there is one."""

    word: str


@dataclass(frozen=True, slots=True)
class Log:
    """The build, whose long log is pressed."""


@dataclass(frozen=True, slots=True)
class Look:
    """A file to read."""

    path: str
    shows: str


@dataclass(frozen=True, slots=True)
class Mapped:
    """A call with an open map: a shell's `env`, or a task's `metadata`; a plain command where there is neither.

    Attributes:
        word: what the command leaves, or the name of the task.
        update: for tasks: change the one that was made.
    """

    word: str
    update: bool = False


Action = Command | Log | Look | Mapped
STEPS: tuple[tuple[tuple[Action, Where], ...], ...] = (
    ((Command("one"), "first"),),
    ((Command("two"), "middle"), (Look("README.md", "A store room"), "last")),
    ((Mapped("three"), "first"), (Command("four"), "last")),
    ((Look("inventory.py", "class Shelf"), "number"), (Command("five"), "absent")),
    ((Mapped("six", update=True), "middle"), (Command("seven"), "first")),
    ((Log(), "last"), (Mapped("eight"), "absent")),
    ((Log(), "middle"), (Look("build.py", "Pretend to build"), "first")),
)


@dataclass(frozen=True, slots=True)
class Written:
    """One call as the model wrote it.

    Attributes:
        tool: its name.
        arguments: its JSON text on the wire.
        why: what has to become of the reason: `captured`, `absent` or `not_text`; empty where none was asked for.
        changed: whether the client has to get it otherwise.
        shows: what its result has to hold.
        mapped: the map that the client has to get.
    """

    tool: str
    arguments: str
    why: str
    changed: bool
    shows: str
    mapped: Mapping[str, str] | None


@dataclass(slots=True)
class Model:
    """The scripted model for one client, and what it wrote.

    Attributes:
        client: who is talked to.
        written: the calls of each turn; a turn that is asked for again is written again.
    """

    client: Client
    written: dict[int, tuple[Written, ...]] = field(default_factory=dict)

    @property
    def script(self) -> Script:
        """The script, for a strict upstream."""
        return Script(
            closing=Turn((Say(ANSWER),)),
            answer=self._answer,
            delivery=Delivery(delta_characters=DELTA_CHARACTERS),
        )

    @property
    def calls(self) -> tuple[Written, ...]:
        """All calls, in order."""
        return tuple(call for turn in sorted(self.written) for call in self.written[turn])

    def _answer(self, asked: Asked) -> Turn | None:
        if not asked.tools:
            return Turn((Say("A short title"),))
        if asked.calls_made < len(STEPS):
            return self._step(asked)
        if asked.calls_made == len(STEPS) and self.client.finish is not None:
            call, written = self._reasoned(_called(Shell(self.client.finish), asked), "first", shows="", asked=asked)
            self.written[asked.calls_made] = (written,)
            return Turn((Say(ANSWER), call))
        return None

    def _step(self, asked: Asked) -> Turn:
        said = f"Step {asked.calls_made + 1} of {len(STEPS)}."
        parts: list[Part] = [Think(f"{said} It comes next."), Say(said)]
        written = []
        for action, where in STEPS[asked.calls_made]:
            call, shows, mapped = self._call(action, asked)
            reasoned, one = self._reasoned(call, where, shows=shows, asked=asked, mapped=mapped)
            parts.append(reasoned)
            written.append(one)
        self.written[asked.calls_made] = tuple(written)
        return Turn(tuple(parts))

    def _call(self, action: Action, asked: Asked) -> tuple[Call, str, Mapping[str, str] | None]:
        """Give the call, what its result has to hold, and the map in it."""
        match action:
            case Command(word):
                return _with_option(_called(Shell(f"echo 'ran ü {word}' | tee -a {TRACE}"), asked), asked), word, None
            case Log():
                lines = self.client.log_lines
                return _called(Shell(f"python3 build.py {lines}"), asked), f"{lines} steps, 0 errors", None
            case Look(path, shows):
                return _called(Read(path), asked), shows, None
            case Mapped(word, update):
                return _mapped(word, update, asked)

    def _reasoned(
        self, call: Call, where: Where, *, shows: str, asked: Asked, mapped: Mapping[str, str] | None = None
    ) -> tuple[Call, Written]:
        """Put the reason where the script says, if the offered schema has the field."""
        tool = _tool(call.tool, asked)
        asks = tool is not None and FIELD in _properties(tool)
        members = list(call.arguments.items())
        if asks and where != "absent":
            value = NO_TEXT if where == "number" else f'{MARK}: "see" {call.tool}, naïve {len(self.written)}'
            members.insert(
                {"first": 0, "middle": len(members) // 2, "number": 0}.get(where, len(members)), (FIELD, value)
            )
        arguments = dict(members)
        text = _text(arguments, whole=asked.format == "anthropic" and asked.body.get("stream") is not True)
        why = {"absent": "absent", "number": "not_text"}.get(where, "captured") if asks else ""
        is_listed = any(isinstance(value, list) and mapped for value in call.arguments.values())
        changed = FIELD in arguments or is_listed
        return Call(call.tool, arguments), Written(call.tool, text, why, changed, shows, mapped)


def words() -> Iterator[str]:
    """The words that commands of every client leave."""
    for step in STEPS:
        yield from (action.word for action, _ in step if isinstance(action, Command))


def _called(part: Shell | Read, asked: Asked) -> Call:
    call = resolve(part, offered_tools(asked.body))
    if not isinstance(call, Call):
        raise TypeError(f"{part} became {call}")
    # It fills whatever is required; the field is filled as the script says.
    return Call(call.tool, {name: value for name, value in call.arguments.items() if name != FIELD})


def _with_option(call: Call, asked: Asked) -> Call:
    """Give a command an argument it need not have, so that there is a middle: spelled as Python spells a float."""
    tool = _tool(call.tool, asked)
    known = {} if tool is None else _properties(tool)
    if "description" in known:
        return Call(call.tool, {**call.arguments, "description": "Leave a word — and print it"})
    return Call(call.tool, {**call.arguments, "timeout": 60.0}) if "timeout" in known else call


def _mapped(word: str, update: bool, asked: Asked) -> tuple[Call, str, Mapping[str, str] | None]:
    values = {"WORD": f"mapped {word}", "OTHER": 'an ü and "a quote"'}
    task, shell = _tool("TaskCreate", asked), _called(Shell("printenv WORD OTHER"), asked)
    tool = _tool(shell.tool, asked)
    if task is not None and (changer := _tool("TaskUpdate", asked)) is not None:
        if update:
            given = {"taskId": "1", "metadata": _map(changer, "metadata", values)}
            return Call("TaskUpdate", given), "task #1", values
        made = {"subject": word, "description": "It is kept", "metadata": _map(task, "metadata", values)}
        return Call("TaskCreate", made), "created successfully", values
    if tool is not None and "env" in _properties(tool):
        return Call(shell.tool, {**shell.arguments, "env": _map(tool, "env", values)}), f"mapped {word}", values
    plain = _called(Shell(f"echo 'mapped {word}'"), asked)
    return plain, f"mapped {word}", None


def _map(tool: Offered, name: str, values: Mapping[str, str]) -> object:
    """Write a map as the schema at hand asks for it: as it is, or as a list of entries."""
    if _properties(tool)[name].get("type") == "array":
        return [{"key": key, "value": value} for key, value in values.items()]
    return dict(values)


def _tool(name: str, asked: Asked) -> Offered | None:
    return next((tool for tool in offered_tools(asked.body) if tool.name == name), None)


def _properties(tool: Offered) -> Mapping[str, Any]:
    found: Any = tool.schema.get("properties")
    return found if isinstance(found, dict) else {}


def _text(arguments: Mapping[str, object], *, whole: bool) -> str:
    """The bytes of arguments on the wire: compact in a whole Messages answer, with spaces everywhere else."""
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":") if whole else None)
