"""What holds for every imported file: its requests are valid, and everything in it is accounted for."""

from __future__ import annotations

from coldpress.lab.importers.chains import Imported
from coldpress.lab.rebuild import requests

from .recording import objections


def refused(found: Imported) -> list[str]:
    """What a provider would refuse in any request, with the file's head and with each trajectory's own."""
    heads = found.heads or (found.head,) * len(found.trajectories)
    return [
        f"{trajectory.name}: {objection}"
        for trajectory, own in zip(found.trajectories, heads, strict=True)
        for head in {own, found.head}
        for body in requests(trajectory, head)
        for objection in objections(body)
    ]


def unaccounted(found: Imported) -> list[str]:
    """What the counts leave open; empty where everything has one fate."""
    counts = found.counts
    open_ends = [f"{counts.unsettled} unsettled"] if counts.unsettled else []
    if counts.used + counts.set_aside + counts.unknown + counts.broken != counts.pieces:
        open_ends.append(f"{counts.pieces} pieces, but {counts}")
    if sum(count for _, count in counts.kinds) != counts.objects:
        open_ends.append("kinds do not add up to objects")
    if (counts.set_aside or counts.unknown or counts.broken) and not counts.skipped:
        open_ends.append("something is not used, and no reason is given")
    return open_ends
