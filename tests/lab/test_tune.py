"""Tuning: halves with like bills, a choice on one half, judged on the other, and a settings file that means it."""

from __future__ import annotations

import hashlib
import json
import pickle
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from cli.recorded import write_sessions

from coldpress.config.load import load
from coldpress.engine.policy import AGED_TURNS, DEFAULT_POLICY
from coldpress.lab import cells
from coldpress.lab.arm_files import Arm, parse_arm
from coldpress.lab.results import Bill, Measured, Skipped
from coldpress.lab.tune import FEWEST_HELD_OUT, tune
from coldpress.lab.tune_grid import DEFAULTS, Candidate, expected_requests, first_round, second_round
from coldpress.lab.tune_split import Known, halves
from coldpress.lab.tuned import Tuned
from coldpress.model.errors import FiguresError

SEED = 166
TARIFF = "one"


def paths(count: int) -> list[Path]:
    return [Path(f"history/session-{number}.jsonl") for number in range(count)]


def number_of(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])


def content_of(path: Path) -> str:
    return hashlib.sha256(path.name.encode()).hexdigest()[:16]


def ages(arm: Arm) -> tuple[int | None, int]:
    return arm.settings.source_age, arm.settings.policy.rule_for("Bash", "shell").age


@dataclass(frozen=True)
class World:
    """Bills that are known: a recording costs 10 USD and a bit more for each number, 9 tenths of that by the defaults.

    Every candidate saves more, the younger the reads it masks, and by results of other kinds: 10 turns save a little
    less than six, and 3 a little more. `by_ten` is saved beyond that where ten further requests are expected.
    """

    saved: Callable[[int, int | None, int], float]
    lost: Callable[[int, int | None, int], int] = lambda number, source, other: 0
    edits: int = 40
    compactions: int = 0
    by_ten: float = 0.0
    contents: Callable[[Path], str] = content_of

    def __call__(
        self, path: Path, arms: Sequence[Arm], tariffs: Sequence[str], *, with_least: bool, with_turns: bool
    ) -> Measured:
        assert tuple(tariffs) == (TARIFF,) and not with_least and not with_turns
        return Measured(tuple(self.bill(path, arm) for arm in arms))

    def bill(self, path: Path, arm: Arm) -> Bill:
        number, (source, other) = number_of(path), ages(arm)
        ten = self.by_ten if arm.settings.expected_applications == 10 else 0.0
        control = 10.0 + number
        return Bill(
            recording=path.stem, content=self.contents(path), kind="claude-code", task="t", arm=arm.name, tariff=TARIFF,
            conversations=2, requests=40, bill_usd=control * (1 - ten - self.saved(number, source, other)),
            control_usd=control, refetch_usd=0.0, refetches=0, prompt_tokens=100, control_prompt_tokens=120,
            peak_tokens=10, control_peak_tokens=12, fresh_tokens=1, read_tokens=90, written_tokens=9, cuts=1,
            cold_cuts=1, compactions=self.compactions, edits=self.edits, edits_of_results=self.edits,
            edits_lost=self.lost(number, source, other), identifiers=0, identifiers_lost=0,
        )  # fmt: skip


def steady(number: int, source: int | None, other: int) -> float:
    """0.10 by the defaults, 0.01 to 0.04 more with reads from 50 to 5 turns on, 0.01 more or less by other results."""
    return 0.10 + {None: 0.0, 50: 0.01, 20: 0.02, 10: 0.03, 5: 0.04}[source] + {6: 0.0, 10: -0.01, 3: 0.01}[other]


def young_loses(number: int, source: int | None, other: int) -> int:
    """Reads masked from 10 turns on lose one edit in forty, from 5 turns on two."""
    return {10: 1, 5: 2}.get(source or 0, 0)


def run(world: World, count: int = 40, **more: object) -> Tuned:
    return tune(paths(count), TARIFF, measure=world, seed=SEED, **more)  # type: ignore[arg-type]


STEADY_WORLD = World(steady, young_loses, by_ten=0.005)
STEADY = run(STEADY_WORLD)


