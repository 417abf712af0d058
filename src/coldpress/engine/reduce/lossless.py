"""Take out bytes that carry nothing, so that a stored recipe puts back every one of them.

Of a source only what the reading tool wrapped around its lines goes: the padding of line numbers. Machine output loses
colours, overwritten progress, repeated lines (counted), paths repeated on every line of a search, JSON indentation.
"""

from __future__ import annotations

import msgspec

from coldpress.engine.catalogue import Kind
from coldpress.engine.reduce import cuts, heading, json_indent, padding, runs, terminal
from coldpress.engine.reduce.reduced import Reduced, pays, size_bytes
from coldpress.engine.reduce.steps import Step

_PADDING = Step("padding", padding.press, padding.restore)
_TERMINAL = (
    Step("progress", terminal.press_progress, cuts.put_back),
    Step("sequences", terminal.press_sequences, cuts.put_back),
    Step("table", terminal.press_table, cuts.put_back),
)
_RUNS = Step("runs", runs.press, runs.restore)
_HEADING = Step("heading", heading.press, heading.restore)
_JSON = Step("json", json_indent.press, json_indent.restore)
_MACHINE = (*_TERMINAL, _JSON, _RUNS)
_STEPS: dict[Kind, tuple[Step, ...]] = {
    "source": (_PADDING,),
    "unknown": (_PADDING,),
    "shell": _MACHINE,
    "search": (*_TERMINAL, _HEADING, _JSON, _RUNS),
    "listing": _MACHINE,
    "web": _MACHINE,
    "mcp": (_JSON,),
}
_BY_NAME = {step.name: step for steps in _STEPS.values() for step in steps}
MAX_ROUNDS = 4
"""Taking something out may join what was apart (half an escape sequence and half of another)."""
MAX_RECIPE_SHARE = 0.5
"""A recipe larger than this share of the original is a copy rather than a recipe."""


class _Recipe(msgspec.Struct, frozen=True):
    steps: tuple[tuple[str, msgspec.Raw], ...]


def reduce(text: str, *, kind: Kind) -> Reduced | None:
    """Give the same result in fewer bytes, or `None` where that saves too little or cannot be undone.

    Binary text (with a NUL) is left alone. `kind` is a kind of the tool catalogue; kinds whose words an
    agent acts on exactly (mutations, plans, memory, diffs, reports) are never changed.
    """
    steps = _STEPS.get(kind, ())
    if not steps or "\0" in text:
        return None
    pressed, done = _apply(steps, text)
    if not done or not pressed or not pays(text, pressed):
        return None
    recipe = msgspec.json.encode(_Recipe(tuple(done))).decode()
    if size_bytes(recipe) > MAX_RECIPE_SHARE * size_bytes(text) or restore(pressed, recipe) != text:
        return None
    return Reduced(pressed, recipe)


def restore(pressed: str, recipe: str) -> str:
    """Give the original of a pressed text.

    Raises:
        ValueError: the recipe is not ours, or belongs to another text.
    """
    text = pressed
    for name, params in reversed(msgspec.json.decode(recipe, type=_Recipe).steps):
        if name not in _BY_NAME:
            raise ValueError(f"unknown step {name!r} in a lossless recipe; known: {', '.join(sorted(_BY_NAME))}")
        text = _BY_NAME[name].restore(text, bytes(params))
    return text


def _apply(steps: tuple[Step, ...], text: str) -> tuple[str, list[tuple[str, msgspec.Raw]]]:
    done: list[tuple[str, msgspec.Raw]] = []
    for _ in range(MAX_ROUNDS):
        before = text
        for step in steps:
            stepped = step.press(text)
            if stepped is not None:
                text = stepped.text
                done.append((step.name, msgspec.Raw(stepped.params)))
        if text == before:
            return text, done
    return "", []
