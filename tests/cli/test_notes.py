"""`coldpress notes`: what is added is there for every process, nothing is lost, and errors say what to do."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from coldpress.cli.main import main
from coldpress.config.load import load
from coldpress.engine.notes import NoteLimits, lineage_scope, project_scope
from coldpress.model.errors import ConfigError
from coldpress.model.notes import Note
from coldpress.stores.sqlite import SqliteStore

from .conftest import Run, receipt

SHOP = project_scope("webshop")
MINE = ("--store", "s.sqlite3", "--project", "webshop")


def talks(path: Path, *lineages: str) -> None:
    """Put conversations into the ledger."""
    with SqliteStore(path) as store:
        for lineage in lineages:
            store.put([], [], receipt(f"req-{lineage}", lineage=lineage))
        store.flush()


def test_a_fact_is_added_once_to_a_store_that_is_made_for_it(run: Run, home: Path) -> None:
    first = run("notes", "add", "never push to main", *MINE)
    assert (first.exit_code, first.stdout, first.stderr) == (0, "", "Added to user.md of project:webshop.\n")
    again = run("notes", "add", "never push to main", *MINE)
    assert again.stderr == "It stands already in user.md of project:webshop.\n"
    run("notes", "add", "port 8484", *MINE)
    assert run("notes", "show", "user.md", *MINE).stdout == "never push to main\nport 8484\n"
    with SqliteStore(home / "s.sqlite3") as store:
        assert store.notes(SHOP) == (Note("user.md", "never push to main\nport 8484\n", "user"),)


def test_notes_are_changed_while_another_process_has_the_store_open(run: Run, home: Path) -> None:
    with SqliteStore(home / "s.sqlite3") as gateway:
        gateway.put_note(SHOP, Note("summary.md", "decision: WAL\n", "summary"), now=1.0)
        run("notes", "add", "by hand", "--name", "summary.md", *MINE)
        assert gateway.notes(SHOP) == (Note("summary.md", "decision: WAL\nby hand\n", "user"),)
        run("notes", "remove", "summary.md", *MINE)
        assert gateway.notes(SHOP) == ()


def test_stdin_is_added_as_it_is(home: Path) -> None:
    text = "première ligne\n  zweite: 日本語 🙂\n"
    told = CliRunner().invoke(main, ["notes", "add", "-", "--name", "facts/ids.md", *MINE], input=text.encode())
    assert told.exit_code == 0, told.stderr
    shown = CliRunner().invoke(main, ["notes", "show", "facts/ids.md", *MINE])
    assert shown.stdout_bytes == text.encode()


def test_json_has_stable_names(run: Run, home: Path) -> None:
    added = json.loads(run("notes", "add", "ä", *MINE, "--json").stdout)
    one = {"scope": "project:webshop", "name": "user.md", "source": "user", "bytes": 3}
    assert added == {**one, "added": True}
    assert json.loads(run("notes", "add", "ä", *MINE, "--json").stdout) == {**one, "added": False}
    assert json.loads(run("notes", "list", *MINE, "--json").stdout) == {"notes": [one]}
    assert json.loads(run("notes", "show", "user.md", *MINE, "--json").stdout) == {**one, "text": "ä\n"}
    removed = json.loads(run("notes", "remove", "user.md", *MINE, "--json").stdout)
    assert removed == {"scope": "project:webshop", "name": "user.md", "removed": True}
    assert json.loads(run("notes", "list", *MINE, "--json").stdout) == {"notes": []}


def test_the_list_names_every_scope_where_none_is_given(run: Run, home: Path) -> None:
    run("notes", "add", "of the shop", *MINE)
    talks(home / "s.sqlite3", "a" * 24)
    run("notes", "add", "of one talk", "--store", "s.sqlite3", "--lineage", "a" * 24)
    (home / "coldpress.toml").write_text('[notes]\nproject = "other"\n')
    assert run("notes", "list", "--store", "s.sqlite3").stdout.splitlines() == [
        f"lineage:{'a' * 24}",
        "  name     written by  bytes",
        "  user.md  user           12",
        "",
        "project:webshop",
        "  name     written by  bytes",
        "  user.md  user           12",
    ]
    found = json.loads(run("notes", "list", "--store", "s.sqlite3", "--json").stdout)["notes"]
    assert [note["scope"] for note in found] == [f"lineage:{'a' * 24}", "project:webshop"]
    only = run("notes", "list", *MINE).stdout
    assert "project:webshop" in only and "lineage" not in only
    assert run("notes", "list", "--store", "s.sqlite3", "--project", "other").stderr == "No notes of project:other.\n"


def test_the_settings_name_the_project_and_the_limits(run: Run, home: Path) -> None:
    (home / "coldpress.toml").write_text('[notes]\nproject = "webshop"\nmost_file_bytes = 10\n[store]\npath = "s.db"\n')
    assert run("notes", "add", "123456789").exit_code == 0
    full = run("notes", "add", "x")
    assert (full.exit_code, full.stdout) == (1, "")
    assert "user.md would hold 12 bytes, and a file holds at most 10" in full.stderr
    assert run("notes", "show", "user.md").stdout == "123456789\n"
    talks(home / "s.db", "ab12")
    assert run("notes", "add", "of one talk", "--lineage", "ab12").stderr.startswith("Error: user.md would hold 12")
    assert run("notes", "add", "talk", "--lineage", "ab12").exit_code == 0
    with SqliteStore(home / "s.db") as store:
        assert store.note_scopes() == (lineage_scope("ab12"), SHOP)


ADD = ("notes", "add", "x", "--store", "s.sqlite3")


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        pytest.param(ADD, 2, "--project NAME or --lineage ID", id="nobody's"),
        pytest.param((*ADD, "--project", "a", "--lineage", "b"), 2, "not both", id="two owners"),
        pytest.param((*ADD, "--project", ""), 2, "is empty", id="a project without a name"),
        pytest.param((*ADD, "--project", "it's"), 2, "a shell would read", id="a name with a quote"),
        pytest.param((*ADD, "--lineage", "a b"), 2, "ledger conversations", id="no lineage"),
        pytest.param((*ADD, "--project", "a", "--name", "../x"), 2, "leads elsewhere", id="traversal"),
        pytest.param((*ADD, "--project", "a", "--name", "/etc/passwd"), 2, "absolute", id="absolute"),
        pytest.param(("notes", "add", " \n", *MINE), 2, "nothing to add", id="nothing"),
        pytest.param(("notes", "list", *MINE), 1, "there is no store", id="list: no store yet"),
        pytest.param(("notes", "show", "a.md", *MINE), 1, "there is no store", id="show: no store yet"),
        pytest.param(("notes", "remove", "a.md", *MINE), 1, "there is no store", id="remove: no store yet"),
    ],
)
def test_errors(run: Run, home: Path, arguments: tuple[str, ...], code: int, why: str) -> None:
    told = run(*arguments)
    assert (told.exit_code, told.stdout) == (code, "")
    assert why in told.stderr


@pytest.mark.parametrize("command", ["show", "remove"])
def test_a_name_that_is_not_there_is_unknown(run: Run, home: Path, command: str) -> None:
    run("notes", "add", "x", *MINE)
    told = run("notes", command, "no.md", *MINE)
    assert (told.exit_code, told.stdout) == (3, "")
    assert "project:webshop has no note 'no.md'; coldpress notes list" in told.stderr


def test_a_file_is_no_directory(run: Run, home: Path) -> None:
    run("notes", "add", "x", "--name", "a", *MINE)
    told = run("notes", "add", "x", "--name", "a/b", *MINE)
    assert told.exit_code == 1 and "lies below a, which is a file" in told.stderr


def test_stdin_that_is_no_utf_8_is_refused(home: Path) -> None:
    told = CliRunner().invoke(main, ["notes", "add", "-", *MINE], input=b"ok \xff")
    assert told.exit_code == 1 and "no UTF-8 at byte 3" in told.stderr
    assert CliRunner().invoke(main, ["notes", "list", *MINE]).exit_code == 1


@pytest.fixture
def editor(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An editor that writes what stands in a file of ours over what it was given."""
    script = home / "editor.py"
    script.write_text("import shutil, sys\nshutil.copy('new.txt', sys.argv[1])\n")
    monkeypatch.setenv("VISUAL", f"{sys.executable} {script}")
    return home / "new.txt"