class TestChoice:
    def test_the_largest_saving_that_loses_little_is_chosen(self) -> None:
        assert STEADY.chosen == Candidate(source_age=20, other_age=3, expected_applications=10)  # 20 requests each
        assert not STEADY.is_defaults
        assert STEADY.held_out is not None and STEADY.held_out.candidate == STEADY.chosen
        saving, beyond = STEADY.held_out.figures.saving, STEADY.held_out.beyond
        assert saving is not None and beyond is not None
        assert (saving.value, saving.low, saving.high) == pytest.approx((0.135, 0.135, 0.135))
        assert beyond.value == pytest.approx(0.035)
        assert (STEADY.tuning, STEADY.held_out_sessions, STEADY.hurt) == (20, 20, ())

    def test_every_candidate_is_told_with_what_speaks_against_it(self) -> None:
        fails = {one.candidate.name: one.fails for one in STEADY.candidates}
        assert len(fails) == len(STEADY.candidates) == 1 + 14 + 1
        assert fails["defaults"] == fails["source-20"] == fails["source-50+other-3"] == ""
        assert "% of edits may lose the text they quote" in fails["source-10"]
        assert fails["other-10"] == fails["source-50+other-10"] == "it may save no more than the defaults"

    def test_more_loss_allows_more(self) -> None:
        assert run(World(steady, young_loses), max_loss_pct=4.0).chosen.source_age == 10
        assert run(World(steady, young_loses), max_loss_pct=7.0).chosen.source_age == 5

    def test_too_few_edits_bound_no_loss(self) -> None:
        found = run(World(steady, edits=10))  # none of 200 lost: up to 1.5 % are possible
        assert found.is_defaults
        fails = {one.candidate.name: one.fails for one in found.candidates}
        assert fails["source-5"] == "none of 200 edits lost its text, which is too few to rule out 1.49 %"
        assert run(World(steady, edits=16)).chosen.source_age == 5  # none of 320: 0.9 %

    def test_without_any_edit_no_loss_is_known(self) -> None:
        found = run(World(steady, edits=0))
        assert found.is_defaults
        assert {one.fails for one in found.candidates} == {
            "",
            "it may save no more than the defaults",
            "there is no edit of an earlier result to judge its loss by",
        }

    def test_what_saves_nothing_is_not_chosen_however_bad_the_defaults_are(self) -> None:
        found = run(World(lambda number, source, other: steady(number, source, other) - 0.2))
        assert found.is_defaults
        assert "none of" in found.why and "may be chosen" in found.why
        assert {one.fails for one in found.candidates[1:]} == {"it may save nothing"}
        # The defaults themselves are judged then, and they hurt everybody.
        assert found.held_out is not None and found.held_out.candidate == DEFAULTS
        assert len(found.hurt) == found.held_out_sessions

    def test_a_gain_that_may_be_chance_is_not_chosen(self) -> None:
        found = run(World(lambda n, source, other: 0.1 + (0.2 if n % 3 == 0 else -0.06) * (source is not None)))
        assert found.is_defaults
        beyond = next(one for one in found.candidates if one.candidate == Candidate(50)).beyond
        assert beyond is not None and beyond.low < 0 < beyond.value

    def test_the_mildest_of_equals_is_chosen(self) -> None:
        assert run(World(lambda n, source, other: 0.2 if source else 0.1)).chosen.source_age == 50


def in_tuning(count: int) -> set[int]:
    world = World(steady)
    known = [Known(path, world.bill(path, DEFAULTS.arm)) for path in paths(count)]
    return {number_of(one.path) for one in halves(known, seed=SEED).tuning}


