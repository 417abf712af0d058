"""N05: 2,000 characters of Chinese or Japanese are estimated within 15 %, whatever script and style they are in."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.measure import cjk, tokens
from coldpress.measure.exact_tokens import o200k
from coldpress.measure.tokens import WIDE_SLICE_CHARACTERS, estimate

# The tokens are those of the text repeated to 2,000 characters, counted once with the o200k vocabulary. The weights
# were fitted to none of these texts.
PROSE = [
    pytest.param(
        "延長十二回、満塁から放たれた打球は右翼手の頭上を越え、長い試合に決着がついた。主将は涙をこらえな"
        "がら、支えてくれた仲間に感謝したいと話した。チームは二年連続で決勝に進み、日曜日に昨年の優勝校と"
        "対戦する。",
        1802,
        id="Japanese sports news",
    ),
    pytest.param(
        "このメソッドは、指定された識別子に対応する注文を取得します。見つからない場合は空の配列を返し、権"
        "限がない場合はステータスコード四〇三で応答します。呼び出し回数には一分あたりの上限があるため、結"
        "果を保存して再利用することを推奨します。",
        1429,
        id="Japanese reference",
    ),
    pytest.param(
        "先週末、友だちと温泉に行ってきました！山の上にある小さな宿で、ごはんがとにかくおいしかったです。"
        "朝は鳥の声で目が覚めて、しばらくぼーっとしていました。たまにはこういう休みもいいですね。",
        1592,
        id="Japanese blog with little kanji",
    ),
    pytest.param(
        "父が庭の柿の木を切ると言い出したとき、母は黙って茶碗を洗っていた。その木は、私が生まれた年に植え"
        "られたものだったから、誰も賛成しなかったのだが、父の決意は固かった。",
        1734,
        id="Japanese fiction",
    ),
    pytest.param(
        "台股今日開高走低，電子股賣壓沉重，終場下跌一百二十點。分析師認為，市場觀望聯準會利率決策，外資持"
        "續調節持股，短線宜保守因應。匯市方面，新台幣小幅貶值，收在三十二元附近。",
        1928,
        id="Taiwanese market news",
    ),
    pytest.param(
        "部署完成後，請登入管理後台確認各項服務的狀態。若節點顯示離線，請先檢查防火牆規則與憑證是否過期，"
        "再重新啟動代理程式。所有操作都會被記錄，稽核人員可依照時間或帳號搜尋。",
        1830,
        id="Taiwanese operations manual",
    ),
    pytest.param(
        "親愛的外婆，我已經平安抵達學校了。宿舍雖然舊了一點，但是室友都很親切，還教我怎麼搭公車去市場。這"
        "裡的冬天比家裡冷許多，您織的毛衣剛好派上用場，請不用擔心我。",
        2023,
        id="Taiwanese letter",
    ),
    pytest.param(
        "初，鄭伯將出師，其弟諫曰：民勞矣，歲又大旱，請待來年。伯弗聽，曰：時不可失。既戰，車馳卒奔，為敵"
        "所乘，僅以身免。君子謂鄭伯不知時，不恤其民，其敗宜矣。",
        2213,
        id="classical Chinese chronicle",
    ),
    pytest.param(
        "展览共展出青铜器、瓷器和书画一百余件，其中三分之一是首次与观众见面。策展人介绍，展厅按照时间顺序"
        "分为四个单元，并利用投影还原了古代市集的热闹场景。",
        1808,
        id="simplified Chinese culture news",
    ),
    pytest.param(
        "凌晨两点监控报警，主库磁盘写满导致复制中断。值班同学清理了过期的二进制日志，随后扩容到两倍。复盘"
        "认为根本原因是归档脚本的权限被误改，后续会增加容量预警和定期演练。",
        1728,
        id="simplified Chinese incident report",
    ),
    pytest.param(
        "五花肉切块冷水下锅，加姜片和料酒焯去血沫，捞出沥干。锅里放少许油，小火把冰糖炒成琥珀色，倒入肉块"
        "翻炒上色，再加生抽、老抽和热水，盖上盖子炖一个小时，最后大火收汁。",
        2027,
        id="simplified Chinese recipe",
    ),
    pytest.param(
        "姐妹你听我说，我们部门那个新来的居然第一天就跟领导顶嘴，全场都安静了。结果领导不但没生气，还夸他"
        "有想法，我真是服了。你那边怎么样，面试过了吗？",
        1576,
        id="simplified Chinese chat",
    ),
    pytest.param(
        "昨日の会議では、来月の出荷予定と在庫の状況について話し合いました。倉庫の担当者によると、台風の影"
        "響で部品の到着が二日ほど遅れる見込みだそうです。そのため、工場では別の製品を先に組み立てることに"
        "しました。",
        1564,
        id="Japanese minutes",
    ),
    pytest.param(
        "春になると、川沿いの道には桜の花が咲き、近所の人々が散歩を楽しみます。朝早く出かけると、鳥の鳴き"
        "声が聞こえ、冷たい空気がとても気持ちよく感じられます。",
        1842,
        id="Japanese essay",
    ),
    pytest.param(
        "このプログラムは、設定ファイルを読み込んでからサーバーを起動します。エラーが発生した場合は、ログ"
        "に詳細なメッセージを書き出し、再試行を三回まで行います。",
        1420,
        id="Japanese manual",
    ),
    pytest.param(
        "江戸時代の町人は、木造の長屋に住み、井戸の水を共同で使っていた。火事が多かったため、町ごとに火消"
        "しの組が作られ、延焼を防ぐために家を壊すこともあった。",
        1786,
        id="Japanese history, much kanji",
    ),
    pytest.param(
        "玉ねぎを薄く切って、油でゆっくり炒めます。色が変わったら、肉とにんじんを加え、水を入れて二十分ほ"
        "ど煮込みます。最後に味噌と醤油で味を整えれば出来上がりです。",
        1744,
        id="Japanese recipe",
    ),
    pytest.param(
        "ユーザーインターフェースのコンポーネントをリファクタリングし、パフォーマンスを改善しました。",
        1262,
        id="Japanese, mostly katakana",
    ),
    pytest.param(
        "如果数据库连接超时，服务会自动切换到备用节点，并把失败的请求写入队列，等待主节点恢复后重新执行。",
        1292,
        id="simplified Chinese documentation",
    ),
    pytest.param(
        "學而時習之，不亦說乎？有朋自遠方來，不亦樂乎？人不知而不慍，不亦君子乎？",
        1888,
        id="classical Chinese, Analects",
    ),
    pytest.param(
        "這個模組負責讀取使用者的設定檔，並且在啟動之前檢查所有欄位是否正確，若有缺漏則使用預設值。",
        1912,
        id="traditional Chinese documentation",
    ),
    pytest.param(
        "/* 受信した差分を順番に適用する。失敗したら元に戻し、呼び出し元へ理由を返す。 */\nexpo"
        "rt async function apply(patches: Patch[]): Promi"
        "se<Result> {\n  // 古い順に並べ替えてから処理する\n  const sorted"
        " = [...patches].sort((a, b) => a.time - b.time);"
        "\n",
        890,
        id="Japanese code comments",
    ),
    pytest.param(
        "# 讀取設定檔並合併預設值，缺少的欄位會使用環境變數\ndef load(path: Path) "
        "-> Settings:\n    data = tomllib.loads(path.read_"
        "text())  # 檔案編碼必須是 UTF-8\n    return Settings(**D"
        "EFAULTS | data)\n",
        895,
        id="traditional Chinese code comments",
    ),
    pytest.param(
        "Kubernetes の Pod が CrashLoopBackOff になる原因を調べたところ"
        "、readiness probe の timeout が短すぎました。values.yaml を"
        "修正し、helm upgrade を実行した結果、正常に動作しています。",
        756,
        id="Japanese mixed with English",
    ),
]


def repeated(text: str, characters: int = 2_000) -> str:
    return (text * (characters // len(text) + 1))[:characters]


@pytest.mark.parametrize(("text", "reference"), PROSE)
def test_n05_two_thousand_characters_are_within_15_percent(text: str, reference: int) -> None:
    assert estimate(repeated(text)) == pytest.approx(reference, rel=0.15)


@pytest.mark.parametrize(("text", "reference"), PROSE)
def test_the_reference_is_what_the_vocabulary_counts(text: str, reference: int) -> None:
    count = o200k()
    if count is None:
        pytest.skip("needs the extra `exact`")
    assert count(repeated(text)) == reference


def test_every_frequent_word_is_one_token() -> None:
    count = o200k()
    if count is None:
        pytest.skip("needs the extra `exact`")
    words = cjk.frequent_words()
    assert len(words) > 400
    assert [word for word in words if count(word) != 1] == []


@pytest.mark.parametrize(
    ("light", "heavy"),
    [
        pytest.param("这们", "這們", id="traditional forms weigh more"),
        pytest.param("人山", "囁饕", id="rare characters weigh more"),
        pytest.param("如果", "果如", id="a frequent word weighs less than its characters"),
        pytest.param("ください", "さいくだ", id="a frequent word in kana too"),
    ],
)
def test_what_makes_characters_heavy(light: str, heavy: str) -> None:
    assert estimate((light + "。") * 50) < 0.95 * estimate((heavy + "。") * 50)


@pytest.mark.parametrize("word", cjk.frequent_words())
def test_no_word_takes_off_more_than_it_weighs(word: str) -> None:
    assert estimate(word * 100) >= 12


@pytest.mark.parametrize(("text", "reference"), PROSE)
def test_slices_of_a_text_weigh_as_much_as_the_whole(text: str, reference: int) -> None:
    long = repeated(text, 5 * WIDE_SLICE_CHARACTERS)
    with patch.object(tokens, "WIDE_SLICE_CHARACTERS", len(long)):
        in_one = estimate(long)
    assert abs(estimate(long) - in_one) <= 1


@given(st.lists(st.sampled_from(["如果", "有限公司", "學", "です", "ション", "、", "。", "ab", "é"]), max_size=200))
def test_parts_between_marks_weigh_as_much_as_the_whole(words: list[str]) -> None:
    text = "。".join(words)
    with patch.object(tokens, "SLICE_CHARACTERS", 40):
        in_slices = estimate(text)
    assert abs(in_slices - estimate(text)) <= 1
