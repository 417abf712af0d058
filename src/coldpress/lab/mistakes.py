"""Say of a recording that a mistake of ours kept it from being measured, without a word of what it holds."""

from __future__ import annotations

from pathlib import Path

from coldpress.drive.faults import Fault
from coldpress.lab.results import Measured, Skipped


def mistaken(path: Path, fault: Fault) -> Measured:
    """Give what came of a recording on which a mistake of ours was made; only the kind of the error is named.

    Args:
        path: of the recording.
        fault: that caught it; the log has the rest.
    """
    why = f"could not be measured ({fault.name}); a mistake of coldpress, please report it"
    return Measured(skipped=Skipped(str(path), why))
