"""Counts are exact where the vocabulary is at hand; the estimate stays near the reference counts elsewhere."""

from __future__ import annotations

import importlib.resources
import socket
import sys
from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.measure import tokens
from coldpress.measure.exact_tokens import o200k
from coldpress.measure.token_families import FAMILIES, OTHER, family_of
from coldpress.measure.tokens import SLICE_CHARACTERS, Counter, counter_for, estimate

# Reference counts were taken once with the o200k vocabulary.
CHINESE = (
    "缓存是一种保存最近使用数据的机制。当程序再次需要同样的数据时，可以直接从缓存中读取，而不必重新计算或者再次访问网络。"
    "这样可以明显减少等待的时间，也可以降低费用。不过，缓存中的数据可能已经过期，所以系统必须知道什么时候应该更新它。"
    "如果前面的内容被修改，后面的内容就必须全部重新写入，因此在对话中间修改旧的结果往往会让总费用变得更高。"
)
JAPANESE = (
    "キャッシュは最近使ったデータを保存しておく仕組みです。同じデータがもう一度必要になったとき、計算し直したりネットワークに"
    "問い合わせたりせずに、すぐに読み出すことができます。ただし、保存されたデータは古くなっている可能性があるので、"
    "いつ更新するべきかを知っておく必要があります。"
)
KOREAN = (
    "캐시는 최근에 사용한 데이터를 저장해 두는 장치입니다. 같은 데이터가 다시 필요할 때 계산을 다시 하거나 "
    "네트워크에 접속하지 않고 바로 읽을 수 있습니다. "
    "하지만 저장된 데이터가 오래되었을 수 있으므로 언제 갱신해야 하는지 알아야 합니다."
)
TRADITIONAL = (
    "快取是一種保存最近使用資料的機制。當程式再次需要同樣的資料時，可以直接從快取中讀取，而不必重新計算或再次存取網路。"
    "這樣可以明顯減少等待的時間，也可以降低費用。"
)
CHINESE_CODE = '''# 先检查缓存是否已经失效，如果失效就压缩旧的结果
def press(messages: list[Message], *, cold: bool) -> list[Message]:
    """返回可以发送的消息；缓存仍然有效时不做任何修改。"""
    return [shorten(m) if m.age > 20 else m for m in messages] if cold else messages
'''
JAPANESE_CODE = """// 設定ファイルを読み込み、足りない値には既定値を使う
const settings = { ...DEFAULTS, ...JSON.parse(readFileSync(path, "utf8")) };
if (!settings.provider) throw new Error("provider が指定されていません: " + path);
"""
KOREAN_CODE = '''# 캐시가 식었는지 확인하고, 식었으면 오래된 결과를 줄인다.
def is_cold(last_sent_at: float, now: float, ttl_seconds: float) -> bool:
    """마지막 요청 이후 시간이 수명보다 길면 참."""
    return now - last_sent_at > ttl_seconds  # 경계에서는 아직 따뜻하다
'''
CHINESE_LOG = "INFO 已加载 1024 条记录 (耗时 0.35 s)\nERROR 无法连接 10.0.0.7:5432：连接被拒绝\n" * 4
CODE = '''def settle(self, proposal, replies):
    """Take the answers and decide."""
    kept = [edit for edit in proposal.edits if edit.net_usd > 0]
    if not kept:
        return self, Decision(edits=(), reason="nothing pays")
    return replace(self, standing=self.standing | set(kept)), Decision(edits=tuple(kept), reason="gate")
'''
LOG = (
    "2026-11-30 13:54:07,113 INFO  worker-3 GET /v1/items?page=17 200 4312 bytes in 0.0213 s\n"
    "2026-11-30 13:54:07,498 ERROR worker-1 connection to 10.0.3.17:5432 refused (attempt 3 of 5)\n"
) * 5