class TestHeldOut:
    """What looks good on one half only stays out."""

    LUCKY = in_tuning(40)

    def test_a_saving_that_the_held_out_half_does_not_show_is_refused(self) -> None:
        def lucky(number: int, source: int | None, other: int) -> float:
            return 0.1 + (0.0 if source is None else 0.1 if number in self.LUCKY else -0.05)

        found = run(World(lucky))
        assert found.is_defaults
        assert (
            found.why == "source-50 looked best, but on the held-out recordings it may save no more than the defaults"
        )
        assert found.held_out is not None and found.held_out.candidate.source_age == 50
        assert found.held_out.beyond is not None and found.held_out.beyond.value == pytest.approx(-0.05)
        assert len(found.hurt) == 20
        assert "Nothing is set, the defaults stay: source-50 looked best" in unwrapped(found)
        assert tomllib.loads(found.settings_text) == {}

    def test_a_loss_that_only_the_held_out_half_shows_is_refused(self) -> None:
        found = run(World(steady, lambda number, source, other: 0 if number in self.LUCKY or source is None else 1))
        assert found.is_defaults
        assert "on the held-out recordings 2.50 % of edits may lose the text they quote" in found.why

    def test_who_would_have_been_hurt_is_named_the_dearest_first(self) -> None:
        held_out = sorted(set(range(40)) - self.LUCKY)
        dear, dearer, loses = held_out[3], held_out[5], held_out[7]

        def saved(number: int, source: int | None, other: int) -> float:
            if source is not None and number in (dear, dearer):
                return 0.09 if number == dear else -0.5
            return 0.4 if source is not None and number not in (dear, dearer) else 0.1

        found = run(World(saved, lambda number, source, other: int(number == loses and source is not None)))
        assert found.chosen.source_age == 50
        assert [one.recording for one in found.hurt] == [f"session-{number}" for number in (dearer, dear, loses)]
        worst, mild, losing = found.hurt
        assert worst.dearer_than_control_usd == pytest.approx(0.5 * (10 + dearer))
        assert worst.dearer_than_defaults_usd == pytest.approx(0.6 * (10 + dearer))
        assert mild.dearer_than_control_usd < 0 < mild.dearer_than_defaults_usd
        assert (losing.edits_lost, losing.edits, losing.dearer_than_defaults_usd < 0) == (1, 40, True)
        text = unwrapped(found)
        assert "It would have hurt 3 of these 20:" in text
        assert f"- session-{loses} ({losing.content[:8]}): 1 of 40 edits lost the text they quote" in text

    @pytest.mark.parametrize("count", [1, 2, 3, 14])
    def test_few_recordings_keep_the_defaults_and_say_so(self, count: int) -> None:
        found = run(World(steady, edits=400), count)
        assert found.held_out_sessions < FEWEST_HELD_OUT
        assert found.is_defaults and f"it takes {FEWEST_HELD_OUT}" in found.why
        assert f"it takes {FEWEST_HELD_OUT}" in unwrapped(found)

    def test_enough_recordings_do_not(self) -> None:
        assert run(World(steady, edits=400), 16).chosen.source_age == 5

    def test_no_recordings_at_all(self) -> None:
        found = run(World(steady), 0)
        assert found.is_defaults and found.candidates == () and found.held_out is None
        assert "nothing can be said of what to expect" in unwrapped(found)


class TestHalves:
    def known(self, count: int) -> list[Known]:
        world = World(steady)
        return [Known(path, world.bill(path, DEFAULTS.arm)) for path in paths(count)]

    def test_of_two_neighbours_in_cost_one_goes_to_each_half(self) -> None:
        parts = halves(self.known(40), seed=SEED)
        tuning = {number_of(one.path) for one in parts.tuning}
        assert all(len(tuning & {number, number + 1}) == 1 for number in range(0, 40, 2))
        assert not tuning & {number_of(one.path) for one in parts.held_out}
        assert len({number % 2 for number in tuning}) == 2

    def test_order_and_names_of_files_say_nothing(self) -> None:
        def contents(known: Sequence[Known]) -> set[str]:
            return {one.bill.content for one in known}

        there = halves(self.known(40), seed=SEED)
        moved = [replace(one, path=Path("elsewhere") / one.path.name) for one in reversed(self.known(40))]
        assert contents(halves(moved, seed=SEED).tuning) == contents(there.tuning)
        assert contents(halves(moved, seed=SEED + 1).tuning) != contents(there.tuning)

    def test_one_content_stands_in_one_half_once(self) -> None:
        found = run(World(steady, contents=lambda path: content_of(Path(f"{number_of(path) // 2}"))), 40)
        assert (found.tuning + found.held_out_sessions, found.repeated) == (20, 20)
        assert "20 had the same content as another" in unwrapped(found)

    def test_a_family_stands_in_one_half(self) -> None:
        known = self.known(40)
        families = [[Path("gone"), *(known[number].path for number in some)] for some in ((0, 1, 17), (5, 39))]
        drawn = set()
        for seed in range(SEED, SEED + 8):
            parts = halves(known, families, seed=seed)
            tuning, held_out = {one.path for one in parts.tuning}, {one.path for one in parts.held_out}
            assert tuning | held_out == {one.path for one in known} and not tuning & held_out
            for family in families:
                assert len({path in tuning for path in family[1:]}) == 1
            assert list(parts.tuning) == sorted(parts.tuning, key=lambda one: one.bill.control_usd)
            drawn.add(tuple(family[1] in tuning for family in families))
        assert len(drawn) > 1

    def test_tuning_keeps_sessions_that_share_requests_in_one_half(self, tmp_path: Path) -> None:
        def write(number: int, *replies: int) -> Path:
            lines = [
                {"type": "assistant", "sessionId": f"{number}", "message": {"id": f"msg_01XFDUDYJgAACzvn{one:04d}"}}
                for one in replies
            ]
            path = tmp_path / f"session-{number}.jsonl"
            path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
            return path

        # One after the other in cost, so that without a family each half would get one of every two.
        forks = [write(number, 1000, number) for number in range(8)]
        alone = [write(number, 2000 + number) for number in range(8, 16)]
        world, seen = World(steady), dict[str, set[str]]()

        def measure(path: Path, arms: Sequence[Arm], tariffs: Sequence[str], **how: bool) -> Measured:
            seen.setdefault(path.stem, set()).update(arm.name for arm in arms)
            return world(path, arms, tariffs, **how)

        tune([*forks, *alone], TARIFF, measure=measure, seed=SEED)
        assert len({frozenset(seen[path.stem]) for path in forks}) == 1
        assert len({frozenset(seen[path.stem]) for path in alone}) == 2


