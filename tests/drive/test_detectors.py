"""The libraries of the extra `pii`: places in any script, from any thread, and what becomes of their failures."""

from __future__ import annotations

import builtins
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from coldpress.drive import detectors
from coldpress.drive.detectors import Libraries, libraries, missing
from coldpress.engine.pii import KINDS
from coldpress.model.errors import DetectorFailed

TOKEN = "ghp_1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R"


@pytest.fixture(scope="module")
def installed() -> Libraries:
    return libraries(KINDS)


@pytest.mark.parametrize(
    "before",
    ["", "é ", "日本語 🙂 ", "\ufeff", "\ufeffé\n", "\ud800 ", "\x00 ", "🙂" * 300 + " "],
    ids=["at once", "an accent", "wide", "a byte order mark", "both", "half a character", "a null", "many"],
)
def test_a_token_is_found_where_it_stands(installed: Libraries, before: str) -> None:
    text = f"{before}token {TOKEN} 🙂"
    found = {text[hit.start : hit.end] for hit in installed.secrets(text, seconds=5.0)}
    assert found == {TOKEN}


def test_threads_share_one_scanner(installed: Libraries) -> None:
    texts = [f"{'x ' * n}{TOKEN}" for n in range(64)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: installed.secrets(text, seconds=5.0), texts))
    assert [(hit.start, hit.end) for (hit,) in found] == [(2 * n, 2 * n + len(TOKEN)) for n in range(64)]


@pytest.mark.parametrize("error", [TimeoutError, RuntimeError, ValueError])
def test_what_a_library_raises_is_a_failure_of_it(error: type[Exception]) -> None:
    class Failing:
        def scan(self, raw: bytes, *, timeout: float) -> list[object]:
            raise error(raw.decode())

    with pytest.raises(DetectorFailed) as caught:
        Libraries(Failing()).secrets(f"is {TOKEN}", seconds=1.0)  # type: ignore[arg-type]
    assert TOKEN not in str(caught.value)


def test_telephone_numbers_go_by_the_plans_of_countries(installed: Libraries) -> None:
    numbers = ["+4930901820", "+1 (415) 867-5309", "+999 12345678", "+49", "+1234567890", "+" + "1" * 300]
    assert [installed.is_phone(number) for number in numbers] == [True, True, False, False, False, False]


def test_what_is_not_installed_is_named_and_never_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detectors.importlib.util, "find_spec", lambda name: None)
    real = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        assert name.partition(".")[0] not in ("kingfisher_sdk", "phonenumbers")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    assert missing(KINDS) == ("kingfisher-secret-scanner", "phonenumberslite")
    assert missing(("email",)) == ()
    assert libraries(KINDS).secrets(TOKEN, seconds=1.0) == ()
