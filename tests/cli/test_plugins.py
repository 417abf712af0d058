"""`coldpress plugins`: what is there, what it may do, and approvals that leave a settings file's other lines alone."""

from __future__ import annotations

import json
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from plugins.world import Asks, found

import coldpress.cli.check_warnings
import coldpress.cli.plugins
from coldpress.cli.main import main
from coldpress.cli.plugins_approval import write_approval
from coldpress.config.load import load
from coldpress.config.plugin_settings import Approval
from coldpress.config.settings import Settings
from coldpress.model.errors import ColdpressError
from coldpress.plugins.discovery import Found

from .conftest import Run

REDACT = Asks("redact", may=("read_results", "edit_results"), version="1.2", before=lambda view: None)
APPROVED = '[plugins.approved.redact]\nversion = "1.2"\ncapabilities = ["read_results", "edit_results"]'


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> list[Found]:
    """What is installed, in the place of what happens to be on this machine."""
    there = [found(REDACT, package="redact-it 1.2")]
    for module in (coldpress.cli.plugins, coldpress.cli.check_warnings):
        monkeypatch.setattr(module, "installed", lambda: tuple(there))
    return there


def listed(run: Run) -> dict[str, dict[str, Any]]:
    told = run("plugins", "list", "--json")
    assert told.exit_code == 0, told.stderr
    return {one["name"]: one for one in json.loads(told.stdout)["plugins"]}


class TestList:
    def test_those_that_are_on_come_first_in_their_order(self, run: Run, home: Path, packages: list[Found]) -> None:
        (home / "coldpress.toml").write_text(f'plugins.order = ["redact", "intent"]\n{APPROVED}\n')
        told = run("plugins", "list")
        names = [line.split()[0] for line in told.stdout.splitlines()]
        assert names == ["name", "redact", "intent", "compactor", "keyword_compactor", "pii", "schema_translator"]
        assert told.stderr == ""
        assert "read_results, edit_results" in told.stdout

    def test_json_has_stable_names(self, run: Run, home: Path, packages: list[Found]) -> None:
        (home / "coldpress.toml").write_text('plugins.order = ["redact"]\n')
        assert listed(run)["redact"] == {
            "name": "redact",
            "version": "1.2",
            "source": "installed",
            "package": "redact-it 1.2",
            "state": "idle",
            "place": 1,
            "approval": "not approved",
            "why": "is not approved; coldpress plugins approve redact shows what it wants to do",
            "capabilities": ["read_results", "edit_results"],
            "faults": None,
        }
        assert listed(run)["pii"]["approval"] == "not needed"

    def test_what_does_nothing_is_told(self, run: Run, home: Path, packages: list[Found]) -> None:
        (home / "coldpress.toml").write_text('plugins.order = ["redakt"]\n')
        told = run("plugins", "list")
        assert told.exit_code == 0
        assert "warning: plugins.order: redakt does nothing, since it is not built in" in told.stderr
        assert "did you mean redact?" in told.stderr
        assert listed(run)["redakt"]["source"] == "missing"

    def test_check_says_the_same(self, run: Run, home: Path, packages: list[Found]) -> None:
        (home / "coldpress.toml").write_text('plugins.order = ["redact"]\n')
        assert "plugins.order: redact does nothing, since it is not approved" in run("check").stderr
        (home / "coldpress.toml").write_text(f'plugins.order = ["redact"]\n{APPROVED}\n')
        assert "redact" not in run("check").stderr

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("intnet", "intent"),
            ("Intent", "intent"),
            ("schema-translator", "schema_translator"),
            ("keyword_compacter", "keyword_compactor"),
            ("compacter", "compactor"),
            ("pi", "pii"),
            ("redakt", "redact"),
        ],
    )
    @pytest.mark.parametrize("command", ["check", "serve"])
    def test_check_and_serve_name_what_was_likely_meant_once(
        self,
        run: Run,
        home: Path,
        packages: list[Found],
        serving: list[Settings],
        *,
        command: str,
        name: str,
        meant: str,
    ) -> None:
        (home / "coldpress.toml").write_text(f'plugins.order = ["{name}"]\n')
        told = run(command)
        assert told.exit_code == 0, told.stderr
        (line,) = (line for line in told.stderr.splitlines() if name in line)
        assert line.startswith(f"warning: plugins.order: {name} does nothing") and f"; did you mean {meant}?" in line


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """What `coldpress serve` would have served; no port is opened."""
    served: list[Settings] = []
    monkeypatch.setattr("coldpress.cli.serving.serve", served.append)
    return served


