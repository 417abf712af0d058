"""Let the C allocator keep freed memory for the next large body instead of giving it back at once.

A request of some megabytes is a dozen large allocations. By default glibc maps each one anew and unmaps it after,
and the kernel clears every page again: with 8 MiB bodies that was three quarters of the gateway's CPU time.
"""

from __future__ import annotations

import ctypes
import sys

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
