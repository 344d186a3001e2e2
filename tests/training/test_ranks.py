"""Several processes train as one would on whole batches: the same losses, the same networks on all, and what they refuse."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch
import torch.distributed as dist

from enstruct import AutoMultiLabelClassifier, EnergyMultiLabelClassifier, EnergySegmenter, EnergySequenceTagger
from enstruct.data.synthetic import block_exclusive, ellipses
from enstruct.encoders import tokens
from enstruct.errors import ConfigError, EnstructError
from enstruct.joint import pixels
from enstruct.training import ranks
from enstruct.training.callbacks import Callback
from enstruct.training.checkpoint import Checkpoint
from enstruct.training.ranks import Ranks, alone

SENTENCES = [["a", "dog", "barks"], ["the", "cat"], ["dogs", "bark", "at", "cats"], ["a", "a", "a", "cat", "barks"]] * 8
TAGS = [["D", "N", "V"], ["D", "N"], ["N", "V", "P", "N"], ["D", "D", "D", "N", "V"]] * 8
BLOCKS = block_exclusive(90)
WEIGHTS = np.random.default_rng(0).uniform(0.1, 2.0, len(BLOCKS))
SETTINGS = {"max_epochs": 3, "n_iter_no_change": 3, "random_state": 0, "learning_rate": 1e-2}
FITS = {
    **{
        name: (EnergyMultiLabelClassifier, name, {"hidden": 16, "dropout": 0.0}, (BLOCKS.X, BLOCKS.Y))
        for name in ("cross-entropy", "seal-margin", "infnet+", "spen")
    },
    "cycles": (
        EnergyMultiLabelClassifier,
        "cross-entropy",
        {"hidden": 16, "dropout": 0.0, "max_epochs": "auto", "n_iter_no_change": "auto", "batch_size": "auto"},
        (BLOCKS.X, BLOCKS.Y),
    ),
    "weighted": (EnergyMultiLabelClassifier, "cross-entropy", {"hidden": 16, "dropout": 0.0}, (BLOCKS.X, BLOCKS.Y, WEIGHTS)),
    "tags": (EnergySequenceTagger, "seal-margin", {"hidden": 8, "embedding_dim": 8, "dropout": 0.0}, (SENTENCES, TAGS)),
    "masks": (EnergySegmenter, "seal-regression", {"width": 4, "levels": 2}, ellipses(30, 12)),
}
"""Fits without random numbers of a batch's own."""


class Normalised(torch.nn.Module):
    """With running statistics, which are of the rows that a rank sees."""

    def __init__(self, width):
        super().__init__()
        self.layer, self.norm, self.out_features = torch.nn.Linear(width, 8), torch.nn.BatchNorm1d(8), 8

    def forward(self, x):
        return torch.relu(self.norm(self.layer(x)))


class EndsEarly(Callback):
    """On the second rank alone."""

    def on_epoch_end(self, loop, record):
        if dist.get_rank() == dist.get_world_size() - 1:
            loop.stop()


class Interrupted(Callback):
    """Once two epochs are done, on all."""

    def on_epoch_end(self, loop, record):
        if record["epoch"] == 2:
            raise KeyboardInterrupt


class Killed(Callback):
    """The last rank, once an epoch is done."""

    def on_epoch_end(self, loop, record):
        if dist.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)


def new(name, **changes):
    estimator, method, parameters, _ = FITS[name]
    return estimator(changes.pop("method", method), **{**SETTINGS, **parameters, **changes})


def seen(model):
    keys = ("predictor_loss", "energy_loss", "score")
    return {
        "losses": [{key: record[key] for key in keys if key in record} for record in model.history_],
        "weights": [weights.detach().clone() for weights in model.predictor_.parameters()],
        "epochs": len(model.history_),
        "rules": model.decision_scores_,
    }


def told(work):
    try:
        work()
    except EnstructError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def of_another_version(rank, X, Y):
    def fit():
        with mock.patch.object(ranks, "versions", return_value={"enstruct": "1", "torch": f"2.0.{rank}"}):
            new("cross-entropy").fit(X, Y)

    return fit


