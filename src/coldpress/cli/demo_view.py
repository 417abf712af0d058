"""Lay out what the demonstration found: turn by turn, summed up, and in a small window."""

from __future__ import annotations

from collections.abc import Sequence

from coldpress.cli.output import say_count, table_lines
from coldpress.demo.play import Played
from coldpress.demo.report import Demo, bill, written
from coldpress.demo.small_window import WINDOW_SHARE, SmallWindow
from coldpress.model.usage import Usage


def turn_lines(demo: Demo) -> list[str]:
    """Lay out the session turn by turn: what was pressed, and the tokens of both runs."""
    off, press = _token_lines(demo.off), _token_lines(demo.press)
    pressed = _what_happened(demo.press)
    rows = [(str(number), *cells) for number, cells in enumerate(zip(pressed, off[1:], press[1:], strict=True), 1)]
    table = table_lines(("#", "pressed on this request, bytes", off[0], press[0]), rows, right=frozenset((0, 2, 3)))
    return [_over(table[0], "off, tokens", "press, tokens"), *table]


def summary_lines(demo: Demo) -> list[str]:
    """Say what it came to."""
    off, press = bill(demo.off, demo.prices), bill(demo.press, demo.prices)
    found = demo.json()
    rows = [
        ("input tokens sent", say_count(off.prompt), say_count(press.prompt), _change(off.prompt, press.prompt)),
        ("  fresh", say_count(off.fresh), say_count(press.fresh), _change(off.fresh, press.fresh)),
        ("  read from cache", say_count(off.read), say_count(press.read), _change(off.read, press.read)),
        ("  written to cache", say_count(off.write), say_count(press.write), _change(off.write, press.write)),
        ("output tokens", say_count(off.output), say_count(press.output), _change(off.output, press.output)),
        ("bill, USD", _usd(off.usd), _usd(press.usd), _change(off.usd, press.usd)),
    ]
    lines = table_lines(("", "off", "press", "change"), rows, right=frozenset((1, 2, 3)))
    lines += [
        "",
        f"{found['requests']} requests; {found['pressed']} results pressed; their views sent again "
        f"{found['reapplied']} times, byte for byte",
        f"every byte outside the pressed texts identical: {_yes(demo.identical)}",
        f"every original recalled byte for byte: {_yes(demo.recalled)}",
    ]
    return lines


def small_window_lines(small: SmallWindow) -> list[str]:
    """Say which requests fitted into the small window, and what coldpress did so that they do."""
    fitting = small.requests - len(small.refused_press)
    share = f"{WINDOW_SHARE:.0%}"
    lines = [
        f"The same session in an artificial window of {say_count(small.window_tokens)} tokens, {share} of its",
        "longest prompt (a simulation: recorded replies stay as they were):",
        f"  without coldpress: {_refusals(small)}",
        f"  with coldpress: {fitting} of {small.requests} requests fit, the longest has "
        f"{say_count(small.peak_press_tokens)} tokens",
        f"    {small.masked} results masked; {small.summaries} summaries made by rules",
    ]
    if small.summaries:
        lines[-1] += f", the last in the place of {small.summarised} messages"
    return lines


def _refusals(small: SmallWindow) -> str:
    if not small.refused_off:
        return f"all {small.requests} requests fit"
    return (
        f"{len(small.refused_off)} of {small.requests} requests refused, the first is #{small.refused_off[0]}:\n"
        f"    {small.refusal_off}"
    )


def _what_happened(session: Sequence[Played]) -> list[str]:
    """Say of each request what was pressed on it, and where the cache had been read before and was not now."""
    told, warm = list[str](), False
    for played in session:
        cold = warm and played.usage.read == 0
        warm = warm or bool(played.usage.read)
        lines = _pressed(played)
        told.append(", ".join(lines) or "-")
        if cold:
            told[-1] = f"cold cache: {told[-1] if lines else 'nothing to press'}"
    return told


def _pressed(played: Played) -> list[str]:
    """Say what was pressed: at first sight one by one, aged results together."""
    told, aged = list[str](), [line for line in played.pressed if line.reason == "aged"]
    for line in played.pressed:
        if line.reason != "aged":
            told.append(f"{line.tool} {line.mode} {line.bytes_before:,}→{line.bytes_after:,}")
    if aged:
        before, after = (sum(getattr(line, name) for line in aged) for name in ("bytes_before", "bytes_after"))
        told.append(f"{len(aged)} aged {before:,}→{after:,}")
    return told


def _token_lines(session: Sequence[Played]) -> list[str]:
    """Lay out the tokens of each request closely, under one line of heads."""
    rows = [_tokens(played.usage) for played in session]
    return table_lines(("fresh", "read", "written"), rows, right=frozenset((0, 1, 2)), gap=1)


def _tokens(usage: Usage) -> tuple[str, str, str]:
    return say_count(usage.fresh), say_count(usage.read), say_count(written(usage))


def _over(head: str, left: str, right: str) -> str:
    """Write two words over the two groups of token columns."""
    first = head.index("fresh")
    second = head.index("fresh", first + 1)
    return f"{' ' * first}{left.ljust(second - first)}{right}"


def _change(before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return "unknown"
    return f"{(after - before) / before:+.1%}" if before else "-"


def _usd(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:.4f}"


def _yes(fact: bool) -> str:
    return "yes" if fact else "NO"
