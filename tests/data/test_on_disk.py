"""Folders of arrays: what is written is read, and damage of any kind is one sentence."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from enstruct.data.dataset import Dataset
from enstruct.data.hierarchy import Hierarchy
from enstruct.data.load import load
from enstruct.data.mapped import MappedRows
from enstruct.data.on_disk import is_on_disk, read_on_disk, write_on_disk
from enstruct.errors import DataError, EnstructError, ParseError

rng = np.random.default_rng(0)
Y = sparse.random(50, 4, 0.4, "csr", rng=rng).astype(bool).astype(np.uint8)
SETS = {
    "sparse": Dataset(sparse.random(50, 9, 0.3, "csr", rng=rng), Y, tuple(f"f{i}" for i in range(9)), tuple("abcd")),
    "dense": Dataset(rng.normal(size=(50, 3)), Y, ("x", "y", "z"), tuple("abcd")),
}


WRAPPING = np.array([2**63 - 1, -(2**63)]).tobytes()
"""Numbers whose difference is beyond their type."""


def dense(X):
    X = X.read() if isinstance(X, MappedRows) else X
    return X.toarray() if sparse.issparse(X) else X


@pytest.fixture(params=SETS)
def written(request, tmp_path):
    write_on_disk(tmp_path / "rows", SETS[request.param])
    return SETS[request.param], tmp_path / "rows"


def test_what_is_written_is_read(written):
    data, folder = written
    assert is_on_disk(folder)
    again = load(folder)
    np.testing.assert_allclose(dense(again.X), dense(data.X), rtol=1e-6)
    assert (again.Y != data.Y).nnz == 0
    assert again.feature_names == data.feature_names
    assert again.label_names == data.label_names
    assert not again.has_missing
    assert not again.holds_texts
    write_on_disk(folder, again)  # onto itself: what is mapped is whole until the new one is
    np.testing.assert_allclose(dense(load(folder).X), dense(data.X), rtol=1e-6)


def test_a_hierarchy_is_kept_and_one_that_is_none_refused(tmp_path):
    tree = Hierarchy(4, ((0, 1), (1, 2)))
    write_on_disk(tmp_path / "a", replace(SETS["dense"], hierarchy=tree))
    assert read_on_disk(tmp_path / "a").hierarchy == tree
    write_on_disk(tmp_path / "b", read_on_disk(tmp_path / "a"))
    assert read_on_disk(tmp_path / "b").hierarchy == tree
    layout = json.loads((tmp_path / "a" / "layout.json").read_text())
    for edges in ([[0, 9]], [[0, 1], [1, 0]], [[0]], "tree"):
        (tmp_path / "a" / "layout.json").write_text(json.dumps({**layout, "hierarchy": edges}))
        with pytest.raises(ParseError, match=r"hierarchy is none|cannot be read"):
            read_on_disk(tmp_path / "a")


def test_labels_in_any_order_and_zeros_that_are_stored(tmp_path):
    Y = sparse.csr_matrix((np.array([1, 0, 1, 1], np.uint8), [3, 1, 2, 0], [0, 2, 4]), shape=(2, 4))
    write_on_disk(tmp_path / "a", Dataset(sparse.coo_matrix(np.eye(2)), Y, ("x", "y"), tuple("abcd")))
    read = read_on_disk(tmp_path / "a")
    assert read.Y.toarray().tolist() == [[0, 0, 0, 1], [1, 0, 1, 0]]
    assert read.X.read().toarray().tolist() == [[1, 0], [0, 1]]


def test_what_is_no_data_set_is_not_replaced(tmp_path):
    folder, file = tmp_path / "thesis", tmp_path / "work.txt"
    folder.mkdir()
    for place in (folder / "work.txt", file):
        place.write_text("years")
    with pytest.raises(DataError, match=r"thesis is not replaced: it holds 'work\.txt'"):
        write_on_disk(folder, SETS["dense"])
    with pytest.raises(DataError, match="is a file"):
        write_on_disk(file, SETS["dense"])
    assert [place.read_text() for place in (folder / "work.txt", file)] == ["years"] * 2
    assert {entry.name for entry in tmp_path.iterdir()} == {"thesis", "work.txt"}
    with pytest.raises(DataError, match="There is no folder"):
        read_on_disk(tmp_path / "nope")
    write_on_disk(tmp_path / "set", SETS["dense"])
    (tmp_path / "set" / "y_indptr.bin").unlink()
    with pytest.raises(ParseError, match=r"no y_indptr\.bin, which"):
        read_on_disk(tmp_path / "set")


def test_what_cannot_be_written(tmp_path):
    data = SETS["dense"]
    gap = data.X.copy()
    gap[3, 1] = np.nan
    huge = data.X * 1e200
    unknown = np.zeros(data.Y.shape, bool)
    unknown[0, 0] = True
    texts = np.array(["a"] * 50, dtype=object)
    for X, holes, error in [
        (gap, None, r"Row 3, feature 1 \(both from 0\): nan is missing"),
        (sparse.csr_matrix(gap), None, "Row 3, feature 1 "),
        (huge, None, "precision"),
        (data.X, unknown, "unknown"),
        (texts, None, "texts"),
    ]:
        with pytest.raises(DataError, match=error):
            write_on_disk(tmp_path / "rows", Dataset(X, data.Y, data.feature_names, data.label_names, unknown=holes))
        assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("file", "damage", "error"),
    [
        ("x_values.bin", lambda b: b[:-4], "x_values.bin of"),
        ("y_indices.bin", lambda b: b[:-1] + bytes([b[-1] ^ 64]), "columns beyond"),
        ("y_indptr.bin", lambda b: b[:8] + b"\xff" * 8 + b[16:], "y_indptr.bin"),
        (
            "y_indptr.bin",
            lambda b: b[:8] + np.array([2**63 - 1, -(2**63)]).tobytes() + b[24:],
            "y_indptr.bin",
        ),  # differences wrap
        ("y_indices.bin", lambda b: np.zeros(len(b) // 4, "<i4").tobytes(), "do not rise"),
        ("layout.json", lambda b: b.replace(b'"first_feature":null', b'"first_feature":-5'), "counts"),
        ("layout.json", lambda b: b[:-5], "cannot be read"),
        ("layout.json", lambda b: b.replace(b'"format":1', b'"format":9'), "format 9"),
        ("layout.json", lambda b: b.replace(b'"rows":50', b'"rows":51'), "rebuild|anew"),
        ("layout.json", lambda b: b.replace(b'"rows":50', b'"rows":-1'), "counts"),
        ("layout.json", lambda b: b.replace(b'["a",', b'["b",'), "two labels"),
        ("layout.json", lambda b: b.replace(b'"labels":4', b'"labels":"4"'), "cannot be read"),
        ("layout.json", lambda b: b"[" * 100000, "cannot be read"),
    ],
)
def test_damage_is_one_sentence(file, damage, error, written):
    _, folder = written
    content = (folder / file).read_bytes()
    (folder / file).write_bytes(damage(content))
    with pytest.raises(ParseError, match=error) as caught:
        read_on_disk(folder)
    assert len(str(caught.value)) <= 300 + len(str(folder))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_damage_is_read_or_refused(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("damage") / "rows"
    write_on_disk(folder, SETS[data.draw(st.sampled_from([*SETS]))])
    file = folder / data.draw(st.sampled_from(sorted(path.name for path in folder.iterdir())))
    content = bytearray(file.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] = data.draw(st.integers(0, 255))
    file.write_bytes(content)
    try:
        dense(read_on_disk(folder).X)
    except EnstructError:
        pass
    finally:
        shutil.rmtree(folder.parent)


def test_a_layout_that_promises_more_columns_than_there_are_numbers(written):
    _, folder = written
    layout = json.loads((folder / "layout.json").read_text())
    layout |= {"features": 2**25, "feature_names": None}
    (folder / "layout.json").write_text(json.dumps(layout))
    with pytest.raises(ParseError, match="counts"):
        read_on_disk(folder)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_are_found_when_the_folder_is_read(value, written):
    _, folder = written
    file = folder / "x_values.bin"
    file.write_bytes(np.array([value], "<f4").tobytes() + file.read_bytes()[4:])
    with pytest.raises(ParseError, match="not finite"):
        read_on_disk(folder)
