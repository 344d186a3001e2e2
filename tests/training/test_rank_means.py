"""Means over the rows of several real processes, by memory that they share and, where they do not, by their group's engine."""

import copy
import os
import pickle
import socket
import subprocess
import sys
import time
from datetime import timedelta
from unittest import mock

import numpy as np
import pytest
import torch
import torch.distributed as dist

from enstruct.errors import EnstructError
from enstruct.training import rank_means
from enstruct.training.rank_means import RankMeans

N, CALLS = 3, 4
ROWS = (5, 1, 2)


def parts(rank, call, dtype=torch.float32):
    """Two tensors of several axes, the second not laid out in order, and one number."""
    rng = torch.Generator().manual_seed(10 * rank + call)
    a, b, c = (torch.randn(shape, generator=rng, dtype=dtype) for shape in ((3, 5), (7, 2), ()))
    return [a, b.T, c]


def wanted(call, dtype=torch.float32):
    total = sum(ROWS)
    flat = [torch.cat([part.flatten() for part in parts(rank, call, dtype)]).double() for rank in range(N)]
    return sum(rows * one for rows, one in zip(ROWS, flat, strict=True)) / total


def averaged(rank, **changes):
    """What :class:`RankMeans` says in several calls, each kept apart."""
    means = RankMeans()
    dtype = changes.get("dtype", torch.float32)
    found = [
        [numbers.clone(), rows] for numbers, rows in (means.of(parts(rank, call, dtype), ROWS[rank]) for call in range(CALLS))
    ]
    assert (means._neighbours is not None) == changes.get("shared", True)
    return found


def handles():
    """How many are open: memory that is mapped needs none."""
    return len(os.listdir("/proc/self/fd"))


def interrupted(rank):
    """What each is told, and how soon, once one was stopped after it said that it is there: then, and at the call after it."""
    means, told = RankMeans(), []
    means.of(parts(rank, 0), 1)

    def stopped(neighbours):
        for one in neighbours.sockets:
            one.sendall(b"+")
        raise KeyboardInterrupt

    begin = time.monotonic()
    for attempt in range(2):
        with mock.patch.object(rank_means.Neighbours, "meet", stopped) if (rank, attempt) == (1, 0) else mock.MagicMock():
            try:
                means.of(parts(rank, 1), 1)
                told.append("")
            except (EnstructError, KeyboardInterrupt) as error:
                told.append(type(error).__name__)
    return told, time.monotonic() - begin


def worker(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=N, timeout=timedelta(seconds=60)
    )
    found = {"shared": averaged(rank), "in doubles": averaged(rank, dtype=torch.float64)}
    with mock.patch.object(os, "memfd_create", side_effect=OSError("no memory")):
        found["none to be had"] = averaged(rank, shared=False)
    with mock.patch.object(rank_means, "_connected", return_value=[]) if rank == 2 else mock.MagicMock():
        found["one on another machine"] = averaged(rank, shared=False)
    with mock.patch.object(socket, "recv_fds", side_effect=ValueError) if rank == 2 else mock.MagicMock():
        found["one that gets no memory"] = averaged(rank, shared=False)
    means = RankMeans()
    infinite = torch.tensor([np.inf, 1.0]) if rank == 1 else torch.ones(2)
    found["infinite"] = means.of([infinite], ROWS[rank])[0].clone()
    means = RankMeans()
    means.of(parts(rank, 0), ROWS[rank])
    found["seconds"] = means._neighbours.sockets[0].gettimeout()
    found["other sizes"] = means.of([torch.full((2,), rank, dtype=torch.float64)], 1)[0].clone()
    copies = [copy.deepcopy(means), pickle.loads(pickle.dumps(means))]
    found["copies"] = [(one._neighbours, one.of(parts(rank, 1), ROWS[rank])[0].clone()) for one in copies]
    before = handles()
    many = [RankMeans() for _ in range(5)]
    for one in many:
        one.of(parts(rank, 0), 1)
    del one
    many.clear()  # whose sockets are closed, without a warning
    found["handles"] = handles() - before
    found["interrupted"] = interrupted(rank)
    torch.save(found, f"{folder}/{rank}.pt")
    means.of(parts(rank, 0), ROWS[rank])
    dist.barrier()
    if rank == 2:
        os._exit(0)
    begin = time.monotonic()
    try:
        for call in range(100):
            means.of(parts(rank, call), 1)
    except EnstructError as error:
        print(error, time.monotonic() - begin, sep="\n")
    os._exit(0)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """(what each rank found, what the others said once the last had ended)."""
    folder = tmp_path_factory.mktemp("means")
    commands = [[sys.executable, "-W", "error", __file__, str(rank), str(folder)] for rank in range(N)]
    running = [subprocess.Popen(one, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for one in commands]
    told = [process.communicate(timeout=120) for process in running]
    assert all(process.returncode == 0 and not said for process, (_, said) in zip(running, told, strict=True)), told
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(N)], [said for said, _ in told]


@pytest.mark.parametrize("how", ["shared", "none to be had", "one on another machine", "one that gets no memory"])
def test_means_count_every_row_of_every_rank(how, ranks):
    found, _ = ranks
    for call in range(CALLS):
        of_call = [of[how][call] for of in found]
        assert all(rows == sum(ROWS) for _, rows in of_call)
        torch.testing.assert_close(of_call[0][0], wanted(call).float())
        assert all(torch.equal(numbers, of_call[0][0]) for numbers, _ in of_call)


def test_doubles_stay_doubles(ranks):
    for call in range(CALLS):
        numbers, _ = ranks[0][1]["in doubles"][call]
        torch.testing.assert_close(numbers, wanted(call, torch.float64), rtol=1e-13, atol=1e-13)


def test_what_is_infinite_on_one_is_infinite(ranks):
    assert all(of["infinite"].tolist() == [np.inf, 1.0] for of in ranks[0])


def test_memory_is_of_its_sizes_and_its_owner(ranks):
    for of in ranks[0]:
        assert of["seconds"] == 60, "as its group"
        assert of["other sizes"].tolist() == [1.0, 1.0]
        assert of["other sizes"].dtype == torch.float64
        for neighbours, numbers in of["copies"]:
            assert neighbours is None
            torch.testing.assert_close(numbers, wanted(1).float())


def test_handles_are_closed(ranks):
    assert [of["handles"] for of in ranks[0]] == [0] * N


def test_none_goes_on_after_one_was_interrupted(ranks):
    for number, of in enumerate(ranks[0]):
        told, seconds = of["interrupted"]
        assert told == ["KeyboardInterrupt" if number == 1 else "EnstructError", "EnstructError"]
        assert seconds < 30


def test_a_rank_that_has_ended_ends_the_others(ranks):
    for said in ranks[1][:2]:
        message, seconds = said.splitlines()
        assert "Another process of this training has ended" in message
        assert "gloo" not in message, "not what the sockets tell"
        assert float(seconds) < 30


if __name__ == "__main__":  # a rank
    worker(int(sys.argv[1]), sys.argv[2])
