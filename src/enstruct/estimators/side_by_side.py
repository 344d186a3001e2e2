"""Fits by several processes, as :func:`joblib.parallel_config` says; what becomes of those ended or of other versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs

from enstruct.environment import versions
from enstruct.errors import WorkerError

ENDED = {"TerminatedWorkerError", "BrokenProcessPool", "KilledWorker", "WorkerCrashedError", "RayActorError"}
"""Of loky, Dask and Ray, by name: only the one in use is installed, perhaps."""


def side_by_side() -> int:
    """Fits at a time."""
    return max(1, effective_n_jobs(Parallel().n_jobs))


def of_one_version(here: Mapping[str, str], call: Callable[..., Any], *arguments: Any) -> Any:
    """What a worker answers if it has the versions that are ``here``, where it is given its work; else a WorkerError, which goes
    there. (A function: Dask asks what it is given for its name.)"""
    there = versions()
    for name, version in here.items():
        if there[name] != version:
            what = f"A worker has {name} {there[name]}, and the process that gave it work {version}"
            raise WorkerError(f"{what}: install one version everywhere.")
    return call(*arguments)


def done_by_workers(call: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> list[Any]:
    """What ``call`` gives for each job's arguments, by no more workers than there are jobs. WorkerError for a worker that is
    ended or has another version."""
    job, here = delayed(of_one_version), versions()
    with workers_may_end():
        return list(Parallel(n_jobs=max(1, min(side_by_side(), len(jobs))))(job(here, call, *arguments) for arguments in jobs))


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
