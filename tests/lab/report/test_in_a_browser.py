"""A report opened in a real browser: no complaint, every picture drawn, nothing wider than the screen."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.report.made import ARMS, bill, losses, results, turns

from coldpress.lab.report import write_report

webdriver = pytest.importorskip("selenium.webdriver")

PEERS = Path(__file__).resolve().parents[3] / "benchmarks" / "peers.json"
LONG = "n" * 500
PHONE, DESK = 390, 1280


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A report with many arms and tariffs, and names without a place to break."""
    arms = [*ARMS, *(f"coldpress-with-a-long-name-{number}" for number in range(8))]
    made = results(3, arms, ("claude-opus-4-6", "gpt-6.1-sol", "deepseek-v4-pro"))
    made.about = {"skipped": [{"path": LONG, "why": LONG}], "arms": [{"name": ARMS[0], "settings": f"# {LONG}\n"}]}
    one = bill(LONG, LONG, "claude-opus-4-6", 1.0, task=LONG, kind=LONG)
    made.all_bills.append(one)
    made.all_turns.extend(turns(one))
    made.all_losses.extend(losses(one))
    return write_report(made, tmp_path_factory.mktemp("page") / "report.html", beside=PEERS).html.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield opened
    opened.quit()


def show(browser: object, address: str, width: int, colours: str = "light", media: str = "screen") -> None:
    features = [{"name": "prefers-color-scheme", "value": colours}]
    metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width == PHONE}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})  # type: ignore[attr-defined]
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)  # type: ignore[attr-defined]
    browser.get(address)  # type: ignore[attr-defined]


def ask(browser: object, script: str) -> object:
    return browser.execute_script(f"return {script}")  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_it_fits_every_screen_and_draws_every_picture(browser: object, address: str, width: int, colours: str) -> None:
    show(browser, address, width, colours)
    assert ask(browser, "document.documentElement.scrollWidth") <= width  # type: ignore[operator]
    assert ask(browser, "innerWidth") == width
    drawn = ask(browser, "Array.from(document.images, image => image.complete && image.naturalWidth)")
    assert isinstance(drawn, list) and len(drawn) == 6 and all(drawn)
    complaints = [entry["message"] for entry in browser.get_log("browser")]  # type: ignore[attr-defined]
    assert not complaints


def test_wide_tables_scroll_in_boxes_of_their_own(browser: object, address: str) -> None:
    show(browser, address, PHONE)
    boxes = "Array.from(document.querySelectorAll('.scroll'), box => [box.clientWidth, box.scrollWidth])"
    sizes = ask(browser, boxes)
    assert isinstance(sizes, list) and all(box <= PHONE for box, _ in sizes)
    assert any(table > box for box, table in sizes)
    captions = "Array.from(document.querySelectorAll('caption span'), one => one.getBoundingClientRect().right)"
    assert max(ask(browser, captions)) <= PHONE  # type: ignore[call-overload]


def test_dark_pages_show_dark_pictures_and_paper_light_ones(browser: object, address: str) -> None:
    def shown(colours: str, media: str = "screen") -> tuple[object, object]:
        show(browser, address, DESK, colours, media)
        return ask(browser, "document.images[0].currentSrc"), ask(browser, "getComputedStyle(document.body).color")

    light, dark, paper = shown("light"), shown("dark"), shown("dark", "print")
    assert light[0] != dark[0] and light[1] != dark[1]
    assert paper == light
