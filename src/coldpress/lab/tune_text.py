"""Write a settings file that says what it was chosen from, what to expect of it, and where it would have hurt."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from coldpress import __version__
from coldpress.lab.stats import RESAMPLES, Interval
from coldpress.lab.summary import ArmFigures
from coldpress.lab.tuned import Hurt, Judged, Tuned

HURT_SHOWN: Final = 20
_WIDTH: Final = 100
_UNKNOWN: Final = "unknown"


def settings_text(tuned: Tuned) -> str:
    """Give the whole file: comments, then the keys that differ from the defaults, if any.

    The same result gives the same bytes. Names of recordings stand in comments with everything unprintable taken out.
    """
    paragraphs = [*_head(tuned), *_expected(tuned), *_hurt(tuned), *_conditions(tuned)]
    comments = "\n#\n".join(_comment(paragraph) for paragraph in paragraphs)
    return f"{comments}\n\n{tuned.chosen.text}" if tuned.chosen.text else f"{comments}\n"


def _head(tuned: Tuned) -> Iterator[str]:
    left = [
        f"{len(tuned.skipped)} could not be replayed" if tuned.skipped else "",
        f"{tuned.repeated} had the same content as another" if tuned.repeated else "",
    ]
    told = "; ".join(one for one in left if one)
    yield (
        f"Settings of coldpress, written by `coldpress lab tune` {__version__} from {tuned.tuning} recordings to "
        f"choose on and {tuned.held_out_sessions} held out to judge on{f' ({told})' if told else ''}. "
        f"Tariff: {_plain(tuned.tariff)}."
    )
    if tuned.is_defaults:
        yield f"Nothing is set, the defaults stay: {_plain(tuned.why)}."
    else:
        yield f"Chosen: {tuned.chosen.name}, of {len(tuned.candidates)} candidates: {_plain(tuned.why)}."


def _expected(tuned: Tuned) -> Iterator[str]:
    judged = tuned.held_out
    if judged is None:
        yield "No recording was held out, so nothing can be said of what to expect."
        return
    what = "What to expect" if judged.candidate == tuned.chosen else f"What {judged.candidate.name} came to there"
    yield f"{what}, on the {judged.figures.sessions} held-out recordings (95 % intervals in brackets):"
    yield "\n".join(_figures_lines(judged, tuned))
    if judged.figures.sessions < 2:
        yield "One recording has no interval; the brackets say nothing."


def _figures_lines(judged: Judged, tuned: Tuned) -> Iterator[str]:
    row = judged.figures
    yield f"- saved of the input bill without coldpress: {_share(row.saving)}"
    yield f"- saved a recording: mean {_usd(row.mean_saving)}, median {_usd(row.median_saving)}"
    if judged.beyond is not None:
        yield f"- saved beyond the defaults, which save {_share(judged.defaults.saving)}: {_share(judged.beyond)}"
    yield f"- cheaper than without coldpress in {row.cheaper}, dearer in {row.dearer}, the same in {row.equal}"
    yield f"- edits that quote an earlier result and lost its text: {_lost(row)}"
    chosen_on = next((one.figures for one in tuned.candidates if one.candidate == judged.candidate), None)
    if chosen_on is not None:
        yield f"- the same where it was chosen: {_lost(chosen_on)}, allowed {tuned.max_loss_pct:g} %"
        yield f"- saved where it was chosen, which flatters it: {_share(chosen_on.saving)}"


def _hurt(tuned: Tuned) -> Iterator[str]:
    judged = tuned.held_out
    if judged is None:
        return
    if not tuned.hurt:
        yield f"It would have hurt none of these {judged.figures.sessions}."
        return
    lines = [f"It would have hurt {len(tuned.hurt)} of these {judged.figures.sessions}:"]
    lines += [_hurt_line(one) for one in tuned.hurt[:HURT_SHOWN]]
    if len(tuned.hurt) > HURT_SHOWN:
        lines.append(f"- and {len(tuned.hurt) - HURT_SHOWN} more")
    yield "\n".join(lines)


def _hurt_line(one: Hurt) -> str:
    said = []
    if one.dearer_than_control_usd > 0:
        said.append(f"{one.dearer_than_control_usd:.4f} USD dearer than without coldpress")
    if one.dearer_than_defaults_usd > 0:
        said.append(f"{one.dearer_than_defaults_usd:.4f} USD dearer than the defaults")
    if one.edits_lost:
        said.append(f"{one.edits_lost} of {one.edits} edits lost the text they quote")
    return f"- {_plain(one.recording)} ({one.content[:8]}): {', '.join(said)}"


def _conditions(tuned: Tuned) -> Iterator[str]:
    yield (
        "Simulated and open-loop: recorded replies and times were kept as they were, no provider was asked, and bills "
        "are of input alone. An agent that misses a text may act otherwise than it did."
    )
    yield (
        "Replays press Claude subscription traffic too; a gateway does so only with press_subscription = true. "
        f"Intervals: percentile bootstrap over recordings, {RESAMPLES:,} resamples, seed {tuned.seed}, which also "
        "divided the recordings."
    )


def _lost(row: ArmFigures) -> str:
    if row.edit_loss_at_most is None:
        return f"{_UNKNOWN}, there was no such edit"
    return f"{row.edits_lost} of {row.edits}, at most {100 * row.edit_loss_at_most:.1f} %"


def _share(interval: Interval | None) -> str:
    if interval is None:
        return _UNKNOWN
    return f"{100 * interval.value:.1f} % [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def _usd(interval: Interval | None) -> str:
    if interval is None:
        return _UNKNOWN
    return f"{interval.value:.4f} USD [{interval.low:.4f}, {interval.high:.4f}]"


def _comment(paragraph: str) -> str:
    """Make comment lines of a paragraph, its own line breaks kept."""
    lines = (
        wrapped
        for line in paragraph.split("\n")
        for wrapped in textwrap.wrap(line, _WIDTH - 2, subsequent_indent="  " if line.startswith("- ") else "")
    )
    return "\n".join(f"# {line}" for line in lines)


def _plain(name: str) -> str:
    """Give a name as one line that cannot end a comment.

    >>> _plain("a" + chr(10) + "b")
    'a?b'
    """
    return "".join(char if char.isprintable() else "?" for char in name)
