"""Test agents and gateways without a provider: a strict scripted upstream for all wire formats."""

from coldpress.testing.exchange import Exchange, ReceivedRequest
from coldpress.testing.progress import said_steps
from coldpress.testing.provider import Rules
from coldpress.testing.script import (
    Aside,
    Asked,
    BreakOff,
    Call,
    Delivery,
    Disconnect,
    ErrorEvent,
    Fault,
    HttpError,
    Part,
    Read,
    Say,
    Script,
    Shell,
    Step,
    Think,
    Turn,
    task,
)
from coldpress.testing.server import closed_port_url
from coldpress.testing.summariser import summariser
from coldpress.testing.upstream import StrictUpstream

__all__ = [
    "Aside",
    "Asked",
    "BreakOff",
    "Call",
    "Delivery",
    "Disconnect",
    "ErrorEvent",
    "Exchange",
    "Fault",
    "HttpError",
    "Part",
    "Read",
    "ReceivedRequest",
    "Rules",
    "Say",
    "Script",
    "Shell",
    "Step",
    "StrictUpstream",
    "Think",
    "Turn",
    "closed_port_url",
    "said_steps",
    "summariser",
    "task",
]
