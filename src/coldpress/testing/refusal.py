"""Say no the way a provider does: a status and an error body in the shape of its wire."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

WireFormat = Literal["anthropic", "openai_chat", "openai_responses", "gemini"]

_ANTHROPIC_KINDS = {
    400: ("invalid_request_error", "Invalid request."),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "Your API key does not have permission to use the specified resource."),
    404: ("not_found_error", "Not found"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your account's rate limit. Please try again later."),
    500: ("api_error", "Internal server error"),
    504: ("timeout_error", "The request timed out."),
    529: ("overloaded_error", "Overloaded"),
}
_OPENAI_KINDS = {
    400: ("invalid_request_error", "Invalid request."),
    401: ("invalid_request_error", "Incorrect API key provided."),
    404: ("invalid_request_error", "Unknown request URL."),
    413: ("invalid_request_error", "The request body is too large."),
    429: ("requests", "Rate limit reached for requests."),
    500: ("server_error", "The server had an error while processing your request."),
    503: ("server_error", "The engine is currently overloaded, please try again later."),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that a provider would not serve.

    `kind` is the provider's error type. `param` exists on OpenAI's wires only; `code` is a word for machines.
    """

    message: str
    status: int = 400
    kind: str = "invalid_request_error"
    param: str | None = None
    code: str | None = None

    def body(self, wire: WireFormat, request_id: str) -> bytes:
        """Write the JSON error body."""
        return json.dumps(self.document(wire, request_id)).encode()

    def document(self, wire: WireFormat, request_id: str) -> dict[str, object]:
        """Give the error body as a JSON object; an error event in a stream carries the same."""
        if wire == "anthropic":
            error: dict[str, object] = {"type": self.kind, "message": self.message}
            if self.code is not None:
                error["details"] = {"error_code": self.code}
            return {"type": "error", "error": error, "request_id": request_id}
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}}


def refusal_for(status: int, wire: WireFormat, *, message: str | None = None, kind: str | None = None) -> Refusal:
    """Make the refusal a provider usually sends with a status."""
    known = _ANTHROPIC_KINDS if wire == "anthropic" else _OPENAI_KINDS
    fallback = ("api_error", "Server error") if wire == "anthropic" else ("server_error", "Server error")
    usual_kind, usual_message = known.get(status, fallback)
    code = "rate_limit_exceeded" if wire in ("openai_chat", "openai_responses") and status == 429 else None
    return Refusal(message or usual_message, status=status, kind=kind or usual_kind, code=code)
