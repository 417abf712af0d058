"""Nothing that a plugin can reach on a view by a public name works without leave, or once the hook is over."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from plugins.world import Asks, call, manager, request, result

from coldpress.model.errors import CapabilityError, ViewClosed
from coldpress.plugins import CallView, RequestView, ResultView, ToolView

SECRET = "words of the conversation"
FREE: dict[type, set[str]] = {
    RequestView: {"format", "harness", "lineage", "model", "provider", "results", "tools", "turn"},
    ResultView: {"failed", "first_sight", "tool"},
    ToolView: {"name"},
    CallView: {"call_id", "lineage", "model", "provider", "tool"},
}
"""What may be read without any capability."""


def uses(view: object) -> dict[str, Callable[[], object]]:
    """Every way to use a view by a public name; methods get as many texts as they take."""
    found: dict[str, Callable[[], object]] = {}
    for name in dir(view):
        if name.startswith("_"):
            continue
        member = inspect.getattr_static(view, name)
        if inspect.isfunction(member):
            given = ["{}"] * (len(inspect.signature(member).parameters) - 1)
            found[name] = lambda name=name, given=given: getattr(view, name)(*given)  # type: ignore[misc]
        else:
            found[name] = lambda name=name: getattr(view, name)  # type: ignore[misc]
    return found


def tried(view: object) -> dict[str, str]:
    """Use a view in every way; `read` or the name of the error."""
    came = {}
    for name, use in uses(view).items():
        try:
            use()
        except (CapabilityError, ViewClosed) as error:
            came[name] = type(error).__name__
        else:
            came[name] = "read"
    return came


def views(may: tuple[Any, ...], work: Callable[[Any], None]) -> None:
    """Run hooks that may do these things, and hand each view that they get to `work`."""

    def before(view: Any) -> None:
        for one in (view, view.results[0], view.tools[0]):
            work(one)

    plugins = manager(Asks("one", may=may, before=before, on_call=work))
    plugins.before_request(request(result(1, SECRET)))
    plugins.on_tool_call(call())


@pytest.mark.parametrize("kind", FREE)
def test_without_leave_only_what_is_free_can_be_used(kind: type) -> None:
    came: dict[str, str] = {}
    views((), lambda view: came.update(tried(view)) if isinstance(view, kind) else None)
    assert {name for name, what in came.items() if what == "read"} == FREE[kind]
    assert set(came.values()) == {"read", "CapabilityError"}


@pytest.mark.parametrize("kind", FREE)
def test_nothing_can_be_used_once_the_hook_is_over(kind: type) -> None:
    kept: list[object] = []
    views(("read_results", "edit_results", "edit_schemas"), kept.append)
    (view,) = (one for one in kept if isinstance(one, kind))
    assert set(tried(view).values()) == {"ViewClosed"}


@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        pytest.param('{"a": NaN}', False, id="NaN"),
        pytest.param('{"a": [Infinity]}', False, id="Infinity"),
        pytest.param('{"a": {"b": -Infinity}}', False, id="-Infinity"),
        pytest.param('{"a": 1} x', False, id="more behind it"),
        pytest.param("[" * 5000, False, id="nested too deep"),
        pytest.param('{"a": "NaN"}', True, id="the word in a text"),
        pytest.param(f'{{"a": {"9" * 5000}}}', True, id="a number longer than Python's"),
        pytest.param('{"a": "\\ud800"}', True, id="half a character, as models write it"),
    ],
)
def test_arguments_are_taken_where_every_client_can_read_them(arguments: str, taken: bool) -> None:
    notes: list[Any] = []
    plugins = manager(Asks("one", on_call=lambda view: view.replace(arguments)))
    assert plugins.on_tool_call(call(), told=notes.append) == (arguments if taken else None)
    assert [note.fault for note in notes] == [None if taken else "refused"]
