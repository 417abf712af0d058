"""Files that a command writes: never over the store, over another file only when told to; and where nothing can be."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from coldpress.demo.run import STORE_NAME
from coldpress.model.identity import original_sha
from coldpress.stores.sqlite import SqliteStore

from .conftest import ORIGINAL, Run

CUT = ("--model", "claude-opus-5-5", "--rewrite-tokens", "50000", "--removed-tokens", "20000")
SHA = original_sha(ORIGINAL)


def recall_arguments(store: Path, target: str) -> tuple[str, ...]:
    return ("recall", SHA, "--store", str(store), "--out", target)


def plot_arguments(store: Path, target: str) -> tuple[str, ...]:
    (store.parent / "coldpress.toml").write_text(f"[store]\npath = '{store}'")
    return ("breakeven", *CUT, "--plot", target)


def raw_arguments(store: Path, target: str) -> tuple[str, ...]:
    with SqliteStore(store, raw_log=True) as opened:
        opened.log_event("logged", 1.0, "request", (), b"{}")
    return ("ledger", "raw", "logged", "--store", str(store), "--out", target)


WRITERS = [
    pytest.param(recall_arguments, id="recall"),
    pytest.param(plot_arguments, id="breakeven"),
    pytest.param(raw_arguments, id="ledger raw"),
]
Arguments = Callable[[Path, str], tuple[str, ...]]


@pytest.mark.parametrize("arguments", WRITERS)
class TestAFileThatIsThere:
    def test_it_is_kept_and_force_is_named(self, run: Run, store_path: Path, home: Path, arguments: Arguments) -> None:
        (home / "mine.svg").write_text("mine")
        told = run(*arguments(store_path, "mine.svg"))
        assert (told.exit_code, told.stdout) == (1, "")
        assert "mine.svg is there already; --force overwrites it" in told.stderr
        assert (home / "mine.svg").read_text() == "mine"

    def test_force_overwrites_it(self, run: Run, store_path: Path, home: Path, arguments: Arguments) -> None:
        (home / "mine.svg").write_text("mine")
        assert run(*arguments(store_path, "mine.svg"), "--force").exit_code == 0
        assert (home / "mine.svg").read_text(encoding="utf-8") != "mine"

    def test_a_missing_folder_is_named_and_not_made(
        self, run: Run, store_path: Path, home: Path, arguments: Arguments
    ) -> None:
        told = run(*arguments(store_path, "no/such/file.svg"))
        assert (told.exit_code, told.stdout) == (1, "")
        assert "no/such/file.svg cannot be written: there is no folder no/such" in told.stderr
        assert not (home / "no").exists()

    def test_a_file_in_place_of_a_folder_is_named(
        self, run: Run, store_path: Path, home: Path, arguments: Arguments
    ) -> None:
        (home / "file").write_text("")
        told = run(*arguments(store_path, "file/x.svg"))
        assert told.exit_code == 1
        assert "there is no folder file" in told.stderr

    @pytest.mark.parametrize("force", [(), ("--force",)], ids=["plain", "forced"])
    @pytest.mark.parametrize("beside", ["", "-wal", "-shm", "-journal"])
    @pytest.mark.parametrize("how", ["name", "symbolic link", "hard link"])
    def test_never_the_store(  # noqa: PLR0917 - every one a fixture or a parameter
        self,
        run: Run,
        home: Path,
        store_path: Path,
        arguments: Arguments,
        force: tuple[str, ...],
        beside: str,
        how: str,
    ) -> None:
        store = home / "store.svg"
        store_path.rename(store)
        target = home / f"store.svg{beside}"
        if how == "symbolic link":
            target, was = home / "link.svg", target
            target.symlink_to(was)
        elif how == "hard link":
            if beside:
                pytest.skip("there is no such file to link to while the store is closed")
            target, was = home / "link.svg", target
            os.link(was, target)
        told = run(*arguments(store, str(target)), *force)
        assert told.exit_code in (1, 2)  # 2: a name that no picture has
        assert "Traceback" not in told.stderr
        assert run("recall", SHA, "--store", str(store)).stdout_bytes == ORIGINAL.encode()
        assert not target.is_file() or target.samefile(store)


def test_a_device_is_no_file_to_keep(run: Run, store_path: Path) -> None:
    assert run(*recall_arguments(store_path, os.devnull)).exit_code == 0


class TestTheStoreOfTheDemonstration:
    @pytest.fixture
    def place(self, home: Path) -> Path:
        path = home / ".local" / "share" / "coldpress" / "demo" / STORE_NAME
        path.parent.mkdir(parents=True)
        return path

    def test_what_is_no_store_is_kept_and_it_says_what_to_do(self, run: Run, place: Path) -> None:
        place.write_text("my notes, which are no database of any kind")
        told = run("demo")
        assert (told.exit_code, told.stdout) == (1, "")
        assert str(place) in told.stderr
        assert "XDG_DATA_HOME" in told.stderr
        assert place.read_text().startswith("my notes")

    def test_an_older_one_is_replaced_and_what_stands_beside_it_is_kept(self, run: Run, place: Path) -> None:
        store = SqliteStore(place)
        store.put([(SHA, ORIGINAL)], [], None).result()
        store.close()
        copy = place.with_name(f"{STORE_NAME}.copy")
        copy.write_text("a copy")
        told = run("demo")
        assert told.exit_code == 0
        assert f"coldpress ledger list --store {place}" in told.stdout
        assert run("recall", SHA, "--store", str(place)).exit_code == 3
        assert copy.read_text() == "a copy"


COMMANDS = [
    pytest.param((), id="help"),
    pytest.param(("--version",), id="--version"),
    pytest.param(("version",), id="version"),
    pytest.param(("version", "--json"), id="json"),
    pytest.param(("check", "Read"), id="check"),
    pytest.param(("prices", "claude-opus-5-5"), id="prices"),
    pytest.param(("breakeven", *CUT), id="breakeven"),
    pytest.param(("ledger", "list"), id="ledger list"),
    pytest.param(("ledger", "totals"), id="ledger totals"),
    pytest.param(("recall", SHA), id="recall"),
    pytest.param(("init",), id="init"),
]


def process(*arguments: str, stdout: int) -> subprocess.CompletedProcess[str]:
    code = "from coldpress.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *(arguments or ("--help",))],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("arguments", COMMANDS)
class TestAnOutputThatCannotBeWritten:
    @pytest.fixture(autouse=True)
    def settings(self, home: Path, store_path: Path) -> None:
        (home / "coldpress.toml").write_text(f"[store]\npath = '{store_path}'")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
    def test_a_full_disk_is_one_line_and_exit_1(self, home: Path, arguments: tuple[str, ...]) -> None:
        if arguments == ("init",):
            (home / "coldpress.toml").unlink()
        full = os.open("/dev/full", os.O_WRONLY)
        try:
            told = process(*arguments, stdout=full)
        finally:
            os.close(full)
        assert told.returncode == 1
        assert told.stderr == "Error: the output cannot be written: No space left on device\n"

    def test_a_reader_that_is_gone_is_no_error_to_talk_of(self, home: Path, arguments: tuple[str, ...]) -> None:
        if arguments == ("init",):
            (home / "coldpress.toml").unlink()
        reading, writing = os.pipe()
        os.close(reading)
        try:
            told = process(*arguments, stdout=writing)
        finally:
            os.close(writing)
        assert (told.returncode, told.stderr) == (1, "")
