"""Declare the built-in plugins: what each does and may do. They are part of coldpress and need no approval."""

from __future__ import annotations

from typing import Final

from coldpress import __version__
from coldpress.config.pii_keys import PiiKeys
from coldpress.config.plugin_keys import BuiltinPlugin, CompactorKeys, IntentKeys, NoKeys
from coldpress.plugins.declaration import PluginDeclaration

BUILTIN: Final[dict[BuiltinPlugin, PluginDeclaration]] = {
    "schema_translator": PluginDeclaration(
        name="schema_translator",
        version=__version__,
        capabilities=("edit_schemas",),
        summary="Open-map schemas of tools go out as strict lists of keys and values; calls come back as maps.",
        settings=NoKeys,
    ),
    "intent": PluginDeclaration(
        name="intent",
        version=__version__,
        capabilities=("read_results", "edit_schemas"),
        summary="Learns what each tool is called for, from a field in its schema or from what was said.",
        settings=IntentKeys,
    ),
    "keyword_compactor": PluginDeclaration(
        name="keyword_compactor",
        version=__version__,
        capabilities=("read_results", "edit_results"),
        summary="Makes results smaller by rules of its own, without a model and without asking what a rewrite costs.",
        settings=CompactorKeys,
    ),
    "compactor": PluginDeclaration(
        name="compactor",
        version=__version__,
        capabilities=("read_results", "edit_results", "use_summariser"),
        summary="Makes results smaller by rules of its own, with a cheaper model where that pays.",
        settings=CompactorKeys,
    ),
    "pii": PluginDeclaration(
        name="pii",
        version=__version__,
        capabilities=("read_results", "edit_results"),
        summary="Finds secrets and personal data in results before they leave, and takes them out or holds them back.",
        settings=PiiKeys,
    ),
}
"""Their work is done by the driver and the engine, not by hooks."""
