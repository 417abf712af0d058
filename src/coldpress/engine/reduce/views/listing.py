"""View of a long list of paths: a line per folder with its first names, the rest counted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from coldpress.engine.reduce.reduced import size_bytes
from coldpress.engine.reduce.views.frame import View, first_of, shorten

BUDGET_BYTES = 4096
MAX_NAMES = 40
_MIN_PATH_SHARE = 0.8
_COMPLAINT = re.compile(r"[\w.+-]+: .+: [^/]+$")  # `find: './x': Permission denied`


def view(text: str) -> View | None:
    """Group paths by folder, with as many names of each as fit; `None` where most lines are no paths.

    Nor where a folder's name stands above its files (`ls -R`), which lose their folder when they are grouped.
    """
    lines = text.removesuffix("\n").split("\n")
    if any(line.endswith(":") and not before for before, line in zip(("", *lines), lines, strict=False)):
        return None
    paths = [line for line in lines if _is_path(line)]
    if len(paths) < _MIN_PATH_SHARE * len(lines) or not any("/" in path for path in paths):
        return None
    others = [line for line in lines if line.strip() and not _is_path(line)]
    deepest = max(path.count("/") for path in paths)
    body, names = "", 0
    for depth in range(deepest, -1, -1):
        folders = _folders(paths, depth)
        names = _names_that_fit(folders)
        body = _body(folders, names)
        if size_bytes(body) <= BUDGET_BYTES:
            break
    else:
        body = _cut_lines(body)
    head = f"{len(paths):,} paths"
    tail = "\n".join(first_of(others, max_chars=300))
    shown = sum(min(len(group), names) for group in folders.values())
    return View("\n".join(part for part in (head, body, tail) if part), shown, size_bytes(body))


def _is_path(line: str) -> bool:
    if not line or line != line.strip() or "\t" in line or _COMPLAINT.match(line):
        return False
    return "/" in line or " " not in line


def _folders(paths: Sequence[str], depth: int) -> Mapping[str, Sequence[str]]:
    """Paths by folder, folders no deeper than `depth`; below it a name holds the rest of the path."""
    folders: dict[str, list[str]] = {}
    for path in paths:
        parts = path.split("/")
        cut = min(depth, len(parts) - 1)
        folders.setdefault("/".join(parts[:cut]), []).append("/".join(parts[cut:]))
    return folders


def _names_that_fit(folders: Mapping[str, Sequence[str]]) -> int:
    low, high = 0, MAX_NAMES
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size_bytes(_body(folders, middle)) <= BUDGET_BYTES else (low, middle - 1)
    return low


def _body(folders: Mapping[str, Sequence[str]], names: int) -> str:
    out: list[str] = []
    for folder, group in folders.items():
        shown = ", ".join(group[:names])
        dropped = len(group) - len(group[:names])
        more = f"[{dropped:,} more]" if dropped else ""
        line = f"{folder}/: " if folder else ""
        out.append(line + ", ".join(part for part in (shown, more) if part))
    return "\n".join(out)


def _cut_lines(body: str) -> str:
    lines = body.split("\n")
    kept: list[str] = []
    size = 0
    for line in lines:
        short = shorten(line, 300)
        size += size_bytes(short) + 1
        if size > BUDGET_BYTES:
            break
        kept.append(short)
    return "\n".join((*kept, f"[coldpress: {len(lines) - len(kept):,} more folders left out here]"))
