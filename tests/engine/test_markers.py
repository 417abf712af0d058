"""Which texts were shortened already, and by whom."""

from __future__ import annotations

import pytest

from coldpress.engine.markers import MARK, is_client_truncated, is_marked, is_reread_refusal


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        pytest.param(f"{MARK}: lines 1-40 as in the Read of a.py]\nx", True, id="at the start"),
        pytest.param(f"x\n  {MARK} view]\ny", True, id="on a later line, behind blanks"),
        pytest.param(f'MARK = "{MARK}"', False, id="in the middle of a line of code"),
        pytest.param(f"     7→{MARK} view]", False, id="quoted behind a line number"),
        pytest.param("cold press", False, id="other words"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_own_markers(text: str, marked: bool) -> None:
    assert is_marked(text) is marked


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "<persisted-output>\nOutput too large (154.1KB). Full output saved to: /t/x.txt\n\nPreview (first 2KB):\n"
            "x\n...\n</persisted-output>",
            id="Claude Code saves to a file",
        ),
        pytest.param("x\n\n... [560 lines truncated] ...", id="Claude Code cuts at the end"),
        pytest.param("x\n\n... [6 lines truncated] ...\nShell cwd was reset to /w", id="Claude Code cuts, then speaks"),
        pytest.param("x\n\n... [813 characters truncated] ...\n\ny", id="Claude Code cuts the middle"),
        pytest.param("[Old tool result content cleared]", id="a cleared result"),
        pytest.param("x…2047 tokens truncated…\ny", id="Codex cuts at a line's end"),
        pytest.param("x\n…2047 tokens truncated…y", id="Codex cuts at a line's start"),
        pytest.param(
            "Wall time: 1 seconds\nOutput:\nWarning: truncated output (original token count: 90210)\nx",
            id="Codex warns",
        ),
        pytest.param("x\n…31 chars truncated…y", id="Codex counts characters"),
        pytest.param(
            "Chunk ID: a1\nWall time: 1.0 seconds\nOutput:\nTotal output lines: 900\n\na…8 tokens truncated…b",
            id="Codex cuts inside a line",
        ),
        pytest.param("x\n[... omitted 12 of 300 lines ...]\ny", id="older Codex"),
        pytest.param("<tool_output_masked>\nx\n</tool_output_masked>", id="Gemini CLI masks"),
        pytest.param("<untrusted_context>\nOutput: <tool_output_masked>\nx", id="Gemini CLI masks inside its envelope"),
        pytest.param("\nIMPORTANT: The file content has been truncated.\nStatus: x", id="Gemini CLI cuts a file"),
        pytest.param(
            "Output too large. Showing first 4,000 and last 4,000 characters.", id="Gemini CLI cuts an output"
        ),
        pytest.param("x\n\n...1204 bytes truncated...\n\nThe tool call succeeded", id="OpenCode cuts"),
        pytest.param(
            "<returncode>0</returncode>\n<output_head>\nx\n</output_head>\n<elided_chars>\n222370 characters elided\n"
            "</elided_chars>\n<output_tail>\ny</output_tail>",
            id="mini-swe-agent cuts",
        ),
        pytest.param(
            '{\n  "returncode": 0,\n  "output_head": "x",\n  "output_tail": "y",\n  "elided_chars": 512,\n'
            '  "warning": "Output too long."\n}',
            id="mini-swe-agent cuts in JSON",
        ),
        pytest.param(
            "  625\t x |<response clipped><NOTE>Due to the max output limit, only part of this file has been shown to "
            "you. You should retry this tool.</NOTE>\n",
            id="OpenHands clips",
        ),
        pytest.param("Old environment output: (120 lines omitted)", id="SWE-agent forgets"),
        pytest.param(
            "x\n\n[Showing lines 900-990 of 990 (50.0KB limit). Full output: /tmp/pi.log]", id="pi cuts a log"
        ),
    ],
)
def test_what_clients_shorten(text: str) -> None:
    assert is_client_truncated(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("     1→if text.startswith('<persisted-output>'):", id="source that looks for the envelope"),
        pytest.param("The client writes <persisted-output>\nOutput too large (", id="prose that explains it"),
        pytest.param('     9→    out += f"... [{n} lines truncated] ..."', id="source that writes the cut"),
        pytest.param("    12→... [560 lines truncated] ...", id="a numbered line that quotes a cut"),
        pytest.param('format!("{head}…{n} tokens truncated…{tail}")', id="source that writes Codex's cut"),
        pytest.param('assert "…7 tokens truncated…" in text', id="a test of Codex's cut"),
        pytest.param("see [Old tool result content cleared] in the transcript", id="prose about clearing"),
        pytest.param(
            "<elided_chars>\n{{ elided_chars }} characters elided\n</elided_chars>", id="mini-swe-agent's template"
        ),
        pytest.param("a `command` that is long is marked with `<response clipped>`", id="OpenHands' manual"),
        pytest.param("x\n\n[1549 more lines in file. Use offset=121 to continue]", id="a read of a part was asked for"),
        pytest.param("the list was truncated\n3 lines truncated", id="other truncations"),
    ],
)
def test_what_only_mentions_it(text: str) -> None:
    assert not is_client_truncated(text)


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        pytest.param(
            "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead.",
            True,
            id="new",
        ),
        pytest.param(
            "File unchanged since last read. The content from the earlier Read tool_result in this conversation is "
            "still current — refer to that instead of re-reading it.",
            True,
            id="old",
        ),
        pytest.param(
            "  Wasted call - file unchanged since your last Read. See the earlier tool_result.\n", True, id="reworded"
        ),
        pytest.param(
            "     1→Wasted call — file unchanged since your last Read. Refer to that earlier tool_result",
            False,
            id="read",
        ),
        pytest.param(
            "Wasted call — file unchanged since your last Read. " + "x " * 300 + "earlier tool_result", False, id="long"
        ),
        pytest.param("File unchanged.", False, id="less"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_refusals_to_read_again(text: str, refusal: bool) -> None:
    assert is_reread_refusal(text) is refusal
