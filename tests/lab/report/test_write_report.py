"""A report shows the figures that its rows come to, says them alike everywhere, and points nowhere outside itself."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from lab.report.made import ARMS, TARIFFS, Made, bill, losses, results, turns
from lab.report.pages import Read, number, read

from coldpress.lab.report import Written, write_report
from coldpress.lab.summary import figures
from coldpress.model.errors import ColdpressError, ConfigError

PEERS = Path(__file__).resolve().parents[3] / "benchmarks" / "peers.json"


@pytest.fixture(scope="module", autouse=True)
def _coarse_pictures() -> Iterator[None]:
    """Most of the time goes into pixels, and nothing here looks at them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coldpress.lab.report.canvas.DPI", 40)
        yield


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    made = results()
    made.about = {"skipped": [{"path": "broken.jsonl", "why": "is not JSON at line 3"}], "dates": "May 2026"}
    return write_report(made, tmp_path_factory.mktemp("report") / "report.html", beside=PEERS)


@pytest.fixture(scope="module")
def page(written: Written) -> Read:
    return read(written.html.read_text(encoding="utf-8"))


def said_by(written: Written) -> str:
    return " ".join(read(written.html.read_text(encoding="utf-8")).text.split()).replace("\N{NO-BREAK SPACE}", " ")


def rows_of(written: Written) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(written.json.read_text(encoding="utf-8"))["figures"]
    return found


def test_known_rows_come_to_known_figures(written: Written) -> None:
    rows = {(row["tariff"], row["arm"]): row for row in rows_of(written)}
    ours = rows["claude-opus-4-6", "coldpress-source-20"]
    assert list(rows) == [(tariff, arm) for tariff in TARIFFS for arm in ARMS]
    assert ours["control_usd"] == 21.0
    assert ours["bill_usd"] == pytest.approx(16.8)
    assert ours["saved_pct"] == ours["saved_low_pct"] == ours["saved_high_pct"] == pytest.approx(20.0)
    assert ours["median_saved_usd"] == pytest.approx(0.7)
    assert (ours["cheaper_recordings"], ours["dearer_recordings"]) == (6, 0)
    assert (ours["edits_of_results"], ours["edits_lost"], ours["edits_lost_pct"]) == (120, 6, pytest.approx(5.0))
    assert ours["regret_pct"] == pytest.approx(100 * (0.8 / 0.75 - 1), abs=1e-4)
    assert ours["peak_tokens_saved_pct"] == pytest.approx(20.0)
    assert rows["claude-opus-4-6", "mask-10"]["dearer_recordings"] == 6
    assert rows["claude-opus-4-6", "control"]["edits_lost_at_most_pct"] == pytest.approx(2.4656, abs=1e-3)


def test_html_json_and_csv_say_the_same(written: Written, page: Read) -> None:
    rows = rows_of(written)
    with written.csv.open(encoding="utf-8", newline="") as file:
        in_csv = list(csv.DictReader(file))
    assert [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows] == in_csv
    money, content = page.table("Input bills at claude-opus-4-6"), page.table("What was lost, and what became")
    for row, shown, held in zip(rows, money[1:], content[1:], strict=False):
        assert shown[0].endswith(str(row["arm"])) and held[0] == shown[0]
        assert number(shown[1]) == round(float(str(row["bill_usd"])), 2)
        assert [float(end) for end in re.findall(r"-?[\d.]+", shown[2].replace("−", "-"))] == [
            round(float(str(row[f"saved{end}_pct"])), 1) for end in ("", "_low", "_high")
        ]
        assert shown[4] == f"{row['cheaper_recordings']} of {row['recordings']}"
        assert number(held[1]) == row["edits_lost"] and number(held[2]) == row["identifiers_lost"]
        assert number(held[4]) == round(float(str(row["peak_tokens_saved_pct"])), 1)
    others = page.table("At deepseek-v4-pro")
    assert [number(row[1]) for row in others[1:]] == [round(float(str(row["bill_usd"])), 2) for row in rows[4:]]


def test_the_head_answers_what_a_fresh_reader_asks(page: Read) -> None:
    said = " ".join(page.text.split())
    for words in (
        "2 ways to make an agent's prompts smaller",  # compared
        "6 recorded runs of agents (6 of claude-code)",  # on what
        "72 requests in 6 conversations",
        "from May 2026",
        "95 % intervals: percentile bootstrap over recordings",  # how sure
        "10,000 resamples, seed 166",
        "recorded replies stay as they were",  # simulated
        "Bills are of input alone",
        "Of 120 edits that quote an earlier result, mask-10 would have hidden the text of most: 24 of 120",  # lost
        "6 of 6 recordings report their usage; at their own models' list prices that input cost 23.10 USD",
        "26 to 54 % less",  # a published figure beside ours
        "is not JSON at line 3",
    ):
        assert words in said.replace("\N{NO-BREAK SPACE}", " "), words


