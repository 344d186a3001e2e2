"""Workers that are ended are one sentence, and there are no more of them than fits."""

import os

import joblib
import pytest
import torch
from joblib.externals.loky.process_executor import TerminatedWorkerError

from enstruct.errors import WorkerError
from enstruct.estimators import side_by_side


def test_a_worker_that_is_ended():
    with pytest.raises(WorkerError, match="A worker was ended while it fitted"), side_by_side.workers_may_end():
        raise TerminatedWorkerError("a worker process was unexpectedly terminated")
    with pytest.raises(ValueError, match="another"), side_by_side.workers_may_end():
        raise ValueError("another")
    with pytest.raises(torch.OutOfMemoryError), side_by_side.workers_may_end():  # of a fit in this process
        raise torch.OutOfMemoryError("CUDA out of memory")


def test_a_worker_of_another_version():
    here = side_by_side.versions()
    assert side_by_side.of_one_version(here, abs, -1) == 1
    with pytest.raises(WorkerError, match=r"A worker has enstruct .*, and the .* 0\.1\.0: install one version everywhere"):
        side_by_side.of_one_version({**here, "enstruct": "0.1.0"}, abs, -1)


def test_no_more_workers_than_fits(monkeypatch):
    begun = []
    whole = side_by_side.Parallel

    def parallel(**settings):
        begun.append(settings.get("n_jobs"))
        return whole(**settings)

    monkeypatch.setattr(side_by_side, "Parallel", parallel)
    with joblib.parallel_config("threading", n_jobs=50):
        assert side_by_side.side_by_side() == 50
        assert side_by_side.done_by_workers(os.getpid, [(), ()]) == [os.getpid()] * 2
    assert side_by_side.done_by_workers(os.getpid, []) == []
    assert begun == [None, None, 2, None, 1]
