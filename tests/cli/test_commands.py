"""Every command but `serve`: what it prints where, and with which exit code it ends."""

from __future__ import annotations

import importlib
import json
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest

from coldpress import __version__
from coldpress.cli.main import COMMANDS, main
from coldpress.cli.output import fitting_lines
from coldpress.cli.reference import PAGES
from coldpress.config.template import template
from coldpress.model.identity import original_sha
from coldpress.stores.sqlite import SqliteStore

from .conftest import KNOWN_MODEL, ORIGINAL, Run

ROOT = Path(__file__).resolve().parents[2]


class TestTheCommandItself:
    @pytest.mark.parametrize("name", COMMANDS)
    def test_the_list_of_commands_says_what_each_says_itself(self, name: str) -> None:
        command = importlib.import_module(COMMANDS[name].module).command
        assert isinstance(command, click.Command)
        assert command.get_short_help_str(limit=200) == COMMANDS[name].line
        assert command.name == name

    def test_help_lists_commands_and_exit_codes(self, run: Run) -> None:
        told = run("--help")
        assert told.exit_code == 0
        assert "Exit codes:" in told.stdout
        assert all(name in told.stdout for name in COMMANDS)

    def test_help_loads_no_command(self) -> None:
        code = (
            "import sys; from coldpress.cli.main import main; main(['--help'], standalone_mode=False); "
            "heavy = ('coldpress.config', 'coldpress.gateway', 'coldpress.stores', 'uvicorn'); "
            "sys.exit(any(name.startswith(heavy) for name in sys.modules))"
        )
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0

    def test_an_unknown_command_is_a_usage_error(self, run: Run) -> None:
        told = run("sevre")
        assert told.exit_code == 2
        assert told.stdout == ""

    @pytest.mark.parametrize(
        ("given", "meant"), [("legder", "ledger"), ("sevre", "serve"), ("break-even", "breakeven"), ("chekc", "check")]
    )
    def test_a_command_that_is_nearly_known_is_named(self, run: Run, given: str, meant: str) -> None:
        told = run(given)
        assert (told.exit_code, told.stdout) == (2, "")
        assert f"Did you mean {meant}?" in told.stderr

    def test_every_number_with_a_point_refuses_what_is_not_finite(self) -> None:
        found = list(float_options(main, "coldpress"))
        assert "coldpress breakeven summariser_usd" in [name for name, _ in found]
        for name, option in found:
            for number in ("nan", "inf", "-inf"):
                with pytest.raises(click.BadParameter):
                    option.type.convert(number, option, None)
                    pytest.fail(f"{name} takes {number}")

    def test_version(self, run: Run) -> None:
        assert run("--version").stdout == f"coldpress {__version__}\n"
        assert f"coldpress     {__version__}" in run("version").stdout
        found = json.loads(run("version", "--json").stdout)
        assert found["coldpress"] == __version__
        assert found["msgspec"]


def float_options(command: click.Command, path: str) -> Iterator[tuple[str, click.Parameter]]:
    for option in command.params:
        if isinstance(option.type, click.FloatRange | type(click.FLOAT)):
            yield f"{path} {option.name}", option
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from float_options(inner, f"{path} {name}")