def test_a_regret_says_what_it_is_held_against(tmp_path: Path) -> None:
    made = results(4, ("control", "coldpress-source-20", "mask-10", "pressure-80", "oracle-source-20"), TARIFFS[:1])
    page = read(write_report(made, tmp_path / "report.html").html.read_text(encoding="utf-8"))
    money = page.table("Input bills at")
    assert money[0][-1].startswith("regret: (bill − refetches) / least − 1, %")
    ends = [(row[0].split()[1], row[-1][-1]) for row in money[1:]]
    assert ends == [
        ("control", "†"),
        ("coldpress-source-20", "]"),
        ("mask-10", "†"),
        ("pressure-80", "–"),
        ("oracle-source-20", "]"),
    ]


def test_no_chance_belongs_to_the_control(page: Read) -> None:
    held = page.table("What was lost")
    assert held[1][1:3] == ["0 of 120", "0 of 600"]


def test_an_arm_whose_window_is_the_longest_prompt_is_not_counted_among_those_that_know_nothing(tmp_path: Path) -> None:
    made = results(4, ("control", "pressure-80", "mask-10"), TARIFFS)
    made.all_bills = [
        replace(one, bill_usd=one.control_usd / 2) if one.arm == "pressure-80" else one for one in made.all_bills
    ]
    said = said_by(write_report(made, tmp_path / "report.html"))
    assert "Not counted there: pressure-80." in said
    assert "Of the arms that do not know the future, mask-10 saves most" in said


def test_an_arm_is_called_dearer_only_where_its_interval_says_so(tmp_path: Path) -> None:
    made = results(6, ("control", "mask-10", "coldpress"), TARIFFS[:1])
    made.all_bills = [
        replace(one, bill_usd=one.control_usd * (1.4 if one.recording == "session-5" else 0.9))
        if one.arm == "coldpress"
        else one
        for one in made.all_bills
    ]
    said = said_by(write_report(made, tmp_path / "report.html"))
    assert "Dearer than the control: mask-10 by 25.0 %." in said
    assert "No difference from the control is shown for coldpress (saves" in said


def test_every_other_tariff_has_its_best_arm(page: Read) -> None:
    said = page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert "most is saved at deepseek-v4-pro: none." in said  # all of them lose more than 0.5 %


def test_it_can_be_read_without_eyes(page: Read) -> None:
    assert page.headings[0] == "h1" and page.headings.count("h1") == 1
    for above, below in zip(page.headings, page.headings[1:], strict=False):
        assert int(below[1]) <= int(above[1]) + 1
    assert all(page.captions) and len(page.captions) == len(page.tables) == len(page.all("caption"))
    assert all(head["scope"] in ("row", "col") for head in page.all("th"))
    assert len(page.all("img")) == 6
    for image in page.all("img"):
        assert len(image["alt"]) > 60 and re.search(r"\d", image["alt"]), image["alt"]
    assert page.all("html")[0]["lang"] == "en"
    anchors = {held["id"] for _, held in page.tags if "id" in held}
    assert {link["href"].removeprefix("#") for link in page.all("a")} <= anchors


