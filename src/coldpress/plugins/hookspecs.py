"""The hooks that a plugin may implement, each marked with `hookimpl`.

A hook takes the arguments it needs, by name: `def before_request(view)` is as good as
`def before_request(view, settings)`. New arguments can come without breaking a plugin.

Hooks of one plugin run in threads, several at a time where several requests are on their way: what a plugin keeps
between requests needs a lock. A hook has `plugins.hook_seconds`; past that its view is closed, whatever it wanted is
left out, and the request goes on. So is what a hook wanted that raises. After three such faults in a row the plugin
rests until the process is started again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pluggy

if TYPE_CHECKING:
    from coldpress.plugins.facts import ReplySummary
    from coldpress.plugins.view import CallView, RequestView

PROJECT: Final = "coldpress"

hookspec: Final = pluggy.HookspecMarker(PROJECT)
hookimpl: Final = pluggy.HookimplMarker(PROJECT)
"""Marks a function of a plugin as the implementation of the hook of the same name."""


class Hooks:
    """All hooks."""

    @hookspec
    def before_request(self, view: RequestView, settings: object) -> None:
        """Look at a request before it is decided on, and edit it through the view.

        The model, the provider and the like are free to read. Results need `read_results`, other texts in their place
        `edit_results`, and only results that no model has seen can be edited: what a model has read stays as it is.
        An edit holds for ever: the same bytes go out on every later request of the conversation, without asking again.
        Tool schemas need `edit_schemas`, and the same schema must be answered with the same bytes each time.

        What comes back is not looked at.

        Args:
            view: the request. Use it in this call only.
            settings: a value of the declared settings type, `None` where none is declared.
        """

    @hookspec
    def on_tool_call(self, call: CallView, settings: object) -> None:
        """Look at one call of the model before the client gets it, and edit its arguments through the view.

        Reading arguments needs `read_results` or `edit_schemas`, editing them `edit_schemas`. The reply waits for this.

        Args:
            call: the call. Use it in this call only.
            settings: as above.
        """

    @hookspec
    def after_response(self, summary: ReplySummary, settings: object) -> None:
        """Learn how a request ended: numbers and names, no text of the conversation.

        Nothing waits for this hook.

        Args:
            summary: what came of the request.
            settings: as above.
        """


HOOK_NAMES: Final = ("before_request", "on_tool_call", "after_response")
