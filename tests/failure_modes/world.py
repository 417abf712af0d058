"""Let a simulated agent work: a model that goes by what it is shown, its tools, a strict provider, a window."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from support import settings

from coldpress import Session
from coldpress.config import Settings
from coldpress.engine.budget import BudgetRule, Budgets, Stage
from coldpress.model.records import Pressure
from coldpress.model.usage import Usage
from coldpress.testing import Call, Part, Rules, Say, Script, Turn
from coldpress.testing.provider import Provider

Json = dict[str, Any]
Model = Callable[[str], tuple[Part, ...]]
"""Answers what it is shown, all texts, calls and results in order; without a call the task is done."""

MODEL = "house-model"
"""Of no known family, so that the provider and coldpress count alike from the first request on."""

SYSTEM = (
    "You are a careful engineer. Work step by step, one thing at a time, and say in a sentence what you found. " * 60
)
CACHED: Json = {"type": "ephemeral"}
SECONDS_BETWEEN = 20.0
"""No cache goes cold in between."""


@dataclass(frozen=True)
class Asked:
    """A request that was answered: what was sent, and what it was billed."""

    body: Json = field(repr=False)
    usage: Usage

    @property
    def text(self) -> str:
        return shown_text(self.body)

    @property
    def read_share(self) -> float:
        """How much of the prompt was read from the cache."""
        return (self.usage.read or 0) / (self.usage.prompt or 1)


@dataclass(frozen=True)
class Run:
    """How a task went."""

    ending: Literal["done", "refused", "gave up"]
    asked: tuple[Asked, ...]
    calls: tuple[tuple[str, Json], ...]
    answer: str = ""

    @property
    def repeats(self) -> int:
        """Calls that had been made before, to the letter."""
        made = [json.dumps(call, sort_keys=True) for call in self.calls]
        return len(made) - len(set(made))

    @property
    def commands(self) -> list[str]:
        return [str(arguments.get("command", "")) for name, arguments in self.calls if name == "Bash"]

    @property
    def read_tokens(self) -> int:
        return sum(one.usage.read or 0 for one in self.asked)

    @property
    def prompt_tokens(self) -> int:
        return sum(one.usage.prompt or 0 for one in self.asked)


class Arm(Protocol):
    """Whoever keeps the history of a conversation, and says what of it is sent."""

    def add(self, message: Json) -> None:
        """Take a message that was said."""

    def shown(self) -> Json:
        """Give `messages`, and other keys of the body that are to be sent otherwise."""

    def learn(self, reply: Json) -> None:
        """See the reply."""


class Pressed:
    """The arm with coldpress: the whole history, and a session that says what is sent."""

    def __init__(self, session: Session, tools: list[Json]) -> None:
        self.session = session
        self.history: list[Json] = []
        self._tools = tools

    def add(self, message: Json) -> None:
        self.history.append(message)

    def shown(self) -> Json:
        extra = {"cache_control": CACHED}
        return {"messages": list(self.session.compact(self.history, system=SYSTEM, tools=self._tools, extra=extra))}

    def learn(self, reply: Json) -> None:
        self.session.observe(reply)

    @property
    def compactions(self) -> list[Pressure]:
        """What was applied under pressure, in order."""
        found = (entry.receipt.pressure for entry in self.session.receipts())
        return [one for one in found if one is not None and one.reason in ("masked", "masked_short", "summarised")]

    @property
    def findings(self) -> list[str]:
        """Kinds of what the watchers noticed, in order."""
        entries = self.session.receipts()
        both = (f for e in entries for f in (*e.receipt.findings, *(e.outcome.findings if e.outcome else ())))
        return [finding.kind for finding in both]


@dataclass(frozen=True)
class World:
    """A task, and everything it is worked on with.

    Attributes:
        task: the first message of the user.
        model: what answers.
        tools: by name; each takes its arguments and gives a text. One that begins with `Exit code` failed.
        window_tokens: longer prompts are refused.
        says: what the user says together with the results of a turn, by its number from 1.
        most_requests: then the harness gives up.
    """

    task: str
    model: Model
    tools: Mapping[str, Callable[[Json], str]]
    window_tokens: int
    says: Mapping[int, str] = field(default_factory=dict)
    most_requests: int = 60

    @property
    def offered(self) -> list[Json]:
        """The tools as they are offered."""
        return [{"name": name, "input_schema": {"type": "object"}} for name in self.tools]

    def run(self, arm: Arm) -> Run:
        """Work until the model calls no tool, the provider refuses, or there were too many requests."""
        clock = itertools.count(0.0, SECONDS_BETWEEN)
        answers = Script(answer=lambda asked: Turn(self.model(shown_text(asked.body))))
        now = [0.0]
        provider = Provider(answers, Rules(window_tokens=self.window_tokens), clock=lambda: now[0])
        asked: list[Asked] = []
        calls: list[tuple[str, Json]] = []
        arm.add({"role": "user", "content": [{"type": "text", "text": self.task}]})
        for number in range(self.most_requests):
            now[0] = next(clock)
            body = self._body(arm.shown())
            served = provider.messages(body, number=number, request_id=f"r{number}", betas="")
            if served.refusal is not None or served.usage is None:
                return Run("refused", tuple(asked), tuple(calls), served.refusal or "")
            asked.append(Asked(body, served.usage))
            reply = json.loads(b"".join(served.written.pieces))
            arm.learn(reply)
            arm.add({"role": "assistant", "content": reply["content"]})
            made = [block for block in reply["content"] if block["type"] == "tool_use"]
            if not made:
                return Run("done", tuple(asked), tuple(calls), reply["content"][-1]["text"])
            calls += [(block["name"], block["input"]) for block in made]
            arm.add({"role": "user", "content": [*map(self._result, made), *self._said(number + 1)]})
        return Run("gave up", tuple(asked), tuple(calls))

    def _body(self, shown: Json) -> Json:
        head = {"model": MODEL, "max_tokens": 1000, "system": SYSTEM, "tools": self.offered, "cache_control": CACHED}
        return json.loads(json.dumps({**head, **shown}))  # type: ignore[no-any-return]

    def _result(self, call: Json) -> Json:
        text = self.tools[call["name"]](call["input"])
        failed = {"is_error": True} if text.startswith("Exit code") else {}
        return {"type": "tool_result", "tool_use_id": call["id"], "content": text, **failed}

    def _said(self, turn: int) -> Iterator[Json]:
        if turn in self.says:
            yield {"type": "text", "text": self.says[turn]}


def shown_text(body: Mapping[str, Any]) -> str:
    """Write out what a model reads behind its system prompt: texts, calls with their arguments, results, in order."""
    return "\n".join(text for message in body["messages"] for text in texts_of(message))


def texts_of(message: Json) -> Iterator[str]:
    """Give the texts of a message."""
    content = message["content"]
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        match block["type"]:
            case "text":
                yield block["text"]
            case "tool_use":
                yield f"{block['name']} {json.dumps(block['input'])}"
            case "tool_result" if isinstance(block["content"], str):
                yield block["content"]
            case "tool_result":
                yield from (part["text"] for part in block["content"])


@contextmanager
def coldpress(world: World, *, stages: Sequence[Stage] = ("mask", "summary"), **more: Any) -> Iterator[Pressed]:
    """The arm with coldpress and its defaults, in the window of a world."""
    with Session(MODEL, provider="anthropic", settings=budgeted(world.window_tokens, stages, **more)) as session:
        yield Pressed(session, world.offered)


def budgeted(window_tokens: int, stages: Sequence[Stage] = ("mask", "summary"), **more: Any) -> Settings:
    """The built-in settings with a window; `more` are other settings."""
    rule = replace(BudgetRule(), window_tokens=window_tokens, stages=tuple(stages), urgent=more.pop("urgent", None))
    return settings(**{"budgets": Budgets(rule), **more})


def say(text: str, tool: str | None = None, **arguments: object) -> tuple[Part, ...]:
    """A turn of a model: a sentence, and a call where there is one."""
    return (Say(text), Call(tool, arguments)) if tool is not None else (Say(text),)


def source(path: str, *, lines: int = 60, fact: str = "") -> str:
    """A file as a reading tool shows it, some 900 tokens at 60 lines, with one line worth knowing in its middle."""
    stem = path.rpartition("/")[2].partition(".")[0]
    rows = [f"def {stem}_{n}(value: int) -> int: return value * {n * 7 % 50} + {n}" for n in range(lines)]
    rows[lines // 2] = fact or rows[lines // 2]
    return "\n".join(f"{n:6}\t{row}" for n, row in enumerate(rows, start=1))


def build_log(name: str, *, lines: int = 90) -> str:
    """The output of a command that went well, some 1,500 tokens at 90 lines."""
    return "\n".join(f"step {n:3} of {name}: built part_{n} from src/{name}/{n % 17}/part.c" for n in range(lines))
