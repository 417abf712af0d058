"""Take what a command printed out of what a harness puts around it: JSON objects, elements, a header with labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

LABEL_CHARS: Final = 600
"""How far into a result the header of a harness may go."""

OUTPUT_KEYS: Final = ("output", "output_head", "output_tail", "stdout", "stderr", "exception_info")
"""Members of a JSON envelope that hold what was printed, in the order it is read: mini-swe-agent's (`output`, or its
head and tail beyond 10,000 characters), Codex's, and those of tools that give two streams."""

_OUTER_KEYS: Final = frozenset(("returncode", "exit_code", "exitCode", "metadata", "elided_chars", "interrupted"))
"""One of these beside it makes an object an envelope; any other with an `output` is what a program printed."""

OBSERVATION: Final = "OBSERVATION:"
"""SWE-agent's word in front of the result of an action."""

_TAGGED: Final = re.compile(
    r"\s*(?:OBSERVATION:\s*)?(?:<exception>[\s\S]*?</exception>\s*)?<returncode>(-?\d+)</returncode>"
)
RESULT_HEADER: Final = re.compile(r"\s*\[[a-z][a-z0-9_]*(?: for '[\s\S]{0,2000}?'[^\]\n]{0,200})?\] Result:")
"""What Cline and Roo write in front of a result."""

_TEXT_RESULT: Final = re.compile(
    r"\s*(?:"
    r"(?:OBSERVATION|Observation):"  # SWE-agent; ReAct
    r"|EXECUTION RESULT of \[[\w.-]+\]:"  # OpenHands
    r"|(?:<(tool_response|function_results)>[\s\S]*?</\1>\s*)+"  # Hermes; prompted tools
    r"(?:<environment_details>[\s\S]*</environment_details>\s*)?\Z"
    r")"
)
_ELEMENT: Final = re.compile(r"<(output(?:_head|_tail)?|exception)>\n?([\s\S]*?)\n?(?:</\1>|\Z)")
_WHOLE_OUTPUT: Final = re.compile(r"<output>\n?([\s\S]*?)\n?(?:</output>\s*\Z|\Z)")
_HEADER: Final = re.compile(
    r"(?:<untrusted_context>\s*|"
    r"(?:Chunk ID|Wall time|Exit [Cc]ode|Process|Script|Original token count|Command|Directory)\b.*\n)*"
)
"""Lines that Codex and Gemini CLI write in front of `Output:`. Where Codex's model runs a script, it says `Script`, and
what stands behind may be the JSON that a tool of the script gave."""

_LINE_END: Final = re.compile(r"(?<!\\)((?:\\\\)*)(?:\\r)?\\n")


def returncode(text: str) -> int | None:
    """Give the code of mini-swe-agent's `<returncode>` where a text begins with it.

    >>> returncode("<returncode>2</returncode>\\n<output>\\nx\\n</output>")
    2
    """
    match = _TAGGED.match(text)
    return None if match is None else int(match[1])


def json_object(text: str) -> Mapping[str, object] | None:
    """Decode a text that is one JSON object as a whole."""
    stripped = text.strip()
    if not stripped.startswith("{"):
        return None
    try:
        return msgspec.json.decode(stripped, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None


def is_observation(text: str) -> bool:
    """Whether a text has the shape in which harnesses without tools on the wire send the result of an action.

    A user's text may have it too: `coldpress.engine.acting` says which is a result.
    """
    return any(shape.match(text) for shape in (_TEXT_RESULT, _TAGGED, RESULT_HEADER))


def under_header(plain: str) -> str:
    """Give what stands behind the labels of a harness, a newline in front; the text itself where it has none.

    Args:
        plain: as for `body`.

    >>> under_header("\\nWall time 3.7 seconds\\nOutput:\\n{}")
    '\\n{}'
    """
    at = plain.find("\nOutput:", 0, LABEL_CHARS)
    return plain if at < 0 else "\n" + plain[at + len("\nOutput:") :].lstrip(" \n")


def body(plain: str) -> str:
    """Give what a command printed, decoded, with a newline in front, so that lines begin where patterns look for them.

    Args:
        plain: without colours, lines parted by newlines alone, one in front of the first.
    """
    inner = under_header(plain)
    fields = json_object(inner) or {}
    if _is_envelope(fields) or (inner is plain and isinstance(fields.get("output"), str)):
        return "\n" + "\n".join(value for key in OUTPUT_KEYS if isinstance(value := fields.get(key), str))
    if plain.startswith("\n" + OBSERVATION) or returncode(plain) is not None:
        return "\n" + "\n".join(_unwrapped(plain))
    at = plain.find("\nOutput:", 0, LABEL_CHARS)
    return plain if at < 0 else "\n" + plain[at + len("\nOutput:") :].lstrip(" ")


def printed(text: str) -> str:
    r"""Give what a command printed as it stands in the text, on lines of its own, every line a piece of the text.

    Escapes of a JSON envelope stay, but for those of line ends.

    >>> printed('{"returncode": 0, "output": "one \\"word\\"\\ntwo"}')
    'one \\"word\\"\ntwo'
    >>> printed("Wall time: 1 s\nOutput:\na\nb")
    'a\nb'
    """
    raw = _raw_members(text)
    if raw is not None and _is_envelope(raw):
        values = (bytes(raw[key]).decode() for key in OUTPUT_KEYS if key in raw)
        strings = [_LINE_END.sub(r"\1\n", value[1:-1]) for value in values if value.startswith('"')]
        return "\n".join(strings) if strings else text
    return "\n".join(_unwrapped(text))


def _is_envelope(fields: Mapping[str, object]) -> bool:
    return not _OUTER_KEYS.isdisjoint(fields) and any(key in fields for key in OUTPUT_KEYS)


def _raw_members(text: str) -> dict[str, msgspec.Raw] | None:
    stripped = text.strip()
    if not stripped.startswith("{"):
        return None
    try:
        return msgspec.json.decode(stripped, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None


def _unwrapped(text: str) -> Iterator[str]:
    """Give the pieces of a text that a program printed."""
    if (tagged := _TAGGED.match(text)) is not None:
        rest = text[tagged.end() :]
        whole = _WHOLE_OUTPUT.search(rest) if "<output>" in rest else None
        yield from (whole[1],) if whole else (match[2] for match in _ELEMENT.finditer(text))
        return
    stripped = text.lstrip()
    if stripped.startswith(OBSERVATION):
        yield stripped.removeprefix(OBSERVATION)
        return
    header = _HEADER.match(text, 0, LABEL_CHARS)
    at = header.end() if header is not None else 0
    yield text[at:].removeprefix("Output:").lstrip(" \n") if at and text.startswith("Output:", at) else text