@pytest.mark.parametrize("page", PAGES)
def test_the_reference_pages_are_the_generated_ones(page: str) -> None:
    # To mend it: python -m coldpress.cli.reference
    assert (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8") == PAGES[page]()


class TestInit:
    def test_it_writes_the_commented_file_and_check_finds_nothing_to_warn_of(self, run: Run, home: Path) -> None:
        told = run("init")
        assert (told.exit_code, told.stdout) == (0, "coldpress.toml\n")
        assert (home / "coldpress.toml").read_text(encoding="utf-8") == template()
        report = json.loads(run("check", "--json").stdout)
        assert report["settings"] == str(home / "coldpress.toml")
        assert report["warnings"] == []

    def test_it_never_overwrites_without_force(self, run: Run, home: Path) -> None:
        mine = home / "coldpress.toml"
        mine.write_text("port = 1")
        told = run("init")
        assert told.exit_code == 1
        assert "is there already; --force overwrites it" in told.stderr
        assert mine.read_text() == "port = 1"
        assert run("init", "--force").exit_code == 0
        assert mine.read_text(encoding="utf-8") == template()

    def test_a_folder_gets_a_file_and_missing_folders_are_made(self, run: Run, home: Path) -> None:
        assert run("init", "--path", str(home)).exit_code == 0
        assert run("init", "--path", "deep/er/mine.toml").exit_code == 0
        assert (home / "deep" / "er" / "mine.toml").is_file()

    def test_a_place_that_cannot_be_written_is_told(self, run: Run, home: Path) -> None:
        (home / "file").write_text("")
        told = run("init", "--path", "file/x.toml")
        assert told.exit_code == 1
        assert "cannot be written" in told.stderr


class TestRecall:
    def test_it_prints_the_original_byte_for_byte(self, run: Run, store_path: Path) -> None:
        told = run("recall", original_sha(ORIGINAL), "--store", str(store_path))
        assert told.exit_code == 0
        assert told.stdout_bytes == ORIGINAL.encode()
        assert told.stderr == ""

    def test_the_first_digits_are_enough_in_upper_case_too(self, run: Run, store_path: Path) -> None:
        told = run("recall", original_sha(ORIGINAL)[:8].upper(), "--store", str(store_path))
        assert told.stdout_bytes == ORIGINAL.encode()

    def test_it_writes_a_file_byte_for_byte(self, run: Run, store_path: Path, home: Path) -> None:
        told = run("recall", original_sha(ORIGINAL), "--store", str(store_path), "--out", "original.txt")
        assert (told.exit_code, told.stdout) == (0, "")
        assert (home / "original.txt").read_bytes() == ORIGINAL.encode()

    @pytest.mark.parametrize("sha", ["0" * 64, "0" * 8, "abc", "not hexadecimal"])
    def test_an_unknown_name_is_exit_3_and_nothing_on_stdout(self, run: Run, store_path: Path, sha: str) -> None:
        told = run("recall", sha, "--store", str(store_path))
        assert (told.exit_code, told.stdout_bytes) == (3, b"")
        assert told.stderr.startswith("Error: ")

    def test_an_expired_original_is_exit_4_and_says_how_to_get_it_again(self, run: Run, store_path: Path) -> None:
        store = SqliteStore(store_path)
        store.sweep(4_000_000_000.0)
        store.close()
        told = run("recall", original_sha(ORIGINAL), "--store", str(store_path))
        assert (told.exit_code, told.stdout_bytes) == (4, b"")
        assert "expired" in told.stderr
        assert "Bash" in told.stderr

    def test_digits_that_fit_several_are_exit_5(self, run: Run, store_path: Path) -> None:
        # Two texts whose SHA-256 begin alike in eight digits, found by search: a store cannot be told a false name.
        texts = ("coldpress 3792", "coldpress 60500")
        assert original_sha(texts[0])[:8] == original_sha(texts[1])[:8]
        store = SqliteStore(store_path)
        store.put([(original_sha(text), text) for text in texts], [], None).result()
        store.close()
        told = run("recall", original_sha(texts[0])[:8], "--store", str(store_path))
        assert (told.exit_code, told.stdout_bytes) == (5, b"")

    def test_without_a_store_it_says_so_and_makes_none(self, run: Run, home: Path) -> None:
        told = run("recall", "0" * 64, "--store", "none.sqlite3")
        assert told.exit_code == 1
        assert "none.sqlite3" in told.stderr
        assert not (home / "none.sqlite3").exists()

    def test_a_missing_api_key_is_no_obstacle(self, run: Run, store_path: Path, home: Path) -> None:
        text = f"[store]\npath = '{store_path}'\n[providers.anthropic]\napi_key_env = 'NOT_SET_ANYWHERE'"
        (home / "coldpress.toml").write_text(text)
        assert run("recall", original_sha(ORIGINAL)).stdout_bytes == ORIGINAL.encode()


class TestLedger:
    def entries(self, run: Run, store_path: Path, *more: str) -> list[dict[str, object]]:
        told = run("ledger", "list", "--store", str(store_path), "--json", *more)
        assert told.exit_code == 0
        found: list[dict[str, object]] = json.loads(told.stdout)["requests"]
        return found

    def test_requests_come_newest_first(self, run: Run, store_path: Path) -> None:
        ids = [entry["request_id"] for entry in self.entries(run, store_path)]
        assert ids == ["req-running", "req-no-usage", "req-priced"]
        assert len(self.entries(run, store_path, "--limit", "1")) == 1
        (only,) = self.entries(run, store_path, "--lineage", "b" * 24)
        assert only["request_id"] == "req-no-usage"

    def test_what_was_not_reported_is_null_with_what_is_missing_and_never_zero(
        self, run: Run, store_path: Path
    ) -> None:
        running, no_usage, priced = self.entries(run, store_path)
        assert (running["cost_usd"], running["unpriced"], running["outcome"]) == (None, ["outcome"], None)
        assert (no_usage["cost_usd"], no_usage["unpriced"]) == (None, ["usage"])
        assert priced["unpriced"] == []
        # 1000 fresh at 3, 100000 read at 0.3, 2000 written at 3.75 and 500 output at 15 USD per million tokens.
        assert priced["cost_usd"] == pytest.approx(0.048)

    def test_prices_of_the_settings_go_first(self, run: Run, store_path: Path, home: Path) -> None:
        (home / "coldpress.toml").write_text(
            f'[providers.anthropic.pricing."{KNOWN_MODEL}"]\ninput_usd_per_mtok = 1000\noutput_usd_per_mtok = 0\n'
            'cache_read_usd_per_mtok = 0\ncache_write_usd_per_mtok = 0\nas_of = "2026-11-30"'
        )
        priced = self.entries(run, store_path)[2]
        assert priced["cost_usd"] == pytest.approx(1.0)
        assert priced["prices"] == "settings for 2026-11-30"

    def test_the_table_is_aligned_and_says_unknown(self, run: Run, store_path: Path) -> None:
        head, *rows = run("ledger", "list", "--store", str(store_path)).stdout.splitlines()
        assert len(rows) == 3
        end_of_usd = head.index("USD") + len("USD")
        for row in rows:
            assert row[:end_of_usd].endswith(("unknown", "0.048000"))
            assert row[head.index("id") :].startswith("req-")
        assert "0.048000" in rows[2]
        assert "529 upstream_failed" in rows[1]
        assert "running or never told" in rows[0]

    def test_a_lineage_that_is_not_there_is_named(self, run: Run, store_path: Path) -> None:
        told = run("ledger", "list", "--store", str(store_path), "--lineage", "nope")
        assert (told.exit_code, told.stdout) == (0, "")
        assert "lineage nope" in told.stderr

    @pytest.mark.parametrize(
        ("room", "kept", "left_out"),
        [(None, "a  b  c", ()), (7, "a  b  c", ()), (6, "a  c", ("b",)), (1, "a", ("b", "c"))],
        ids=["no terminal", "it fits", "one column too many", "never fewer than are not spare"],
    )
    def test_a_table_gives_up_columns_until_it_fits(
        self, room: int | None, kept: str, left_out: tuple[str, ...]
    ) -> None:
        lines, told = fitting_lines(("a", "b", "c"), [("1", "2", "3")], right=frozenset(), spare=("b", "c"), room=room)
        assert (lines[0], told) == (kept, left_out)

    def test_one_request_is_shown_with_its_lines(self, run: Run, store_path: Path) -> None:
        told = run("ledger", "show", "req-priced", "--store", str(store_path))
        assert told.exit_code == 0
        for part in ("req-priced", "0.048000 USD", "100,000 read", "kind:shell", "12,000", original_sha(ORIGINAL)[:16]):
            assert part in told.stdout
        shown = json.loads(run("ledger", "show", "req-priced", "--store", str(store_path), "--json").stdout)
        assert shown["lines"][0]["original"] == original_sha(ORIGINAL)
        assert shown["outcome"]["usage"]["reasoning"] is None

    def test_an_unknown_request_is_exit_3(self, run: Run, store_path: Path) -> None:
        told = run("ledger", "show", "nope", "--store", str(store_path))
        assert (told.exit_code, told.stdout) == (3, "")

    def test_conversations(self, run: Run, store_path: Path) -> None:
        told = run("ledger", "conversations", "--store", str(store_path), "--json")
        found = {one["lineage"]: one for one in json.loads(told.stdout)["conversations"]}
        assert found["a" * 24]["requests"] == 2
        assert found["a" * 24]["pressed"] == 1
        assert found["b" * 24]["reused"] == 1
        table = run("ledger", "conversations", "--store", str(store_path)).stdout
        assert "b" * 24 in table

    def test_an_empty_ledger_is_told_on_stderr(self, run: Run, home: Path) -> None:
        SqliteStore(home / "empty.sqlite3").close()
        told = run("ledger", "list", "--store", "empty.sqlite3")
        assert (told.exit_code, told.stdout) == (0, "")
        assert "No requests" in told.stderr
        assert json.loads(run("ledger", "list", "--store", "empty.sqlite3", "--json").stdout) == {"requests": []}

    def test_names_from_clients_cannot_steer_the_terminal(self, run: Run, home: Path) -> None:
        from .conftest import receipt

        store = SqliteStore(home / "odd.sqlite3")
        store.put([], [], receipt("req", model="evil\x1b[2J\x1b]0;title\x07model\n")).result()
        store.close()
        assert "\x1b" not in run("ledger", "list", "--store", "odd.sqlite3").stdout
        assert "\x1b" not in run("ledger", "show", "req", "--store", "odd.sqlite3").stdout


def tools_of(run: Run, *arguments: str) -> dict[str, dict[str, object]]:
    told = run("check", "--json", *arguments)
    assert told.exit_code == 0
    return {tool["tool"]: tool for tool in json.loads(told.stdout)["tools"]}


class TestCheck:
    @pytest.mark.parametrize(
        ("asked", "kind", "may_shrink", "why"),
        [
            pytest.param("Read", "source", True, "dedupe, lossless", id="sources keep every character"),
            pytest.param("Edit", "mutation", False, "never touched", id="mutations are protected"),
            pytest.param("Bash(git diff)", "diff", False, "never touched", id="a shell command is read"),
            pytest.param("Bash(pytest -q)", "shell", True, "deterministic from", id="logs"),
            pytest.param("Unheard_Of", "unknown", False, "the rule says exact", id="an unknown tool stays exact"),
            pytest.param("mcp__files__read", "mcp", False, "exact", id="an MCP tool"),
        ],
    )
    def test_a_tool_is_told_with_its_reason(self, run: Run, asked: str, kind: str, may_shrink: bool, why: str) -> None:
        tool = tools_of(run, asked)[asked]
        assert (tool["kind"], tool["may_shrink"]) == (kind, may_shrink)
        assert why in str(tool["why"])

    def test_a_shell_named_alone_is_told_by_kind_of_command(self, run: Run) -> None:
        kinds = {tool["kind"] for tool in tools_of(run, "Bash").values()}
        assert kinds == {"shell", "source", "search", "listing", "diff", "mutation"}

    def test_own_rules_decide(self, run: Run, home: Path) -> None:
        (home / "coldpress.toml").write_text(
            "[[rules]]\nmatch = 'grep*'\nmode = 'keyword'\n[[rules]]\nmatch = 'Log*'\nmode = 'deterministic'\n"
            "[[rules]]\nmatch = 'Edit'\nmode = 'lossless'"
        )
        tools = tools_of(run, "Grep", "LogTail", "Edit")
        assert (tools["Grep"]["rule"], tools["Grep"]["may_shrink"]) == ("grep*", True)
        assert tools["LogTail"]["why"] == "deterministic once 6 turns old"
        assert "never touched, whatever a rule says" in str(tools["Edit"]["why"])
        assert "not built" not in run("check", "Grep").output

    def test_tools_come_from_the_ledger_where_it_has_some(self, run: Run, store_path: Path) -> None:
        kinds = {str(name).partition("(")[0] for name in tools_of(run, "--store", str(store_path))}
        assert kinds == {"Bash"}

    def test_typical_tools_are_shown_without_a_ledger_and_no_store_is_made(self, run: Run, home: Path) -> None:
        assert "Read" in tools_of(run)
        assert list(home.iterdir()) == []

    def test_every_tool_of_the_catalogue_can_be_listed(self, run: Run) -> None:
        assert {"read_file", "apply_patch", "websearch"} <= {name.partition("(")[0] for name in tools_of(run, "--all")}

    def test_wrong_settings_are_exit_6(self, run: Run, home: Path) -> None:
        (home / "coldpress.toml").write_text("prot = 1")
        told = run("check")
        assert (told.exit_code, told.stdout) == (6, "")
        assert "did you mean port?" in told.stderr

    def test_the_reference_arms_are_told_with_their_warnings(self, run: Run, shared: Path) -> None:
        told = run(
            "check", "--config", str(shared / "reference" / "model-gated-arm.json"), "web_search", "grep", "--json"
        )
        report = json.loads(told.stdout)
        assert [tool["rule"] for tool in report["tools"]] == ["web_search", "grep*"]
        told = "\n".join(report["warnings"])
        assert "default_policy is off" in told
        assert "not built" not in told and "plugins.order" not in told

    def test_a_client_that_points_at_a_stopped_gateway_is_named(
        self, run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        (home / "coldpress.toml").write_text(f"port = {port}")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://localhost:{port}/provider/anthropic")
        monkeypatch.setenv("OPENAI_BASE_URL", "https://api.openai.com/v1")
        told = run("check", "Read")
        assert "does not answer" in told.stdout
        assert "ANTHROPIC_BASE_URL points clients at" in told.stderr
        assert "OPENAI_BASE_URL" not in told.stderr

    @pytest.mark.parametrize("asked", [(), ("Read",), ("--all",)], ids=["nothing", "a tool", "all"])
    @pytest.mark.parametrize("what", ["notes", "a folder", "another database"])
    def test_a_store_that_cannot_be_used_is_told_whatever_is_asked(
        self, run: Run, home: Path, asked: tuple[str, ...], what: str
    ) -> None:
        broken = home / "broken"
        if what == "notes":
            broken.write_text("my notes, which are no database of any kind")
        elif what == "a folder":
            broken.mkdir()
        else:
            with closing(sqlite3.connect(broken)) as other:
                other.execute("CREATE TABLE mine (x)")
        (home / "coldpress.toml").write_text(f"[store]\npath = '{broken}'")
        told = run("check", *asked)
        assert (told.exit_code, told.stdout) == (1, "")
        assert str(broken) in told.stderr

    @pytest.mark.parametrize(
        ("operation", "why"),
        [("drain", "nothing new is made smaller"), ("observe", "only written down"), ("off", "nothing is changed")],
    )
    def test_where_nothing_new_is_pressed_no_tool_is_promised_to_shrink(
        self, run: Run, home: Path, operation: str, why: str
    ) -> None:
        (home / "coldpress.toml").write_text(f"operation = '{operation}'")
        for tool in tools_of(run, "Read", "Bash", "Edit").values():
            assert tool["may_shrink"] is False
        read = tools_of(run, "Read")["Read"]
        assert f"operation {operation}: {why}" in str(read["why"])
        assert "lossless" in str(read["why"])  # what the rule would allow is still told
        assert "may shrink" not in run("check", "Read", "Bash").stdout

    def test_one_provider_that_presses_is_enough_for_a_promise(self, run: Run, home: Path) -> None:
        (home / "coldpress.toml").write_text("operation = 'drain'\n[providers.openai]\noperation = 'press'")
        assert tools_of(run, "Read")["Read"]["may_shrink"] is True

    def test_a_tool_is_told_with_what_may_be_done_early_and_late(self, run: Run) -> None:
        told = run("check", "Read").stdout
        assert "what may be done" in told
        assert "at first sight" not in told

    def test_a_request_body_is_told_result_by_result(self, run: Run, home: Path) -> None:
        body = {
            "model": "m",
            "tools": [{"name": "Bash", "input_schema": {"type": "object"}}],
            "messages": [
                {"role": "user", "content": "go"},
                *turn("t1", "Bash", {"command": "make"}, "\n".join(f"compiling unit {n} of many" for n in range(2000))),
                *turn("t2", "Edit", {"file_path": "a.py"}, "x" * 5000),
            ],
        }
        (home / "request.json").write_text(json.dumps(body))
        told = run("check", "--file", "request.json", "--json")
        assert told.exit_code == 0
        shell, edit = json.loads(told.stdout)["results"]
        assert (shell["reason"], shell["tool"]) == ("pressed", "Bash")
        assert shell["bytes_after"] < shell["bytes_before"]
        assert (edit["reason"], edit["bytes_after"]) == ("protected_kind", 5000)
        shown = run("check", "--file", "request.json").stdout
        assert "when a model first sees it" in shown and "together" in shown
        assert "too small to decide on" not in shown
        assert "openrouter" not in shown  # nothing but what was asked about
        assert "openrouter" in run("check").stdout

    def test_results_are_numbered_as_they_stand_and_small_ones_counted(self, run: Run, home: Path) -> None:
        made = "\n".join(f"compiling unit {n} of many" for n in range(2000))
        texts = ["ok", made, "x", "done", made.replace("unit", "part")]
        turns = [turn(f"t{n}", "Bash", {"command": f"make {n}"}, text) for n, text in enumerate(texts)]
        messages = [{"role": "user", "content": "go"}, *(message for pair in turns for message in pair)]
        (home / "request.json").write_text(json.dumps({"model": "m", "messages": messages}))
        found = json.loads(run("check", "--file", "request.json", "--json").stdout)
        assert [result["number"] for result in found["results"]] == [2, 5]
        assert found["results_without_line"] == 3
        shown = run("check", "--file", "request.json").stdout
        assert [row.split()[0] for row in shown.splitlines() if "deterministic" in row and "kind:" in row] == ["2", "5"]
        assert "3 of 5 results are too small to decide on and not listed" in shown

    def test_a_file_that_is_no_request_is_told(self, run: Run, home: Path) -> None:
        (home / "request.json").write_text("[1, 2]")
        told = run("check", "--file", "request.json")
        assert told.exit_code == 1
        assert "holds no request that can be read" in told.stderr


def turn(call_id: str, tool: str, arguments: dict[str, object], text: str) -> list[dict[str, object]]:
    return [
        {"role": "assistant", "content": [{"type": "tool_use", "id": call_id, "name": tool, "input": arguments}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": text}]},
    ]
