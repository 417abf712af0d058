"""Serve the strict scripted upstream on loopback, to run the examples without a key: a task that outgrows the window.

    python examples/strict_upstream.py

The scripted model asks for 30 commands whose outputs together are longer than its window of 12,000 tokens, then says
that it is done. It speaks both wire formats and enforces what a provider enforces. Ctrl-C ends it.
"""

from __future__ import annotations

import signal
import threading
from dataclasses import replace

from coldpress.testing import Rules, Script, Shell, StrictUpstream, said_steps, task

WINDOW_TOKENS = 12_000
STEPS = 30


def script() -> Script:
    """Make the steps: each output is too short to be pressed at first sight."""
    steps = (
        Shell(f'for i in $(seq 60); do echo "step {step}, entry $i: balance $((i * 7919 % 9973))"; done')
        for step in range(STEPS)
    )
    return replace(task(*steps), progress=said_steps)


def main() -> None:
    """Serve until interrupted, and say then how it went."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with StrictUpstream(script(), rules=Rules(window_tokens=WINDOW_TOKENS)) as upstream:
        print(f"{upstream.url} (window {WINDOW_TOKENS} tokens)", flush=True)
        ended.wait()
        refused = sum(exchange.refusal is not None for exchange in upstream.inference)
        print(f"{len(upstream.inference)} requests, {refused} refused", flush=True)


if __name__ == "__main__":
    main()
