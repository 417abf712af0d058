"""What a strict upstream remembers of one request and of how it answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from coldpress.model.usage import Usage
from coldpress.testing.jsonview import as_object


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as it came over the wire.

    Attributes:
        method: upper case.
        target: path and query, as sent.
        headers: names in lower case, in order, repeated where they were.
        raw: the body as sent, still compressed if it was.
        body: the body with its content encoding undone; empty where that failed.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    raw: bytes
    body: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def header(self, name: str) -> str | None:
        """Give the first header of this name (lower case), `None` where there is none."""
        return next((value for key, value in self.headers if key == name), None)

    @property
    def json(self) -> Mapping[str, object]:
        """The decoded body, empty where it is not a JSON object."""
        try:
            return as_object(json.loads(self.body))
        except ValueError:
            return {}


@dataclass(slots=True)
class Exchange:
    """A request with its answer: filled in while it is served, so it may still change until `finished`.

    Attributes:
        request_id: the `request-id` header of the answer.
        number: position among the inference requests, from 0; `None` for any other request.
        status: `None` where no answer was sent.
        refusal: the message of a request that broke a rule or met a scripted error.
        usage: what was billed at the price of the asked model; `None` where nothing was.
        others: what was billed at the prices of other models.
        finished: the whole answer was handed to the connection.
    """

    request: ReceivedRequest
    request_id: str = ""
    number: int | None = None
    status: int | None = None
    refusal: str | None = None
    usage: Usage | None = None
    others: tuple[tuple[str, Usage], ...] = ()
    finished: bool = False
