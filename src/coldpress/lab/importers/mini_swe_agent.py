"""Turn a mini-swe-agent trajectory file into trajectories: one for the run, one more for each reply it threw away.

Formats 1 and 1.1 (`trajectory_format`), of programs 1.x and 2.x. Since 2.0 the model calls a `bash` tool. Before, and
in its text mode since, an action is a fenced block in the reply and its outcome is a message of the user. Here such an
action becomes a call of `bash` and its outcome the call's result, unless the caller asks for the text as recorded.
Since 2.0 a reply in a wrong form is not shown to the model again, only the complaint about it is; it was paid for all
the same.

Times: since 2.0 each message has one. Before, only the whole second in which the provider began to answer is known.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from coldpress.lab.importers.chains import Chains, Imported
from coldpress.lab.importers.conversation import UNKNOWN_MODEL
from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.dialogue import Block, Part, calls_of, message, says_something, tools_of
from coldpress.lab.importers.jsonvalues import (
    JsonObject,
    known_time,
    number_in,
    object_in,
    objects_in,
    read_json,
    text_in,
)
from coldpress.lab.importers.mini_swe_agent_messages import BASH, Scribe, action_pattern, timeout_opening
from coldpress.lab.importers.weave import added
from coldpress.lab.jsontext import compact_json
from coldpress.lab.rebuild import RequestHead
from coldpress.model.errors import RecordingError
from coldpress.model.trajectory import Turn
from coldpress.wire.usage import Bill, UsageFields
from coldpress.wire.usage_fields import read_usage

Actions = Literal["calls", "text"]
"""Whether actions in text become calls of `bash`, or stay the text that was sent."""

FORMATS = ("mini-swe-agent-1", "mini-swe-agent-1.1")

_TOOL = compact_json(
    {
        "name": BASH,
        "description": "Run a bash command.",
        "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    }
)


def read_file(path: Path, *, actions: Actions = "calls") -> Imported:
    """Read one trajectory file.

    Raises:
        OSError: the file cannot be read.
        RecordingError: it is no trajectory of mini-swe-agent.
    """
    return read_bytes(path.read_bytes(), name=path.name.removesuffix(".json").removesuffix(".traj"), actions=actions)


def read_bytes(raw: bytes, *, name: str, actions: Actions = "calls") -> Imported:
    """Read the bytes of a trajectory file; `name` begins the names of its trajectories.

    Raises:
        RecordingError: it is no trajectory of mini-swe-agent; says what it is.
    """
    tally = Tally()
    try:
        found = read_json(raw, tally.skipped)
    except (ValueError, RecursionError) as error:
        raise RecordingError(
            f"mini-swe-agent trajectory {name}: no JSON ({error}); make it again or check the file"
        ) from error
    if not isinstance(found, dict):
        raise RecordingError(f"mini-swe-agent trajectory {name}: no JSON object; make it again or check the file")
    if (written := found.get("trajectory_format")) not in FORMATS:
        raise RecordingError(
            f"mini-swe-agent trajectory {name}: its trajectory_format is {written!r}; this version reads "
            f"{' and '.join(FORMATS)}"
        )
    config = object_in(object_in(found, "info"), "config")
    pattern = None if actions == "text" else action_pattern(config, fenced=written == FORMATS[0])
    run = _Run(Scribe(pattern, timeout_opening(config), tally), text_in(found, "instance_id") or name, tally)
    messages_in = found.get("messages")
    for item in messages_in if isinstance(messages_in, list) else ():
        if not isinstance(item, dict):
            tally.broken("messages that are no object")
    run.read(objects_in(found, "messages"))
    tally.lines = 1
    return Imported(run.chains.trajectories(name), tally.counts(), run.head())


class _Run:
    """Reads the messages of one run from first to last."""

    def __init__(self, scribe: Scribe, session: str, tally: Tally) -> None:
        self.chains = Chains()
        self._scribe = scribe
        self._session = session
        self._tally = tally
        self._system: list[str] = []
        self._parts: list[Part] = []
        self._times: list[float] = []
        self._waiting: list[int] = []
        self._previous: int | None = None
        self._open_calls: tuple[str, ...] = ()
        self._called = False

    def head(self) -> RequestHead | None:
        """Give the recorded system prompt, `None` where there is none; the definition of the tool is made up."""
        if not self._system:
            return None
        return RequestHead("\n\n".join(self._system), (_TOOL,) if self._called else ())

    def read(self, recorded: list[JsonObject]) -> None:
        """Take every message, each with the one behind it."""
        for at, found in enumerate(recorded):
            role = text_in(found, "role") or "(none)"
            number = self._tally.take(f"message:{role}")
            assert number == at  # they are told apart by their place
            if role == "assistant":
                self._reply(at, found, recorded[at + 1] if at + 1 < len(recorded) else {})
            elif role in ("user", "tool"):
                self._client(at, found)
            elif role == "system" and self._previous is None:
                self._system.append(text_in(found, "content") or "")
                self._tally.use(at)
            elif role == "exit":
                self._tally.set_aside("exit messages (never sent)", at)
            else:
                self._tally.not_known(f"messages of an unknown role: {role}", at)
        for at in self._waiting:
            self._tally.set_aside("client messages that no reply follows", at)

    def _reply(self, at: int, found: JsonObject, following: JsonObject) -> None:
        extra = object_in(found, "extra")
        replied_at = self._time(extra, "timestamp")
        blocks = self._scribe.reply(found, answered=_is_outcome(following))
        if not self._parts and self._previous is None:
            self._tally.set_aside("replies to nothing", at)
            return
        stands = says_something(blocks)
        turn = self._turn(blocks, extra, replied_at)
        self.chains.add(at, turn, behind=self._previous, session=self._session, shown_later=stands)
        self._tally.use(at, *self._waiting)
        if stands:
            self._previous, self._open_calls = at, calls_of(blocks)
            self._parts, self._times = [], [] if replied_at is None else [replied_at]
            self._waiting = []
            self._called = self._called or bool(turn.tools)
        else:
            self._tally.skipped["replies that say nothing"] += 1

    def _client(self, at: int, found: JsonObject) -> None:
        extra = object_in(found, "extra")
        if object_in(extra, "response"):
            # A reply in a wrong form: it stands beside the complaint about it, and in no later request.
            said = object_in(_choice(extra), "message")
            turn = self._turn(self._scribe.reply(said, answered=False), extra, None)
            self.chains.add(at, turn, behind=self._previous, session=self._session, shown_later=False)
            self._tally.use(at)
        self._waiting.append(at)
        self._parts.append(Part("user", self._scribe.client(found)))
        self._times += [time for time in (self._time(extra, "timestamp"),) if time is not None]

    def _time(self, found: JsonObject, key: str) -> float | None:
        return known_time(number_in(found, key), self._tally.skipped)

    def _turn(self, blocks: tuple[Block, ...], extra: JsonObject, replied_at: float | None) -> Turn:
        response = object_in(extra, "response")
        bill = _bill(response)
        # Without times of messages, the second in which the provider began is the nearest to when the request left.
        times = self._times or [time for time in (self._time(response, "created"),) if time is not None]
        if text_in(object_in(_choice(extra), "message"), "reasoning") and not any("thinking" in b.type for b in blocks):
            self._tally.skipped["reasoning that was not sent again"] += 1
        return Turn(
            added=added(self._parts, self._open_calls, self._tally),
            reply=message("assistant", blocks),
            model=text_in(response, "model") or UNKNOWN_MODEL,
            sent_at=max(times, default=None),
            replied_at=replied_at,
            usage=bill.usage,
            request_id=text_in(response, "id"),
            tools=tools_of(blocks),
            # Since 2.0 the program works the cost out where the provider names none, and writes zero where it cannot.
            reported_usd=bill.reported_usd if bill.reported_usd is not None else number_in(extra, "cost") or None,
        )


def _is_outcome(following: JsonObject) -> bool:
    """Whether a message tells what came of an action; since 2.0 the return code stands beside it."""
    extra = object_in(following, "extra")
    return following.get("role") == "user" and (not extra or "returncode" in extra)


def _choice(extra: JsonObject) -> JsonObject:
    return next(iter(objects_in(object_in(extra, "response"), "choices")), {})


def _bill(response: JsonObject) -> Bill:
    """Read the usage of a Chat Completions response."""
    fields = UsageFields("openai")
    fields.merge(read_usage(compact_json(object_in(response, "usage")).encode()))
    return fields.bill(text_in(response, "model"))
