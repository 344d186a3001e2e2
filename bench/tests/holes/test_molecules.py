"""Assays of molecules."""

import sys

import numpy as np
import pytest
from bench.tests.either import main

from enstruct.errors import DatasetNotFoundError, MissingExtraError, ParseError
from enstruct_bench.holes.molecules import BITS, load_molecules

LINES = "smiles,p,q\nCCO,0,\nnonsense,1,1\nc1ccccc1,1.0,0\n"


@pytest.fixture
def file(tmp_path, monkeypatch):
    path = tmp_path / "multilabel" / "sider" / "sider.csv"
    path.parent.mkdir(parents=True)
    path.write_text(LINES)
    monkeypatch.setenv("ENSTRUCT_DATA", str(tmp_path))
    return path


def test_molecules_are_read_and_those_that_cannot_be_are_counted(file):
    data, unreadable = load_molecules("sider")
    assert unreadable == 1
    assert data.label_names == ("p", "q")
    assert np.array_equal(data.told(), [[0, np.nan], [1, 0]], equal_nan=True)
    assert data.X.shape == (2, BITS)
    assert set(data.X.data) == {1.0}
    assert (load_molecules("sider").data.X != data.X).nnz == 0


def test_cells_that_are_no_labels_are_named(file):
    file.write_text(LINES.replace("1.0", "high"))
    with pytest.raises(ParseError, match="'high'"):
        load_molecules("sider")
    file.write_text(LINES.replace("smiles", "molecule"))
    with pytest.raises(ParseError, match="no column smiles"):
        load_molecules("sider")


def test_without_rdkit_it_is_named(file, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(MissingExtraError, match=r"bench\[molecules\]"):
        load_molecules("sider")
    assert main(["holes", "sider"]) == 2
    assert "need rdkit" in capsys.readouterr().err


def test_sets_that_are_not_there(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ENSTRUCT_DATA", str(tmp_path))
    with pytest.raises(DatasetNotFoundError, match="tox21"):
        load_molecules("tox21")
    assert main(["holes", "tox21", "--labels", "-2"]) == 2
    assert "knows its labels" in capsys.readouterr().err
