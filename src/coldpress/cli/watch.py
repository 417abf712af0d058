"""Say once that a settings file was changed while the gateway runs: changes take effect when it is started again."""

from __future__ import annotations

from pathlib import Path


class SettingsWatch:
    """Compares a settings file with what it held when the settings were read.

    Args:
        file: the file that was read, or the place where one would have been read.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._held = _content(file)

    def news(self) -> str | None:
        """Give a sentence the first time the file differs from what was last told, else `None`."""
        now = _content(self._file)
        if now == self._held:
            return None
        before, self._held = self._held, now
        what = "is gone" if now is None else "is new" if before is None else "was changed"
        return (
            f"{self._file} {what}. The running gateway goes on with the settings it started with: "
            "stop it and start it again to use the file as it is now"
        )


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None
