"""``enstruct train`` as torch's launcher starts it: one model from two processes, and what stands in the way."""

import signal
import socket
import subprocess
import sys
from datetime import timedelta

import numpy as np
import pytest
import torch

from enstruct import EnergyMultiLabelClassifier
from enstruct.cli import ranks
from enstruct.cli.main import main
from enstruct.data.npz import write_npz
from enstruct.data.synthetic import block_exclusive

LAUNCHER = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", "enstruct.cli.main"]


@pytest.fixture
def data(tmp_path):
    write_npz(tmp_path / "mine.npz", block_exclusive(90, seed=1))
    return tmp_path / "mine.npz"


def train(data, *more):
    settings = ["--model.method", "cross-entropy", "--model.hidden", "8", "--model.max_epochs", "2", "--model.dropout", "0"]
    return ["train", str(data), "--out", str(data.parent / "model"), *settings, *more]


def test_two_processes_save_one_model_and_speak_once(data):
    done = subprocess.run([sys.executable, *LAUNCHER, *train(data)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("saved to") == 1
    assert {path.name for path in data.parent.iterdir()} == {"mine.npz", "model"}
    model = EnergyMultiLabelClassifier.load(data.parent / "model")
    assert np.isfinite(model.predict_proba(np.zeros((2, model.n_features_in_)))).all()


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ({}, "not MASTER_ADDR"),
        ({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "none"}, "cannot be joined at 127.0.0.1:none"),
        ({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "WORLD_SIZE": "many"}, "cannot be joined at 127.0.0.1:1"),
    ],
)
def test_a_group_that_is_not_there(place, error, data, monkeypatch, capsys):
    for name, value in {"WORLD_SIZE": "2", "RANK": "1", **place}.items():
        monkeypatch.setenv(name, value)
    assert main(train(data)) == 2
    said = capsys.readouterr().err
    assert error in said
    assert len(said) < 300
    assert not torch.distributed.is_initialized()


@pytest.mark.parametrize("rank", ["0", "1"])
def test_a_group_whose_others_do_not_come(rank, data, monkeypatch, capsys):
    monkeypatch.setattr(ranks, "JOINING", timedelta(seconds=2))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    for name, value in {"WORLD_SIZE": "2", "RANK": rank, **place}.items():
        monkeypatch.setenv(name, value)
    handler = signal.getsignal(signal.SIGTERM)
    assert main(train(data)) == 2
    assert "cannot be joined at 127.0.0.1" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGTERM) is handler
