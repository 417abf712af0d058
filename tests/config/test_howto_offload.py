"""The settings that docs/howto/offload.md shows load as they are and do what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from coldpress.config.load import load
from coldpress.config.settings import Settings
from coldpress.drive.offload import Offload
from coldpress.drive.offload_types import Reason
from coldpress.measure.prices import cost_usd
from coldpress.model.usage import Usage
from coldpress.stores.memory import MemoryStore

PAGE = Path(__file__).parents[2] / "docs/howto/offload.md"


def shown(directory: Path, number: int) -> Settings:
    file = directory / "coldpress.toml"
    file.write_text(re.findall(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[number], "utf-8")
    return load(file, environ={"HOME": "/home/somebody", "DEEPSEEK_API_KEY": "k"}, directory=directory)


def test_the_first_asks_deepseek_with_its_key(tmp_path: Path) -> None:
    settings = shown(tmp_path, 0)
    assert settings.offload.endpoint.startswith("https://api.deepseek.com/")
    assert settings.offload.api_key is not None
    assert settings.warnings == ()


def test_the_second_asks_a_server_of_this_machine_for_nothing(tmp_path: Path) -> None:
    settings = shown(tmp_path, 1)
    assert not settings.offload.needs_key
    assert settings.warnings == ()
    assert Offload(settings.offload, MemoryStore()).expected_usd(5000) == 0.0


def test_the_figures_are_those_of_the_reference_files(shared: Path) -> None:
    settings = load(shared / "reference/model-gated-arm.json", environ={"HOME": "/home/somebody"})
    least = Offload(settings.offload, MemoryStore()).expected_usd(5000)
    assert isinstance(least, float) and f"{least:.4f}" == "0.0007"
    provider = settings.provider("deepseek")
    assert provider is not None
    reads = cost_usd(Usage(fresh=0, read=6 * 5000, output=0), provider.prices["deepseek-v4-pro"])
    assert isinstance(reads, float) and f"{reads:.5f}" == "0.00011"
    page = PAGE.read_text("utf-8")
    assert "0.0007 USD" in page.replace("\n", " ") and "0.00011 USD" in page


def test_every_reason_is_explained() -> None:
    page = PAGE.read_text("utf-8")
    for reason in get_args(Reason):
        assert f"`{reason}`" in page, reason
