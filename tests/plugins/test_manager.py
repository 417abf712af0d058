"""What plugins want is put together in their order; one that fails, oversteps or takes too long changes nothing."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from plugins.world import SCHEMA, Asks, call, key, manager, request, result, summary

from coldpress.model.errors import CapabilityError, EditRefused, ViewClosed
from coldpress.model.plugins import PluginNote
from coldpress.plugins import PluginEdits, Plugins
from coldpress.plugins.member import MOST_FAULTS

PATIENCE_SECONDS = 10.0


def upper(view: Any) -> None:
    for one in view.results:
        if one.first_sight:
            one.replace(one.text.upper())


def suffix(word: str) -> Callable[[Any], None]:
    def work(view: Any) -> None:
        for one in view.results:
            if one.first_sight:
                one.replace(f"{one.text}{word}")

    return work


def raising(view: Any) -> None:
    upper(view)
    raise LookupError("text of the conversation")


def swallowing(view: Any) -> None:
    """Edits without leave, catches the error, and edits on."""
    upper(view)
    with suppress(CapabilityError):
        view.tools[0].replace({"type": "object"})


def only(edits: PluginEdits) -> PluginNote:
    (note,) = edits.notes
    return note


class TestOrder:
    def test_each_sees_what_those_before_it_want_and_the_settings_say_who_is_first(self) -> None:
        first, second = Asks("one", before=suffix("1")), Asks("two", before=suffix("2"))
        there = manager(first, second).before_request(request(result(1, "x")))
        back = manager(first, second, order=("two", "one")).before_request(request(result(1, "x")))
        assert there.results == {key(1): ("x12", "one+two")}
        assert back.results == {key(1): ("x21", "two+one")}
        assert [note.plugin for note in back.notes] == ["two", "one"]

    def test_a_failing_one_in_the_middle_leaves_the_others_be(self) -> None:
        plugins = manager(Asks("one", before=suffix("1")), Asks("bad", before=raising), Asks("two", before=suffix("2")))
        edits = plugins.before_request(request(result(1, "x")))
        assert edits.results == {key(1): ("x12", "one+two")}
        assert [note.fault for note in edits.notes] == [None, "failed", None]

    def test_a_text_that_is_put_back_is_no_edit(self) -> None:
        def there_and_back(view: Any) -> None:
            (one,) = view.results
            one.replace("y")
            one.replace("x")

        edits = manager(Asks("one", before=there_and_back)).before_request(request(result(1, "x")))
        assert not edits
        assert only(edits).edits == 0


class TestFaults:
    @pytest.mark.parametrize(
        ("may", "work", "fault", "detail"),
        [
            pytest.param((), upper, "capability", "read_results", id="reads results without leave"),
            pytest.param(("read_results",), upper, "capability", "edit_results", id="edits without leave"),
            pytest.param(
                ("edit_results",),
                lambda view: view.results[0].arguments,
                "capability",
                "read_results",
                id="reads arguments without leave",
            ),
            pytest.param(
                ("edit_results",),
                lambda view: view.last_user_text,
                "capability",
                "read_results",
                id="reads the user's words without leave",
            ),
            pytest.param(
                ("read_results",),
                lambda view: view.tools[0].schema,
                "capability",
                "edit_schemas",
                id="reads a schema without leave",
            ),
            pytest.param(
                ("read_results", "edit_results"),
                swallowing,
                "capability",
                "edit_schemas",
                id="oversteps and says nothing",
            ),
            pytest.param(
                ("read_results", "edit_results"), raising, "failed", "LookupError at test_manager.py", id="raises"
            ),
            pytest.param(
                ("read_results", "edit_results"),
                lambda view: (_ for _ in ()).throw(SystemExit(1)),
                "failed",
                "SystemExit",
                id="ends the process",
            ),
            pytest.param(
                ("edit_results",), lambda view: view.results[0].replace("  \n"), "refused", "is empty", id="empties"
            ),
            pytest.param(
                ("edit_results",),
                lambda view: view.results[0].replace("\ud800"),
                "refused",
                "lone surrogate",
                id="half a character",
            ),
            pytest.param(
                ("edit_results",),
                lambda view: view.results[0].replace("é" * 32769),
                "refused",
                "has 65538 bytes; at most 65536",
                id="outgrows",
            ),
            pytest.param(
                ("edit_results",), lambda view: view.results[0].replace(None), "refused", "NoneType", id="no text"
            ),
            pytest.param(
                ("edit_results",),
                lambda view: view.results[1].replace("z"),
                "refused",
                "would change what a model has read",
                id="edits what was seen",
            ),
            pytest.param(
                ("edit_schemas",),
                lambda view: view.tools[0].replace({"x": object()}),
                "refused",
                "is no JSON object",
                id="a schema that is no JSON",
            ),
            pytest.param(
                ("edit_schemas",),
                lambda view: view.tools[0].replace([]),
                "refused",
                "is no JSON object",
                id="a schema that is a list",
            ),
            pytest.param(
                ("edit_schemas",),
                lambda view: view.tools[0].replace({"x": float("nan")}),
                "refused",
                "is no JSON object",
                id="a schema with a number that is none",
            ),
        ],
    )
    def test_the_request_goes_unchanged_and_the_note_says_why(
        self, may: Any, work: Callable[[Any], object], fault: str, detail: str
    ) -> None:
        plugins = manager(Asks("bad", may=may, before=work))
        edits = plugins.before_request(request(result(1, "secret words"), result(2, "old", first_sight=False)))
        assert (edits.results, edits.schemas) == ({}, {})
        assert only(edits).fault == fault
        assert detail in only(edits).detail
        assert only(edits).edits == 0
        assert "secret" not in only(edits).detail and "conversation" not in only(edits).detail
        assert dict(plugins.totals()[0].faults) == {fault: 1}

    def test_a_refused_edit_that_is_caught_leaves_the_others_of_the_hook(self) -> None:
        def work(view: Any) -> None:
            with pytest.raises(EditRefused):
                view.results[1].replace("")
            view.results[0].replace("better")

        edits = manager(Asks("one", before=work)).before_request(request(result(1, "x"), result(2, "y")))
        assert edits.results == {key(1): ("better", "one")}
        assert (only(edits).fault, only(edits).edits) == ("refused", 1)

    def test_four_times_the_original_is_allowed_and_a_byte_more_is_not(self) -> None:
        text = "x" * 20_000
        for size, fault in ((80_000, None), (80_001, "refused")):
            work = lambda view, size=size: view.results[0].replace("y" * size)  # noqa: E731
            edits = manager(Asks("one", before=work)).before_request(request(result(1, text)))
            assert only(edits).fault == fault

    def test_a_slow_one_is_not_waited_for_and_its_late_edit_raises(self) -> None:
        go, over, late = threading.Event(), threading.Event(), []

        def slow(view: Any) -> None:
            view.results[0].replace("early")
            go.wait(PATIENCE_SECONDS)
            try:
                view.results[0].replace("late")
            except ViewClosed as error:
                late.append(error)
            over.set()

        plugins = manager(Asks("slow", before=slow), hook_seconds=0.02)
        started = time.perf_counter()
        edits = plugins.before_request(request(result(1, "x")))
        assert time.perf_counter() - started < PATIENCE_SECONDS / 2
        assert (edits.results, only(edits).fault) == ({}, "slow")
        go.set()
        assert over.wait(PATIENCE_SECONDS)
        assert len(late) == 1
        assert plugins.totals()[0].late_uses == 1

    def test_a_view_that_is_kept_is_of_no_use(self) -> None:
        kept: list[Any] = []
        plugins = manager(Asks("hoards", before=lambda view: kept.extend((view, view.results[0], view.tools[0]))))
        assert only(plugins.before_request(request(result(1, "x")))).fault is None
        view, one, tool = kept
        for use in (
            lambda: view.model,
            lambda: view.results,
            lambda: view.last_user_text,
            lambda: one.text,
            lambda: one.tool,
            lambda: one.replace("y"),
            lambda: tool.schema,
            lambda: tool.replace({}),
        ):
            with pytest.raises(ViewClosed):
                use()
        assert plugins.totals()[0].late_uses == 8

    def test_after_three_faults_in_a_row_it_rests_and_one_line_says_so(self, caplog: pytest.LogCaptureFixture) -> None:
        asked: list[int] = []

        def bad(view: Any) -> None:
            asked.append(1)
            raise KeyError

        plugins = manager(Asks("bad", before=bad), Asks("good", before=upper))
        with caplog.at_level(logging.WARNING):
            for _ in range(MOST_FAULTS + 2):
                edits = plugins.before_request(request(result(1, "x")))
        assert len(asked) == MOST_FAULTS
        assert [note.plugin for note in edits.notes] == ["good"]
        assert edits.results == {key(1): ("X", "good")}
        bad_one, good_one = plugins.totals()
        assert (bad_one.state, good_one.state) == ("resting", "on")
        assert "3 faults in a row, the last one: failed (KeyError" in bad_one.why
        rests = [record for record in caplog.records if "rests" in record.message]
        assert [record.levelno for record in rests] == [logging.ERROR]

    def test_a_good_run_in_between_begins_the_count_anew(self) -> None:
        runs = iter([True, True, False, True, True, False])

        def sometimes(view: Any) -> None:
            if next(runs):
                raise KeyError

        plugins = manager(Asks("moody", before=sometimes))
        for _ in range(6):
            plugins.before_request(request())
        assert plugins.totals()[0].state == "on"
        assert dict(plugins.totals()[0].faults) == {"failed": 4}


class TestSchemas:
    def test_a_changed_schema_comes_out_as_plain_values(self) -> None:
        def add(view: Any) -> None:
            schema = view.tools[0].schema
            schema["properties"]["why"] = {"type": "string"}
            view.tools[0].replace(schema)

        plugins = manager(Asks("one", before=add))
        edits = plugins.before_request(request())
        wanted = {"type": "object", "properties": {"q": {"type": "string"}, "why": {"type": "string"}}}
        assert edits.schemas == {"search": (wanted, "one")}
        assert SCHEMA == {"type": "object", "properties": {"q": {"type": "string"}}}, "the request's own is untouched"

    def test_the_first_answer_to_a_schema_holds(self) -> None:
        count = iter(range(9))
        plugins = manager(Asks("one", before=lambda view: view.tools[0].replace({"n": next(count)})))
        first, second = plugins.before_request(request()), plugins.before_request(request())
        other = plugins.before_request(request(schema={"type": "object"}))
        assert first.schemas == second.schemas == {"search": ({"n": 0}, "one")}
        assert only(first).fault is None
        assert (only(second).fault, "answered otherwise before" in only(second).detail) == ("refused", True)
        assert other.schemas == {"search": ({"n": 2}, "one")}

    def test_a_schema_that_was_left_alone_stays_so(self) -> None:
        turns = iter([False, True])

        def second_time(view: Any) -> None:
            if next(turns):
                view.tools[0].replace({})

        plugins = manager(Asks("one", before=second_time))
        assert not plugins.before_request(request()).schemas
        late = plugins.before_request(request())
        assert (late.schemas, only(late).fault) == ({}, "refused")

    def test_the_next_plugin_gets_the_schema_of_the_one_before(self) -> None:
        def add(word: str) -> Callable[[Any], None]:
            return lambda view: view.tools[0].replace({**view.tools[0].schema, word: True})

        plugins = manager(Asks("one", before=add("a")), Asks("two", before=add("b")))
        assert plugins.before_request(request()).schemas == {"search": ({**SCHEMA, "a": True, "b": True}, "one+two")}

    def test_tools_are_not_looked_at_for_plugins_that_may_not_change_them(self) -> None:
        def tools() -> Any:
            raise AssertionError("nobody asked")

        plugins = manager(Asks("one", may=("read_results", "edit_results"), before=upper))
        assert only(plugins.before_request(request(result(1, "x"), tools=tools))).fault is None


class TestCalls:
    def test_arguments_pass_through_all_plugins_in_order(self) -> None:
        def add(word: str) -> Callable[[Any], None]:
            return lambda call: call.replace(call.arguments[:-1] + f',"{word}":1}}')

        plugins = manager(Asks("one", on_call=add("a")), Asks("two", on_call=add("b")))
        notes: list[PluginNote] = []
        assert plugins.wants_calls and not plugins.wants_requests
        assert plugins.on_tool_call(call('{"q":"x"}'), told=notes.append) == '{"q":"x","a":1,"b":1}'
        assert [(note.plugin, note.hook, note.edits) for note in notes] == [
            ("one", "on_tool_call", 1),
            ("two", "on_tool_call", 1),
        ]

    @pytest.mark.parametrize(
        ("may", "work", "fault"),
        [
            pytest.param(("read_results",), lambda c: c.replace("{}"), "capability", id="without leave"),
            pytest.param((), lambda c: c.arguments, "capability", id="reads without leave"),
            pytest.param(("edit_schemas",), lambda c: c.replace("[]"), "refused", id="no object"),
            pytest.param(("edit_schemas",), lambda c: c.replace("{"), "refused", id="no JSON"),
            pytest.param(("edit_schemas",), lambda c: c.replace(""), "refused", id="empty"),
            pytest.param(("edit_schemas",), lambda c: {}[c.arguments], "failed", id="raises"),
        ],
    )
    def test_a_fault_leaves_the_call_as_it_was(self, may: Any, work: Callable[[Any], object], fault: str) -> None:
        notes: list[PluginNote] = []
        plugins = manager(Asks("bad", may=may, on_call=work))
        assert plugins.on_tool_call(call(), told=notes.append) is None
        assert notes[0].fault == fault

    def test_reading_is_free_for_those_that_may_read_results_or_edit_schemas(self) -> None:
        for may in (("read_results",), ("edit_schemas",)):
            seen: list[str] = []
            plugins = manager(Asks("one", may=may, on_call=lambda c, seen=seen: seen.append(c.arguments)))  # type: ignore[arg-type]
            assert plugins.on_tool_call(call()) is None
            assert seen == ['{"q":"x"}']


class TestEndsOfRequests:
    def test_they_are_told_behind_the_requests_and_need_no_capability(self) -> None:
        seen: list[Any] = []
        plugins = manager(Asks("counts", may=(), after=seen.append))
        notes: list[PluginNote] = []
        plugins.after_response(summary("a"), told=notes.append)
        plugins.after_response(summary("b"), told=notes.append)
        plugins.drain()
        assert [one.request_id for one in seen] == ["a", "b"]
        assert [note.fault for note in notes] == [None, None]
        plugins.close()
        plugins.after_response(summary("c"))
        assert len(seen) == 2
        assert plugins.totals()[0].missed == 1

    def test_nobody_waits_for_a_slow_one(self) -> None:
        go = threading.Event()
        plugins = manager(Asks("slow", after=lambda summary: go.wait(PATIENCE_SECONDS)), hook_seconds=0.02)
        started = time.perf_counter()
        plugins.after_response(summary())
        assert time.perf_counter() - started < 1
        plugins.drain()
        assert dict(plugins.totals()[0].faults) == {"slow": 1}
        go.set()
        plugins.close()


class TestTotals:
    def test_time_calls_and_edits_of_each_hook_are_summed(self) -> None:
        pause = threading.Event()
        plugins = manager(Asks("one", before=lambda view: (pause.wait(0.01), upper(view)), on_call=lambda call: None))
        notes = [note for _ in range(3) for note in plugins.before_request(request(result(1, "x"))).notes]
        (total,) = plugins.totals()
        before, calls = total.hooks
        assert (before.hook, before.calls, before.edits) == ("before_request", 3, 3)
        assert before.seconds == pytest.approx(sum(note.seconds for note in notes))
        assert before.seconds >= 0.03
        assert before.slowest_seconds == max(note.seconds for note in notes)
        assert (calls.hook, calls.calls, calls.seconds) == ("on_tool_call", 0, 0.0)
        shown = total.as_object()
        assert shown["plugin"] == "one"
        assert shown["hooks"]["before_request"]["calls"] == 3  # type: ignore[index]
        assert "hook" not in shown["hooks"]["before_request"]  # type: ignore[index]

    def test_without_plugins_nothing_is_asked(self) -> None:
        plugins = manager()
        assert plugins.is_empty
        assert not (plugins.wants_calls or plugins.wants_requests or plugins.wants_replies)
        assert plugins.before_request(request()) == PluginEdits()
        assert plugins.totals() == ()
        plugins.close()


def test_many_requests_at_a_time_do_not_wait_for_each_other() -> None:
    together = threading.Barrier(8)
    plugins: Plugins = manager(Asks("one", before=lambda view: (together.wait(PATIENCE_SECONDS), upper(view))))
    edits: list[PluginEdits] = []
    threads = [
        threading.Thread(target=lambda n=n: edits.append(plugins.before_request(request(result(n, "x")))))  # type: ignore[misc]
        for n in range(1, 9)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert sorted(next(iter(one.results)).chain[0] for one in edits) == list(range(1, 9))
    assert plugins.totals()[0].hooks[0].calls == 8
