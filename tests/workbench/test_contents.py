"""What a row shows."""

import base64

import numpy as np
import pytest
from scipy import sparse

from enstruct.data.dataset import Dataset
from enstruct.errors import DataError
from enstruct.workbench.contents import SHOWN, Contents

Y = sparse.csr_matrix((5, 1), dtype=np.uint8)


def table(X):
    return Dataset(X, Y, tuple(f"f{i}" for i in range(X.shape[1])), ("a",))


def test_the_strongest_features_come_first():
    X = np.zeros((5, 30))
    X[:, 3], X[2, 7] = [1, 2, 3, 4, 500], 1
    assert Contents(table(X)).of(4)["features"][0][:2] == ["f3", 500.0]
    assert Contents(table(X)).of(2)["features"][0] == ["f7", 1.0, 2.0]
    assert len(Contents(table(X)).of(0)["features"]) == SHOWN


def test_of_sparse_rows_what_is_there_alone():
    X = np.zeros((5, 30))
    X[1, [2, 9]] = 1, 3
    assert {name for name, _, _ in Contents(table(sparse.csr_matrix(X))).of(1)["features"]} == {"f2", "f9"}


def test_missing_cells_are_left_out():
    X = np.arange(15.0).reshape(5, 3)
    X[0, 1] = np.nan
    assert [name for name, _, _ in Contents(table(X)).of(0)["features"]] == ["f0", "f2"]


def test_pictures(tmp_path):
    (tmp_path / "p.png").write_bytes(b"png")
    shown = Contents(table(np.zeros((5, 0))), (["p.png", "q.jpg", "p.png", "p.png", "p.png"], tmp_path))
    assert shown.of(0)["picture"] == f"data:image/png;base64,{base64.b64encode(b'png').decode()}"
    assert shown.of(1)["picture"] is None  # it is not there


@pytest.mark.parametrize("name", ["../x.png", "/etc/x.png", "a/../../x.png", "x.svg", "x.html", ""])
def test_pictures_elsewhere_are_refused(tmp_path, name):
    with pytest.raises(DataError, match="row 1"):
        Contents(table(np.zeros((5, 0))), (["p.png", name, "p.png", "p.png", "p.png"], tmp_path))


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "p.png").symlink_to("/etc/hostname")
    with pytest.raises(DataError, match="outside"):
        Contents(table(np.zeros((5, 0))), (["p.png"] * 5, tmp_path / "in"))
