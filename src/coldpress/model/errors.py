"""Everything coldpress raises.

ColdpressError
├── ConfigError          a settings file is wrong; says which key, what it holds and what it may hold
├── StoreError           the store cannot be read or written
├── UnknownOriginal      no original with this SHA-256 is or was stored here
├── AmbiguousOriginal    a shortened SHA-256 fits several originals
├── ExpiredOriginal      the original was stored and has expired; says how to get it again
├── RecordingError       a recorded run cannot be read; says which, and what is wrong with it
├── SweepError           a sweep cannot go on, or what it left cannot be read; says why and what to do
├── FiguresError         no statistics can be made of what was given; says which number or row, and why
├── BodyTooLarge         a request body is larger, or expands to more, than the settings allow
├── DetectorFailed       a library that looks for sensitive text failed
├── Withheld             a request may not leave; says why, and nothing of what it holds
├── UnknownPlugin        no plugin with this name is built in or installed
├── PluginError          a plugin did what it may not; raised into its own code
│   ├── CapabilityError  it lacks the capability
│   ├── EditRefused      its edit is none that a model may get
│   └── ViewClosed       its hook is over, or has run out of time
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


class DetectorFailed(ColdpressError):
    """A library that looks for sensitive text failed on one."""


class Withheld(ColdpressError):
    """A request may not leave, by the settings of `pii`.

    Args:
        message: what was found where, by tool and kind, and what to do now; never the text.
        sensitive: whether something was found; false where nobody could look.
    """

    def __init__(self, message: str, *, sensitive: bool) -> None:
        super().__init__(message)
        self.sensitive = sensitive


class RecordingError(ColdpressError):
    """A recorded run cannot be read."""


class SweepError(ColdpressError):
    """A sweep cannot go on, or what one left cannot be read."""


class FiguresError(ColdpressError):
    """No statistics can be made of these numbers or rows."""


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


class UnknownPlugin(ColdpressError):
    """No plugin with this name is built in or installed."""


class PluginError(ColdpressError):
    """A plugin did what it may not."""


class CapabilityError(PluginError):
    """A plugin reads, edits or connects without the approved capability."""


class EditRefused(PluginError):
    """What a plugin wants to put into a request is empty, too long, no Unicode text, or no JSON."""


class ViewClosed(PluginError):
    """A plugin uses a view after its hook was over or had run out of time."""
