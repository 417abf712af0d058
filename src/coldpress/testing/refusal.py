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
_GOOGLE_STATUSES = {
    400: ("INVALID_ARGUMENT", "Request contains an invalid argument."),
    401: ("UNAUTHENTICATED", "API key not valid. Please pass a valid API key."),
    403: ("PERMISSION_DENIED", "The caller does not have permission"),
    404: ("NOT_FOUND", "Requested entity was not found."),
    413: ("INVALID_ARGUMENT", "Request payload size exceeds the limit."),
    429: ("RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    500: ("INTERNAL", "An internal error has occurred."),
    503: ("UNAVAILABLE", "The model is overloaded. Please try again later."),
    504: ("DEADLINE_EXCEEDED", "Deadline expired before operation could complete."),
}
_KINDS = {
    "anthropic": _ANTHROPIC_KINDS,
    "openai_chat": _OPENAI_KINDS,
    "openai_responses": _OPENAI_KINDS,
    "gemini": _GOOGLE_STATUSES,
}
_FALLBACKS = {"anthropic": ("api_error", "Server error"), "gemini": ("UNKNOWN", "Unknown error.")}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that a provider would not serve.

    `kind` is the provider's error type; Google's follows from the status. `param` exists on OpenAI's wires only; `code`
    is a word for machines.
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
        if wire == "gemini":
            word = _GOOGLE_STATUSES.get(self.status, _FALLBACKS["gemini"])[0]
            return {"error": {"code": self.status, "message": self.message, "status": word}}
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}}


def refusal_for(status: int, wire: WireFormat, *, message: str | None = None, kind: str | None = None) -> Refusal:
    """Make the refusal a provider usually sends with a status."""
    usual_kind, usual_message = _KINDS[wire].get(status, _FALLBACKS.get(wire, ("server_error", "Server error")))
    code = "rate_limit_exceeded" if wire in ("openai_chat", "openai_responses") and status == 429 else None
    return Refusal(message or usual_message, status=status, kind=kind or usual_kind, code=code)
