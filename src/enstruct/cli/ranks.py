"""Commands that several processes carry out together: those that ``torchrun`` or ``accelerate launch`` starts."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

from enstruct.errors import ConfigError

NEEDED = ("RANK", "MASTER_ADDR", "MASTER_PORT")


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

    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
    try:
        dist.init_process_group()  # which reads the places and numbers of all from the environment, and objects to odd ones
    except (RuntimeError, ValueError) as error:
        where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        raise ConfigError(f"The group of processes cannot be joined at {where}: {str(error).splitlines()[0][:120]}") from error
    try:
        yield dist.get_rank() == 0
    finally:
        # Networks that were trained together hold the group, and lie in cycles: as long as one does its threads live on, and a
        # thread that then lets go of a tensor while the interpreter ends aborts the process ("terminate called without an active
        # exception", pytorch/pytorch#179291).
        gc.collect()
        dist.destroy_process_group()
