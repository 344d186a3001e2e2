"""Commands that several processes carry out together: those that ``torchrun`` or ``accelerate launch`` starts."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from enstruct.errors import ConfigError, shortened

NEEDED = ("RANK", "MASTER_ADDR", "MASTER_PORT")
JOINING = timedelta(minutes=2)
"""In which all processes of a group must have come; torch waits twice as long, as it tries again."""


@contextmanager
def launched() -> Iterator[bool]:
    """Join the group that this process was started for, if it was; yields whether it is the first, which saves and speaks.

    A process on a GPU of its own takes that of its number on the machine. ConfigError if the group cannot be joined.
    """
    if os.environ.get("WORLD_SIZE", "1") in ("", "1") or "RANK" not in os.environ:
        yield True
        return
    if missing := [name for name in NEEDED if not os.environ.get(name)]:
        raise ConfigError(f"WORLD_SIZE is set, but not {missing[0]}: start the command by torchrun or accelerate launch.")
    import torch
    import torch.distributed as dist
    from torch.distributed.constants import default_pg_timeout

    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
    try:
        with _ended_by_signals():
            store, rank, size = next(dist.rendezvous("env://", timeout=JOINING))  # and objects to odd places and numbers
        store.set_timeout(default_pg_timeout)  # of what they say to each other later
        dist.init_process_group(store=dist.PrefixStore("enstruct", store), rank=rank, world_size=size)
    except (RuntimeError, ValueError) as error:
        where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        why = shortened(str(error).splitlines()[0], 100)
        raise ConfigError(
            f"The group of {os.environ['WORLD_SIZE']} processes cannot be joined at {where} ({why}): start all of them, as "
            "torchrun does, or unset WORLD_SIZE for one alone."
        ) from error
    try:
        yield dist.get_rank() == 0
    finally:
        # Networks that were trained together hold the group, and lie in cycles: as long as one does its threads live on, and a
        # thread that then lets go of a tensor while the interpreter ends aborts the process ("terminate called without an active
        # exception", pytorch/pytorch#179291).
        gc.collect()
        dist.destroy_process_group()


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Ends at once by the signals that ask for it: whoever waits for others within the library hears no handler of Python's."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
