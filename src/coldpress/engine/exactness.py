"""Tell which results must stay exact, by their structure: failures, diffs, secrets, and what is shortened already.

The order is from what is told to what is guessed: the wire's own flag, the kind of the tool, markers, the envelope a
harness puts around a result, and last, only where a program ran, what compilers, runners and shells print.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from coldpress.engine import envelopes
from coldpress.engine import exactness_data as data
from coldpress.engine.catalogue import Classified, Kind
from coldpress.engine.credentials import holds_secret
from coldpress.engine.envelopes import LABEL_CHARS, json_object, returncode, under_header
from coldpress.engine.markers import is_client_truncated, is_marked

__all__ = ["Verdict", "failed", "holds_secret", "is_diff", "judge"]

Verdict = Literal["ok", "failed_result", "protected_kind", "already_pressed"]

PROTECTED_KINDS: Final[frozenset[Kind]] = frozenset({"mutation", "plan", "memory", "diff"})

ENVELOPE_CHARS: Final = 400
"""How far from either end a harness's own failure line may stand."""

COMPLAINT_CHARS: Final = 1_000

_ANSI: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


def judge(classified: Classified, text: str, *, wire_failed: bool | None) -> Verdict:
    """Say whether a result may be made smaller (`ok`), and if not, why not.

    Args:
        classified: the call it answers.
        text: the result as the client sent it.
        wire_failed: the wire's failure flag, `None` where the format has none. `False` proves nothing: a failing
            command in front of `| tail` or `|| true` is no failure to the harness.

    >>> judge(Classified("shell", "bash", None, "pytest | tail", True), "1 failed, 3 passed in 0.2s", wire_failed=False)
    'failed_result'
    """
    if wire_failed:
        return "failed_result"
    if classified.kind in PROTECTED_KINDS:
        return "protected_kind"
    if is_marked(text) or is_client_truncated(text):
        return "already_pressed"
    plain = _plain(text)
    if _failed_envelope(classified, plain):
        return "failed_result"
    if classified.runs_program:
        body = envelopes.body(plain)
        if _tells_of_failure(body):
            return "failed_result"
        if data.DIFF.search(body):
            return "protected_kind"
    return "protected_kind" if holds_secret(text) else "ok"


def is_diff(text: str) -> bool:
    """Whether a text is a diff, a patch or a merge conflict, whatever gave it.

    >>> is_diff("--- a/x.py\n+++ b/x.py\n"), is_diff("a line about +++ and ---")
    (True, False)
    """
    return data.DIFF.search(envelopes.body(_plain(text))) is not None


def failed(classified: Classified, text: str, *, wire_failed: bool | None) -> bool:
    """Say whether a call failed, whatever kind it is of and whatever its client left out of what came back.

    Args:
        classified: the call.
        text: its result as the client sent it.
        wire_failed: the wire's failure flag, `None` where the format has none. `False` proves nothing, as for `judge`.
    """
    if wire_failed:
        return True
    plain = _plain(text)
    if _failed_envelope(classified, plain):
        return True
    return classified.runs_program and _tells_of_failure(envelopes.body(plain))


def _plain(text: str) -> str:
    """Give a text the form patterns are written for: no colours, newlines only, one in front of the first line."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "\n" + text


def _failed_envelope(classified: Classified, plain: str) -> bool:
    head, tail = plain[:ENVELOPE_CHARS], plain[-ENVELOPE_CHARS:]
    if data.HEAD_OF_TEXT.match(head) or data.NEAR_TAIL.search(tail):
        return True
    if not classified.runs_program and data.HEAD_WORDS.match(head):
        return True
    if _failed_json(classified, plain):
        return True
    if classified.command is None and not classified.runs_program:
        return False
    code = returncode(head)
    if code is not None:
        return code != 0
    if data.NEAR_HEAD.search(head):
        return True
    if not classified.runs_program:
        if len(plain) <= COMPLAINT_CHARS and data.COMPLAINT.match(plain) is not None:
            return True
        # A file or a list of names may hold such a line; behind a label at the very start it is the harness's.
        return data.LABELS.match(plain) is not None and _failed_label(plain)
    return _failed_label(plain)


def _failed_label(plain: str) -> bool:
    ends = (plain[:LABEL_CHARS], plain[-LABEL_CHARS:])
    if any(data.LABELLED.search(end) for end in ends):
        return True
    return data.LABELS.search(ends[0]) is not None and any(data.LABELLED_ERROR.search(end) for end in ends)


_EXIT_KEYS: Final = ("exit_code", "exitCode", "returncode")
_FAILED_KEYS: Final = ("is_error", "isError")


def _failed_json(classified: Classified, plain: str) -> bool:
    """Whether a JSON object says on its top level that something failed. A list has no such level.

    The text of a file may be JSON that says anything, so a source counts only by the exit code beside its output.
    """
    fields = json_object(under_header(plain))
    if fields is None:
        return False
    if any(_nonzero(fields.get(key)) for key in _EXIT_KEYS) and ("output" in fields or classified.kind != "source"):
        return True
    metadata = fields.get("metadata")
    if isinstance(metadata, dict) and any(_nonzero(metadata.get(key)) for key in _EXIT_KEYS):
        return True
    if classified.kind == "source":
        return False
    if any(fields.get(key) is True for key in _FAILED_KEYS) or fields.get("success") is False:
        return True
    if fields.get("status") in ("error", "failed") or fields.get("exception_info"):
        return True
    return bool(fields.get("error"))


def _nonzero(value: object) -> bool:
    if isinstance(value, str):
        return bool(re.fullmatch(r"-?0*[1-9]\d*", value))
    return isinstance(value, int) and not isinstance(value, bool) and value != 0


def _tells_of_failure(body: str) -> bool:
    if data.CERTAIN.search(body):
        return True
    if any(needle in body and pattern.search(body) for needle, pattern in data.ANYWHERE):
        return True
    first = data.LIKELY.search(body)
    if first is None:
        return False
    green = -1
    for match in data.GREEN.finditer(body):
        green = match.start()
    return green < 0 or data.LIKELY.search(body, green) is not None
