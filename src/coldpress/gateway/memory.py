"""Keep memory work off the requests: the C allocator's, and the cycle collector's.

The allocator shall keep freed memory for the next large body instead of giving it back at once.

A request of some megabytes is a dozen large allocations. By default glibc maps each one anew and unmaps it after,
and the kernel clears every page again: with 8 MiB bodies that was three quarters of the gateway's CPU time.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
from collections.abc import Callable

_MIB = 1024 * 1024

# From <malloc.h>; glibc refuses a mapping threshold over 32 MiB.
_M_TRIM_THRESHOLD = -1
_M_TOP_PAD = -2
_M_MMAP_THRESHOLD = -3
_WISHES = ((_M_MMAP_THRESHOLD, 32 * _MIB), (_M_TRIM_THRESHOLD, 64 * _MIB), (_M_TOP_PAD, 16 * _MIB))


def keep_freed_memory() -> bool:
    """Ask for it, for the whole process; false where the C library is not glibc and nothing was changed."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    version = getattr(ctypes.CDLL(None), "gnu_get_libc_version", None)
    if mallopt is None or version is None:
        return False
    return all(mallopt(ctypes.c_int(name), ctypes.c_int(value)) for name, value in _WISHES)


# A full collection looks at every message that is remembered: with some conversations of megabytes it stopped the
# event loop for 170 ms in the middle of a request. Young objects are still looked at, 50,000 at a time.
_YOUNG_OBJECTS = 5_000
_YOUNG_ROUNDS = 10
_NEVER = 1_000_000
_LOOK_SECONDS = 15.0
_MOST_SECONDS = 600.0


def spare_old_objects() -> None:
    """Let the collector by itself look at young objects only, and not at what lives as long as the process."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, _YOUNG_ROUNDS, _NEVER)


async def collect_when_idle(active: Callable[[], int]) -> None:
    """Collect old objects for as long as it is not cancelled: while idle, or after ten minutes all the same.

    Args:
        active: how many exchanges are running.
    """
    waited = 0.0
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        waited += _LOOK_SECONDS
        if active() == 0 or waited >= _MOST_SECONDS:
            gc.collect()
            waited = 0.0