def worker(rank, n, folder):
    """What one of ``n`` processes finds."""
    torch.set_num_threads(1)
    tokens.UNKNOWN = 0.0
    pixels.STEPS = 2  # of a field that nothing here asks
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=n, timeout=timedelta(seconds=60)
    )
    found = {"folder": Path(folder)} | {name: seen(new(name).fit(*data)) for name, (*_, data) in FITS.items()}
    X, Y = BLOCKS.X, BLOCKS.Y
    stopped = new("cross-entropy", callbacks=[EndsEarly()]).fit(X, Y)
    found["stopped"] = seen(stopped)
    path = Path(folder) / "checkpoint"
    with suppress(KeyboardInterrupt):
        new("seal-margin", callbacks=[Checkpoint(path), Interrupted()]).fit(X, Y)
    dist.barrier()
    if rank == 0:
        shutil.copy(path, Path(folder) / "interrupted")
    found["resumed"] = seen(new("seal-margin", callbacks=[Checkpoint(path, resume=True)]).fit(X, Y))
    found["sampled"] = seen(new("cross-entropy", dropout=0.5).fit(X, Y))
    found["normalised"] = seen(new("spen", encoder=Normalised, batch_size=24).fit(X, Y))
    found["one more"] = seen(new("cross-entropy", encoder=Normalised, batch_size=32, early_stopping=False).fit(X[:67], Y[:67]))
    torch.manual_seed(rank)
    own = torch.nn.Sequential(torch.nn.Linear(X.shape[1], 8), torch.nn.ReLU())
    own.out_features = 8
    found["first weights"] = seen(new("cross-entropy", method="seal-static-nce", encoder=own).fit(X, Y))
    found["passes"] = seen(new("cross-entropy").partial_fit(X, Y).partial_fit(X, Y))["weights"] if n == 2 else []
    if n > 1:
        if rank == 0:
            with alone():
                found["alone"] = len(new("cross-entropy").fit(X, Y).history_)
        spoilt = X.copy()
        spoilt[:, 0] = 3e38 * (np.arange(len(X)) == 40)  # a row that one of the ranks meets first
        found["spoilt"] = told(lambda: new("cross-entropy", standardize=False, early_stopping=False).fit(spoilt, Y))
        found["refused"] = [
            told(lambda: new("cross-entropy", random_state=rank).fit(X, Y)),
            told(lambda: new("cross-entropy").fit(X[:, ::-1] if rank else X, Y)),
            told(lambda: new("cross-entropy").fit(X[: 60 + rank], Y[: 60 + rank])),
            told(lambda: EnergyMultiLabelClassifier().fit(X, Y)),
            told(lambda: AutoMultiLabelClassifier().fit(X, Y)),
            told(lambda: EnergyMultiLabelClassifier("implicit-cd", **SETTINGS).fit(X, Y)),
            told(of_another_version(rank, X, Y)),
        ]
        found["diverged"] = told(lambda: new("cross-entropy", learning_rate=1e30, clip=None, optimizer="sgd").fit(X, Y))
    torch.save(found, f"{folder}/{rank}.pt")
    dist.barrier()
    if n == 2:
        begin = time.monotonic()
        print(
            told(lambda: new("cross-entropy", callbacks=[Killed()]).fit(BLOCKS.X, BLOCKS.Y)), time.monotonic() - begin, sep="\n"
        )
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """``found[n]``: what each of n processes found; in the end the second of two is killed, and ``found["said"]`` the first."""
    folders = {n: tmp_path_factory.mktemp(f"ranks-{n}") for n in (1, 2)}
    running = {}
    for n, folder in folders.items():
        commands = [[sys.executable, __file__, str(rank), str(n), str(folder)] for rank in range(n)]
        running[n] = [subprocess.Popen(one, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for one in commands]
    ends = {n: [process.communicate(timeout=240) for process in processes] for n, processes in running.items()}
    assert {n: [process.returncode for process in processes] for n, processes in running.items()} == {
        1: [0],
        2: [0, -signal.SIGKILL],
    }, ends
    found = {n: [torch.load(folders[n] / f"{rank}.pt", weights_only=False) for rank in range(n)] for n in folders}
    return found | {"said": ends[2][0][0]}


@pytest.mark.parametrize("name", FITS)
def test_two_processes_have_the_losses_of_one(name, found):
    alone, (first, second) = found[1][0][name], (of[name] for of in found[2])
    assert alone["epochs"] >= 3
    for ours, theirs in zip(first["losses"], alone["losses"], strict=True):
        assert ours.keys() == theirs.keys()
        np.testing.assert_allclose(list(ours.values()), list(theirs.values()), rtol=1e-5, atol=1e-5)
    assert all(torch.equal(a, b) for a, b in zip(first["weights"], second["weights"], strict=True))
    assert first["rules"] == second["rules"]


def test_numbers_of_a_batch_are_each_ranks_own_and_networks_the_same(found):
    first, second = (of["sampled"] for of in found[2])
    assert all(torch.equal(a, b) for a, b in zip(first["weights"], second["weights"], strict=True))
    assert not torch.equal(first["weights"][0], found[1][0]["sampled"]["weights"][0])
    passes = [of["passes"] for of in found[2]]
    assert all(torch.equal(a, b) for a, b in zip(*passes, strict=True))


@pytest.mark.parametrize("name", ["normalised", "one more", "first weights"])
def test_networks_are_the_same_whatever_is_in_them(name, found):
    first, second = (of[name] for of in found[2])
    assert all(torch.equal(a, b) for a, b in zip(first["weights"], second["weights"], strict=True))
    assert first["losses"] == second["losses"]


def test_one_rank_may_fit_alone_and_all_hear_of_what_one_meets(found):
    assert found[2][0]["alone"] >= 3
    assert found[2][0]["spoilt"] == found[2][1]["spoilt"]
    assert "DivergenceError" in found[2][0]["spoilt"]


def test_all_stop_where_one_does(found):
    assert [of["stopped"]["epochs"] for of in found[2]] == [1, 1]


def test_a_run_goes_on_as_if_it_had_not_been_interrupted(found):
    for of in (*found[1], *found[2]):
        assert all(torch.equal(a, b) for a, b in zip(of["resumed"]["weights"], of["seal-margin"]["weights"], strict=True))
        assert of["resumed"]["losses"] == of["seal-margin"]["losses"]


@pytest.mark.parametrize("n", [1, 2])
def test_a_run_goes_on_with_another_number_of_processes(n, found):
    """Here with one that is of no group."""
    callbacks = [Checkpoint(found[n][0]["folder"] / "interrupted", resume=True)]
    model = new("seal-margin", callbacks=callbacks).fit(BLOCKS.X, BLOCKS.Y)
    assert seen(model)["losses"][:2] == found[n][0]["seal-margin"]["losses"][:2]
    assert len(model.history_) == 3
    with pytest.raises(EnstructError, match="other settings"):
        new("seal-margin", max_epochs=4, callbacks=callbacks).fit(BLOCKS.X, BLOCKS.Y)


def test_what_ranks_cannot_agree_on_is_one_sentence_on_each(found):
    for first, second in zip(*(of["refused"] for of in found[2]), strict=True):
        assert first == second
        assert first.startswith("ConfigError: ")
        assert len(first) < 300
    seeds, rows, number, joint, auto, implicit, versions = found[2][0]["refused"]
    assert "seeds" in seeds
    assert "sums over training rows" in rows
    assert "numbers of training rows" in number
    assert "a group of 2" in joint
    assert "a group of 2" in auto
    assert "differentiates" in implicit
    assert "differ in torch: 2.0.0, 2.0.1. Install one version" in versions
    assert found[2][0]["diverged"] == found[2][1]["diverged"]
    assert "DivergenceError" in found[2][0]["diverged"]


def test_a_killed_process_ends_all_with_one_sentence(found):
    message, seconds = found["said"].splitlines()
    assert "Another process of this training has ended" in message
    assert float(seconds) < 60


def test_shares_are_all_rows_once_and_small_batches_join():
    order = [np.arange(0, 5), np.arange(5, 6), np.arange(6, 8), np.arange(8, 9)]
    shares = [Ranks(number, 3, 0).shares(order) for number in range(3)]
    assert len({len(share) for share in shares}) == 1
    assert all(len(index) for share in shares for index in share)
    assert sorted(np.concatenate([index for share in shares for index in share])) == list(range(9))
    with pytest.raises(ConfigError, match="2 training rows are too few for 3 processes"):
        Ranks(0, 3, 0).shares([np.arange(2)])


def test_seeds_are_of_a_place_and_a_rank():
    first, second = Ranks(0, 2, 5), Ranks(1, 2, 5)
    assert first.seed_of(0, 3, own=False) == second.seed_of(0, 3, own=False)
    seeds = {rank.seed_of(0, epoch, own=True) for rank in (first, second) for epoch in range(3)}
    assert len(seeds) == 6


if __name__ == "__main__":
    worker(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])


@pytest.mark.parametrize("n", [2, 3, 5, 8])
@pytest.mark.parametrize("sizes", [[8] * 50, [32] * 7 + [3], [3] * 5, [16, 1, 16, 1], [40, 2]])
def test_batches_that_are_small_for_all_join_no_farther_than_they_must(n, sizes):
    ends = np.cumsum([0, *sizes])
    order = [np.arange(a, b) for a, b in pairwise(ends)]
    shares = [Ranks(number, n, 0).shares(order) for number in range(n)]
    whole = [np.sort(np.concatenate(parts)) for parts in zip(*shares, strict=True)]
    assert np.array_equal(np.concatenate(whole), np.arange(ends[-1]))
    assert all(len(batch) >= min(2 * n, ends[-1]) for batch in whole)
    assert all(len(batch) < 4 * n + max(sizes) for batch in whole)
