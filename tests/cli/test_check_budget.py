"""`coldpress check` says how long prompts may be, by whose word, and what would happen now; nothing is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import KNOWN_MODEL, Run, receipt
from click.testing import CliRunner, Result
from compacting import MODEL, Step, growing, prose
from compacting import run as step

from coldpress.cli.main import main
from coldpress.model.records import Finding, Outcome
from coldpress.model.usage import Usage
from coldpress.stores.sqlite import SqliteStore

SETTINGS = """
[budget]
window_tokens = 50_000

[[budgets]]
model = "small-*"
window_tokens = 8_000
trigger = 0.5
target = 0.25
keep_turns = 2

[[budgets]]
model = "*"
task = "review"
trigger = 0.7
"""


def asked(run: Run, *arguments: str) -> Any:
    told = run("check", *arguments, "--json")
    assert told.exit_code == 0, told.stderr
    return json.loads(told.stdout)


def refused(path: Path, *told: tuple[str, int | None], model: str = "house", taken: int = 0) -> None:
    """A store whose ledger has refusals for length, oldest first, and then a prompt that was taken."""
    store = SqliteStore(path)
    for number, (provider, tokens) in enumerate(told):
        name = f"r{number}"
        store.put([], [], receipt(name, model=model, provider=provider, received_at=1_790_000_000.0 + number))
        store.add_outcome(Outcome(name, 400, "complete", 1.0, findings=(Finding("window_overflow", tokens=tokens),)))
    if taken:
        store.put([], [], receipt("taken", model=model, provider=told[0][0], received_at=1_790_000_100.0))
        store.add_outcome(Outcome("taken", 200, "complete", 1.0, Usage(fresh=taken, output=1)))
    store.flush()
    store.close()


@pytest.mark.parametrize(
    ("model", "window", "rule"),
    [
        pytest.param("house", 50_000, None, id="defaults of the settings"),
        pytest.param("small-7b", 8_000, 0, id="a rule"),
        pytest.param(KNOWN_MODEL, 50_000, None, id="the settings before the price data"),
    ],
)
def test_the_settings_say_how_long_a_prompt_may_be(
    run: Run, home: Path, model: str, window: int, rule: int | None
) -> None:
    (home / "coldpress.toml").write_text(SETTINGS)
    (found,) = asked(run, "--model", model)["budgets"]
    trigger, target, keep = (0.5, 0.25, 2) if rule == 0 else (0.65, 0.45, 6)
    assert found == {
        "model": model,
        "provider": found["provider"],
        "window_tokens": window,
        "window_source": "settings" if rule is None else "rule",
        "learned_at": None,
        "trigger_tokens": window * trigger,
        "target_tokens": window * target,
        "urgent_tokens": window * 0.9,
        "keep_turns": keep,
        "stages": ["mask", "summary"],
        "max_generations": 5,
        "min_gain": 0.1,
        "rule": rule,
        "other_rules": [1],
        "binds_reasoning": False,
    }


def test_without_settings_the_price_data_say_it_or_nobody(run: Run) -> None:
    known, unknown = asked(run, "--model", KNOWN_MODEL, "--model", "house")["budgets"]
    assert (known["window_tokens"], known["window_source"], known["provider"]) == (200_000, "price_data", "anthropic")
    assert (unknown["window_tokens"], unknown["window_source"], unknown["stages"]) == (None, "unknown", [])
    shown = run("check", "--model", "house").stdout
    assert "house: nobody says how long a prompt may be" in shown
    assert "Read" not in shown, "no more than was asked for"


@pytest.mark.parametrize(
    ("model", "told", "taken", "says"),
    [
        pytest.param("house", [("up", 8_192)], 0, (8_192, "learned"), id="told"),
        pytest.param("house", [("up", 8_192), ("up", 4_096)], 0, (4_096, "learned"), id="the newest word"),
        pytest.param("house", [("up", 8_192)], 8_193, (None, "unknown"), id="a longer prompt was taken since"),
        pytest.param(
            "house", [("up", 8_192), ("up", None)], 0, (8_192, "learned"), id="the newest word without a number"
        ),
        pytest.param("house", [("other", 8_192), ("up", None)], 0, (None, "unknown"), id="of another provider"),
        pytest.param(KNOWN_MODEL, [("anthropic", 90_000)], 0, (90_000, "learned"), id="less than the price data"),
        pytest.param(KNOWN_MODEL, [("anthropic", 900_000)], 0, (200_000, "price_data"), id="more than the price data"),
    ],
)
def test_a_refusal_in_the_ledger_says_it(
    home: Path, model: str, told: list[tuple[str, int | None]], taken: int, says: tuple[int | None, str]
) -> None:
    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments)

    refused(home / "store.sqlite3", *told, model=model, taken=taken)
    (found,) = asked(run, "--store", "store.sqlite3")["budgets"]
    assert (found["model"], found["window_tokens"], found["window_source"]) == (model, *says)
    shown = run("check", "--store", "store.sqlite3").stdout
    assert ("refused a prompt at 2026-" in shown) == (says[1] == "learned")


def test_models_of_the_ledger_are_shown_where_nothing_is_asked_for(run: Run, store_path: Path) -> None:
    found = asked(run, "--store", str(store_path))
    assert [budget["model"] for budget in found["budgets"]] == [KNOWN_MODEL]
    assert found["compaction"]["summariser"]["kind"] == "structural"
    assert asked(run, "Read", "--store", str(store_path))["budgets"] == []


def test_what_a_binding_model_means_is_said(run: Run, home: Path) -> None:
    shown = run("check", "--model", "claude-opus-5-5").stdout
    assert "bound to the text before it, so nothing goes from in front" in shown
    (home / "coldpress.toml").write_text("allow_thinking_loss = true\n")
    assert "is lost where that changes" in run("check", "--model", "claude-opus-5-5").stdout


def test_the_summariser_is_named_and_its_key_never_shown(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUM_KEY", "sk-very-secret")
    (home / "coldpress.toml").write_text(
        '[summariser]\nkind = "openai"\nmodel = "tiny"\nurl = "http://127.0.0.1:9/v1"\napi_key_env = "SUM_KEY"\n'
        'timeout_seconds = 12.0\n[notes]\nproject = "webshop"\n'
    )
    found = asked(run, "--model", "house")
    assert found["compaction"]["summariser"] == {
        "kind": "openai",
        "model": "tiny",
        "priced": False,
        "timeout_seconds": 12.0,
        "key": "found",
    }
    assert found["compaction"]["notes"] == {"project": "webshop", "shown": True}
    shown = run("check", "--model", "house").stdout
    assert "by tiny (openai), 12 s at the most; price unknown" in shown
    assert "project webshop" in shown
    assert "sk-very-secret" not in shown + json.dumps(found)
    monkeypatch.delenv("SUM_KEY")
    assert asked(run, "--model", "house")["compaction"]["summariser"]["key"] == "missing"


def request_file(home: Path, steps: list[Step], model: str = MODEL) -> str:
    path = home / "request.json"
    path.write_bytes(growing("anthropic", steps, since=len(steps), model=model)[0])
    return str(path)


@pytest.mark.parametrize(
    ("window", "verdict", "what"),
    [
        pytest.param(None, "window_unknown", "nobody says how long", id="unknown"),
        pytest.param(90_000, "below_trigger", "below the trigger", id="below"),
        pytest.param(20_000, "compacted", "would mask ", id="masks"),
        pytest.param(5_000, "compacted", "would summarise messages 2 to ", id="a summary"),
        pytest.param(2_000, "not_compacted", "nothing would be compacted: ", id="nothing to take"),
    ],
)
def test_what_would_happen_to_a_request_now(run: Run, home: Path, window: int | None, verdict: str, what: str) -> None:
    steps = 1 if verdict == "not_compacted" else 12
    if window:
        (home / "coldpress.toml").write_text(f"[budget]\nwindow_tokens = {window}\nkeep_turns = 2\n")
    path = request_file(home, [step(n) for n in range(steps)])
    found = asked(run, "--file", path)
    now = found["request"]
    assert (now["model"], now["messages"], now["verdict"]) == (MODEL, 1 + 2 * steps, verdict)
    assert found["budgets"][0]["model"] == MODEL
    assert 1_000 * steps < now["prompt_tokens"] < 1_600 * steps + 500
    assert bool(now["reason"]) == (verdict == "not_compacted")
    assert (now["after_tokens"] is not None) == (verdict == "compacted")
    if verdict == "compacted":
        assert now["after_tokens"] < now["trigger_tokens"] <= now["prompt_tokens"]
    shown = run("check", "--file", path).stdout
    assert what in shown
    assert f"about {now['prompt_tokens']:,} tokens" in shown
    assert not (home / ".local").exists(), "nothing is stored"


def test_messages_that_would_be_summarised_are_numbered_as_summaries_number_them(run: Run, home: Path) -> None:
    (home / "coldpress.toml").write_text("[budget]\nwindow_tokens = 9_000\nkeep_turns = 3\n")
    path = request_file(home, [prose(n) for n in range(12)])
    now = asked(run, "--file", path)["request"]
    assert now["masked"] == 0
    # 1 states the task, the ninth reply is 18, what the user said on it stays, and so do three replies.
    assert (now["first_message"], now["last_message"]) == (2, 18)


def test_a_model_is_not_asked_for_a_summary(run: Run, home: Path) -> None:
    """The endpoint answers nobody: were it asked, the command would wait and say so."""
    (home / "coldpress.toml").write_text(
        "[budget]\nwindow_tokens = 9_000\nkeep_turns = 3\n"
        '[summariser]\nkind = "openai"\nmodel = "tiny"\nurl = "http://127.0.0.1:9/v1"\n'
    )
    now = asked(run, "--file", request_file(home, [prose(n) for n in range(12)]))["request"]
    assert (now["verdict"], now["last_message"]) == ("compacted", 18)


@pytest.mark.parametrize(
    ("options", "window", "rule"),
    [
        pytest.param((), 50_000, None, id="nobody"),
        pytest.param(("--task", "review"), 50_000, 1, id="a task"),
        pytest.param(("--harness", "Claude-CLI"), 30_000, 2, id="a client"),
        pytest.param(("--task", "review", "--harness", "claude-cli"), 50_000, 1, id="the first row that matches"),
    ],
)
def test_rows_can_be_tried_for_a_task_and_a_client(
    run: Run, home: Path, options: tuple[str, ...], window: int, rule: int | None
) -> None:
    (home / "coldpress.toml").write_text(
        SETTINGS + '\n[[budgets]]\nharness = "claude-*"\nwindow_tokens = 30_000\ntrigger = 0.6\n'
    )
    (found,) = asked(run, "--model", "house", *options)["budgets"]
    assert (found["window_tokens"], found["rule"]) == (window, rule)
    assert found["other_rules"] == [place for place in (1, 2) if place != rule]
    path = request_file(home, [step(n) for n in range(2)], model="house")
    now = asked(run, "--file", path, *options)["request"]
    assert now["trigger_tokens"] == found["trigger_tokens"]


@pytest.mark.parametrize("who", ["harness", "task"])
def test_what_would_happen_now_is_what_happens_to_that_client_or_task(run: Run, home: Path, who: str) -> None:
    (home / "coldpress.toml").write_text(
        "[budget]\nwindow_tokens = 20_000\nkeep_turns = 2\n"
        f'[[budgets]]\n{who} = "careful"\nstages = "mask"\nkeep_turns = 12\n'
    )
    path = request_file(home, [step(n) for n in range(12)])
    assert asked(run, "--file", path)["request"]["verdict"] == "compacted"
    now = asked(run, "--file", path, f"--{who}", "careful")["request"]
    assert (now["verdict"], now["reason"]) == ("not_compacted", "nothing_to_take")


def test_without_stages_it_says_so_and_not_that_the_prompt_is_short(run: Run, home: Path) -> None:
    (home / "coldpress.toml").write_text("[budget]\nwindow_tokens = 20_000\nstages = []\n")
    now = asked(run, "--file", request_file(home, [step(n) for n in range(12)]))["request"]
    assert (now["verdict"], now["reason"]) == ("not_compacted", "no_stages")
    assert asked(run, "--file", request_file(home, [step(0)]))["request"]["verdict"] == "below_trigger"


SUMMARISER = '[summariser]\nkind = "openai"\nurl = "http://127.0.0.1:9"\nmodel = "{model}"\n{more}\n'


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        pytest.param("[budget]\nwindow_tokens = 400_000\n", "has a window of 200000 tokens", id="window: defaults"),
        pytest.param(
            f'[[budgets]]\nmodel = "{KNOWN_MODEL}"\nwindow_tokens = 200_001\n',
            "budgets[0].window_tokens is 200001, and",
            id="window: a row",
        ),
        pytest.param("[budget]\nwindow_tokens = 200_000\n", "", id="window: as large as the model's"),
        pytest.param(SUMMARISER.format(model="nobody-prices-me", more=""), "price of summariser.model", id="no price"),
        pytest.param(
            SUMMARISER.format(model="gpt-5-mini", more="max_usd_per_call = 0.000001"),
            "summariser.max_usd_per_call is 1e-06",
            id="no call is so cheap",
        ),
        pytest.param(
            SUMMARISER.format(model="gpt-5-mini", more='max_usd_per_call = 0.000001\nprefix = "conversation"'),
            "",
            id="the agent's own model is asked",
        ),
        pytest.param(SUMMARISER.format(model="gpt-5-mini", more=""), "", id="a model with a price"),
    ],
)
def test_settings_that_do_not_do_what_was_meant_are_warned_of(run: Run, home: Path, text: str, warning: str) -> None:
    (home / "coldpress.toml").write_text(text)
    warnings = asked(run, "--model", KNOWN_MODEL)["warnings"]
    assert len(warnings) == bool(warning), warnings
    assert all(warning in told for told in warnings)
    assert warning in run("check", "--model", KNOWN_MODEL).stderr
