"""What a command printed is found in whatever a harness puts around it, and stays a piece of the text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.engine.catalogue import classify
from coldpress.engine.envelopes import body, is_observation, printed
from coldpress.engine.exactness import failed, judge

RUN = classify("bash", '{"command": "make test | tail -40"}')


def safe(value: object) -> str:
    """JSON as Jinja's `tojson` writes it."""
    return (
        json.dumps(value)
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026")
        .replace("'", "\\u0027")
    )


def mini(text: str, code: int = 0) -> str:
    return f'{{\n  "returncode": {code},\n  "output": {safe(text)}\n}}'


def mini_elided(head: str, tail: str) -> str:
    return (
        f'{{\n  "returncode": 0,\n  "output_head": {safe(head)},\n  "output_tail": {safe(tail)},\n'
        '  "elided_chars": 512,\n  "warning": "Output too long."\n}'
    )


def mini_text(text: str) -> str:
    return f"<returncode>0</returncode>\n<output>\n{text}</output>"


def mini_text_elided(head: str, tail: str) -> str:
    return (
        f"<returncode>0</returncode>\n<warning>\nToo long.\n</warning><output_head>\n{head}\n</output_head>\n"
        f"<elided_chars>\n512 characters elided\n</elided_chars>\n<output_tail>\n{tail}\n</output_tail>"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(mini("a\nb\n"), "a\nb\n", id="mini-swe-agent"),
        pytest.param(mini('say "x"\nb'), 'say \\"x\\"\nb', id="other escapes stay"),
        pytest.param(mini("C:\\new\nb"), "C:\\\\new\nb", id="a backslash before an n is no line end"),
        pytest.param(mini("a\r\nb"), "a\nb", id="lines of Windows"),
        pytest.param(mini_elided("a\nb", "y\nz"), "a\nb\ny\nz", id="mini-swe-agent, too long"),
        pytest.param(mini_text("a\nb\n"), "a\nb", id="mini-swe-agent as text"),
        pytest.param(
            mini_text("<output>\nx\n</output>\nb\n"), "<output>\nx\n</output>\nb", id="its own element inside"
        ),
        pytest.param(mini_text_elided("a\nb", "y\nz"), "a\nb\ny\nz", id="mini-swe-agent as text, too long"),
        pytest.param("<returncode>0</returncode>\n<output>\na\n", "a", id="cut off"),
        pytest.param("OBSERVATION:\na\nb", "\na\nb", id="SWE-agent"),
        pytest.param(
            "Chunk ID: 8e01b2\nWall time: 1.2 s\nProcess exited with code 0\nOriginal token count: 9\nOutput:\na\nb",
            "a\nb",
            id="Codex",
        ),
        pytest.param("Exit code: 0\nWall time: 1 seconds\nOutput:\na\n", "a\n", id="older Codex"),
        pytest.param("Script completed\nWall time 3.7 seconds\nOutput:\na\nb", "a\nb", id="a script of Codex"),
        pytest.param("Script running with cell ID 6\nWall time 9.0 seconds\nOutput:\na", "a", id="one that goes on"),
        pytest.param('{"output":"a\\nb","metadata":{"exit_code":0}}', "a\nb", id="Codex as JSON"),
        pytest.param('{"stdout": "a\\nb", "stderr": "c", "exitCode": 0}', "a\nb\nc", id="two streams"),
        pytest.param('{"output": "a\\nb", "id": 7}', '{"output": "a\\nb", "id": 7}', id="what a program printed"),
        pytest.param("First line\nOutput:\na", "First line\nOutput:\na", id="a program's own word"),
        pytest.param('{"exit_code": 0, "output": [1]}', '{"exit_code": 0, "output": [1]}', id="no text inside"),
        pytest.param('{"returncode": 0, "output": "a', '{"returncode": 0, "output": "a', id="no JSON"),
    ],
)
def test_what_a_command_printed(text: str, expected: str) -> None:
    assert printed(text) == expected
    assert all(line in text for line in printed(text).split("\n"))


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=30), max_size=6))
def test_every_line_is_a_piece_of_the_text_whatever_was_printed(lines: list[str]) -> None:
    text = mini("\n".join(lines))
    found = printed(text)
    assert all(line in text for line in found.split("\n"))
    assert [json.loads(f'"{line}"') for line in found.split("\n")] == "\n".join(lines).replace("\r\n", "\n").split("\n")


@pytest.mark.parametrize(
    "wrap", [mini, mini_text, lambda text: mini_elided("ok", text), lambda text: f"OBSERVATION:\n{text}"]
)
def test_a_failure_without_a_code_is_seen_inside(wrap: object) -> None:
    assert callable(wrap)
    assert failed(
        RUN, wrap("x\nFAILED tests/a.py::test_x - assert 4 == 5\n1 failed, 8 passed in 0.3s\n"), wire_failed=None
    )
    assert not failed(RUN, wrap("x\n9 passed in 0.3s\n"), wire_failed=None)


def test_what_a_client_shortened_may_have_failed_and_is_left_alone() -> None:
    text = mini_elided("collected", "1 failed, 8 passed in 0.3s\n")
    assert judge(RUN, text, wire_failed=None) == "already_pressed"
    assert failed(RUN, text, wire_failed=None)
    assert body("\n" + text).endswith("\n1 failed, 8 passed in 0.3s\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("OBSERVATION:\nx", True),
        ("<returncode>1</returncode>", True),
        ("<exception>Timeout</exception>\n<returncode>-1</returncode>\n<output>\n</output>", True),
        ("The log says <returncode>1</returncode>", False),
        ("My observation: x", False),
    ],
)
def test_results_that_come_as_texts_of_a_user(text: str, expected: bool) -> None:
    assert is_observation(text) is expected
