"""Peak memory of this process since it was last reset, where the system can tell."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak() -> None:
    """Linux lets a process set its high-water mark back; elsewhere peaks are those since the start."""
    with suppress(OSError):
        CLEAR.write_text("5")


def peak_mib() -> float | None:
    if not STATUS.is_file():
        return None
    return float(next(line.split()[1] for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))) / 1024
