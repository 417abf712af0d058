"""Turn a SWE-agent `.traj` file into trajectories: one for each agent and attempt, one more for each reply thrown away.

Since 1.0 the model may call tools, and such calls stand in the `history`. In other runs an action is a part of the
reply's text and its outcome a message of the user: here it becomes a call of a tool that is named after the command's
first word, and its outcome the call's result, unless the caller asks for the text as recorded. Demonstrations in the
history are said again by the client; no request of this run brought them. What a history processor took out of a
request stands in ours, as it does in the history.

Times are not recorded, and usage only as sums over the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from coldpress.lab.importers.chains import Chains, Imported
from coldpress.lab.importers.chat_heads import Beside, imported
from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.jsonvalues import JsonObject, object_in, objects_in, read_json, text_in
from coldpress.lab.importers.swe_agent_messages import Actions, Reading, Step, Writer
from coldpress.lab.importers.weave import Weaver
from coldpress.model.errors import RecordingError

__all__ = ["Actions", "read_bytes", "read_file", "recognises"]

_NOBODY = frozenset({"replay", "human", "human_thought", "instant_empty_submit"})
"""What stands for a model in runs that asked none."""

_OTHER_PROMPT = "requests that showed less than the history (a history processor)"
_WHOLE_RUN = "sums of tokens over a run (no request's own)"


def recognises(found: object) -> bool:
    """Whether a JSON value is a run of SWE-agent: a trajectory of steps, and a history beside it."""
    return isinstance(found, dict) and any(_steps_of(attempt) for attempt in _attempts(found))


def _steps_of(attempt: JsonObject) -> bool:
    steps, history = objects_in(attempt, "trajectory"), objects_in(attempt, "history")
    return bool(steps) and bool(history) and {"action", "observation"} <= steps[0].keys()


def read_file(path: Path, *, actions: Actions = "calls") -> Imported:
    """Read one `.traj` file.

    Raises:
        OSError: the file cannot be read.
        RecordingError: it is no trajectory of SWE-agent.
    """
    return read_bytes(path.read_bytes(), name=path.name.removesuffix(".json").removesuffix(".traj"), actions=actions)


def read_bytes(raw: bytes, *, name: str, actions: Actions = "calls") -> Imported:
    """Read the bytes of a `.traj` file; `name` begins the names of its trajectories.

    Raises:
        RecordingError: it is no trajectory of SWE-agent; says what it is.
    """
    notes = Counter[str]()
    try:
        found = read_json(raw, notes)
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"SWE-agent trajectory {name}: no JSON ({error}); check the file") from error
    if not isinstance(found, dict) or not recognises(found):
        raise RecordingError(
            f"SWE-agent trajectory {name}: no `trajectory` of steps with a `history` beside it; give a .traj file"
        )
    run = _Run(name, actions)
    run.tally.skipped += notes
    for attempt in _attempts(found):
        run.take(attempt, found)
    return imported(run.chains.trajectories(name), run.told, run.tally)


def _attempts(found: JsonObject) -> list[JsonObject]:
    """Give the attempts of a run that tries again; most files hold one, which is the file itself."""
    return objects_in(found, "attempts") or [found]


class _Run:
    """Reads the attempts of one file. `told` is what stands beside the messages of each line of `chains`."""

    def __init__(self, name: str, actions: Actions) -> None:
        self.chains = Chains()
        self.told: list[Beside] = []
        self.tally = Tally()
        self.tally.lines = 1
        self._name = name
        self._actions = actions
        self._next_turn = 0

    def take(self, attempt: JsonObject, file: JsonObject) -> None:
        """Take one attempt: each agent has a conversation of its own, and sees only what bears its name."""
        history, model = self._objects(attempt, "history"), _model(attempt) or _model(file)
        steps = [
            Step(self.tally.take("step"), text_in(step, "response") or "", step)
            for step in self._objects(attempt, "trajectory")
        ]
        self._note(attempt, history, steps)
        agents = list(dict.fromkeys(text_in(found, "agent") or "" for found in history))
        replies = {agent: _replies(history, agent) for agent in agents}
        main = max(agents, key=lambda agent: len(replies[agent]), default="")
        for agent in agents:
            own = [found for found in history if (text_in(found, "agent") or "") == agent]
            # Steps are those of the agent that the run is of.
            reading = Writer(self._actions, model).write(own, steps if agent == main else ())
            self._tell(reading, side_chain=agent != main)
        for step in steps:
            if not self.tally.holds(step.number):
                self.tally.set_aside("steps without a reply", step.number)

    def _objects(self, attempt: JsonObject, key: str) -> list[JsonObject]:
        found = attempt.get(key)
        for one in found if isinstance(found, list) else ():
            if not isinstance(one, dict):
                self.tally.broken("entries that are no object")
        return objects_in(attempt, key)

    def _tell(self, reading: Reading, *, side_chain: bool) -> None:
        lines = len(self.chains)
        weaver = Weaver(self.chains, self.tally, first=self._next_turn)
        weaver.take(reading.spoken, session=self._name, side_chain=side_chain)
        weaver.end()
        self._next_turn = weaver.next_turn
        self.told += [Beside(reading.system or "")] * (len(self.chains) - lines)
        for kind in reading.system_kinds:
            self.tally.use(self.tally.take(kind))
        for kind in reading.left:
            self.tally.not_known("messages of an unknown role", self.tally.take(kind))

    def _note(self, attempt: JsonObject, history: Sequence[JsonObject], steps: Sequence[Step]) -> None:
        """Count what is recorded of requests and cannot be a request's here."""
        shorter = sum(1 for sent in map(_sent, steps) if sent and not _same(sent, history))
        self.tally.skipped[_OTHER_PROMPT] += shorter
        stats = object_in(object_in(attempt, "info"), "model_stats")
        self.tally.skipped[_WHOLE_RUN] += bool(stats.get("tokens_sent"))


def _replies(history: Sequence[JsonObject], agent: str) -> list[JsonObject]:
    return [
        found for found in history if found.get("role") == "assistant" and (text_in(found, "agent") or "") == agent
    ]  # fmt: skip


def _sent(step: Step) -> list[JsonObject]:
    """Give the messages that a step's request showed, where they are recorded."""
    return objects_in(step.found, "query") or objects_in(step.found, "messages")


def _same(sent: Sequence[JsonObject], history: Sequence[JsonObject]) -> bool:
    """Whether a request showed what stands in the history, up to its length."""
    return len(sent) <= len(history) and all(
        list(_texts(one)) == list(_texts(other)) for one, other in zip(sent, history, strict=False)
    )


def _texts(found: JsonObject) -> Iterator[object]:
    content = found.get("content")
    for part in content if isinstance(content, list) else [content]:
        yield part.get("text", part) if isinstance(part, dict) else part


def _model(attempt: JsonObject) -> str:
    """Name the model that the run was set to; empty where none was asked, or none is recorded."""
    settings = attempt.get("replay_config")
    if isinstance(settings, str):
        try:
            settings = read_json(settings, Counter())
        except (ValueError, RecursionError):
            return ""
    found: JsonObject = settings if isinstance(settings, dict) else {}
    name = text_in(object_in(object_in(found, "agent"), "model"), "name") or ""
    return "" if name in _NOBODY else name
