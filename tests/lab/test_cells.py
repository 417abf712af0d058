"""One recording, every arm at every tariff: rows add up, and it is all the same how often an arm is driven."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from coldpress.demo.run import recording_path
from coldpress.lab.arm_files import load_arm, named_arms
from coldpress.lab.cells import content_of, measure
from coldpress.lab.decision_class import decision_class
from coldpress.lab.importers.any import read_file
from coldpress.lab.recorded import Recorded
from coldpress.lab.results import Measured
from coldpress.lab.runs import Runs
from coldpress.lab.services import paid_usd, service_for, tariff_names
from coldpress.measure.tokens import estimate

ARMS = ("control", "first-sight", "coldpress-source-5", "mask-10", "cold-only", "reference-gate", "half-summary")
TARIFFS = tuple(name for name in tariff_names() if name != "recorded")


@functools.cache
def measured() -> Measured:
    return measure(recording_path(), [named_arms()[name] for name in ARMS], ("claude-opus-4-6", "deepseek-v4-pro"))


def test_rows_come_in_the_order_of_arms_and_tariffs() -> None:
    found = measured()
    assert found.skipped is None
    assert [(bill.arm, bill.tariff) for bill in found.bills] == [
        (arm, tariff) for arm in ARMS for tariff in ("claude-opus-4-6", "deepseek-v4-pro")
    ]
    assert {bill.content for bill in found.bills} == {content_of(recording_path())}


def test_the_rows_of_requests_add_up_to_the_bill() -> None:
    found = measured()
    for bill in found.bills:
        turns = [turn for turn in found.turns if (turn.arm, turn.tariff) == (bill.arm, bill.tariff)]
        assert len(turns) == bill.requests
        assert sum(turn.usd for turn in turns) + bill.refetch_usd == pytest.approx(bill.bill_usd)
        assert sum(turn.control_usd for turn in turns) == pytest.approx(bill.control_usd)
        sizes = [turn.fresh_tokens + turn.read_tokens + turn.written_tokens for turn in turns]
        assert (sum(sizes), max(sizes)) == (bill.prompt_tokens, bill.peak_tokens)
        assert bill.prompt_tokens == bill.fresh_tokens + bill.read_tokens + bill.written_tokens
        assert sum(turn.removed_tokens for turn in turns) == bill.control_prompt_tokens - bill.prompt_tokens
        assert sum(turn.cut != "" for turn in turns) == bill.cuts >= bill.cold_cuts


def test_the_rows_of_losses_add_up_to_the_bill() -> None:
    found = measured()
    for bill in found.bills:
        losses = [loss for loss in found.losses if (loss.arm, loss.tariff) == (bill.arm, bill.tariff)]
        assert sum(loss.edits for loss in losses) == bill.edits_of_results
        assert sum(loss.edits_lost for loss in losses) == bill.edits_lost
        assert sum(loss.identifiers for loss in losses) == bill.identifiers
        assert sum(loss.identifiers_lost for loss in losses) == bill.identifiers_lost
        assert sum(loss.refetches for loss in losses) == bill.refetches


def test_the_control_is_the_client_and_loses_nothing() -> None:
    for bill in measured().bills:
        if bill.arm == "control":
            assert bill.bill_usd == pytest.approx(bill.control_usd)
            assert (bill.edits_lost, bill.identifiers_lost, bill.refetches, bill.cuts) == (0, 0, 0, 0)
            assert (bill.prompt_tokens, bill.peak_tokens) == (bill.control_prompt_tokens, bill.control_peak_tokens)
        elif bill.arm not in ("half-summary", "reference-gate"):  # the recording is too short for these
            assert bill.prompt_tokens < bill.control_prompt_tokens, (bill.arm, "or this test says little")


def test_the_same_file_gives_the_same_rows() -> None:
    arms = [named_arms()[name] for name in ARMS]
    assert measure(recording_path(), arms, ("claude-opus-4-6", "deepseek-v4-pro")) == measured()


def alike(recorded: Recorded, arm_name: str) -> None:
    """Drive an arm at every tariff; tariffs of one class must have got the same prompts."""
    arm, runs = named_arms()[arm_name], Runs(recorded)
    services = [service_for(name, recorded.trajectories) for name in TARIFFS]
    classes = [decision_class(arm, service) for service in services]
    assert len(set(classes)) < len(classes), "some tariffs are told to be alike, or this test says nothing"
    sent = {}
    for service, decides in zip(services, classes, strict=True):
        asked = runs.run(arm, service).asked or ()
        totals = [prompt.totals for prompt in asked]
        assert sent.setdefault(decides, totals) == totals, service.tariff.name


@pytest.mark.parametrize("arm", [name for name in ARMS if name != "control"])
def test_tariffs_that_an_arm_cannot_tell_apart_get_the_same_prompts(arm: str) -> None:
    found = read_file(recording_path())
    alike(Recorded("demo", found.trajectories, functools.cache(estimate), recorded_heads=found.own_heads), arm)


BUDGET_BY_WINDOW = "[budget]\ntrigger = 0.08\ntarget = 0.04\nkeep_turns = 1\n"
BUDGET_BY_MODEL = '[budget]\nstages = []\n[[budgets]]\nmodel = "*sonnet*"\nstages = ["mask"]\nwindow_tokens = 20_000\n'
SOURCES_EVERY_TURN = '[[rules]]\nmatch = "kind:source"\nmode = "source"\nage = 2\n[lab]\nschedule = "every_turn"\n'


@pytest.mark.parametrize(
    ("text", "tariffs"),
    [
        pytest.param(BUDGET_BY_WINDOW, ("recorded", "claude-opus-4-6"), id="nominal windows"),
        pytest.param(BUDGET_BY_MODEL, ("claude-opus-5-5", "claude-sonnet-5-5"), id="a budget for one model"),
        pytest.param(
            SOURCES_EVERY_TURN, ("server without a cache", "deepseek-v4-pro"), id="reads that wait for a cold cache"
        ),
    ],
)
def test_what_a_settings_file_looks_at_tells_tariffs_apart(tmp_path: Path, text: str, tariffs: tuple[str, str]) -> None:
    """The order of tariffs once decided which of their windows held for both."""
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    arm = load_arm(path)
    both = measure(recording_path(), [arm], tariffs).bills
    alone = [measure(recording_path(), [arm], (tariff,)).bills[0] for tariff in tariffs]
    assert [bill.prompt_tokens for bill in both] == [bill.prompt_tokens for bill in alone]
    assert len({bill.prompt_tokens for bill in alone}) == 2, "or this test says little"


def test_the_least_is_that_of_the_same_rules(tmp_path: Path) -> None:
    """Another arm that may do more once became everybody's least."""
    path = tmp_path / "bold.toml"
    path.write_text("source_age = 5\nallow_thinking_loss = true\n", encoding="utf-8")
    arms = [named_arms()["coldpress-source-5"], named_arms()["oracle-source-5"]]
    few, many = (
        measure(recording_path(), mine, ("claude-opus-5-5",)).bills for mine in (arms, [*arms, load_arm(path)])
    )
    assert [bill.least_usd for bill in few] == [bill.least_usd for bill in many[:2]]
    assert few[1].least_usd == pytest.approx(few[1].bill_usd - few[1].refetch_usd)


