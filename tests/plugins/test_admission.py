"""Which plugins may act, and in which words the others are told of: fail closed for the plugin, open for traffic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest
from plugins.world import Asks, On, found, manager, request, result

from coldpress.config.plugin_settings import Approval, PluginSettings
from coldpress.plugins import PluginDeclaration, Plugins, hookimpl, setting
from coldpress.plugins.admission import admissions
from coldpress.plugins.builtin import BUILTIN
from coldpress.plugins.discovery import Found, Unloadable, load


@dataclass(frozen=True)
class Keys:
    """Settings of a plugin of the tests: plain fields need no `setting`."""

    words: tuple[str, ...] = ()
    most: int = 5
    style: Literal["short", "long"] = "short"


@dataclass(frozen=True)
class Bounded:
    """One key that must be there, within bounds."""

    limit: float


def looks(view: Any) -> None:
    for one in view.results:
        one.replace("seen")


def warnings(plugin: Asks, **changes: Any) -> tuple[str, ...]:
    """What is told, and that the plugin did nothing."""
    plugins = On((plugin,)).manager(**changes)
    assert not plugins.before_request(request(result(1, "x")))
    assert plugins.is_empty
    return plugins.warnings


class TestWhatDoesNothing:
    def test_a_plugin_that_is_not_installed(self) -> None:
        plugins = Plugins(PluginSettings(order=("redakt", "intent")), found=[found(Asks("redact", before=looks))])
        assert plugins.warnings == (
            "plugins.order: redakt does nothing, since it is not built in and no installed package has it; "
            "did you mean redact?",
        )
        assert plugins.totals()[0].state == "off"

    def test_a_misspelt_built_in_one(self) -> None:
        (told,) = Plugins(PluginSettings(order=("intents",)), found=()).warnings
        assert told.endswith("did you mean intent?")

    def test_one_that_is_not_approved_is_not_even_imported(self) -> None:
        def never() -> object:
            raise AssertionError("its code ran")

        plugins = Plugins(PluginSettings(order=("redact",)), found=[Found("redact", "redact 1.0", never)])
        assert plugins.warnings == (
            "plugins.order: redact does nothing, since it is not approved; coldpress plugins approve redact shows what "
            "it wants to do",
        )

    def test_another_version_than_the_approved_one(self) -> None:
        told = warnings(Asks("redact", version="1.3", before=looks), approved=(Approval("redact", "1.2", ()),))
        assert told == (
            "plugins.order: redact does nothing, since it is installed in version 1.3 and approved in version 1.2; "
            "coldpress plugins approve redact",
        )

    def test_more_than_was_approved(self) -> None:
        plugin = Asks("redact", may=("read_results", "edit_results", "use_network"), before=looks)
        (told,) = warnings(plugin, approved=(Approval("redact", "1.0", ("read_results", "edit_results")),))
        assert "declares use_network, which was not approved" in told

    def test_two_packages_with_one_name(self) -> None:
        one, other = Asks("redact", before=looks), Asks("redact", before=looks)
        both = [found(one, package="first 1.0"), found(other, package="second 2.0")]
        plugins = Plugins(On((one,)).settings(), found=both)
        (told,) = plugins.warnings
        assert "is in more than one installed package (first 1.0, second 2.0)" in told
        assert not plugins.before_request(request(result(1, "x")))

    def test_a_package_cannot_take_the_place_of_a_built_in_plugin(self) -> None:
        plugins = Plugins(PluginSettings(order=("intent",)), found=[found(Asks("intent", before=looks))])
        assert plugins.is_empty
        assert "named intent, which is built in" in plugins.warnings[0]

    @pytest.mark.parametrize(
        ("settings", "table", "told"),
        [
            pytest.param(
                Keys,
                {"word": ["a"]},
                "plugins.config.redact.word is not a setting; did you mean plugins.config.redact.words?",
                id="an unknown key",
            ),
            pytest.param(
                Keys,
                {"most": "5"},
                'plugins.config.redact.most is "5"; it must be a whole number',
                id="text for a number",
            ),
            pytest.param(
                Keys,
                {"words": "a"},
                'plugins.config.redact.words is "a"; it must be a list of texts',
                id="text for a list",
            ),
            pytest.param(
                Keys, {"words": [1]}, "plugins.config.redact.words[0] is 1; it must be text", id="a number in a list"
            ),
            pytest.param(
                Keys,
                {"style": "shrt"},
                'plugins.config.redact.style is "shrt"; it must be one of short, long; did you mean short?',
                id="a word that is none of the choices",
            ),
            pytest.param(
                Bounded, {}, "plugins.config.redact.limit is missing; it must be a number", id="a missing key"
            ),
            pytest.param(None, {"a": 1}, "has no settings, and plugins.config.redact gives it some", id="no settings"),
        ],
    )
    def test_settings_that_do_not_hold(self, settings: type | None, table: dict[str, object], told: str) -> None:
        plugin = Asks("redact", settings=settings, before=looks)
        (warning,) = warnings(plugin, tables={"redact": table})
        assert told in warning


class TestSettingsThatHold:
    def test_they_reach_every_hook_as_one_value(self) -> None:
        plugin = Asks("redact", settings=Keys, before=lambda view: None, on_call=lambda call: None)
        plugins = manager(plugin, tables={"redact": {"words": ["a", "b"], "style": "long"}})
        plugins.before_request(request())
        assert plugin.seen == [Keys(words=("a", "b"), most=5, style="long")]

    def test_without_a_table_the_defaults_hold(self) -> None:
        plugin = Asks("redact", settings=Keys, before=lambda view: None)
        manager(plugin).before_request(request())
        assert plugin.seen == [Keys()]

    def test_a_bound_that_is_said_is_checked(self) -> None:
        from dataclasses import field, make_dataclass

        keys = make_dataclass(
            "Said",
            [("most", int, field(default=1, metadata=setting("How many.", unit="lines", least=1, most=9)))],
            frozen=True,
        )
        (told,) = warnings(Asks("redact", settings=keys, before=looks), tables={"redact": {"most": 0}})
        assert "plugins.config.redact.most is 0; it must be a whole number of lines from 1 to 9" in told


class Bare:
    """A plugin as a class, which is made at start."""

    PLUGIN = PluginDeclaration("bare", "1.0", ("read_results",))

    @hookimpl
    def before_request(self, view: Any) -> None:
        """Look, without asking for settings."""
        assert view.results


def declared(**changes: Any) -> Asks:
    plugin = Asks("bad", before=looks)
    facts = {"name": "bad", "version": "1.0", "capabilities": (), "summary": "", "settings": None, **changes}
    plugin.PLUGIN = PluginDeclaration(**facts)
    return plugin


class WithATypo:
    """A hook that is none."""

    PLUGIN = PluginDeclaration("bad", "1.0")

    @hookimpl
    def before_reqest(self, view: Any) -> None: ...


class WithAnotherArgument:
    """A hook that asks for what there is not."""

    PLUGIN = PluginDeclaration("bad", "1.0")

    @hookimpl
    def before_request(self, request: Any) -> None: ...


class WithoutHooks:
    """Declares itself and does nothing."""

    PLUGIN = PluginDeclaration("bad", "1.0")


class Thawed:
    """No dataclass."""


class TestLoading:
    def test_a_class_is_made_and_takes_only_the_arguments_it_names(self) -> None:
        plugins = Plugins(
            PluginSettings(order=("bare",), approved=(Approval("bare", "1.0", ("read_results",)),)),
            found=[Found("bare", "bare 1.0", lambda: Bare)],
        )
        (note,) = plugins.before_request(request(result(1, "x"))).notes
        assert note.fault is None

    @pytest.mark.parametrize(
        ("plugin", "why"),
        [
            pytest.param(object(), "has no PLUGIN", id="no declaration"),
            pytest.param(declared(name="Bad"), "calls itself 'Bad'", id="a name in upper case"),
            pytest.param(declared(name="other"), "its entry point is bad", id="another name than its entry point's"),
            pytest.param(declared(version=""), "declares no version", id="no version"),
            pytest.param(
                declared(capabilities=("edit_all",)), "declares the capability 'edit_all'", id="no capability"
            ),
            pytest.param(declared(capabilities=["read_results"]), "that are no tuple", id="a list of capabilities"),
            pytest.param(declared(settings=Thawed), "no frozen dataclass", id="settings that may change"),
            pytest.param(WithATypo(), "has a hook that is none", id="a misspelt hook"),
            pytest.param(WithAnotherArgument(), "has a hook that is none", id="an argument that there is not"),
            pytest.param(
                WithoutHooks(), "has none of the hooks before_request, on_tool_call, after_response", id="none"
            ),
        ],
    )
    def test_what_is_not_well_formed_is_told(self, plugin: object, why: str) -> None:
        told = load(found(plugin, name="bad"))
        assert isinstance(told, Unloadable)
        assert why in told.why

    def test_settings_of_a_kind_that_no_file_can_hold(self) -> None:
        @dataclass(frozen=True)
        class Odd:
            at: complex = 0j

        told = load(found(declared(settings=Odd), name="bad"))
        assert isinstance(told, Unloadable)
        assert "of a kind that no file can hold" in told.why

    def test_an_import_that_fails_or_hangs_costs_only_the_plugin(self) -> None:
        import threading

        def fails() -> object:
            raise ImportError("no module named torch")

        go = threading.Event()
        told = load(Found("bad", "bad 1.0", fails))
        assert isinstance(told, Unloadable)
        assert "cannot be loaded: ImportError" in told.why and "no module named torch" in told.why
        hangs = load(Found("bad", "bad 1.0", lambda: go.wait(10)), seconds=0.02)
        go.set()
        assert hangs == Unloadable("was not loaded within 0.02 s")


def test_built_in_plugins_are_declared_well_and_need_no_approval() -> None:
    from coldpress.plugins.declaration import declaration_problem

    for name, declaration in BUILTIN.items():
        assert declaration_problem(declaration, name) == ""
    judged = admissions(tuple(BUILTIN), PluginSettings(order=("pii",)), (), loading="approved")
    assert {one.approval for one in judged} == {"not needed"}
    assert [one.name for one in judged if one.acts] == ["pii"]
