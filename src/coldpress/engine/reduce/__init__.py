"""Make one tool result smaller: without loss, by leaving out repeats, or as a bounded view."""

from coldpress.engine.reduce.reduced import MIN_SAVED_BYTES, MIN_SAVED_SHARE, Reduced, pays

__all__ = ["MIN_SAVED_BYTES", "MIN_SAVED_SHARE", "Reduced", "pays"]
