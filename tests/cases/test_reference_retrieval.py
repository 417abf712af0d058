"""R for what goes by its purpose: markers promise what is offered, and what has expired says how to have it again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from cases.exposed import FORMATS, Mode, expose
from cases.test_reference_fidelity import MODES, grep
from click.testing import CliRunner
from support import pressing

from coldpress.cli.main import main
from coldpress.model.errors import ExpiredOriginal
from coldpress.stores.base import DAY_SECONDS, Bounds
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore
from coldpress.wire.registry import FormatName

RERUN = "Run the very same thing again."


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("tools", "rerun", "promise"),
    [
        pytest.param(("Grep", "Read"), None, "can be made again", id="offered"),
        pytest.param(("Grep", "Read"), RERUN, RERUN, id="offered, with a sentence of the settings"),
        pytest.param(("Read",), None, None, id="not offered"),
        pytest.param(("Read",), RERUN, None, id="not offered, with a sentence of the settings"),
        pytest.param(("grep",), None, None, id="one of nearly the same name"),
    ],
)
def test_r01_and_r03_a_marker_promises_what_is_offered_and_says_that_the_source_is_intact(
    tools: tuple[str, ...], rerun: str | None, promise: str | None, name: FormatName, mode: Mode
) -> None:
    lines = grep(12, 0)
    made = expose(mode, "\n".join(lines), name=name, answer=lines[44], tools=tools, rerun=rerun)
    opening = made.view.split("\n")[0]
    assert "the source is intact, only this view is shortened" in opening
    assert (promise in opening) if promise else ("again" not in opening)
    assert all(word not in opening.lower() for word in ("recall", "retrieve", "expand"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_r05_an_expired_original_of_a_view_says_so_and_how_to_have_it_again(
    mode: Mode, kind: str, tmp_path: Path
) -> None:
    now, path = [0.0], tmp_path / "s.sqlite3"
    facts: Any = {"bounds": Bounds(originals_days=1.0), "clock": lambda: now[0]}
    store = MemoryStore(**facts) if kind == "memory" else SqliteStore(path, **facts)
    lines = grep(12, 0)
    made = expose(mode, "\n".join(lines), answer=lines[44], store=store)
    sha = re.search(r"\b[0-9a-f]{64}\b", made.view)
    assert sha is not None
    store.flush()
    now[0] = 3 * DAY_SECONDS
    store.sweep(now[0])
    with pytest.raises(ExpiredOriginal) as expired:
        store.recall(sha[0])
    assert all(word in str(expired.value) for word in ("expired", "Grep", "again"))
    with pressing(store=store) as press:
        again = press(made.turns[-1].body)
    assert again.body == made.turns[-1].sent, "what stands, stands, also without its rule"
    store.close()
    if kind == "file":
        told = CliRunner().invoke(main, ["recall", sha[0], "--store", str(path)])
        assert (told.exit_code, told.stdout) == (4, "")
