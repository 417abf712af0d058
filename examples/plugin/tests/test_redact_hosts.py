"""The names by themselves, and the plugin as coldpress asks it."""

from __future__ import annotations

import pytest
from coldpress_redact_hosts import RedactHosts
from coldpress_redact_hosts.names import Names, Settings

from coldpress.model.identity import EditKey
from coldpress.plugins import CallFacts, RequestFacts, ResultFacts
from coldpress.plugins.testing import ask, ask_about_call

CORP = Settings(suffixes=("corp.example", "lan"))


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        pytest.param("ping db7.corp.example: ok", ["db7.corp.example"], id="one host"),
        pytest.param("https://a.b.corp.example:8443/x", ["a.b.corp.example"], id="in an address"),
        pytest.param("DB7.Corp.Example", ["DB7.Corp.Example"], id="upper case"),
        pytest.param("nas.lan and printer.lan.", ["nas.lan", "printer.lan"], id="two, and the end of a sentence"),
        pytest.param("corp.example", [], id="the domain itself is no host"),
        pytest.param("db7.corp.example.com", [], id="another domain that begins alike"),
        pytest.param("notcorp.example", [], id="another domain that ends alike"),
    ],
)
def test_internal_hosts_go_and_come_back(text: str, hosts: list[str]) -> None:
    names = Names()
    redacted = names.redacted(text, CORP)
    assert all(host not in redacted for host in hosts)
    assert (redacted == text) == (not hosts)
    assert names.restored(redacted).lower() == text.lower()


def test_the_same_host_has_the_same_name_everywhere() -> None:
    assert Names().redacted("x.lan", CORP) == Names().redacted("X.LAN", CORP) != Names().redacted("y.lan", CORP)


def request(*texts: str) -> RequestFacts:
    results = tuple(
        ResultFacts(EditKey(bytes([number]) * 32, 0, 0), "Bash", True, None, lambda text=text: text, lambda: "{}")
        for number, text in enumerate(texts)
    )
    return RequestFacts(
        "m", "anthropic", "anthropic", None, "a" * 24, 1, lambda: (), lambda: results, lambda: "find it"
    )


def test_the_plugin_edits_new_results_and_gives_calls_the_real_names() -> None:
    plugin = RedactHosts()
    edits = ask(plugin, request("up: db7.corp.example", "nothing here"), suffixes=["corp.example"])
    ((text, _),) = edits.results.values()
    assert text.startswith("up: host-") and "corp" not in text
    alias = text.removeprefix("up: ")
    call = CallFacts("Bash", "c1", f'{{"command":"ssh {alias}"}}', "m", "anthropic", "a" * 24)
    assert ask_about_call(plugin, call, suffixes=["corp.example"]) == '{"command":"ssh db7.corp.example"}'


def test_without_suffixes_it_does_nothing() -> None:
    assert not ask(RedactHosts(), request("up: db7.corp.example"))