def test_edit_stores_what_the_editor_saved(run: Run, home: Path, editor: Path) -> None:
    run("notes", "add", "old", *MINE)
    editor.write_text("new\nlines\n")
    assert run("notes", "edit", "user.md", *MINE).stderr == "Changed user.md of project:webshop.\n"
    assert run("notes", "show", "user.md", *MINE).stdout == "new\nlines\n"
    assert "unchanged" in run("notes", "edit", "user.md", *MINE).stderr


def test_edit_does_not_overwrite_what_somebody_wrote_meanwhile(run: Run, home: Path, editor: Path) -> None:
    run("notes", "add", "old", *MINE)
    (home / "editor.py").write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "from coldpress.model.notes import Note\n"
        "from coldpress.stores.sqlite import SqliteStore\n"
        "with SqliteStore(Path('s.sqlite3')) as store:\n"
        "    store.put_note('project:webshop', Note('user.md', 'theirs', 'agent'), now=1.0)\n"
        "Path(sys.argv[1]).write_text('mine')\n"
    )
    told = run("notes", "edit", "user.md", *MINE)
    assert told.exit_code == 1 and "changed by someone else meanwhile" in told.stderr
    assert run("notes", "show", "user.md", *MINE).stdout == "theirs"


def read(tmp_path: Path, text: str) -> object:
    (tmp_path / "coldpress.toml").write_text(text)
    return load(tmp_path / "coldpress.toml", environ={"HOME": "/h"}, directory=tmp_path).notes


