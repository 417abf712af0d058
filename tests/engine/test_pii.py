"""What is taken out of a text, what takes its place, and what of source code and logs must never be taken for it."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.engine.pii import KINDS, Hit, joined, redacted
from coldpress.engine.pii_patterns import DEFAULT_KINDS, Sought, found

KEY = "ghp_1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7v1s8mC0k9Zr2vLmT0a8\nq8Zr2vLm\n-----END RSA PRIVATE KEY-----"
ALL, USUAL = Sought(KINDS), Sought()


def cleaned(text: str, sought: Sought = USUAL) -> str:
    return redacted(text, found(text, sought))


@pytest.mark.parametrize(
    ("text", "after"),
    [
        pytest.param("mail ada@lovelace.uk.", "mail [redacted email 1].", id="an address at the end of a sentence"),
        pytest.param("<ada.l+x@a-b.co.uk>", "<[redacted email 1]>", id="an address with a tag, in brackets"),
        pytest.param("mailto:ada@lovelace.uk", "mailto:[redacted email 1]", id="an address in a link"),
        pytest.param('{"mail":"ada@lovelace.uk"}', '{"mail":"[redacted email 1]"}', id="an address in JSON"),
        pytest.param("x=ada@lovelace.uk", "[redacted email 1]", id="a name in front of an address may belong to it"),
        pytest.param("tel +49 30 901820-0", "tel [redacted phone 1]", id="a number in groups"),
        pytest.param("+1 (415) 867-5309", "[redacted phone 1]", id="a number with an area code in brackets"),
        pytest.param("4539 1488 0343 6467", "[redacted card 1]", id="a card in groups"),
        pytest.param("card=4539148803436467;", "card=4539148803436467;", id="a value behind a sign is left to others"),
        pytest.param("card: 4539148803436467", "card: [redacted card 1]", id="a card in one run"),
        pytest.param("3714 496353 98431 x", "3714 496353 98431 x", id="a card of a test suite"),
        pytest.param("3782-822463-10013", "[redacted card 1]", id="a card of fifteen digits"),
        pytest.param("IBAN DE44500105175407324931", "IBAN [redacted iban 1]", id="an account in one run"),
        pytest.param("DE44 5001 0517 5407 3249 31 BIC", "[redacted iban 1] BIC", id="an account in groups"),
        pytest.param(f"GITHUB_TOKEN={KEY}", "GITHUB_TOKEN=[redacted secret 1]", id="a token: its name stays"),
        pytest.param("db://app:q8Zr2vLm0@h/x", "db://app:[redacted secret 1]@h/x", id="a password in an address"),
        pytest.param(f"a\n{PEM}\nb", "a\n[redacted secret 1]\nb", id="a key of many lines"),
        pytest.param(f"a\n{PEM[:60]}", "a\n[redacted secret 1]", id="a key that was cut off"),
        pytest.param('password: "q8Zr2vLmT0"', 'password: "[redacted secret 1]"', id="a quoted value"),
        pytest.param(
            "Authorization: Bearer abcdefghijk1234567890ABCDEFG",
            "Authorization: Bearer [redacted secret 1]",
            id="a header: only what follows its scheme",
        ),
        pytest.param(
            "DB_PASSWORD=q8Zr2vLmT0\nlogin with q8Zr2vLmT0, not xq8Zr2vLmT0",
            "DB_PASSWORD=[redacted secret 1]\nlogin with [redacted secret 1], not xq8Zr2vLmT0",
            id="a secret that is said again without its name",
        ),
        pytest.param(
            "a@b.de c@d.fr a@b.de +49 30 901820-0",
            "[redacted email 1] [redacted email 2] [redacted email 1] [redacted phone 1]",
            id="equal ones have equal numbers, and each kind its own",
        ),
        pytest.param(
            "[redacted email 1] and c@d.fr",
            "[redacted email 1] and [redacted email 2]",
            id="a number that stands there already is not given again",
        ),
        pytest.param("\ud800 ada@lovelace.uk", "\ud800 [redacted email 1]", id="beside half a character"),
        pytest.param("héllo 日本語 🙂 a@b.de 🙂", "héllo 日本語 🙂 [redacted email 1] 🙂", id="among wide characters"),
    ],
)
def test_what_is_found_goes_and_all_around_it_stays(text: str, after: str) -> None:
    assert cleaned(text) == after
    assert cleaned(after) == after


SAFE = [
    pytest.param("version 1.2.3.4-beta+5, node@20.11.1, @types/node@20.1.0", id="versions"),
    pytest.param("d41d8cd98f00b204e9800998ecf8427e 4539148803436467abcd", id="hashes"),
    pytest.param("commit 4f2b1c0d9e8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c", id="a commit"),
    pytest.param("550e8400-e29b-41d4-a716-446655440000", id="a UUID"),
    pytest.param("45391488-0343-6467-4539-148803436467", id="a UUID of digits alone"),
    pytest.param("1700000000000 1700000000000000 1700000000000000000", id="times in thousandths and finer"),
    pytest.param("2026-11-30T23:54:52+01:00 +0100", id="times with a zone"),
    pytest.param("0.4539148803436467 4539148803436467.5e3", id="numbers with a point"),
    pytest.param("user@example.com root@localhost ci@build.test bob@mail.example.org", id="fixtures"),
    pytest.param("git@github.com:org/repo.git noreply@anthropic.com 1+ada@users.noreply.github.com", id="services"),
    pytest.param("https://user@host.corp.com/x ssh://deploy@build.corp.com", id="a name in an address"),
    pytest.param("icon@2x.png main@a.js", id="names of files"),
    pytest.param("@property\n@app.route('/x')\n@pytest.mark.foo", id="decorators"),
    pytest.param("@@ -12,34 +56,78 @@\n+14158675309\n+ 4930901820", id="lines that a diff adds"),
    pytest.param("   120\tx = 1\n   121\ty = 2", id="line numbers"),
    pytest.param("x += 49309018200; y = a+14158675309", id="sums"),
    pytest.param("10.0.0.1 127.0.0.1 8.8.8.8 1.2.3.4", id="addresses of the network"),
    pytest.param("4242 4242 4242 4242, DE89 3704 0044 0532 0130 00", id="cards and accounts of manuals"),
    pytest.param("4539 1488 0343 6468, DE44500105175407324932", id="wrong check digits"),
    pytest.param('password = os.environ["DB_PASSWORD"]; token: str; API_KEY=<your key>', id="code about secrets"),
    pytest.param("AKIAIOSFODNN7EXAMPLE", id="the key of a manual"),
    pytest.param("GB82TEST", id="the beginning of an account"),
    pytest.param('{"id": 1234567890123456, "n": 5555555555555555}', id="ids"),
]


@pytest.mark.parametrize("text", SAFE)
def test_what_source_code_and_logs_are_full_of_stays(text: str) -> None:
    assert cleaned(text) == text


def test_each_kind_is_looked_for_where_it_is_asked_for() -> None:
    texts = {
        "secret": KEY,
        "card": "4539148803436467",
        "iban": "DE44500105175407324931",
        "phone": "+49 30 901820-0",
        "email": "ada@lovelace.uk",
        "ip": "8.8.8.8",
    }
    whole = "\n".join(texts.values())
    assert set(texts) == set(KINDS) and set(DEFAULT_KINDS) == set(KINDS) - {"ip"}
    for kind in KINDS:
        (hit,) = found(whole, Sought((kind,)))
        assert (hit.kind, whole[hit.start : hit.end]) == (kind, texts[kind])
    assert [hit.kind for hit in found(whole, ALL)] == list(texts)
    assert found(whole, Sought(())) == ()


def test_what_is_allowed_stays_and_without_examples_nothing_is() -> None:
    text = "ada@lovelace.uk user@example.com 4012 8888 8888 1881"
    assert cleaned(text, replace(Sought(), allow=("*@LOVELACE.uk",))).startswith("ada@lovelace.uk [redacted")
    assert cleaned(text, replace(Sought(), allow=())) == ("[redacted email 1] [redacted email 2] [redacted card 1]")


def test_what_a_library_found_is_joined_with_what_we_found() -> None:
    text = "key is zzzz-ada@lovelace.uk"
    hits = found(text, Sought(), more=(Hit(7, 15, "secret"), Hit(0, 3, "ip")))
    assert hits == (Hit(7, 27, "secret"),)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(["ada@lovelace.uk", KEY, "+49 30 901820-0", "4539148803436467", "[redacted email 3]", PEM]),
            st.sampled_from(["password=", "://u:", "@", " ", "\n", '"', "Bearer ", "[redacted ", "🙂", "\ud800"]),
            st.text(max_size=12),
        ),
        max_size=12,
    )
)
def test_hits_lie_in_order_in_the_text_and_taking_out_twice_is_taking_out_once(pieces: list[str]) -> None:
    text = "".join(pieces)
    hits = found(text, ALL)
    assert all(0 <= hit.start < hit.end <= len(text) for hit in hits)
    assert all(one.end <= other.start for one, other in pairwise(hits))
    after = redacted(text, hits)
    kept = [text[a:b] for a, b in zip([0, *(h.end for h in hits)], [*(h.start for h in hits), len(text)], strict=True)]
    at = 0
    for piece in kept:  # all that stands between is there, in order
        at = after.index(piece, at) + len(piece)
    assert redacted(text, joined(reversed(hits))) == after
    assert not any(text[h.start : h.end] in after for h in hits if h.kind == "secret" and h.end - h.start > 20)


@pytest.mark.parametrize(
    "piece",
    [
        *("a", "@", "a@", "a@a.", "1", "+1", "+1 ", "4539 ", "DE44 ", "1.", "password", "password=", "token: '", "://"),
        *(
            "://a:",
            "-----BEGIN PRIVATE KEY-----\n",
            "eyJaaaaa.",
            "Authorization: Bearer ",
            " -u a:",
            "[redacted email 1]",
        ),
        *("a.b@c-", "sk-", "--password ", "API_KEY=a", "\n", " ", '"', "x" * 63 + "."),
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    texts = [(piece * (size // len(piece) + 1))[:size] for size in (20_000, 80_000)]
    seconds = []
    for text in texts:
        began = time.process_time()
        found(text, ALL)
        seconds.append(time.process_time() - began)
    assert seconds[1] < 12 * seconds[0] + 0.2, seconds  # four times the text; sixteen times would be its square


def test_every_cut_of_a_text_in_many_scripts_is_taken() -> None:
    text = "héllo 日本語 🙂 ada@lovelace.uk"
    raw = text.encode()
    for at in range(len(raw) + 1):
        for part in (raw[:at], raw[at:]):
            cut = part.decode("utf-8", "surrogateescape")
            after = cleaned(cut)
            assert "ada@lovelace.uk" not in after
            assert after or not cut
