"""The token estimate stays near the reference counts, is fast enough, and never surprises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.measure.tokens import estimate

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


@pytest.mark.parametrize(
    ("text", "reference", "tolerance"),
    [
        pytest.param(CHINESE, 98, 0.15, id="simplified Chinese prose is within 15 %"),
        pytest.param(CHINESE * 15, 1470, 0.15, id="2,000 Chinese characters are within 15 %"),
        pytest.param(TRADITIONAL, 60, 0.15, id="traditional Chinese prose is within 15 %"),
        pytest.param(JAPANESE, 89, 0.15, id="Japanese prose is within 15 %"),
        pytest.param(KOREAN, 64, 0.15, id="Korean prose is within 15 %"),
        pytest.param(CODE, 83, 0.15, id="Python code is within 15 %"),
        pytest.param(LOG, 405, 0.15, id="a log with many numbers is within 15 %"),
    ],
)
def test_estimate_against_reference(text: str, reference: int, tolerance: float) -> None:
    assert estimate(text) == pytest.approx(reference, rel=tolerance)


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