REFERENCES = [
    pytest.param(CHINESE, 98, id="simplified Chinese prose"),
    pytest.param(CHINESE * 15, 1470, id="2,475 Chinese characters"),
    pytest.param(TRADITIONAL, 60, id="traditional Chinese prose"),
    pytest.param(JAPANESE, 89, id="Japanese prose"),
    pytest.param(JAPANESE * 15, 1335, id="2,070 Japanese characters"),
    pytest.param(KOREAN, 64, id="Korean prose"),
    pytest.param(KOREAN * 15, 960, id="1,995 Korean characters"),
    pytest.param(CHINESE_CODE, 81, id="code with Chinese comments"),
    pytest.param(JAPANESE_CODE, 64, id="code with Japanese comments and texts"),
    pytest.param(KOREAN_CODE, 77, id="code with Korean comments"),
    pytest.param(CHINESE_LOG, 152, id="a Chinese log with many numbers"),
    pytest.param(CODE, 83, id="Python code"),
    pytest.param(LOG, 405, id="a log with many numbers"),
    pytest.param(" " * 100_000, 782, id="nothing but blanks"),
    pytest.param("\n" * 100_000, 6250, id="nothing but line ends"),
]


@pytest.fixture
def exact() -> Counter:
    pytest.importorskip("quicktok", reason="needs the extra `exact`")
    return counter_for("gpt-5")


@pytest.fixture
def without_the_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "quicktok", None)  # what an import finds where it is not installed
    for cached in (o200k, counter_for):
        cached.cache_clear()
    yield
    for cached in (o200k, counter_for):
        cached.cache_clear()


@pytest.mark.parametrize(("text", "reference"), REFERENCES)
def test_the_estimate_is_within_15_percent_of_the_reference(text: str, reference: int) -> None:
    assert estimate(text) == pytest.approx(reference, rel=0.15)


@pytest.mark.parametrize(("text", "reference"), REFERENCES)
def test_the_exact_counter_gives_the_reference(exact: Counter, text: str, reference: int) -> None:
    assert exact.exact
    assert exact.count(text) == reference


@pytest.mark.parametrize(
    ("model", "family"),
    [
        pytest.param("gpt-4o-mini", "o200k", id="the first family on o200k"),
        pytest.param("openai/gpt-5.6-sol", "o200k", id="a provider's prefix plays no part"),
        pytest.param("gpt-6.1-terra", "o200k", id="the newest"),
        pytest.param("gpt-oss-120b", "o200k", id="open weights"),
        pytest.param("o4-mini", "o200k", id="a reasoning model"),
        pytest.param("ft:gpt-4.1:acme::8x", "o200k", id="a tuned one"),
        pytest.param("gpt-4-turbo", "other", id="an older vocabulary is not o200k"),
        pytest.param("o1x-large", "other", id="somebody else's name that begins alike"),
        pytest.param("claude-3-5-haiku-20241022", "claude", id="Claude 3.5"),
        pytest.param("claude-sonnet-4-20250514", "claude", id="a date is no version"),
        pytest.param("claude-opus-4-5-20251101", "claude", id="Opus 4.5"),
        pytest.param("claude-opus-4-7", "claude-4.7", id="Opus 4.7"),
        pytest.param("anthropic/claude-opus-4.8", "claude-4.7", id="Opus 4.8 with a dot"),
        pytest.param("us.anthropic.claude-sonnet-5-v1:0", "claude-4.7", id="Sonnet 5 on Bedrock"),
        pytest.param("claude-fable-5-2", "claude-4.7", id="Fable 5.2"),
        pytest.param("google/gemini-3-pro-preview", "gemini", id="Gemini"),
        pytest.param("qwen/qwen3-coder-480b", "qwen", id="Qwen 3"),
        pytest.param("qwen3.5-plus", "other", id="a later Qwen has another vocabulary"),
        pytest.param("deepseek-v4-pro", "other", id="no evidence"),
        pytest.param("", "other", id="an empty name"),
        pytest.param(None, "other", id="no name"),
    ],
)
def test_family(model: str | None, family: str) -> None:
    assert family_of(model).name == family
    assert counter_for(model).name.startswith(f"{family}/")


def test_every_family_names_its_source_and_only_those_on_o200k_are_at_its_scale() -> None:
    assert all(family.source for family in (*FAMILIES, OTHER))
    assert all(family.scale == 1.0 for family in FAMILIES if family.o200k)
    assert len({family.name for family in (*FAMILIES, OTHER)}) == len(FAMILIES) + 1