def test_it_points_to_nothing_outside_itself(written: Written, page: Read) -> None:
    html = written.html.read_text(encoding="utf-8")
    policy = next(one["content"] for one in page.all("meta") if one.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'") and not page.all("script")
    assert page.points_to
    for tag, place in page.points_to:
        assert place.startswith("#" if tag == "a" else "data:"), (tag, place[:80])
    assert "url(" not in html and "@import" not in html and "http://" not in html and "https://" not in html


def test_no_value_of_python_stands_in_the_text(written: Written) -> None:
    """A caption once said `at TariffAbout(name=...)`."""
    assert re.findall(r"\b[A-Z]\w+\(\w+=", written.html.read_text(encoding="utf-8")) == []


def test_the_same_results_give_the_same_bytes(written: Written, tmp_path: Path) -> None:
    made = results()
    made.about = {"skipped": [{"path": "broken.jsonl", "why": "is not JSON at line 3"}], "dates": "May 2026"}
    again = write_report(made, tmp_path / "other.html", beside=PEERS)
    assert again.html.read_bytes() == written.html.read_bytes()
    assert again.json.read_bytes() == written.json.read_bytes() and again.csv.read_bytes() == written.csv.read_bytes()
    assert [one.read_bytes() for one in again.pngs] == [one.read_bytes() for one in written.pngs]
    assert again.json.parent == tmp_path / "other-files"


def test_names_of_others_stay_text(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\"'&$_{x}$"
    right_to_left = "\u202egnp.exe \u05e9\u05dc\u05d5\u05dd"
    made = Made(
        about={
            "skipped": [{"path": evil, "why": right_to_left}],
            "arms": [{"name": evil, "about": evil, "settings": f"# {evil}{right_to_left}"}],
        }
    )
    for recording in (evil, "n" * 500, right_to_left):
        for arm in ("control", evil, "a" * 500, "_low"):
            one = bill(recording, arm, "claude-opus-4-6", 1.0, task=evil, kind=right_to_left)
            made.all_bills.append(one)
            made.all_turns.extend(turns(one))
            made.all_losses.extend(replace(loss, tool=evil) for loss in losses(one))
    done = write_report(made, tmp_path / "evil.html", example=evil)
    html = done.html.read_text(encoding="utf-8")
    assert "<script" not in html and "\u202e" not in html and "n" * 100 not in html
    page = read(html)
    assert not page.all("script") and "<script>alert(1)</script>" in page.text
    assert {tag for tag, _ in page.tags} <= {
        "html", "head", "meta", "link", "title", "style", "body", "header", "main", "nav", "section", "p", "h1", "h2",
        "h3", "ul", "li", "a", "dl", "dt", "dd", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "bdi",
        "span", "strong", "figure", "figcaption", "picture", "source", "img", "details", "summary", "pre", "code",
    }  # fmt: skip
    assert "a" * 500 in {row["arm"] for row in rows_of(done)}


def _no_oracle() -> Made:
    made = results(3, ("control", "coldpress"), ("gpt-6.1-sol",))
    made.all_bills = [replace(one, least_usd=None) for one in made.all_bills]
    return made


def _without_turns() -> Made:
    made = results(2, tariffs=TARIFFS[:1])
    made.all_turns, made.all_losses = [], []
    return made


def _no_control() -> Made:
    return results(2, ("mask-10",), ("recorded",))


@pytest.mark.parametrize(
    ("made", "says"),
    [
        pytest.param(Made(), "No recording could be replayed", id="no results at all"),
        pytest.param(
            results(1, tariffs=TARIFFS[:1]),
            "With 1 recording an interval by resampling is too narrow",
            id="one recording",
        ),
        pytest.param(_no_oracle(), "the least that was possible is unknown", id="no clairvoyant arm"),
        pytest.param(
            results(2, tariffs=TARIFFS[:1], edits=0, edits_of_results=0, edits_lost=0),
            "hold no edit that quotes",
            id="no edits",
        ),
        pytest.param(
            results(2, tariffs=TARIFFS[:1], paid_usd=None),
            "What was really paid is unknown",
            id="unknown what was paid",
        ),
        pytest.param(_without_turns(), "Bills and losses at claude-opus-4-6", id="requests were not kept"),
        pytest.param(_no_control(), "Dearer than the control: mask-10 by 25.0 %", id="no control, recorded prices"),
        pytest.param(
            results(2, tariffs=TARIFFS[:1], identifiers=0, identifiers_lost=0, requests=1),
            "none made",
            id="no identifiers",
        ),
    ],
)
def test_what_is_missing_is_said(made: Made, says: str, tmp_path: Path) -> None:
    done = write_report(made, tmp_path / "report.html", beside=PEERS)
    text = " ".join(read(done.html.read_text(encoding="utf-8")).text.split()).replace("\N{NO-BREAK SPACE}", " ")
    assert says in text
    assert len(rows_of(done)) == len(figures(made.all_bills))


def test_what_was_paid_is_set_beside_the_simulation(tmp_path: Path) -> None:
    done = write_report(results(2, ("control", "coldpress"), ("recorded",)), tmp_path / "report.html")
    text = read(done.html.read_text(encoding="utf-8")).text.replace("\N{NO-BREAK SPACE}", " ")
    assert "that input cost 3.30 USD; the simulated control of the same recordings comes to 3.00 USD" in text
    assert "9.1 % below" in text


def test_an_example_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no recording 'session-9'"):
        write_report(results(1), tmp_path / "report.html", example="session-9")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "report-files").write_text("a file in the place of the folder")
    with pytest.raises(ColdpressError, match=r"report-files cannot be written"):
        write_report(Made(), tmp_path / "report.html")


@pytest.mark.parametrize("library", ["jinja2", "matplotlib"])
def test_a_missing_library_is_named_with_its_extra(
    library: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in sys.modules if name.startswith("coldpress.lab.report.")]:
        if name.rpartition(".")[2] not in ("write", "source"):
            monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ColdpressError, match=rf"needs {library}.*pip install 'coldpress\[lab\]'"):
        write_report(Made(), tmp_path / "report.html")
