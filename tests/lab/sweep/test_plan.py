"""Which files are taken for recordings, which arms a plan measures, and what tells two plans apart."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from coldpress.lab.arm_files import Arm, named_arms
from coldpress.lab.families import Continued
from coldpress.lab.results import Skipped
from coldpress.lab.sweep import keys
from coldpress.lab.sweep.plan import Found, Plan, look_in, recordings_in
from coldpress.model.errors import ConfigError

NAMED = named_arms()
PLAN = Plan((), (NAMED["control"], NAMED["pressure-80"]), ("recorded", "gpt-6.1-sol"))


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_folders_are_walked_and_what_is_no_recording_is_counted(tmp_path: Path) -> None:
    write(
        tmp_path, b_DOT_jsonl="2", sub__a_DOT_json="1", sub__deep__c="3", sub__same_DOT_json="2", picture_DOT_PNG="p",
        empty_DOT_json="", _DOT_hidden="4", _DOT_cache__inside="5",
    )  # fmt: skip
    found = look_in([tmp_path])
    names = ("b.jsonl", "sub/a.json", "sub/deep/c")
    assert found == Found(tuple(tmp_path / name for name in names), hidden=2, others=2, duplicates=1)


def said(session: str, *replies: str) -> str:
    """The lines of a session that holds these replies."""
    lines = [
        {"type": "assistant", "uuid": one, "sessionId": session, "message": {"id": f"msg_01XFDUDYJgAACzvn{one}"}}
        for one in replies
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def test_files_that_another_one_continues_are_left_out_and_told(tmp_path: Path) -> None:
    write(tmp_path, a=said("1", "p", "q"), b=said("2", "p", "q", "r"), c=said("3", "u"), d=said("1", "p", "q"))
    found = look_in([tmp_path])
    a, b, c = (tmp_path / name for name in "abc")
    assert found == Found((b, c), duplicates=1, left_out=(Continued(a, by=b, more=1),))
    assert found.continued == 1
    assert found.told == (
        f"1 file continues in another one that holds all of the same requests, and is left out: {a}, in {b}",
    )
    write(tmp_path, e=said("4", "p"))
    assert look_in([tmp_path]).told[0].startswith("2 files continue in another one")


def test_files_that_go_on_apart_stay_and_are_told(tmp_path: Path) -> None:
    write(tmp_path, a=said("1", "p", "q"), b=said("2", "p", "r"), c=said("3", "u"))
    found = look_in([tmp_path])
    a, b, c = (tmp_path / name for name in "abc")
    assert found == Found((a, b, c), apart=((a, b),))
    assert found.continued == 0
    assert found.told == (
        "2 files begin with the same requests as another one and then go on apart; what they share counts in each: "
        f"{a}, {b}",
    )


def test_a_file_that_is_named_is_taken_whatever_it_is_called(tmp_path: Path) -> None:
    write(tmp_path, _DOT_hidden="4", picture_DOT_png="p")
    paths = (tmp_path / ".hidden", tmp_path / "picture.png")
    assert recordings_in(paths) == paths
    assert recordings_in([*paths, *paths]) == paths


def test_links_in_circles_and_to_nothing_end(tmp_path: Path) -> None:
    write(tmp_path, a__one="1")
    (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "a" / "itself").symlink_to(tmp_path / "a" / "itself")
    (tmp_path / "a" / "gone").symlink_to(tmp_path / "nowhere")
    found = look_in([tmp_path, tmp_path / "a"])
    assert [path.name for path in found.paths] == ["one"]
    assert found.others == 2


def test_a_linked_folder_is_walked(tmp_path: Path) -> None:
    write(tmp_path, elsewhere__one="1", here__two="2")
    (tmp_path / "here" / "link").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert [path.name for path in recordings_in([tmp_path / "here"])] == ["one", "two"]


def test_a_path_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing: is not there; give files or folders"):
        recordings_in([tmp_path / "nothing"])


def test_a_folder_that_may_not_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, closed__a="1")
    real = os.scandir

    def refuse(path: Path) -> object:
        if path.name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)  # root may read anything
    with pytest.raises(ConfigError, match=r"closed: cannot be read: Permission denied; let yourself read it"):
        recordings_in([tmp_path])


def test_triggers_and_windows_multiply_only_arms_with_a_budget() -> None:
    plan = replace(PLAN, triggers=(0.5, 0.9), windows=(0.5, 100_000))
    names = [arm.name for arm in plan.measured_arms]
    budget = ["@0.5/0.5", "@0.5/100000", "@0.9/0.5", "@0.9/100000"]
    assert names == ["control", *(f"pressure-80{one}" for one in budget)]
    assert [arm.name for arm in PLAN.measured_arms] == ["control", "pressure-80"]


@pytest.mark.parametrize(
    ("arms", "tariffs", "told"),
    [
        pytest.param((), ("recorded",), "without any arm", id="no arm"),
        pytest.param((NAMED["control"],), (), "without any tariff", id="no tariff"),
        pytest.param(
            (NAMED["control"],) * 2, ("recorded",), "two arms of a sweep are named control", id="one arm twice"
        ),
        pytest.param((NAMED["control"],), ("a", "b", "a"), "two tariffs of a sweep are named a", id="one tariff twice"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(arms: tuple[Arm, ...], tariffs: tuple[str, ...], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Plan((), arms, tariffs)


OTHER_PLANS = [
    pytest.param(replace(PLAN, arms=PLAN.arms[::-1]), id="arms in another order"),
    pytest.param(replace(PLAN, arms=PLAN.arms[:1]), id="fewer arms"),
    pytest.param(replace(PLAN, arms=(PLAN.arms[0], replace(PLAN.arms[1], text="# changed"))), id="an arm that changed"),
    pytest.param(replace(PLAN, tariffs=PLAN.tariffs[:1]), id="fewer tariffs"),
    pytest.param(replace(PLAN, triggers=(0.5,)), id="another trigger"),
    pytest.param(replace(PLAN, windows=(0.5,)), id="another window"),
    pytest.param(replace(PLAN, with_least=False), id="without the least"),
    pytest.param(replace(PLAN, with_turns=False), id="without turns"),
]


@pytest.mark.parametrize("other", OTHER_PLANS)
def test_a_plan_that_gives_other_rows_has_another_key(other: Plan) -> None:
    assert keys.plan_key(other) != keys.plan_key(PLAN)


def test_the_files_are_not_part_of_a_plans_key(tmp_path: Path) -> None:
    assert keys.plan_key(replace(PLAN, paths=(tmp_path,))) == keys.plan_key(PLAN)


@pytest.mark.parametrize("what", ["prices_label", "code_digest", "__version__", "ROWS_DIGEST"])
def test_other_prices_code_version_and_rows_have_another_key(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = keys.plan_key(PLAN)
    there = getattr(keys, what)
    monkeypatch.setattr(keys, what, (lambda *_: "other") if callable(there) else "other")
    assert keys.plan_key(PLAN) != before


def test_a_part_is_named_by_bytes_name_and_folder(tmp_path: Path) -> None:
    write(tmp_path, x__a="1", y__a="1", x__b="1", z__x__a="1", x__c="2")
    parts = {name: keys.task_of(tmp_path / name) for name in ("x/a", "y/a", "x/b", "z/x/a", "x/c")}
    named = {name: task.part for name, task in parts.items() if not isinstance(task, Skipped)}
    assert named["x/a"] == named["z/x/a"]
    assert len(set(named.values())) == 4
    assert {name: part[:16] for name, part in named.items() if name != "x/c"} == dict.fromkeys(
        ("x/a", "y/a", "x/b", "z/x/a"), named["x/a"][:16]
    )


def test_a_file_that_is_gone_is_a_skipped_one(tmp_path: Path) -> None:
    found = keys.task_of(tmp_path / "gone")
    assert found == Skipped(str(tmp_path / "gone"), "cannot be read: No such file or directory")
