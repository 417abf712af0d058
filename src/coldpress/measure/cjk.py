"""Weigh Chinese characters, kana and their punctuation, without knowing a text's language.

One weight for every Chinese character cannot do: of simplified Chinese o200k holds many whole words, of traditional,
classical and Japanese text few, and characters that are rare in its sources are two tokens or three. Two things tell
these apart, character by character, so that a text weighs what its parts weigh:

- GB 2312, the standard of simplified Chinese, lists its 3,755 frequent characters first. The rest of it and what it
  lacks (most traditional forms, many Japanese ones) weigh more. Python's own codec is the table.
- Frequent words that are one token, which weigh less than their characters.

Fitted by iterated least squares on relative error over 37 short texts written for it (news, documentation, chat,
fiction, law, logs, code comments, mixed with English; in Japanese and every kind of Chinese, one in Korean), and, at
0.3 of their weight, over 180 pieces of 1,000 characters of the interface strings of Linux tools and a web framework;
then adjusted by hand, so that no word weighs less than nothing. Not fitted, but seen while words and weights were
chosen: 19 more such texts, 23 of others. Held out from the fit, and their errors seen only before the last adjustment
by hand: 12 texts (-9.4 to +7.4 % before it, -9.4 to +6.3 % after it, repeated to 2,000 characters each), and 180 more
pieces of interface strings: the median is 1 to 5 % low, nine in ten are within 13 %, and three simplified Chinese ones
are off by more than 15 %. Of the 91 texts two that were fitted are off by more where repeated to 2,000 characters: news
in simplified Chinese (+15.2 %) and a Japanese business letter full of set phrases (+17 %). Classical Chinese and
literary prose are estimated up to 13 % low.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

_FREQUENT_HAN: Final = 0.968
_OTHER_HAN: Final = 1.245
_HIRAGANA: Final = 0.965
_KATAKANA: Final = 0.80
_PUNCTUATION: Final = 0.84
_WORD: Final = -0.48
_FURTHER_CHARACTER: Final = -0.84
"""What a frequent word, and each of its characters behind the first, take off. More than they weigh in short words, as
words come in company; never more than the whole word weighs, so no text weighs less than nothing."""

_CHINESE_WORDS: Final = (
    "一个 一些 一定 一样 一直 一种 一般 上海 上涨 下載 下载 不会 不同 不是 不能 不要 不过 专家 世界 业务 东西 "
    "中国 中國 为什么 主要 举行 之前 之后 了解 事情 交易 交通 产业 产品 人员 什么 今天 今年 介绍 他们 代码 "
    "以及 以后 价格 任何 任务 企业 企業 优势 会议 但是 作品 作者 使用 促进 保存 保护 保证 信息 修改 健康 儿童 "
    "先生 全国 全部 公司 公布 关于 其中 其他 具有 内容 减少 出现 函数 分析 分钟 列表 创建 删除 利用 功能 加强 "
    "加载 包括 北京 医院 升级 历史 去年 参数 发展 发布 发送 变化 变量 只是 只有 可以 可能 合作 合同 同时 名称 "
    "启动 問題 因为 国家 国际 图片 地区 地方 城市 基金 增加 增长 处理 复制 多少 大家 失败 如果 字符 字符串 "
    "存在 学习 学校 学生 孩子 學生 安全 安装 完善 完成 实施 实现 客户 密码 对于 对象 小时 尤其 就是 属于 工作 "
    "左右 已经 市场 市場 帮助 平台 应该 建设 开发 开始 异常 当前 影响 很多 必须 怎么 怎么样 患者 情况 成为 "
    "成功 成本 我们 我們 或者 所以 所有 手机 打开 执行 技术 投资 按钮 接口 推动 措施 提供 提高 搜索 操作 支持 "
    "改变 政府 教育 数据 数据库 数组 数量 文件 文化 文章 方式 方法 无法 日志 日期 日本 时候 时间 昨天 显示 "
    "時間 智能 更新 最后 有关 有限公司 朋友 服务 服务器 服務 机器 查询 标准 标题 根据 检查 模型 模式 每天 "
    "比赛 比较 水平 汽车 沒有 没有 治疗 法律 注册 活动 测试 消息 消费 添加 游戏 点击 然后 版本 特别 状态 环境 "
    "现在 現在 甚至 生产 生活 產品 用于 用户 由于 电子 电影 电脑 电话 登录 目前 目录 直接 相关 相關 知道 研究 "
    "确认 社会 积极 程序 稳定 第一 算法 管理 类型 系统 結果 網站 线程 组织 经济 结束 结果 缓存 网站 网络 美国 "
    "老师 股票 能力 自己 节点 获取 虽然 行业 表示 要求 规定 视频 觉得 解决 计算 认为 记者 设备 设置 设计 请求 "
    "資料 责任 账户 质量 资金 超过 路径 软件 输入 输出 达到 运行 返回 还是 这个 这些 这样 进行 连接 选择 通过 "
    "那个 那么 部分 部门 配置 采用 重要 金融 银行 销售 错误 開始 问题 電影 電話 需求 需要 非常 音乐 页面 项目 "
    "香港 "
)
_JAPANESE_WORDS: Final = (
    "あり ありがとう ありがとうございます ありません ある いて いる おります お願い お願いします から "
    "ください こと この ございます され された さん しか しかし した して しています しております しました "
    "する すると そして その ただ ため だけ だった った って ても でき できます でした でしょう です ですが "
    "では でも という ところ として との とは と言 どう ない など なら について には ので ば への ほど ました "
    "ます ません また まだ まで もう もの よう より よろしく りました れて れば イン コード サイト サービス "
    "ション スト ット トップ ページ メール ランキング ラー リー ログ ント ール 場合 必要 "
)
"""Each is one token of o200k, seen by counting it; chosen as frequent words of prose, business and software."""

_ASCII: Final = bytes(range(0x80))
_HAN_LEADS: Final = bytes(range(0xE4, 0xEA))
_FREQUENT_ROWS: Final = bytes(range(0xB0, 0xD8))
_HIRAGANA_ROW: Final = b"\xa4"


def _pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Find the longest of the words; grouped by first character, a quarter faster than a plain alternation."""
    endings: defaultdict[str, list[str]] = defaultdict(list)
    for word in sorted(set(words), key=lambda word: (-len(word), word)):
        endings[word[0]].append(word[1:])
    return re.compile("|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in endings.items()))


def frequent_words() -> tuple[str, ...]:
    """The words that weigh less than their characters; each is one token of o200k."""
    return tuple((_CHINESE_WORDS + _JAPANESE_WORDS).split())


_WORDS: Final = _pattern(frequent_words())


def weigh(text: str, leads: bytes) -> float:
    """Tokens, not rounded, of the Chinese characters, kana, CJK punctuation and full-width forms in a text.

    Args:
        text: the text; all other characters in it weigh nothing here.
        leads: the first bytes of the text's UTF-8 characters beyond ASCII, in order.
    """
    wide = leads.count(b"\xe3")
    han = _among(leads, _HAN_LEADS)
    tokens = _PUNCTUATION * _among(leads, b"\xee\xef")
    if not wide and not han:
        return tokens
    # Two bytes a character: row, then place. What GB 2312 lacks is left out.
    rows = text.encode("gb2312", "ignore").translate(None, _ASCII)[::2]
    frequent = _among(rows, _FREQUENT_ROWS)
    hiragana = rows.count(_HIRAGANA_ROW)
    marks = sum(map(text.count, "\u3000、。〈〉《》「」『』【】〔〕"))
    tokens += _FREQUENT_HAN * frequent + _OTHER_HAN * (han - frequent)
    tokens += _HIRAGANA * hiragana + _KATAKANA * (wide - hiragana - marks) + _PUNCTUATION * marks
    words = _WORDS.findall(text)
    return tokens + _WORD * len(words) + _FURTHER_CHARACTER * (sum(map(len, words)) - len(words))


def joins(before: str, behind: str) -> bool:
    """Whether a cut between two characters may split a word that `weigh` knows: both are kana or Chinese."""
    return all("\u3041" <= character <= "\u9fff" for character in (before, behind))


def _among(raw: bytes, members: bytes) -> int:
    return len(raw) - len(raw.translate(None, members))
