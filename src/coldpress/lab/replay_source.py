"""Make a recorded conversation ready for a replay: another model, a client's head, and sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from coldpress.lab.layout import Layout
from coldpress.lab.prompts import Sizes
from coldpress.lab.rebuild import RequestHead, made_up_head
from coldpress.model.trajectory import Trajectory


@dataclass(frozen=True)
class Source:
    """A recorded conversation as it is replayed.

    Attributes:
        trajectory: it, with the models that it asks in the replay.
        layout: its sizes and times.
        head: what stands before its messages.
        counted: tokens of a message (JSON text), as counted.
    """

    trajectory: Trajectory
    layout: Layout
    head: RequestHead
    counted: Callable[[str], int]

    @cached_property
    def sizes(self) -> Sizes:
        """How the provider counts: heads and prompts are as large as the layout says.

        What a fork begins with is warm because its origin sent it; nothing else is.
        """
        turns = self.trajectory.turns
        messages = [message for turn in turns for message in (*turn.added, turn.reply)][:-1]
        counted = sum(self.counted(message) for message in messages)
        layout = self.layout
        scale = (layout.prompt_tokens[-1] - layout.head_tokens) / counted if counted else 1.0
        warm = 0 if self.trajectory.shared_turns else layout.first_read_tokens
        return Sizes(layout.head_tokens, min(warm, layout.head_tokens), scale)


def other_models(trajectories: Sequence[Trajectory], model: str) -> dict[str, str]:
    """Name a model for each that was recorded: the given one for the first, variants of it for others.

    So a change of the model stays one, at the same prices.
    """
    found: dict[str, str] = {}
    for trajectory in trajectories:
        for turn in trajectory.turns:
            found.setdefault(turn.model, f"{model}-v{len(found) + 1}" if found else model)
    return found


def with_models(trajectory: Trajectory, names: Mapping[str, str]) -> Trajectory:
    """Let a trajectory ask other models."""
    return replace(trajectory, turns=tuple(replace(turn, model=names[turn.model]) for turn in trajectory.turns))


def heads(trajectories: Sequence[Trajectory]) -> dict[bool, RequestHead]:
    """Make one head for the main agent of a recording and one for its sub-agents, each with all tools they called."""
    found: dict[bool, RequestHead] = {}
    for trajectory in trajectories:
        made, known = made_up_head(trajectory), found.get(trajectory.side_chain)
        tools = sorted({*made.tools, *(known.tools if known else ())})
        found[trajectory.side_chain] = replace(made, tools=tuple(tools))
    return found
