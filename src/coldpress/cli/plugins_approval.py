"""Write an approval into a settings file: comments, order and everything else in it stay as they are."""

from __future__ import annotations

import copy
import json
import os
import shutil
import tempfile
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import tomlkit
import tomlkit.exceptions
import tomlkit.items

from coldpress.config.plugin_settings import Approval
from coldpress.config.template import toml_value
from coldpress.model.errors import ColdpressError

_BOM = "\ufeff"


def approval_lines(approval: Approval) -> str:
    """The approval as it stands in a TOML file.

    >>> print(approval_lines(Approval("redact-hosts", "1.0", ("read_results",))))
    [plugins.approved.redact-hosts]
    version = "1.0"
    capabilities = ["read_results"]
    """
    return "\n".join(
        (
            f"[plugins.approved.{approval.plugin}]",
            f"version = {toml_value(approval.version)}",
            f"capabilities = {toml_value(approval.capabilities)}",
        )
    )


def write_approval(file: Path, approval: Approval) -> None:
    """Put an approval into a settings file, TOML or JSON, in the place of an older one.

    Raises:
        ColdpressError: the file cannot be written, or is laid out so that it cannot be changed safely; the message then
            holds the lines to add by hand.
    """
    target = file.resolve()
    try:
        with target.open(encoding="utf-8", newline="") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ColdpressError(f"{file} cannot be read: {error}") from error
    bom, text = (_BOM, text.removeprefix(_BOM)) if text.startswith(_BOM) else ("", text)
    new = _in_json(text, approval) if file.suffix.lower() == ".json" else _in_toml(text, approval)
    if new is None:
        lines = approval_lines(approval)
        raise ColdpressError(f"{file} is laid out so that it cannot be changed safely; add these by hand:\n{lines}")
    try:
        _replace(target, bom + new)
    except OSError as error:
        raise ColdpressError(f"{file} cannot be written: {error.strerror or error}; nothing was changed") from error


def _in_toml(text: str, approval: Approval) -> str | None:
    """Add the lines at the end where that is valid, else change the tree in place; `None` where neither does it.

    TOML has many ways to write one tree, and an editor of it may get one wrong: what is written has to read the same.
    """
    expected = _with_approval(tomllib.loads(text), approval)
    for attempt in (_appended, _edited):
        new = attempt(text, approval)
        with suppress(tomllib.TOMLDecodeError):
            if new is not None and tomllib.loads(new) == expected:
                return new
    return None


def _appended(text: str, approval: Approval) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else end if text.endswith("\n") else end + end
    return text + gap + approval_lines(approval).replace("\n", end) + end


def _edited(text: str, approval: Approval) -> str | None:
    try:
        document: Any = tomlkit.parse(text)
        entry = _below(_below(_below(document, "plugins"), "approved"), approval.plugin)
        entry["version"] = approval.version
        entry["capabilities"] = list(approval.capabilities)
        return tomlkit.dumps(document)
    except (tomlkit.exceptions.TOMLKitError, TypeError, ValueError, AttributeError):
        return None


def _below(table: Any, name: str) -> Any:
    if name not in table:
        table[name] = tomlkit.inline_table() if isinstance(table, tomlkit.items.InlineTable) else tomlkit.table()
    return table[name]


def _in_json(text: str, approval: Approval) -> str:
    return json.dumps(_with_approval(json.loads(text), approval), indent=2, ensure_ascii=False) + "\n"


def _with_approval(tree: dict[str, Any], approval: Approval) -> dict[str, Any]:
    tree = copy.deepcopy(tree)
    approved = tree.setdefault("plugins", {}).setdefault("approved", {})
    approved[approval.plugin] = {"version": approval.version, "capabilities": list(approval.capabilities)}
    return tree


def _replace(target: Path, text: str) -> None:
    """Write a file whole or not at all."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        shutil.copymode(target, name)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
