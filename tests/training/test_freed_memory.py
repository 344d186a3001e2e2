"""What is freed stays with the process, so that asking for it again faults no pages in."""

import resource
import subprocess
import sys

import pytest

from enstruct.training.freed_memory import keep_freed_memory

UPDATES, BLOCKS = 20, 4
SIZES = [k * 2**20 for k in (3, 4, 5, 6, 8, 10)]


def faults(keep):
    """Page faults of blocks that are filled and freed again and again, in this process."""
    import torch

    if keep:
        keep_freed_memory()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for size in SIZES:
        for _ in range(UPDATES):
            blocks = [torch.ones(size, dtype=torch.uint8) for _ in range(BLOCKS)]
            del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def most(keep, processes=4):
    """Of several processes, each new: what one freed before, it would find. In some the heap ends in a block that stays."""
    command = [sys.executable, __file__, keep]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return max(int(process.communicate()[0]) for process in running)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of glibc")
def test_blocks_that_are_freed_are_there_again():
    pages = BLOCKS * UPDATES * sum(SIZES) // resource.getpagesize()
    assert most("") > 0.15 * pages, "nothing to mend"
    assert most("keep") < 0.08 * pages


if __name__ == "__main__":
    print(faults(bool(sys.argv[1])))