class TestTime:
    """Plugins are asked within the time for reading and deciding, one after the other."""

    @pytest.mark.parametrize(
        ("count", "settings", "warned"),
        [
            pytest.param(4, "", "", id="four as they come"),
            pytest.param(5, "", "5 plugins may take 1.25 s", id="five as they come"),
            pytest.param(1, "plugins.hook_seconds = 1.0", "", id="one has it all"),
            pytest.param(1, "plugins.hook_seconds = 1.5", "1 plugin may take 1.5 s", id="one that has too long"),
            pytest.param(2, "limits.prepare_seconds = 0.5", "2 plugins may take 0.5 s", id="little time in all"),
            pytest.param(2, "limits.prepare_seconds = 1.0", "", id="half of little time"),
        ],
    )
    @pytest.mark.parametrize("command", ["check", "serve"])
    def test_more_than_there_is_is_warned_of(
        self,
        run: Run,
        home: Path,
        packages: list[Found],
        serving: list[Settings],
        *,
        command: str,
        count: int,
        settings: str,
        warned: str,
    ) -> None:
        plugins = [Asks(f"p{n}", may=(), before=lambda view: None) for n in range(count)]
        idle = [Asks("no-hook", may=(), after=lambda summary: None), Asks("idle", may=(), before=lambda view: None)]
        packages[:] = [found(one) for one in (*plugins, *idle)]
        order = [one.PLUGIN.name for one in (*idle, *plugins)]
        told = [f"plugins.order = {json.dumps(['intent', *order])}", settings]
        told += [f'[plugins.approved.{name}]\nversion = "1.0"\ncapabilities = []' for name in order if name != "idle"]
        (home / "coldpress.toml").write_text("\n".join(told))
        done = run(command)
        assert done.exit_code == 0, done.stderr
        found_ = [line for line in done.stderr.splitlines() if "hook_seconds" in line]
        assert len(found_) == int(bool(warned))
        assert all(warned in line and "limits.prepare_seconds" in line for line in found_)


