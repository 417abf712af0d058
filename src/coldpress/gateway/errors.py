"""Say our own errors in the wire format the client speaks.

ColdpressError
├── Refused           we answer ourselves; knows status, a fixed word and a sentence
│   ├── Limited           it is more than the settings allow; knows when to try again
│   └── UpstreamFailed    no answer came from a provider
├── UpstreamBroken    a provider's answer ended before its end
└── ClientGone        nobody is there to answer
"""

from __future__ import annotations

from typing import Literal

import msgspec

from coldpress.model.errors import ColdpressError
from coldpress.wire.registry import FormatName

Code = Literal[
    "body_too_large",
    "body_timeout",
    "busy",
    "invalid_mode",
    "no_provider",
    "not_screened",
    "overloaded",
    "rate_limited",
    "sensitive_content",
    "shutting_down",
    "spend_cap",
    "unknown_provider",
    "unpriced",
    "upstream_broken",
    "upstream_timeout",
    "upstream_unreachable",
    "web_page_refused",
    "websocket_unsupported",
]

_ANTHROPIC_TYPES = {
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}


_CHAT_TYPES = {429: "rate_limit_error"}

_GOOGLE_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    413: "INVALID_ARGUMENT",
    426: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    501: "UNIMPLEMENTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""The words of `google.rpc.Code` by HTTP status, as its own comments pair them; a gateway's 502 is a server that is
not there."""

_GOOGLE_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
"""How Google's errors say a word for programs beside the status (google.aip.dev/193)."""


class Refused(ColdpressError):
    """The gateway answers this request itself.

    Args:
        status: the HTTP status.
        code: a fixed word for programs.
        message: what, where and what now; never text of a conversation, never a key.
    """

    def __init__(self, status: int, code: Code, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code: Code = code
        self.message = message


class Limited(Refused):
    """The request is more than the settings allow.

    Args:
        status: the HTTP status.
        code: a fixed word for programs; what it is counted as.
        message: as for `Refused`.
        retry_after_seconds: when it may be sent again, `None` where no time will change the answer.
        again: whether a client should do so by itself.
    """

    def __init__(
        self, status: int, code: Code, message: str, *, retry_after_seconds: int | None = None, again: bool = False
    ) -> None:
        super().__init__(status, code, message)
        self.retry_after_seconds = retry_after_seconds
        self.again = again


class UpstreamFailed(Refused):
    """No answer came from a provider. The status is 502 or 504."""


class UpstreamBroken(ColdpressError):
    """A provider's answer began and did not reach its end."""


class ClientGone(ColdpressError):
    """The client closed its connection."""


def error_body(dialect: FormatName, status: int, code: Code, message: str) -> bytes:
    """Give an error as JSON, as the client's SDK expects it.

    >>> error_body("openai_chat", 504, "upstream_timeout", "no answer")
    b'{"error":{"message":"no answer","type":"server_error","code":"upstream_timeout","param":null}}'
    """
    if dialect == "anthropic":
        kind = _ANTHROPIC_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return msgspec.json.encode({"type": "error", "error": {"type": kind, "message": message}})
    if dialect == "gemini":
        word = _GOOGLE_STATUSES.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")
        info = {"@type": _GOOGLE_INFO, "reason": code.upper(), "domain": "coldpress"}
        return msgspec.json.encode({"error": {"code": status, "message": message, "status": word, "details": [info]}})
    kind = "server_error" if status >= 500 else _CHAT_TYPES.get(status, "invalid_request_error")
    return msgspec.json.encode({"error": {"message": message, "type": kind, "code": code, "param": None}})


def error_event(dialect: FormatName, code: Code, message: str, *, sent_before: bytes) -> bytes:
    """Give an error as the last server-sent event of a stream that broke.

    Args:
        dialect: the client's wire format.
        code: a fixed word for programs.
        message: what happened.
        sent_before: the last bytes that went out (four are enough). Where they cut an event in two, an Anthropic
            client is made to read the half as part of the error, and any other client gets it as an event of its own.

    Gemini's own errors come bare between events, not as one. Its SDKs differ in what they take for an error: the event
    is one to google-genai 3.6.1 for Python, and to any reader of events; in that for JavaScript (1.52.0) only what
    stands bare behind the last event ends a stream with an error. So it is said in both ways.

    Every event of Responses names its type. `error` has its fields at the top there, while OpenAI's SDKs take an event
    for an error by the member of that name, as in Chat Completions. So it has both.
    """
    if dialect == "openai_responses":
        body = _responses_event(code, message)
    else:
        body = error_body(dialect, 502, code, message)
    at_border = not sent_before or sent_before.endswith((b"\n\n", b"\r\n\r\n", b"\r\r"))
    if dialect == "anthropic":
        return (b"" if at_border else b"\n") + b"event: error\ndata: " + body + b"\n\n"
    named = b"event: error\n" if dialect == "openai_responses" else b""
    event = (b"" if at_border else b"\n\n") + named + b"data: " + body + b"\n\n"
    return event + body + b"\n" if dialect == "gemini" else event


def _responses_event(code: Code, message: str) -> bytes:
    error = {"message": message, "type": "server_error", "code": code, "param": None}
    return msgspec.json.encode({"type": "error", "code": code, "message": message, "param": None, "error": error})
