"""The cells of a comparison as work for one process or several, by joblib.

Rows that go on from another's estimator are one job with it, of a seed; every other cell is a job of its own. Jobs go to as many
workers as are asked for, on this machine or, under :func:`joblib.parallel_config`, wherever a cluster's backend of joblib has
them; their cells come back in the order in which they end. A worker has as many threads as the process that asked.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from enstruct.environment import versions
from enstruct.errors import DivergenceError
from enstruct.estimators.side_by_side import of_one_version, workers_may_end
from enstruct.training.callbacks import Callback
from enstruct_bench.comparison.comparison import Comparison, Parameters
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.comparison.run import fitted_cell

Made = tuple[str, int, Cell | DivergenceError]
Watch = Callable[[str, int], Callback]


@dataclass(frozen=True)
class Job:
    """Of one seed: ``methods`` in their order, those after the first going on from its estimator where there are several.

    ``wanted``: those whose cells are lacking. ``parts[place]``: its rows, which are cut when it is their turn: folds are as many
    times the data. ``models``: the settings of rows that have their own, ``model`` of the others.
    """

    comparison: Comparison
    methods: tuple[str, ...]
    wanted: tuple[str, ...]
    seed: int
    parts: Sequence[Any]
    place: int
    model: Parameters
    models: Mapping[str, Parameters]

    def cells(self, watch: Watch | None = None) -> Iterator[Made]:
        """One after another. Where the first diverges, those that would have gone on from it are left out."""
        parts, initial = self.parts[self.place], None
        for number, method in enumerate(self.methods):
            callbacks = [] if watch is None else [watch(method, self.seed)]
            settings = self.models.get(method, self.model)
            try:
                cell, estimator = fitted_cell(self.comparison, method, parts, self.seed, settings, callbacks, initial)
            except DivergenceError as error:
                yield method, self.seed, error
                if number == 0:
                    return
                continue
            initial = estimator if number == 0 and len(self.methods) > 1 else initial
            if method in self.wanted:
                yield method, self.seed, cell


def jobs_of(
    comparison: Comparison,
    lacking: Sequence[str],
    seed: int,
    parts: Sequence[Any],
    place: int,
    model: Parameters,
    models: Mapping[str, Parameters],
) -> Iterator[Job]:
    """Of the lacking rows of a seed. A row that others go on from is trained again where only its record was kept: the same seed
    gives the same weights."""

    def job(*methods: str) -> Job:
        return Job(comparison, methods, tuple(name for name in methods if name in lacking), seed, parts, place, model, models)

    first = comparison.first(lacking)
    chained = [name for name in lacking if first is not None and name != first and comparison.goes_on(name)]
    if first is not None and (chained or first in lacking):
        yield job(first, *chained)
    yield from (job(name) for name in lacking if name != first and name not in chained)


def made(jobs: Sequence[Job], workers: int, watch: Watch, lacks: Callable[[str, int], bool]) -> Iterator[Made]:
    """The cells of all jobs; ``watch``: what looks at a fit of this process; ``lacks``: whether a cell is lacking by now, which
    another command may have made meanwhile."""
    still = (job for job in jobs if any(lacks(name, job.seed) for name in job.wanted))
    if workers == 1:
        for job in still:
            yield from job.cells(watch)
        return
    lacking = list(still)  # now: joblib would ask in a thread of its own, while this one writes the file
    threads = torch.get_num_threads()
    if get_active_backend()[0].supports_return_generator:
        several, way = [lacking], "generator_unordered"
    else:  # Ray's: so many at a time, so that what is made is kept before all is
        several, way = [lacking[k : k + workers] for k in range(0, len(lacking), workers)], "list"
    with workers_may_end(), Parallel(n_jobs=min(workers, max(1, len(lacking))), return_as=way) as parallel:
        for some in several:
            for cells in parallel(delayed(of_one_version)(versions(), _by_a_worker, job, threads) for job in some):
                yield from cells


def _by_a_worker(job: Job, threads: int) -> list[Made]:
    torch.set_num_threads(threads)
    return list(copy.deepcopy(job).cells())  # arrays that processes share may not be written to
