"""The settings that docs/howto/intent.md shows load as they are, and its figures are what a tokenizer counts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from coldpress.config.load import load
from coldpress.config.settings import Settings
from coldpress.engine.tool_schemas import ReasonField, shaped
from coldpress.measure.tokens import counter_for

PAGE = Path(__file__).parents[2] / "docs/howto/intent.md"


def shown(directory: Path, number: int) -> Settings:
    file = directory / "coldpress.toml"
    file.write_text(re.findall(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[number], "utf-8")
    return load(file, environ={"HOME": "/home/somebody"}, directory=directory)


@pytest.mark.parametrize(
    ("number", "order", "mode"),
    [
        pytest.param(0, ("intent",), "infer", id="the first infers"),
        pytest.param(1, ("schema_translator", "intent"), "capture", id="the second asks"),
    ],
)
def test_the_settings_load_without_a_warning(number: int, order: tuple[str, ...], mode: str, tmp_path: Path) -> None:
    settings = shown(tmp_path, number)
    assert (settings.plugins.order, settings.plugins.intent.mode) == (order, mode)
    assert settings.warnings == ()


def test_the_field_and_a_reason_cost_what_the_page_says() -> None:
    count = counter_for("gpt-5-mini")
    if not count.exact:
        pytest.skip("the vocabulary comes with the extra `exact`")
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    out, _ = shaped("read", schema, reason=ReasonField(), translate=False)
    added = count.count(_compact(out)) - count.count(_compact(schema))
    reason = "Find where retry_budget is set"
    whole = count.count(f'"intent": {json.dumps(reason)}, ')
    page = PAGE.read_text("utf-8").replace("\n", " ")
    assert f"**{added} tokens a tool**" in page
    assert f"the reason and {whole - count.count(reason)} tokens around it" in page
    assert f'{whole} tokens in all for "{reason}"' in page


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