def test_a_family_with_a_tokenizer_of_its_own_is_estimated_and_scaled() -> None:
    counter = counter_for("claude-opus-4-5")
    assert (counter.exact, counter.name) == (False, "claude/estimate")
    assert counter.count(CODE) == round(estimate(CODE) * 1.115)
    assert counter.count("") == 0


def test_without_the_package_the_estimate_stands_in(without_the_package: None) -> None:
    counter = counter_for("gpt-5")
    assert (counter.exact, counter.name) == (False, "o200k/estimate")
    assert counter.count(CODE) == estimate(CODE)


def test_the_vocabulary_comes_with_the_package_and_nothing_is_fetched(
    exact: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(sys.modules["quicktok"], "_CACHE", {})  # its own memory of what it has loaded
    o200k.cache_clear()
    fresh = o200k()
    assert fresh is not None and fresh(CODE) == exact.count(CODE)
    assert importlib.resources.files("quicktok").joinpath("data", "o200k.vocab").is_file()


@pytest.mark.parametrize("text", ["<|endoftext|>", "<|im_start|>system", "a<|endofprompt|>b"])
def test_what_looks_like_a_special_token_is_plain_text(exact: Counter, text: str) -> None:
    assert exact.count(text) >= 7
    assert estimate(text) >= 4


@given(st.text(max_size=300))
def test_the_exact_counter_takes_any_text(text: str) -> None:
    pytest.importorskip("quicktok", reason="needs the extra `exact`")
    assert (counter_for("gpt-5").count(text) == 0) == (text == "")


def test_a_lone_surrogate_is_counted_exactly_as_a_question_mark(exact: Counter) -> None:
    assert exact.count("a\ud800b") == exact.count("a?b")


WORDS = st.sampled_from(
    ["return", "getHTTPSize", "2026", "17", "{", "};", "缓存", "é", " ", "  ", "\t", "\n", "\r\n", "--", "\n\n ", " \n"]
)


@given(st.lists(WORDS, max_size=400).map(";".join), st.integers(80, 200))
def test_a_text_in_slices_weighs_as_much_as_in_one(text: str, longest: int) -> None:
    with patch.object(tokens, "SLICE_CHARACTERS", longest):
        in_slices = estimate(text)
    # No run is as long as a slice, so there is a seam in each, and nothing but rounding may differ.
    assert abs(in_slices - estimate(text)) <= 1


@pytest.mark.parametrize("text", [CODE, CHINESE + "\n", LOG, "\n\n  x = 1\n", "}\n\n", "word "], ids=lambda t: t[:12])
def test_a_long_text_weighs_as_much_as_its_parts_together(text: str) -> None:
    long = text * (10 * SLICE_CHARACTERS // len(text))
    with patch.object(tokens, "SLICE_CHARACTERS", len(long)):
        in_one = estimate(long)
    assert abs(estimate(long) - in_one) <= 1


def test_recorded_tool_output_has_a_median_error_under_eight_percent(recorded_texts: list[str]) -> None:
    quicktok = pytest.importorskip("quicktok", reason="needs a real tokenizer to compare with")
    vocabulary = quicktok.get_encoding("o200k_base")
    counted = [(estimate(text), vocabulary.count(text)) for text in recorded_texts]
    errors = sorted(abs(guess - real) / real for guess, real in counted)
    assert errors[len(errors) // 2] < 0.08
    assert sum(guess for guess, _ in counted) == pytest.approx(sum(real for _, real in counted), rel=0.05)


@given(st.text(max_size=300))
def test_only_the_empty_text_has_no_tokens(text: str) -> None:
    assert (estimate(text) == 0) == (text == "")


@given(st.text(max_size=200), st.text(max_size=200))
def test_the_estimate_of_a_joined_text_is_near_the_sum(left: str, right: str) -> None:
    # Joining may merge one word, one number, one line end and one run of spaces at the seam, and rounding adds one.
    assert abs(estimate(left + "\n" + right) - estimate(left) - estimate(right)) <= 6


def test_a_lone_surrogate_is_counted_and_does_not_raise() -> None:
    assert estimate("a\ud800b") >= 2
