"""Settings: what is accepted, what is refused and in which words, and what the warnings name."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import pytest

from coldpress.config.about import keys_of
from coldpress.config.builtin_providers import BUILTIN_PROVIDERS
from coldpress.config.keys import DefaultProviderKeys, FileKeys, LimitKeys, OffloadKeys, StoreKeys
from coldpress.config.load import Overrides, load
from coldpress.config.secret import Secret
from coldpress.config.settings import Settings
from coldpress.config.template import template
from coldpress.engine.policy import DEFAULT_POLICY
from coldpress.measure.rates import Rates
from coldpress.model.errors import ConfigError
from coldpress.wire.registry import FORMATS

HOME = {"HOME": "/home/someone"}


def read(tmp_path: Path, text: str, *, name: str = "coldpress.toml", **environ: str) -> Settings:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return load(file, environ={**HOME, **environ}, directory=tmp_path)


def refusal(tmp_path: Path, text: str, *, name: str = "coldpress.toml", **environ: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text, name=name, **environ)
    return str(caught.value)


def test_without_a_file_the_defaults_hold_and_nothing_is_warned_of(tmp_path: Path) -> None:
    settings = load(environ=HOME, directory=tmp_path)
    assert (settings.host, settings.port, settings.operation) == ("127.0.0.1", 8484, "press")
    assert settings.policy == DEFAULT_POLICY
    assert settings.press_subscription is False
    assert settings.store.path == Path("/home/someone/.local/share/coldpress/coldpress.sqlite3")
    assert settings.store.raw_log is False
    assert settings.warnings == ()
    assert settings.file is None
    assert settings.source == "built-in defaults"
    assert all(provider.api_key is None for provider in settings.providers)


def test_an_empty_file_gives_the_defaults(tmp_path: Path) -> None:
    assert read(tmp_path, "") == load(environ=HOME, directory=tmp_path / "elsewhere")


@pytest.mark.parametrize("format_name", ["anthropic", "openai_chat"])
def test_bare_paths_have_a_provider_of_their_format(tmp_path: Path, format_name: str) -> None:
    settings = load(environ=HOME, directory=tmp_path)
    assert format_name in settings.bare_path_provider(format_name).formats  # type: ignore[arg-type]
    assert settings.bare_path_provider(None).name == "anthropic"


class TestWhereTheFileIsFound:
    def test_the_working_directory_goes_before_the_users_folder(self, tmp_path: Path) -> None:
        here, there = tmp_path / "here", tmp_path / "there" / "coldpress"
        here.mkdir()
        there.mkdir(parents=True)
        (there / "coldpress.toml").write_text("port = 2")
        environ = {**HOME, "XDG_CONFIG_HOME": str(tmp_path / "there")}
        assert load(environ=environ, directory=here).port == 2
        (here / "coldpress.toml").write_text("port = 1")
        assert load(environ=environ, directory=here).port == 1
        named = tmp_path / "named.toml"
        named.write_text("port = 3")
        assert load(named, environ=environ, directory=here).port == 3

    def test_dot_config_is_looked_in_where_the_variable_is_unset_or_relative(self, tmp_path: Path) -> None:
        folder = tmp_path / ".config" / "coldpress"
        folder.mkdir(parents=True)
        (folder / "coldpress.toml").write_text("port = 4")
        for value in ({}, {"XDG_CONFIG_HOME": "relative"}, {"XDG_CONFIG_HOME": ""}):
            assert load(environ={"HOME": str(tmp_path), **value}, directory=tmp_path / "x").port == 4

    def test_a_named_file_that_is_not_there_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"gone\.toml: cannot be read: No such file"):
            load(tmp_path / "gone.toml", environ=HOME, directory=tmp_path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("prot = 1", "prot is not a setting; did you mean port?", id="a misspelt key"),
        pytest.param("Host = 'x'", "Host is not a setting; did you mean host?", id="a key in upper case"),
        pytest.param("[stroe]", "stroe is not a setting; did you mean store?", id="a misspelt table"),
        pytest.param(
            "[limits]\nbody_byts = 1",
            "limits.body_byts is not a setting; did you mean limits.body_bytes?",
            id="a misspelt key in a table, told with its table",
        ),
        pytest.param(
            "idle_seconds = 1",
            "idle_seconds is not a setting; did you mean limits.idle_seconds?",
            id="a right key in a wrong place",
        ),
        pytest.param("xyzzy = 1", "xyzzy is not a setting; the top level may hold host, port", id="nothing is near"),
        pytest.param(
            "[providers.mine]\nurll = 'http://x'",
            "providers.mine.urll is not a setting; did you mean providers.mine.url?",
            id="a misspelt key of a provider",
        ),
        pytest.param(
            '[providers.mine.pricing."gpt-5.6"]\ninput = 1',
            'providers.mine.pricing."gpt-5.6".input is not a setting; did you mean',
            id="a name with a dot is quoted",
        ),
        pytest.param("port = 'x'", 'port is "x"; it must be a whole number from 0 to 65535', id="text for a number"),
        pytest.param(
            "port = 65536", "port is 65536; it must be a whole number from 0 to 65535", id="a number too large"
        ),
        pytest.param("port = true", "port is true; it must be a whole number", id="a switch for a number"),
        pytest.param("port = 1.0", "port is 1.0; it must be a whole number", id="a fraction for a whole number"),
        pytest.param("host = ''", 'host is ""; it must be text', id="empty text"),
        pytest.param("host = 2026-01-01", "host is a date; it must be text", id="a date for text"),
        pytest.param(
            "[limits]\nidle_seconds = nan",
            "limits.idle_seconds is nan; it must be a number of seconds",
            id="not a number",
        ),
        pytest.param(
            "[limits]\nbody_bytes = 0",
            "limits.body_bytes is 0; it must be a whole number of bytes, 1 or more",
            id="no bytes",
        ),
        pytest.param(
            "press_subscription = 1", "press_subscription is 1; it must be true or false", id="a number for a switch"
        ),
        pytest.param(
            "operation = 'pres'",
            'operation is "pres"; it must be one of press, observe, drain, off; did you mean press?',
            id="a misspelt choice",
        ),
        pytest.param("store = 3", "store is 3; it must be a table of settings", id="a number for a table"),
        pytest.param("providers = []", "providers is a list; it must be a table", id="a list for named tables"),
        pytest.param(
            "rules = {}",
            "rules is a table; it must be a list of tables; in TOML write [[rules]], not [rules]",
            id="a table for a list of tables",
        ),
        pytest.param("rules = [1]", "rules[0] is 1; it must be a table of settings", id="a number among the rules"),
        pytest.param(
            "[[rules]]\nmode = 'exact'", "rules[0].match is missing; it must be text", id="a rule without a pattern"
        ),
        pytest.param(
            "[[rules]]\nmatch = 'x'",
            "rules[0].mode is missing; it must be one or a list of",
            id="a rule without a mode",
        ),
        pytest.param(
            "[[rules]]\nmatch = 'x'\nmode = ['lossless', 'dedup']",
            'rules[0].mode[1] is "dedup"; it must be',
            id="a misspelt mode",
        ),
        pytest.param(
            "[[rules]]\nmatch = 'x'\nmode = []", "rules[0].mode is an empty list", id="a rule with an empty list"
        ),
        pytest.param(
            "[[rules]]\nmatch = 'x'\nmode = ['exact', 'dedupe']",
            "rules[0].mode holds exact beside dedupe",
            id="exact and more",
        ),
        pytest.param(
            "[[rules]]\nmatch = 'x'\nmode = ['dedupe', 'dedupe']",
            "rules[0].mode names a mode twice",
            id="a mode named twice",
        ),
        pytest.param(
            "[[rules]]\nmatch = 'kind:shel'\nmode = 'exact'",
            'rules[0].match is "kind:shel", which fits no kind of tool; did you mean kind:shell?',
            id="a kind that does not exist",
        ),
        pytest.param(
            "[providers.mine]", "providers.mine.url is missing; only anthropic", id="an own provider without address"
        ),
        pytest.param(
            "[providers.'a/b']\nurl = 'http://127.0.0.1'",
            "a provider's name stands in the path",
            id="a slash in a name",
        ),
        pytest.param(
            "[providers.mine]\nurl = 'ftp://x'", 'providers.mine.url is "ftp://x"; it must begin with http', id="ftp"
        ),
        pytest.param(
            "[providers.mine]\nurl = 'x.com'", "it must begin with http:// or https:// and a host", id="no scheme"
        ),
        pytest.param(
            "[providers.mine]\nurl = 'https://x?a=1'", "it must end before any ? or #", id="a query in an address"
        ),
        pytest.param(
            "[providers.mine]\nurl = 'https://x:port'", "providers.mine.url is not an address", id="a port in letters"
        ),
        pytest.param("[providers.mine]\nurl = 'https://x y'", "holds a space", id="a space in an address"),
        pytest.param("host = '0.0.0.0'", 'host is "0.0.0.0", which other machines can reach', id="all addresses"),
        pytest.param("host = '::'", "allow_remote = true", id="all IPv6 addresses"),
        pytest.param("host = 'my-machine'", "which other machines can reach", id="a name that may be anything"),
        pytest.param(
            "[default_provider]\nanthropic = 'antropic'",
            'default_provider.anthropic is "antropic", which is no provider; did you mean anthropic?',
            id="a default provider that does not exist",
        ),
        pytest.param(
            "[limits]\nexpanded_body_bytes = 5",
            "limits.expanded_body_bytes is 5, less than limits.body_bytes",
            id="bounds that clash",
        ),
        pytest.param(
            "[limits]\nin_flight_bytes = 5", "the largest body allowed would", id="a body that would never fit"
        ),
        pytest.param(
            "port = @",
            "coldpress.toml: not valid TOML at line 1, column 8: Invalid value",
            id="broken TOML, with its line",
        ),
        pytest.param("port = 1\nport = 2", "coldpress.toml: not valid TOML at ", id="a key given twice"),
        pytest.param(
            "[store.bounds]\n[store.bounds]",
            "not valid TOML at line 2, column 14: Cannot declare store.bounds twice",
            id="a table given twice, in TOML's words for its name",
        ),
        pytest.param(
            "[budget]\ntrigger = 65",
            "budget.trigger is 65; it must be a number from 0 to 1, a share of the window; write 0.65 for 65 %",
            id="a share in per cent",
        ),
        pytest.param(
            "[budget]\ntrigger = -1",
            "it must be a number from 0 to 1, a share of the window",
            id="a share below nothing",
        ),
        pytest.param(
            "[notes]\nproject = ''",
            'notes.project is ""; it must be text, not empty',
            id="empty text where it may be left out",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_key_and_file(tmp_path: Path, text: str, told: str) -> None:
    message = refusal(tmp_path, text)
    assert told in message
    assert message.startswith(f"{tmp_path / 'coldpress.toml'}: ")


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    message = refusal(
        tmp_path, "prot = 1\noperation = 'x'\n[limits]\nbody_bytes = -1\n[[rules]]\nmatch = 'x'\nmode = 'y'"
    )
    assert len(message.splitlines()) == 4


class TestRules:
    def test_own_rules_stand_before_the_default_policy(self, tmp_path: Path) -> None:
        settings = read(
            tmp_path, "[[rules]]\nmatch = 'a*'\nmode = 'exact'\n[[rules]]\nmatch = 'b*'\nmode = ['dedupe', 'lossless']"
        )
        assert [rule.match for rule in settings.policy.rules[:2]] == ["a*", "b*"]
        assert settings.policy.rules[1].modes == ("dedupe", "lossless")
        assert settings.policy.rules[2:] == DEFAULT_POLICY.rules
        assert settings.warnings == ()

    def test_the_default_policy_can_be_left_out(self, tmp_path: Path) -> None:
        settings = read(tmp_path, "default_policy = false\n[[rules]]\nmatch = 'a*'\nmode = 'exact'")
        assert [rule.match for rule in settings.policy.rules] == ["a*"]

    def test_every_part_of_a_rule_arrives(self, tmp_path: Path) -> None:
        text = (
            "[[rules]]\nmatch = 'Web*'\nmode = 'deterministic'\nfirst_pass = true\nrerun = 'Ask again.'\nmin_bytes = 7"
        )
        rule = read(tmp_path, text).policy.rules[0]
        assert (rule.match, rule.modes, rule.first_pass, rule.rerun, rule.min_bytes) == (
            "Web*",
            ("deterministic",),
            True,
            "Ask again.",
            7,
        )

    @pytest.mark.parametrize("mode", ["keyword", "model", "source"])
    def test_every_mode_arrives(self, tmp_path: Path, mode: str) -> None:
        settings = read(tmp_path, f"[[rules]]\nmatch = 'grep*'\nmode = '{mode}'")
        assert settings.policy.rules[0].modes == (mode,)
        assert [("offload.enabled is false" in warning) for warning in settings.warnings] == [True] * (mode == "model")

    @pytest.mark.parametrize(
        ("keys", "told"),
        [
            pytest.param("[plugins]\norder = ['intent']", True, id="reasons that no rule uses"),
            pytest.param(
                "[plugins]\norder = ['intent']\n[plugins.config.intent]\nmode = 'infer'", False, id="inferred"
            ),
            pytest.param(
                "[plugins]\norder = ['intent']\n[[rules]]\nmatch = 'x'\nmode = 'keyword'", False, id="used by a rule"
            ),
            pytest.param("", False, id="not asked for"),
        ],
    )
    def test_reasons_that_nothing_uses_are_told_of(self, tmp_path: Path, keys: str, told: bool) -> None:
        warnings = read(tmp_path, keys).warnings
        assert any("costs tokens and saves none" in warning for warning in warnings) is told

    def test_a_rule_may_wait_for_aged_results(self, tmp_path: Path) -> None:
        found = read(tmp_path, "[[rules]]\nmatch = 'x'\nmode = ['lossless', 'mask']\nage = 9")
        assert (found.policy.rules[0].modes, found.policy.rules[0].age) == (("lossless", "mask"), 9)
        assert found.policy.rules[0].aged_mode == "mask"
        assert found.warnings == ()

    @pytest.mark.parametrize(("turns", "modes"), [(None, ("dedupe", "lossless")), (20, ("dedupe", "lossless", "mask"))])
    def test_sources_stay_exact_unless_an_age_is_given(
        self, tmp_path: Path, turns: int | None, modes: tuple[str, ...]
    ) -> None:
        found = read(tmp_path, "" if turns is None else f"source_age = {turns}")
        rule = found.policy.rule_for("Read", "source")
        assert rule.modes == modes
        assert turns is None or rule.age == turns


class TestProviders:
    def test_a_built_in_provider_changes_only_in_what_is_said(self, tmp_path: Path) -> None:
        provider = read(tmp_path, "[providers.openai]\noperation = 'observe'").provider("openai")
        assert provider is not None
        assert (provider.url, provider.formats, provider.operation) == (
            "https://api.openai.com",
            ("openai_chat", "openai_responses"),
            "observe",
        )

    def test_an_own_provider_reads_every_format_unless_it_says_one(self, tmp_path: Path) -> None:
        both = "[providers.a]\nurl = 'https://a.example/base/'\n"
        one = "[providers.b]\nurl = 'https://b.example'\nformat = 'openai'\n"
        settings = read(tmp_path, both + one)
        first, second = settings.provider("a"), settings.provider("b")
        assert first is not None
        assert second is not None
        assert (first.url, first.formats) == ("https://a.example/base", FORMATS)
        assert second.formats == ("openai_chat", "openai_responses")
        assert settings.provider("c") is None

    def test_providers_take_over_the_top_level_operation(self, tmp_path: Path) -> None:
        settings = read(tmp_path, "operation = 'drain'\n[providers.xai]\noperation = 'off'")
        assert {provider.operation for provider in settings.providers if provider.name != "xai"} == {"drain"}
        assert settings.provider("xai").operation == "off"  # type: ignore[union-attr]

    def test_plain_http_to_another_machine_is_warned_of(self, tmp_path: Path) -> None:
        text = "[providers.near]\nurl = 'http://127.0.0.1:9'\n[providers.far]\nurl = 'http://llm.example'"
        (warning,) = read(tmp_path, text).warnings
        assert warning.startswith("providers.far.url is plain http")

    def test_an_address_with_the_version_in_it_is_warned_of(self, tmp_path: Path) -> None:
        (warning,) = read(tmp_path, "[providers.mine]\nurl = 'https://llm.example/v1/'").warnings
        assert "/provider/mine without /v1" in warning

    def test_prices_become_rates_and_an_unsaid_write_costs_the_input_price(self, tmp_path: Path) -> None:
        text = (
            '[providers.openai.pricing."gpt-5.6"]\ninput_usd_per_mtok = 2\noutput_usd_per_mtok = 8\n'
            'cache_read_usd_per_mtok = 0.5\nas_of = "2026-11-30"'
        )
        provider = read(tmp_path, text).provider("openai")
        assert provider is not None
        assert provider.prices["gpt-5.6"].tiers == ((0, Rates(2.0, 0.5, 2.0, None, 8.0, "settings", "2026-11-30")),)

    @pytest.mark.parametrize("row", BUILTIN_PROVIDERS, ids=lambda row: row.name)
    def test_built_in_addresses_need_the_version_from_the_client(self, row: object) -> None:
        url = row.url  # type: ignore[attr-defined]
        assert re.fullmatch(r"https://[a-z0-9.-]+(/[a-z-]+)*", url)
        assert not re.search(r"/v\d+$", url)


class TestSecrets:
    KEYED = "[providers.anthropic]\napi_key_env = 'MY_KEY'"

    def test_the_key_comes_from_the_environment_and_is_shown_nowhere(self, tmp_path: Path) -> None:
        settings = read(tmp_path, self.KEYED, MY_KEY="sk-very-secret\n")
        key = settings.provider("anthropic").api_key  # type: ignore[union-attr]
        assert key is not None
        assert key.reveal() == "sk-very-secret"
        assert "very-secret" not in f"{settings!r} {settings} {key!r} {key}"
        with pytest.raises(TypeError, match="not written anywhere"):
            pickle.dumps(key)

    @pytest.mark.parametrize("environ", [{}, {"MY_KEY": ""}, {"MY_KEY": "  "}], ids=["unset", "empty", "blank"])
    def test_an_absent_key_is_named(self, tmp_path: Path, environ: dict[str, str]) -> None:
        message = refusal(tmp_path, self.KEYED, **environ)
        assert "providers.anthropic.api_key_env names MY_KEY, which is not set" in message

    def test_an_absent_key_is_only_a_warning_for_commands_that_send_nothing(self, tmp_path: Path) -> None:
        file = tmp_path / "coldpress.toml"
        file.write_text(self.KEYED)
        settings = load(file, environ=HOME, directory=tmp_path, secrets="optional")
        assert "MY_KEY" in settings.warnings[0]

    def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, self.KEYED, MY_KEY="sk-secret\r\nx-evil: 1")
        assert "MY_KEY" in message
        assert "sk-secret" not in message

    def test_a_password_in_an_address_is_refused_without_being_shown(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, "[providers.a]\nurl = 'https://me:hunter2@x.example'")
        assert "api_key_env" in message
        assert "hunter2" not in message

    def test_equality_of_secrets_is_equality_of_keys(self) -> None:
        assert Secret("A", "x") == Secret("A", "x") != Secret("A", "y")


class TestListening:
    @pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "::1", "localhost", "LOCALHOST"])
    def test_loopback_needs_no_leave(self, tmp_path: Path, host: str) -> None:
        assert read(tmp_path, f"host = '{host}'").host == host

    def test_other_machines_are_let_in_on_request(self, tmp_path: Path) -> None:
        assert read(tmp_path, "host = '0.0.0.0'\nallow_remote = true").host == "0.0.0.0"


class TestStorePath:
    @pytest.mark.parametrize(
        ("written", "expected"),
        [
            pytest.param("data/x.db", "{folder}/data/x.db", id="relative to the settings file"),
            pytest.param("~/x.db", "/home/someone/x.db", id="home"),
            pytest.param("/var/x.db", "/var/x.db", id="absolute"),
        ],
    )
    def test_paths(self, tmp_path: Path, written: str, expected: str) -> None:
        settings = read(tmp_path, f"[store]\npath = '{written}'", XDG_DATA_HOME="/data")
        assert settings.store.path == Path(expected.format(folder=tmp_path))

    def test_the_default_follows_xdg_data_home(self, tmp_path: Path) -> None:
        settings = read(tmp_path, "[store]\nraw_log = true", XDG_DATA_HOME="/data")
        assert settings.store.path == Path("/data/coldpress/coldpress.sqlite3")
        assert settings.store.raw_log is True

    def test_bounds_reach_the_store(self, tmp_path: Path) -> None:
        bounds = read(tmp_path, "[store]\noriginals_bytes = 5\nledger_days = 2\nstandings_days = 3").store.bounds
        assert (bounds.originals_bytes, bounds.ledger_days, bounds.standings_days) == (5, 2.0, 3.0)


class TestOverrides:
    def test_the_command_line_goes_before_the_file(self, tmp_path: Path) -> None:
        file = tmp_path / "coldpress.toml"
        file.write_text(
            "port = 1\noperation = 'press'\n[providers.openai]\noperation = 'observe'\n[store]\npath = 'a.db'"
        )
        overrides = Overrides(
            port=0,
            operation="off",
            provider_urls=(("openai", "http://127.0.0.1:7"), ("new", "http://127.0.0.1:8")),
            store_path=tmp_path / "b.db",
        )
        settings = load(file, environ=HOME, directory=tmp_path, overrides=overrides)
        assert settings.port == 0
        assert {provider.operation for provider in settings.providers} == {"off"}
        assert settings.provider("openai").url == "http://127.0.0.1:7"  # type: ignore[union-attr]
        assert settings.provider("new").url == "http://127.0.0.1:8"  # type: ignore[union-attr]
        assert settings.store.path == tmp_path / "b.db"

    def test_what_the_command_line_says_is_checked_as_well(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="allow_remote"):
            load(environ=HOME, directory=tmp_path, overrides=Overrides(host="0.0.0.0"))


ARM = {"plugins": {"order": ["intent"], "config": {"compactor": {"tool_policies": [{"match": "a", "mode": "exact"}]}}}}


class TestReferenceExperiment:
    def reference(self, shared: Path, name: str) -> Settings:
        return load(shared / "reference" / name, environ=HOME, directory=shared)

    def test_the_deterministic_arm_loads_as_it_is(self, shared: Path) -> None:
        settings = self.reference(shared, "deterministic-arm.json")
        assert [(rule.match, rule.modes) for rule in settings.policy.rules] == [
            ("read*", ("exact",)),
            ("view*", ("exact",)),
            ("web_search", ("deterministic",)),
            ("grep*", ("keyword",)),
        ]
        assert settings.plugins.order == ("schema_translator", "intent", "keyword_compactor")
        search = settings.policy.rules[2]
        assert (search.first_pass, search.rerun) == (True, "Repeat the search to recover every result.")
        assert settings.provider("deepseek").formats == ("openai_chat", "openai_responses")  # type: ignore[union-attr]
        assert settings.provider("deepseek-anthropic").formats == ("anthropic",)  # type: ignore[union-attr]
        assert (settings.limits.concurrency, settings.limits.rpm) == (10, 100)
        assert not any("not built" in warning or "plugins.order" in warning for warning in settings.warnings)

    def test_the_model_gated_arm_loads_as_it_is(self, shared: Path) -> None:
        settings = self.reference(shared, "model-gated-arm.json")
        assert settings.policy.rules[3].modes == ("model",)
        assert settings.plugins.order == ("schema_translator", "intent", "compactor")
        provider = settings.provider("deepseek")
        assert provider is not None
        assert provider.url == "https://api.deepseek.com/beta"
        assert provider.prices["deepseek-v4-pro"].at(0) == Rates(
            0.435, 0.003625, 0.435, None, 0.87, "settings", "undated"
        )
        assert not any("not built" in warning or "plugins.order" in warning for warning in settings.warnings)
        assert settings.expected_applications == 6

    def test_an_unmatched_tool_stays_exact_as_in_the_experiment_and_this_is_told(self, shared: Path) -> None:
        settings = self.reference(shared, "deterministic-arm.json")
        assert settings.policy.rule_for("Bash", "shell").modes == ("exact",)
        assert any("default_policy is off" in warning for warning in settings.warnings)

    def test_rules_of_a_plugin_that_is_not_on_are_not_used_and_this_is_told(self, tmp_path: Path) -> None:
        settings = read(tmp_path, json.dumps(ARM), name="arm.json")
        assert settings.policy.rules == ()
        assert any("plugins.order does not name compactor" in warning for warning in settings.warnings)

    def test_the_default_policy_can_be_asked_for(self, tmp_path: Path) -> None:
        settings = read(tmp_path, json.dumps({**ARM, "default_policy": True}), name="arm.json")
        assert settings.policy == DEFAULT_POLICY
        assert not any("default_policy" in warning for warning in settings.warnings)


class TestJson:
    def test_our_own_keys_work_in_json(self, tmp_path: Path) -> None:
        settings = read(tmp_path, '{"port": 5, "rules": [{"match": "x", "mode": ["lossless"]}]}', name="mine.JSON")
        assert settings.port == 5
        assert settings.policy.rules[0].modes == ("lossless",)

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            pytest.param("{", "is not valid JSON", id="broken"),
            pytest.param('{"port": 1, "port": 2}', "the key 'port' stands twice", id="a key given twice"),
            pytest.param("[]", "the file is a list; it must be a table", id="not an object"),
            pytest.param('{"port": null}', "port is null; it must be a whole number", id="null"),
        ],
    )
    def test_what_is_wrong_is_told(self, tmp_path: Path, text: str, told: str) -> None:
        assert told in refusal(tmp_path, text, name="mine.json")

    def test_a_file_that_is_not_utf8_is_told(self, tmp_path: Path) -> None:
        file = tmp_path / "c.toml"
        file.write_bytes(b"host = '\xff'")
        with pytest.raises(ConfigError, match="is not UTF-8 at byte 8"):
            load(file, environ=HOME, directory=tmp_path)


class TestTemplate:
    def test_it_loads_and_changes_nothing(self, tmp_path: Path) -> None:
        settings = read(tmp_path, template())
        assert settings == load(environ=HOME, directory=tmp_path / "elsewhere")
        assert settings.warnings == ()

    def test_it_names_every_key_with_its_default(self) -> None:
        written = template()
        for table in (FileKeys, StoreKeys, LimitKeys, DefaultProviderKeys):
            for key in keys_of(table):
                if isinstance(key.default, bool | int | float | str):
                    assert re.search(rf"^# {key.name} = ", written, re.MULTILINE), key.name

    def test_it_still_loads_with_every_key_switched_on(self, tmp_path: Path) -> None:
        switched_on = re.sub(r"^# (?=[a-z_]+ = |\[)", "", template(), flags=re.MULTILINE)
        second = '\n[providers.openrouter]\napi_key_env = "EXAMPLE_API_KEY"\noperation = "observe"\n'
        settings = read(tmp_path, switched_on + second, EXAMPLE_API_KEY="sk-1")
        assert settings.limits.concurrency == 10
        assert settings.provider("example") is not None
        assert settings.policy.rules[0].match == "web_*"
        assert settings.port == 8484


def test_every_key_has_a_line_and_every_number_a_unit() -> None:
    for table in (FileKeys, StoreKeys, LimitKeys, DefaultProviderKeys, OffloadKeys):
        for key in keys_of(table):
            assert key.about.line.endswith("."), key.name
            if isinstance(key.default, int | float) and not isinstance(key.default, bool) and key.name != "port":
                assert key.about.unit, key.name
