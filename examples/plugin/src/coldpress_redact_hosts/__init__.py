"""Give internal host names in tool results other names before they leave, and take these back in calls."""

from __future__ import annotations

from importlib.metadata import version

from coldpress.plugins import CallView, PluginDeclaration, RequestView, hookimpl
from coldpress_redact_hosts.names import Names, Settings


class RedactHosts:
    """The plugin. One object serves all requests, from several threads."""

    PLUGIN = PluginDeclaration(
        name="redact-hosts",
        version=version("coldpress-redact-hosts"),
        capabilities=("read_results", "edit_results", "edit_schemas"),
        summary="Internal host names in tool results leave under other names; calls come back with the real ones.",
        settings=Settings,
    )

    def __init__(self) -> None:
        self._names = Names()

    @hookimpl
    def before_request(self, view: RequestView, settings: Settings) -> None:
        """Replace names in new results. Earlier ones are read too, since a call may name a host of theirs."""
        if not settings.suffixes:
            return
        for result in view.results:
            text = result.text
            redacted = self._names.redacted(text, settings)
            if result.first_sight and redacted != text:
                result.replace(redacted)

    @hookimpl
    def on_tool_call(self, call: CallView, settings: Settings) -> None:
        """Give the client the real names."""
        if not settings.suffixes:
            return
        arguments = call.arguments
        restored = self._names.restored(arguments)
        if restored != arguments:
            call.replace(restored)


plugin = RedactHosts()
