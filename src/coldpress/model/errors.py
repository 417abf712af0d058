"""Everything coldpress raises.

ColdpressError
├── ConfigError          a settings file is wrong; says which key, what it holds and what it may hold
├── StoreError           the store cannot be read or written
├── UnknownOriginal      no original with this SHA-256 is or was stored here
├── AmbiguousOriginal    a shortened SHA-256 fits several originals
├── ExpiredOriginal      the original was stored and has expired; says how to get it again
├── RecordingError       a recorded run cannot be read; says which, and what is wrong with it
├── BodyTooLarge         a request body is larger, or expands to more, than the settings allow
└── RequestError         what was handed to the library cannot be read
    ├── MessageError     a message is none, or holds what no request can carry; says which one
    ├── FormatError      it cannot be told, or is contradicted, which wire format the messages have
    ├── ReplyError       a reply, or a sub-agent's answer, has no shape that is known
    └── SessionClosed    the session was closed before
"""

from __future__ import annotations


class ColdpressError(Exception):
    """Any error of ours."""


class ConfigError(ColdpressError):
    """A settings file or option is wrong."""


class StoreError(ColdpressError):
    """The store cannot be read or written."""


class UnknownOriginal(ColdpressError):
    """No original with this SHA-256 is or was stored here."""


class AmbiguousOriginal(ColdpressError):
    """A shortened SHA-256 fits more than one stored original."""


class ExpiredOriginal(ColdpressError):
    """The original was stored here once and has expired."""


class BodyTooLarge(ColdpressError):
    """A request body is larger, or expands to more, than the settings allow."""


class RecordingError(ColdpressError):
    """A recorded run cannot be read."""


class RequestError(ColdpressError):
    """What was handed to the library cannot be read."""


class MessageError(RequestError):
    """A message is none, or holds what no request can carry."""


class FormatError(RequestError):
    """The wire format of messages cannot be told, or is not the one that was said."""


class ReplyError(RequestError):
    """A reply, or a sub-agent's answer, has no shape that is known."""


class SessionClosed(RequestError):
    """A session was used after it was closed."""
