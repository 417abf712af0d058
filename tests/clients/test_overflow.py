"""Agents outgrow a small window, and finish through the gateway; without it they end in the provider's error."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from coldpress.testing import Asked

CLIENTS = Path(__file__).resolve().parents[2] / "clients"

if not CLIENTS.is_dir():
    pytest.skip("the clients are not part of this distribution", allow_module_level=True)
sys.path.insert(0, str(CLIENTS))

from catalogue import CLIENTS as KNOWN  # noqa: E402
from overflow import ARMS  # noqa: E402
from overflow_task import PROHIBITION, Facts, make_books, script_for, settled, shown_facts  # noqa: E402
from overflow_trial import WINDOW_TOKENS, Arm, run_arm  # noqa: E402

AGENTS = {client.name: client for client in KNOWN}
ARM = {arm.name: arm for arm in ARMS}
RUNS = [
    ("anthropic-sdk", "direct"),
    ("openai-sdk", "direct"),
    ("anthropic-sdk", "mask"),
    ("openai-sdk-stream", "mask"),
    ("openai-sdk", "mask-arguments"),
    ("anthropic-sdk-stream", "model"),
    ("openai-sdk", "model"),
    ("anthropic-sdk", "structural"),
]
KNOWN_FACTS = {
    "opening": "the opening balance is 48,117.93 EUR, the books say 0.00 EUR",
    "commit": "[main 0a1b2c3] Open the books",
    "account": "The difference must go to account ACC-7431.",
    "prohibited": PROHIBITION,
}


@pytest.mark.parametrize(("agent", "arm"), RUNS, ids=[f"{agent}, {arm}" for agent, arm in RUNS])
def test_a_run_ends_as_its_arm_has_to(agent: str, arm: str, tmp_path: Path) -> None:
    pytest.importorskip(agent.partition("-")[0], reason="the SDKs come with the test extra")
    wanted: Arm = ARM[arm]
    outcome = run_arm(wanted, AGENTS[agent], Path(sys.prefix), tmp_path, timeout_seconds=60)
    assert outcome.problem is None
    assert outcome.finished is wanted.finishes
    assert (outcome.overflowed > 0) is not wanted.finishes
    assert WINDOW_TOKENS / 2 < outcome.largest_tokens <= WINDOW_TOKENS


def asked(*texts: str) -> Asked:
    body = {"messages": [{"role": "user", "content": text} for text in texts]}
    said = {"role": "assistant", "content": "Step 29 of 30."}
    return Asked("openai_chat", {"messages": [*body["messages"], said]}, 0, 1, ("bash",))


@pytest.mark.parametrize("lost", KNOWN_FACTS)
def test_the_last_step_is_wrong_where_something_was_lost(lost: str, tmp_path: Path) -> None:
    """The scripted model knows nothing but what the request at hand shows."""
    whole = shown_facts(asked(*KNOWN_FACTS.values()))
    assert whole == Facts("48,117.93", "0a1b2c3", "ACC-7431", prohibited=True)
    rest = asked(*(text for name, text in KNOWN_FACTS.items() if name != lost))
    assert shown_facts(rest) == Facts(
        **{**dict.fromkeys(("opening", "commit", "account")), "prohibited": False}
        | {name: getattr(whole, name) for name in KNOWN_FACTS if name != lost}
    )
    right, wrong = (
        str(script_for("results", finish=None).choose(request).parts)
        for request in (asked(*KNOWN_FACTS.values()), rest)
    )
    assert "settle.py 48,117.93" in right
    assert right != wrong


def test_the_books_are_settled_only_with_the_archive_left_alone(tmp_path: Path) -> None:
    make_books(tmp_path / "books")
    assert not settled(tmp_path / "books")
    (tmp_path / "books" / "settled.txt").write_text("settled\n")
    assert settled(tmp_path / "books")
    (tmp_path / "books" / "archive" / "tidied.txt").write_text("")
    assert not settled(tmp_path / "books")
