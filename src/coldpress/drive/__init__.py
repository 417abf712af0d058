"""Where the engine meets the world; `Driver` is all that others need."""

from coldpress.drive.driver import Driver
from coldpress.drive.exchange import Inbound, Prepared

__all__ = ["Driver", "Inbound", "Prepared"]
