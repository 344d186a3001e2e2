"""A process that tries what it is told by number, one after another, within bounds of memory.

    python -m enstruct_bench.campaigns.worker CAMPAIGN SEED FOLDER

Numbers come in, a line each; a line of JSON goes out for each. Memory is what a trial took at its peak beyond what the process
held before (Linux's VmHWM, which is set back each time, and the allocator's free pages are given back first: a trial that fills
them again would seem to take nothing); address space ends ``ROOM`` beyond what the process holds at its start.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

from enstruct_bench.campaigns.trial import DEFECT, judged

MOST_BYTES, ROOM = 2**31, 3 * 2**30
CAMPAIGNS = ("readers", "sizes", "models", "parameters", "results")


def tried(campaign: Any, number: int, seed: int, folder: Path) -> dict[str, Any]:
    trial = campaign.trial(number, seed, folder)
    _give_back()
    before = _resident(reset=True)
    begin = time.monotonic()
    verdict, why = judged(trial, campaign.ALSO)
    seconds, peak = time.monotonic() - begin, max(0, _peak() - before)
    most = campaign.most_bytes(trial)
    if verdict != DEFECT and peak > most:
        verdict, why = DEFECT, f"took {peak / 2**20:.0f} MiB for {trial.size} bytes"
    row = {"number": number, "group": trial.group, "change": trial.change, "verdict": verdict, "why": why}
    return {**row, "seconds": seconds, "peak": peak, "size": trial.size}


def campaign_of(name: str) -> Any:
    return importlib.import_module(f"enstruct_bench.campaigns.{name}")


def status(name: str) -> int:
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:  # no Linux: memory is not measured
        return 0
    return 1024 * int(text.split(f"{name}:")[1].split()[0])


def _give_back() -> None:
    """Returns what glibc keeps of freed memory to the system; of other allocators it knows nothing."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):  # another C library
        return


def _resident(reset: bool = False) -> int:
    if reset:
        try:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        except OSError:  # then what a trial takes beyond the most that any took before
            return status("VmHWM")
    return status("VmRSS")


def _peak() -> int:
    return status("VmHWM")


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what is tried may print
    name, seed, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    campaign = campaign_of(name)
    campaign.prepare(seed, folder)
    if room := status("VmSize"):
        resource.setrlimit(resource.RLIMIT_AS, (room + ROOM, room + ROOM))
    print(json.dumps({"ready": name}), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(tried(campaign, int(line), seed, folder)), file=out, flush=True)


if __name__ == "__main__":
    main()
