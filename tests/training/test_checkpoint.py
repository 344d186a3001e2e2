"""Checkpoints that were damaged are not gone on with."""

import os
import random

import pytest
from safetensors import safe_open
from safetensors.torch import save_file

from enstruct import EnergyMultiLabelClassifier
from enstruct.errors import ModelFileError
from enstruct.training.checkpoint import Checkpoint


def fit(blocks, path, resume):
    model = EnergyMultiLabelClassifier(
        "seal-nce", hidden=6, layers=1, max_epochs=2, random_state=0, callbacks=[Checkpoint(path, resume)]
    )
    return model.fit(blocks.X[:60], blocks.Y[:60])


@pytest.fixture
def path(blocks, tmp_path):
    fit(blocks, tmp_path / "c", resume=False)
    return tmp_path / "c"


def test_no_flipped_bit_is_gone_on_with(blocks, path):
    whole = path.read_bytes()
    fit(blocks, path, resume=True)
    rng = random.Random(0)
    for _ in range(60):
        wrong = bytearray(whole)
        wrong[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(bytes(wrong))
        with pytest.raises(ModelFileError, match=r"delete it|Delete it"):
            fit(blocks, path, resume=True)


def contents(path):
    with safe_open(path, framework="pt") as file:
        return {key: file.get_tensor(key) for key in file.keys()}, file.metadata()  # noqa: SIM118


@pytest.mark.parametrize("damage", ["other weights", "another name", "no digest", "nested header", "no header"])
def test_what_was_not_written_together_is_refused(damage, blocks, path):
    tensors, metadata = contents(path)
    first = next(key for key in tensors if key.startswith("predictor/"))
    if damage == "other weights":
        tensors[first] = tensors[first] + 1
    elif damage == "another name":
        tensors["x"] = tensors.pop(first)
    elif damage == "no digest":
        del metadata["sha256"]
    elif damage == "nested header":
        metadata["checkpoint"] = "[" * 100_000
    else:
        metadata = None
    save_file(tensors, path, metadata)
    with pytest.raises(ModelFileError, match=r"is damaged|not a readable"):
        fit(blocks, path, resume=True)


def test_a_pipe_is_not_read(blocks, path):
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ModelFileError, match="regular"):
        fit(blocks, path, resume=True)