def test_no_arm_asks_a_model(tmp_path: Path) -> None:
    path = tmp_path / "asks.toml"
    path.write_text(
        '[summariser]\nkind = "openai"\nmodel = "m"\nurl = "http://127.0.0.1:9"\n[store]\nraw_log = true\n',
        encoding="utf-8",
    )
    settings = load_arm(path).settings
    assert (settings.summariser.kind, settings.offload.enabled, settings.store.raw_log) == ("structural", False, False)


def test_tariffs_that_an_arm_cannot_tell_apart_on_recorded_sessions(shared: Path) -> None:
    files = sorted((shared / "trajectories/dev/claude-code").glob("*.jsonl"), key=lambda one: one.stat().st_size)
    for path in (files[len(files) // 2], files[len(files) // 2 + 3]):
        recorded = Recorded(path.stem, read_file(path).trajectories, functools.cache(estimate))
        for arm in ("first-sight", "mask-10", "mask-10-batched", "coldpress-source-5"):
            alike(recorded, arm)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not a recorded run of a known kind"),
        ("PNG\x00", "not a recorded run of a known kind"),
        ('{"type":"user","sessionId":"s","message":{"role":"user","content":"hi"}}\n', "holds no request with a reply"),
    ],
)
def test_a_file_that_cannot_be_replayed_is_skipped_with_the_reason(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text, encoding="utf-8")
    found = measure(path, [named_arms()["control"]], ("claude-opus-4-6",))
    assert found.bills == () and found.skipped is not None
    assert told in found.skipped.why and found.skipped.path == str(path)


def test_a_model_without_a_list_price_is_no_crash(tmp_path: Path) -> None:
    text = recording_path().read_text(encoding="utf-8").replace('"model": "', '"model": "unheard-of-', 1)
    path = tmp_path / "mine.json"
    path.write_text(text, encoding="utf-8")
    assert "unheard-of-" in text
    found = measure(path, [named_arms()["control"]], ("recorded",))
    assert found.skipped is not None and "no list price for unheard-of-" in found.skipped.why
    assert measure(path, [named_arms()["control"]], ("claude-opus-4-6",)).skipped is None


def test_what_was_paid_is_unknown_where_a_reply_reports_nothing() -> None:
    trajectories = read_file(recording_path()).trajectories
    assert paid_usd(trajectories) is None
    assert {bill.paid_usd for bill in measured().bills} == {None}


def test_every_dev_recording_is_replayed(shared: Path) -> None:
    """All kinds of programs, those without times and usage too."""
    for folder in sorted((shared / "trajectories/dev").iterdir()):
        path = min((one for one in folder.iterdir() if one.is_file()), key=lambda one: one.stat().st_size)
        found = measure(path, [named_arms()["control"], named_arms()["coldpress-source-5"]], ("claude-opus-4-6",))
        assert found.skipped is None, found.skipped
        control, ours = found.bills
        assert control.requests > 0 and 0 < ours.bill_usd - ours.refetch_usd <= 1.02 * control.bill_usd, path.name
