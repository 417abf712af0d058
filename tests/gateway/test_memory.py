"""Freed memory is kept where the C library can do that."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

SCRIPT = """
import resource
from coldpress.gateway.memory import keep_freed_memory
def faults(): return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def bodies(): return [bytearray(b"x") * 8_000_000 for _ in range(4)]
if {asked}: assert keep_freed_memory()
for _ in range(3): bodies()
before = faults()
for _ in range(10): bodies()
print(faults() - before)
"""


def page_faults(*, asked: bool) -> int:
    """Page faults of ten times four large bodies in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(asked=asked)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc takes this wish")
def test_large_buffers_are_not_fetched_from_the_kernel_again_and_again() -> None:
    assert page_faults(asked=True) * 5 < page_faults(asked=False)