def test_settings_have_defaults_and_are_read(tmp_path: Path) -> None:
    keys = load(environ={"HOME": "/h"}, directory=tmp_path).notes
    assert (keys.project_scope, keys.show, keys.most_bytes, keys.limits) == (None, True, 8192, NoteLimits())
    mine = '[notes]\nproject = "web shop"\nshow = false\nmost_bytes = 2048\nmost_file_bytes = 5\nmost_total_bytes = 9\n'
    (tmp_path / "coldpress.toml").write_text(mine)
    keys = load(tmp_path / "coldpress.toml", environ={"HOME": "/h"}, directory=tmp_path).notes
    assert (keys.project_scope, keys.show, keys.most_bytes) == ("project:web shop", False, 2048)
    assert keys.limits == NoteLimits(most_file_bytes=5, most_total_bytes=9)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param('project = " a"', 'notes.project is " a", which is empty or has spaces', id="a bad project"),
        pytest.param("most_bytes = 1023", "1024 or more", id="no room to show anything"),
        pytest.param("most_file_bytes = 0", "1 or more", id="no room in a file"),
        pytest.param("most_total_bytes = 9", "less than notes.most_file_bytes", id="a file larger than all"),
        pytest.param("lineage = 1", "notes.lineage is not a setting", id="an unknown key"),
    ],
)
def test_settings_that_are_refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, f"[notes]\n{text}\n")
    assert why in str(caught.value)


TALKS = ("abcdef0123456789abcdef01", "abcdef0999999999abcdef01", "0123456789abcdef01234567")


@pytest.mark.parametrize("command", [("add", "x"), ("list",), ("show", "user.md"), ("remove", "user.md")], ids="".join)
@pytest.mark.parametrize(
    ("asked", "code", "why"),
    [
        pytest.param(TALKS[2], 0, "", id="whole"),
        pytest.param("012345", 0, "", id="six digits"),
        pytest.param("abcdef0", 5, f"{TALKS[0]}, {TALKS[1]}; give more digits", id="fits two"),
        pytest.param("01234", 3, f"near are {TALKS[2]}", id="too few digits"),
        pytest.param("abcdef0123456789abcdef02", 3, f"near are {TALKS[0]}", id="a wrong digit"),
        pytest.param("zzzzzzzzzz", 3, "coldpress ledger conversations --store s.sqlite3 shows", id="nothing like it"),
    ],
)
def test_a_lineage_is_one_the_ledger_knows(run: Run, command: tuple[str, ...], asked: str, code: int, why: str) -> None:
    home = Path()
    talks(home / "s.sqlite3", *TALKS)
    with SqliteStore(home / "s.sqlite3") as store:
        store.put_note(lineage_scope(TALKS[2]), Note("user.md", "x\n", "user"), now=1.0)
    told = run("notes", *command, "--store", "s.sqlite3", "--lineage", asked)
    assert told.exit_code == code, told.stderr
    assert why in told.stderr
    with SqliteStore(home / "s.sqlite3") as store:
        assert set(store.note_scopes()) <= {lineage_scope(TALKS[2])}


def test_notes_outlive_the_ledgers_entries_of_their_conversation(run: Run, home: Path) -> None:
    with SqliteStore(home / "s.sqlite3") as store:
        store.put_note(lineage_scope(TALKS[0]), Note("user.md", "kept\n", "user"), now=1.0)
    assert run("notes", "show", "user.md", "--store", "s.sqlite3", "--lineage", TALKS[0][:6]).stdout == "kept\n"


def test_the_help_of_list_says_what_the_group_says(run: Run) -> None:
    group, command = (" ".join(run("notes", *name, "--help").stdout.split()) for name in ((), ("list",)))
    assert "list shows all notes that there are" in group
    assert "those of one project or conversation, else all" in command