class TestGrid:
    def test_every_candidate_is_another_and_says_what_a_gateway_would_do(self, tmp_path: Path) -> None:
        every = [*first_round(), *second_round(Candidate(20, 3), [])]
        every += [Candidate(5, 10, 12, "late"), Candidate(None, 6, None, "none"), DEFAULTS]
        assert len({one.name for one in every}) == len({one.arm.digest for one in every}) == len(every)
        for number, one in enumerate(every):
            path = tmp_path / f"{number}.toml"
            path.write_text(one.text)
            settings = load(path, environ={})
            assert settings.policy == one.arm.settings.policy
            assert settings.budgets == one.arm.settings.budgets
            assert settings.expected_applications == one.arm.settings.expected_applications
            assert settings.source_age == one.source_age
            source = settings.policy.rule_for("Read", "source")
            assert (source.aged_mode, source.age) == (
                (None, AGED_TURNS) if one.source_age is None else ("mask", one.source_age)
            )

    @pytest.mark.parametrize(
        ("tool", "kind"), [("Bash", "shell"), ("Grep", "search"), ("LS", "listing"), ("Web", "web")]
    )
    def test_another_age_changes_nothing_else_of_a_rule(self, tool: str, kind: str) -> None:
        found = Candidate(other_age=3).arm.settings.policy.rule_for(tool, kind)  # type: ignore[arg-type]
        own = DEFAULT_POLICY.rule_for(tool, kind)  # type: ignore[arg-type]
        assert found == replace(own, age=3) and own.age == AGED_TURNS

    def test_how_long_conversations_had_yet(self) -> None:
        bill = World(steady).bill(Path("s-1"), DEFAULTS.arm)
        assert expected_requests([replace(bill, conversations=1, requests=3)]) == 2  # 3, 2, 1 to come
        assert expected_requests([replace(bill, conversations=4, requests=4)]) == 1
        both = [replace(bill, conversations=1, requests=9), replace(bill, conversations=2, requests=2)]
        assert expected_requests(both) == round((45 + 2) / 11)

    def test_budgets_are_tried_only_where_prompts_reach_them(self) -> None:
        bill = World(steady).bill(Path("s-1"), DEFAULTS.arm)
        long = replace(bill, conversations=1, requests=59)  # 30 to come, as coldpress takes it anyway
        assert second_round(Candidate(20), [long]) == ()
        assert second_round(Candidate(20), [replace(long, compactions=1)]) == (
            Candidate(20, budget="late"),
            Candidate(20, budget="none"),
        )
        assert any(one.candidate.budget == "none" for one in run(World(steady, compactions=2)).candidates)


def unwrapped(found: Tuned) -> str:
    """The comments of a settings file, as sentences again."""
    return " ".join(line.removeprefix("#").strip() for line in found.settings_text.splitlines())


