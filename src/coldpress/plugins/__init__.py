"""Plugins of other packages: what one is written with, and what finds, checks and asks them.

A plugin imports `hookimpl`, `PluginDeclaration`, `setting` and the views from here; docs/howto/plugins.md shows how.
"""

from coldpress.config.about import say as setting
from coldpress.model.errors import CapabilityError, EditRefused, PluginError, ViewClosed
from coldpress.plugins.declaration import PluginDeclaration
from coldpress.plugins.facts import CallFacts, PluginEdits, ReplySummary, RequestFacts, ResultFacts, ToolFacts
from coldpress.plugins.hookspecs import hookimpl
from coldpress.plugins.manager import Plugins
from coldpress.plugins.totals import PluginTotals
from coldpress.plugins.view import CallView, RequestView, ResultView, ToolView

__all__ = [
    "CallFacts",
    "CallView",
    "CapabilityError",
    "EditRefused",
    "PluginDeclaration",
    "PluginEdits",
    "PluginError",
    "PluginTotals",
    "Plugins",
    "ReplySummary",
    "RequestFacts",
    "RequestView",
    "ResultFacts",
    "ResultView",
    "ToolFacts",
    "ToolView",
    "ViewClosed",
    "hookimpl",
    "setting",
]
