"""Read where the work stands from the plan and to-do calls in a range of messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from coldpress.engine.summary.bound import Candidate
from coldpress.engine.summary.events import Event, Ran, given
from coldpress.model.summary import Item

_LISTS: Final = ("todos", "plan", "todoList", "items", "tasks", "todo_list")
_NAMES: Final = ("content", "step", "title", "subject", "description", "task")
_STATES: Final = ("status", "state")
_CREATED: Final = re.compile(r"[Tt]ask #(\S+?) created")
_WORDS: Final = re.compile(r"[_-]+")
_OPEN: Final = frozenset({"pending", "in_progress", "in-progress", "not-started", "todo", "doing"})


class _Task:
    """One task of a list that is kept call by call."""

    def __init__(self, name: str, number: int) -> None:
        self.name, self.number, self.state = name, number, "pending"


def plan(happened: Sequence[Event]) -> Iterator[Candidate]:
    """Give an item for each entry of the latest plan; open entries weigh more than those that are done.

    Understands calls that give a whole list (`TodoWrite`, `update_plan`) and those that change it entry by entry
    (`TaskCreate`, `TaskUpdate`).
    """
    whole: Ran | None = None
    tasks: dict[str, _Task] = {}
    for event in happened:
        if isinstance(event, Ran) and not event.failed and event.classified.kind == "plan":
            arguments = given(event)
            if any(isinstance(arguments.get(key), list) for key in _LISTS):
                whole = event
            else:
                _follow(tasks, event, arguments)
    if whole is not None:
        yield from _entries(whole)
    for task in tasks.values():
        if task.state != "deleted":
            yield _candidate(task.state, task.name, task.number)


def _entries(run: Ran) -> Iterator[Candidate]:
    arguments = given(run)
    entries = next((value for key in _LISTS if isinstance(value := arguments.get(key), list)), [])
    for entry in entries:
        if isinstance(entry, dict):
            name = next((str(entry[key]) for key in _NAMES if isinstance(entry.get(key), str)), "")
            state = next((str(entry[key]) for key in _STATES if isinstance(entry.get(key), str)), "")
            if name and run.call_number and name in run.arguments_text:
                yield _candidate(state, name, run.call_number)


def _follow(tasks: dict[str, _Task], run: Ran, arguments: dict[str, object]) -> None:
    subject = arguments.get("subject")
    created = _CREATED.search(run.text)
    if isinstance(subject, str) and created is not None and run.call_number and subject in run.arguments_text:
        tasks[created[1]] = _Task(subject, run.call_number)
    task = tasks.get(str(arguments.get("taskId")))
    state = arguments.get("status")
    if task is not None and isinstance(state, str):
        task.state = state


def _candidate(state: str, name: str, number: int) -> Candidate:
    # A state is said in words of ours: `in_progress` would pass for a name out of the message.
    text = f"{_WORDS.sub(' ', state)}: {name}" if state else name
    return Candidate("plan", Item(text, number, (name,)), 6 if state in _OPEN else 2)