class TestText:
    def test_it_loads_and_means_what_was_chosen(self, tmp_path: Path) -> None:
        path = tmp_path / "coldpress.toml"
        path.write_text(STEADY.settings_text)
        settings = load(path, environ={})
        assert settings.warnings == ()
        assert (settings.source_age, settings.expected_applications) == (20, 10)
        assert settings.policy.rule_for("Bash", "shell").age == 3
        assert settings.policy == STEADY.chosen.arm.settings.policy
        assert parse_arm(STEADY.settings_text, "again").settings.policy == settings.policy
        assert all(len(line) <= 100 for line in STEADY.settings_text.splitlines())

    def test_it_tells_what_to_expect_and_on_what_conditions(self) -> None:
        text = unwrapped(STEADY)
        for said in (
            "from 20 recordings to choose on and 20 held out to judge on. Tariff: one.",
            "Chosen: source-20+other-3+expect-10, of 16 candidates",
            "on the 20 held-out recordings (95 % intervals in brackets):",
            "saved of the input bill without coldpress: 13.5 % [13.5, 13.5]",
            "saved beyond the defaults, which save 10.0 % [10.0, 10.0]: 3.5 % [3.5, 3.5]",
            "edits that quote an earlier result and lost its text: 0 of 800, at most 0.4 %",
            "allowed 1 %",
            "It would have hurt none of these 20.",
            "Simulated and open-loop",
            "press_subscription = true",
            "10,000 resamples, seed 166",
        ):
            assert said in text, said

    def test_the_same_history_gives_the_same_bytes(self) -> None:
        again = tune(list(reversed(paths(40))), TARIFF, measure=STEADY_WORLD, seed=SEED)
        assert again.settings_text == STEADY.settings_text

    def test_names_cannot_leave_their_comment(self, tmp_path: Path) -> None:
        def odd(path: Path, arms: Sequence[Arm], tariffs: Sequence[str], **more: bool) -> Measured:
            found = World(steady, lambda *_: 1)(path, arms, tariffs, **more)  # type: ignore[arg-type]
            name = 'x"\nsource_age = 1\r\x1b\u2028#'
            return replace(found, bills=tuple(replace(bill, recording=name) for bill in found.bills))

        found = tune(paths(20), TARIFF, measure=odd, seed=SEED)
        assert found.hurt and tomllib.loads(found.settings_text) == {}
        assert "\x1b" not in found.settings_text


class TestWork:
    def test_what_cannot_be_replayed_is_told(self) -> None:
        def measure(path: Path, arms: Sequence[Arm], tariffs: Sequence[str], **more: bool) -> Measured:
            if number_of(path) == 3:
                return Measured(skipped=Skipped(str(path), "no list price"))
            if number_of(path) == 4:
                return Measured()
            return World(steady)(path, arms, tariffs, **more)  # type: ignore[arg-type]

        found = tune(paths(40), TARIFF, measure=measure, seed=SEED)
        assert [one.why for one in found.skipped] == ["no list price", "has no bill at one"]
        assert found.tuning + found.held_out_sessions == 38
        assert "2 could not be replayed" in unwrapped(found)

    def test_progress_never_goes_back_and_ends_at_the_end(self) -> None:
        told: list[tuple[int, int]] = []
        run(World(steady), 41, progress=lambda done, of: told.append((done, of)))
        assert [done for done, _ in told] == sorted(done for done, _ in told)
        assert len({of for _, of in told}) == 1 and told[-1][0] == told[-1][1]

    def test_work_can_go_to_other_processes(self) -> None:
        def spread(work: Callable[[Path], Measured], todo: Sequence[Path]) -> list[Measured]:
            return [pickle.loads(pickle.dumps(work))(path) for path in todo]

        assert run(STEADY_WORLD, spread=spread).settings_text == STEADY.settings_text

    def test_real_replays_are_measured_the_same_way(self, tmp_path: Path) -> None:
        found = tune(write_sessions(tmp_path, 2, turns=8), "recorded", measure=cells.measure, seed=SEED)
        assert found.skipped == () and (found.tuning, found.held_out_sessions) == (1, 1)
        assert [one.candidate for one in found.candidates[:15]] == [DEFAULTS, *first_round()]
        assert all(one.figures.requests == 9 and one.figures.edits == 1 for one in found.candidates)
        assert found.held_out is not None and found.held_out.figures.saving is not None
        assert found.held_out.figures.saving.value > 0  # long outputs of test runs are shortened at first sight

    @pytest.mark.parametrize("share", [-1.0, 101.0, float("nan")])
    def test_a_loss_that_is_no_share_is_refused(self, share: float) -> None:
        with pytest.raises(FiguresError, match="use 0 to 100"):
            run(World(steady), max_loss_pct=share)
