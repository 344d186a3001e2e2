"""Fits by several processes, as :func:`joblib.parallel_config` says, and what becomes of those that are ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from joblib import Parallel, effective_n_jobs

from enstruct.errors import WorkerError

ENDED = {"TerminatedWorkerError", "BrokenProcessPool", "KilledWorker", "WorkerCrashedError", "RayActorError"}
"""Of loky, Dask and Ray, by name: only the one in use is installed, perhaps."""


def side_by_side() -> int:
    """Fits at a time."""
    return max(1, effective_n_jobs(Parallel().n_jobs))


def done_by_workers(jobs: Sequence[Any]) -> list[Any]:
    """What :func:`joblib.delayed` calls give, by no more workers than there are calls. WorkerError for one that is ended."""
    with workers_may_end():
        return list(Parallel(n_jobs=max(1, min(side_by_side(), len(jobs))))(jobs))


@contextmanager
def workers_may_end() -> Iterator[None]:
    """A WorkerError for what a block raises whose workers are ended."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ in ENDED:
            raise WorkerError(
                "A worker was ended while it fitted, as by the system where memory is short: take fewer (--workers, or n_jobs= "
                "of joblib.parallel_config)."
            ) from error
        raise