@pytest.fixture
def gateway() -> Iterator[int]:
    """The port of something that answers `/stats` as a gateway with a plugin in trouble does."""

    class Stats(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            row = {"runs": 9, "seconds": 0.1, "edits": 0, "state": "resting", "faults": {"slow": 2, "failed": 1}}
            body = json.dumps({"decisions": {"plugins": {"redact": row}}}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    server = HTTPServer(("127.0.0.1", 0), Stats)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def test_faults_and_rest_come_from_the_running_gateway(
    run: Run, home: Path, packages: list[Found], gateway: int
) -> None:
    (home / "coldpress.toml").write_text(f'port = {gateway}\nplugins.order = ["redact"]\n{APPROVED}\n')
    found_ = listed(run)
    assert (found_["redact"]["state"], found_["redact"]["faults"]) == ("resting", 3)
    assert found_["pii"]["faults"] is None


class TestShow:
    def test_everything_is_told(self, run: Run, home: Path, packages: list[Found]) -> None:
        told = run("plugins", "show", "redact").stdout
        assert "plugin    redact 1.2" in told and "source    installed, redact-it 1.2" in told
        assert "put another text in the place of a result that no model has seen yet" in told
        assert told.rstrip().endswith(APPROVED)

    def test_a_built_in_one_shows_its_settings(self, run: Run, home: Path, packages: list[Found]) -> None:
        told = run("plugins", "show", "intent").stdout
        assert "[plugins.config.intent]" in told and "one of capture, infer" in told
        assert "Approval writes" not in told
        shown = json.loads(run("plugins", "show", "intent", "--json").stdout)
        assert [key["key"] for key in shown["settings"]][:1] == ["mode"]
        assert shown["approval_lines"] is None

    @pytest.mark.parametrize("command", ["show", "approve"])
    def test_an_unknown_name_ends_with_three(self, run: Run, home: Path, packages: list[Found], command: str) -> None:
        told = run("plugins", command, "redakt")
        assert (told.exit_code, told.stdout) == (3, "")
        assert "did you mean redact?" in told.stderr


class TestApprove:
    def test_without_a_file_the_lines_are_printed(self, run: Run, home: Path, packages: list[Found]) -> None:
        told = run("plugins", "approve", "redact", "--yes")
        assert (told.exit_code, told.stdout) == (0, f"{APPROVED}\n")
        assert "Put these lines into coldpress.toml" in told.stderr

    def test_it_asks_and_takes_no_for_an_answer(self, home: Path, packages: list[Found]) -> None:
        file = home / "coldpress.toml"
        file.write_text("port = 1\n")
        told = CliRunner().invoke(main, ["plugins", "approve", "redact"], input="\n")
        assert told.exit_code == 1
        assert "read the text of tool results" in told.stderr and "Approve redact 1.2? [y/N]" in told.stderr
        assert file.read_text() == "port = 1\n"

    def test_once_approved_it_is_on(self, run: Run, home: Path, packages: list[Found]) -> None:
        (home / "coldpress.toml").write_text('plugins.order = ["redact"]\n')
        told = run("plugins", "approve", "redact", "--yes")
        assert (told.exit_code, told.stdout) == (0, "")
        assert listed(run)["redact"]["state"] == "on"
        assert "is approved already" in run("plugins", "approve", "redact").stderr

    def test_a_new_version_takes_the_place_of_the_old(self, run: Run, home: Path, packages: list[Found]) -> None:
        (home / "coldpress.toml").write_text(APPROVED.replace("1.2", "1.1"))
        told = run("plugins", "approve", "redact", "--yes")
        assert 'Add "redact" to plugins.order to turn it on.' in told.stderr
        assert load(home / "coldpress.toml").plugins.approved == (
            Approval("redact", "1.2", ("read_results", "edit_results")),
        )

    def test_a_built_in_one_needs_none(self, run: Run, home: Path, packages: list[Found]) -> None:
        told = run("plugins", "approve", "pii")
        assert (told.exit_code, told.stdout) == (0, "")
        assert "is built in and needs no approval" in told.stderr

    def test_what_cannot_be_loaded_is_not_approved(self, run: Run, home: Path, packages: list[Found]) -> None:
        packages[:] = [found(object(), name="redact")]
        told = run("plugins", "approve", "redact", "--yes")
        assert told.exit_code == 1
        assert "redact has no PLUGIN" in told.stderr

    def test_wrong_settings_end_with_six(self, run: Run, home: Path, packages: list[Found]) -> None:
        (home / "coldpress.toml").write_text("prot = 1\n")
        assert run("plugins", "approve", "redact", "--yes").exit_code == 6


APPROVAL = Approval("redact", "1.2", ("read_results",))
ENTRY = {"version": "1.2", "capabilities": ["read_results"]}


class TestFilesAsPeopleWriteThem:
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("", id="empty"),
            pytest.param("# only a comment", id="a comment without a line end"),
            pytest.param("port = 1 # why\n", id="no table of plugins"),
            pytest.param(
                '# top\n[plugins] # all of them\norder = ["redact"] # on\n\n[store]\npath = "x"\n', id="a table"
            ),
            pytest.param('plugins.order = ["redact"]\nport = 1\n', id="a dotted key"),
            pytest.param('plugins = { order = ["redact"] }\n', id="a table in one line"),
            pytest.param("[plugins.config.redact]\na = 1 # one\n[store]\n[rules.x]\n", id="only a table below"),
            pytest.param('[plugins.approved]\nother = { version = "1", capabilities = [] }\n', id="others in one line"),
            pytest.param(
                '[plugins]\napproved = { other = { version = "1", capabilities = [] } }\n', id="all in one line"
            ),
            pytest.param(f"{APPROVED}\n# behind\n[store]\n", id="an older approval"),
            pytest.param('[plugins]\r\norder = ["redact"]\r\n', id="line ends of another system"),
            pytest.param(
                '[[rules]]\nmatch = "a"\nmode = "exact"\n\n[[rules]]\nmatch = "b"\nmode = "mask"\n', id="rows"
            ),
        ],
    )
    def test_the_tree_is_the_same_but_for_the_approval_and_no_comment_is_lost(self, tmp_path: Path, text: str) -> None:
        file = tmp_path / "c.toml"
        file.write_bytes(text.encode())
        expected = tomllib.loads(text)
        expected.setdefault("plugins", {}).setdefault("approved", {})["redact"] = ENTRY
        write_approval(file, APPROVAL)
        written = file.read_bytes().decode()
        assert tomllib.loads(written) == expected
        for comment in ("# why", "# top", "# all of them", "# on", "# one", "# behind", "# only a comment"):
            assert (comment in written) == (comment in text)
        write_approval(file, APPROVAL)
        assert file.read_bytes().decode() == written, "approving again changes nothing"

    def test_a_json_file_keeps_its_order_and_its_text(self, tmp_path: Path) -> None:
        file = tmp_path / "c.json"
        file.write_text('{"port": 1, "host": "127.0.0.1", "notes": {"project": "ä"}}', encoding="utf-8")
        write_approval(file, APPROVAL)
        tree = json.loads(file.read_text(encoding="utf-8"))
        assert list(tree) == ["port", "host", "notes", "plugins"]
        assert tree["plugins"] == {"approved": {"redact": ENTRY}}
        assert "ä" in file.read_text(encoding="utf-8")

    def test_the_reference_experiments_files_can_be_approved_in(self, shared: Path, tmp_path: Path) -> None:
        for name in ("deterministic-arm.json", "model-gated-arm.json"):
            file = tmp_path / name
            file.write_bytes((shared / "reference" / name).read_bytes())
            write_approval(file, APPROVAL)
            assert load(file, secrets="optional").plugins.approved == (APPROVAL,)

    def test_a_link_stays_a_link_and_permissions_stay(self, tmp_path: Path) -> None:
        file, link = tmp_path / "real.toml", tmp_path / "link.toml"
        file.write_text("port = 1\n")
        file.chmod(0o640)
        link.symlink_to(file)
        write_approval(link, APPROVAL)
        assert link.is_symlink()
        assert file.stat().st_mode & 0o777 == 0o640
        assert [path.name for path in sorted(tmp_path.iterdir())] == ["link.toml", "real.toml"]

    def test_a_folder_that_cannot_be_written_leaves_the_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import tempfile

        file = tmp_path / "c.toml"
        file.write_text("port = 1\n")

        def full(*_: object, **__: object) -> tuple[int, str]:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(tempfile, "mkstemp", full)
        with pytest.raises(ColdpressError, match="cannot be written: No space left on device; nothing was changed"):
            write_approval(file, APPROVAL)
        assert file.read_text() == "port = 1\n"
