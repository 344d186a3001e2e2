"""The real files, read whole: their published shapes."""

import hashlib
import lzma

import pytest

from enstruct.data.catalogue import CATALOGUE
from enstruct.data.load import load, load_splits
from enstruct.data.tables.read import read_table

pytestmark = pytest.mark.real

SHAPES = {
    "bibtex": (7395, 1836, 159, 2.402),
    "delicious": (16105, 500, 983, 19.020),
    "genbase": (662, 1185, 27, 1.252),
    "yeast": (2417, 103, 14, 4.237),
    "cal500": (502, 68, 174, 26.044),
    "rcv1": (6000, 47236, 101, 2.880),
}


@pytest.mark.parametrize("name", SHAPES)
def test_published_shapes(real_data, name):
    data = load(name)
    assert (*data.X.shape, data.Y.shape[1]) == SHAPES[name][:3]
    assert data.Y.sum() / len(data) == pytest.approx(SHAPES[name][3], abs=6e-4)


def test_genbase_means_yes_by_one(real_data):
    assert load("genbase").X.mean() < 0.01  # read by declared order it would be 0.998


def test_hierarchical_sets(real_data):
    splits = load_splits("spo_FUN")
    assert [len(part) for part in splits.parts().values()] == [1600, 837, 1266]
    assert splits.train.Y.shape[1] == 499
    assert splits.test.Y.sum() / 1266 == pytest.approx(8.93, abs=0.02)  # closure; leaves alone would be 3.28
    assert splits.train.has_missing
    assert load("spo_GO", "train").Y.shape[1] > 4000


@pytest.mark.parametrize("name", ["bibtex", "delicious", "yeast", "cal500"])
def test_public_copies_are_the_same_bytes(real_data, name):
    entry = CATALOGUE[name]
    content = lzma.decompress((real_data / entry.parts["full"]).read_bytes())
    assert hashlib.sha256(content).hexdigest() == entry.sha256


@pytest.mark.parametrize(
    ("name", "shape", "share"), [("toxcast.csv.gz", (8576, 617), 0.710), ("tox21.csv.xz", (7831, 12), 0.170)]
)
def test_cells_of_assays_that_were_not_observed(real_data, name, shape, share):
    """Shapes and shares as the notes beside the data have them."""
    data = read_table(real_data / "multilabel" / name.split(".")[0] / name, -shape[1], ["smiles"])
    assert data.Y.shape == shape
    assert data.unknown.mean() == pytest.approx(share, abs=1e-3)  # the notes cut what is beyond a tenth of a percent
    assert data.Y.sum() / len(data) == pytest.approx({617: 14.77, 12: 0.749}[shape[1]], abs=5e-3)
