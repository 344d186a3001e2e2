"""svmlight, XMC headers and npz."""

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pytest
from scipy import sparse
from tests.damage import with_wrong_bytes

from enstruct.data.dataset import MOST_COLUMNS, Dataset, most_columns
from enstruct.data.load import load, read_file
from enstruct.data.npz import read_npz, write_npz
from enstruct.data.svmlight import read_svmlight
from enstruct.errors import DataError, DatasetNotFoundError, ParseError


def write(tmp_path, text, name="file.svm"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_svmlight_labels_from_zero_features_from_one(tmp_path):
    data = read_svmlight(write(tmp_path, "0,2 1:0.5 3:1\n 2:2.0\n1 3:4 # a comment\n"))
    np.testing.assert_array_equal(data.X.toarray(), [[0.5, 0, 1], [0, 2, 0], [0, 0, 4]])
    assert data.Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]


def test_svmlight_rows_without_labels_keep_their_first_feature(tmp_path):
    data = read_svmlight(write(tmp_path, "3:1 5:2\n1:4\n"), n_labels=2)
    np.testing.assert_array_equal(data.X.toarray(), [[0, 0, 1, 0, 2], [4, 0, 0, 0, 0]])
    assert data.Y.shape == (2, 2)
    assert data.Y.nnz == 0


def test_labels_are_named_for_arff_alone(tmp_path):
    path = write(tmp_path, "0 1:1\n")
    with pytest.raises(DataError, match="leave it out"):
        read_file(path, labels=-2)
    write_npz(tmp_path / "d.npz", Dataset(np.eye(2), sparse.csr_matrix(np.eye(2)), ("a", "b"), ("p", "q")))
    with pytest.raises(DataError, match="leave it out"):
        read_file(tmp_path / "d.npz", labels=-2)


def test_xmc_header_sets_the_shape_and_features_from_zero(tmp_path):
    data = read_svmlight(write(tmp_path, "2 5 4\n0,3 0:1.5 4:1\n2 1:1\n", "file.txt"))
    assert data.X.shape == (2, 5)
    assert data.Y.shape == (2, 4)
    assert data.X[0, 0] == 1.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1:x\n", "line 1: expected feature:value"),
        ("0 1:1\n0 3:1 2:1\n", "line 2: feature 2 is repeated or out of order"),
        ("a 1:1\n", "line 1: labels must be whole numbers"),
        ("3 5 4\n0 0:1\n", "promises 3 rows"),
        ("1 5 4\n7 0:1\n", "line 2: label 7 is outside"),
        ("", "no rows"),
        (" 1:1\n", "no row has a label"),
        ("0 1:nan\n", "line 1"),
        ("0 1:1\n99999999999 2:1\n", "line 2: the number 99999999999 means as many columns"),
        ("0 1:1\n0 99999999999:1\n", "line 2: the number 99999999999 means as many columns"),
        ("0 1:1 ²:3\n", "line 1: expected feature:value"),  # a digit, but not of a number
        ("² 3 4\n0 1:1\n", "line 1: expected feature:value, found '3'"),
        ("1 1:1\n-1,0 1:1\n", "line 2: label -1 is outside"),
    ],
)
def test_damaged_svmlight_is_located(tmp_path, text, message):
    with pytest.raises(ParseError, match=message):
        read_svmlight(write(tmp_path, text))


@pytest.mark.parametrize("name", ["d.npz", "d.svm.gz", "d.svm.xz", "d.svm.bz2"])
def test_wrong_bytes_are_parse_errors(tmp_path, name):
    path, rng = tmp_path / name, np.random.default_rng(0)
    if name == "d.npz":
        write_npz(path, Dataset(rng.random((40, 5)), sparse.csr_matrix(rng.random((40, 3)) < 0.5), tuple("abcde"), tuple("pqr")))
    else:
        text = "".join(f"{i % 3} 1:{x:.5f} 2:{1 - x:.5f}\n" for i, x in enumerate(rng.random(40)))
        path.write_bytes({"gz": gzip, "xz": lzma, "bz2": bz2}[name[6:]].compress(text.encode()))
    said = 0
    for _ in with_wrong_bytes(path):
        try:
            read_file(path)
        except ParseError:
            said += 1
    assert said > 20
    assert len(read_file(path)) == 40


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_npz_round_trip(tmp_path, form):
    X, Y = np.array([[1.0, 0], [0, 2]]), np.array([[1, 0, 1], [0, 0, 0]])
    data = Dataset(form(X), sparse.csr_matrix(Y), ("a", "b"), ("p", "q", "r"))
    write_npz(tmp_path / "d.npz", data)
    again = read_npz(tmp_path / "d.npz")
    assert sparse.issparse(again.X) == sparse.issparse(data.X)
    assert (again.Y != data.Y).nnz == 0
    assert (again.feature_names, again.label_names) == (("a", "b"), ("p", "q", "r"))


def test_bad_npz_is_explained(tmp_path):
    (tmp_path / "bad.npz").write_bytes(b"not a zip")
    np.savez(tmp_path / "rows.npz", X=np.zeros((2, 1)), Y=np.zeros((3, 1)))
    np.savez(tmp_path / "values.npz", X=np.zeros((2, 1)), Y=np.full((2, 1), 3))
    np.savez(tmp_path / "missing.npz", X=np.zeros((2, 1)))
    np.savez(tmp_path / "pickled.npz", X=np.array([{}]), Y=np.zeros((1, 1)))
    for name, message in (
        ("bad", "not a readable"),
        ("rows", "2 rows and Y 3"),
        ("values", "only 0 and 1"),
        ("missing", "no array 'Y'"),
        ("pickled", "without pickled objects"),
    ):
        with pytest.raises(ParseError, match=message):
            read_npz(tmp_path / f"{name}.npz")


def test_labels_of_an_archive_have_names_of_their_own(tmp_path):
    np.savez(tmp_path / "m.npz", X=np.eye(3), Y=np.eye(3), label_names=np.array(["a", "b", "a"]))
    with pytest.raises(ParseError, match="two labels are called 'a'"):
        read_npz(tmp_path / "m.npz")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_labels_of_an_archive_may_be_unknown(tmp_path, form):
    Y = np.array([[1, np.nan, 0], [0, 0, np.nan]])
    parts = {"Y": Y}
    if form is sparse.csr_matrix:
        csr = form(Y)
        parts = {"Y_data": csr.data, "Y_indices": csr.indices, "Y_indptr": csr.indptr, "Y_shape": csr.shape}
    np.savez(tmp_path / "holes.npz", X=np.eye(2), **parts)
    data = read_npz(tmp_path / "holes.npz")
    np.testing.assert_array_equal(data.told(), Y)
    write_npz(tmp_path / "again.npz", data)
    np.testing.assert_array_equal(read_npz(tmp_path / "again.npz").told(), Y)
    assert data.take(np.array([1])).unknown.tolist() == [[False, False, True]]
    full = Dataset(np.eye(2), sparse.csr_matrix([[1], [0]]), ("a", "b"), ("p",), unknown=np.array([[True], [False]]))
    assert full.take(np.array([1])).unknown is None


def test_unknown_suffix_and_unknown_name(tmp_path):
    with pytest.raises(DataError, match="unknown kind of file"):
        read_file(write(tmp_path, "x", "file.doc"))
    with pytest.raises(DatasetNotFoundError, match="Did you mean 'bibtex'"):
        load("bibtx")


def test_svmlight_features_count_from_where_they_are_told(tmp_path):
    path = write(tmp_path, "0 1:0.5\n1 2:1\n")
    assert read_svmlight(path).first_feature == 1
    as_told = read_svmlight(path, n_features=3, first_feature=0)  # feature 0 happens not to occur
    np.testing.assert_array_equal(as_told.X.toarray(), [[0, 0.5, 0], [0, 0, 1]])
    with pytest.raises(ParseError, match=r"[Ii]nvalid index 0"):
        read_svmlight(write(tmp_path, "0 0:1\n"), first_feature=1)


def test_svmlight_rows_without_anything_stay_rows(tmp_path):
    data = read_svmlight(write(tmp_path, "# words\n0 1:1\n \n\n1 2:3\n\n\n"), n_labels=2)
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0], [0, 0], [0, 0], [0, 3]])
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0], [0, 0], [0, 0], [0, 1]])
    with pytest.raises(ParseError, match="line 4"):
        read_svmlight(write(tmp_path, "# words\n0 1:1\n\n0 x\n"))


def csr(data, indices, indptr, shape):
    return {f"X_{k}": np.array(v) for k, v in {"data": data, "indices": indices, "indptr": indptr, "shape": shape}.items()}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (csr([1.0], [7], [0, 1], [1, 3]), "no CSR matrix"),
        (csr([1.0], [0], [0, 1, 1], [1, 3]), "no CSR matrix"),
        (csr([1.0], [0], [0, 1], [1]), "X_shape"),
        (csr([1.0], [0], [0, 1], [1, 10**12]), "X has 1000000000000 columns, more than"),
        ({"X": np.zeros(1)}, r"X must be a matrix \(rows, columns\)"),
        ({"X": np.array([["a"]])}, "of numbers"),
        ({"X": np.zeros((1, 2)), "feature_names": np.array(["a"])}, "1 names for 2 columns"),
        ({"X": np.zeros((1, 2)), "Y": np.zeros((1, 1, 1))}, "Y must be a matrix"),
    ],
)
def test_arrays_that_are_no_matrix_are_explained(tmp_path, arrays, message):
    np.savez(tmp_path / "d.npz", **{"Y": np.ones((1, 1)), **arrays})
    with pytest.raises(ParseError, match=message):
        read_npz(tmp_path / "d.npz")


def test_an_entry_given_twice_is_one_label(tmp_path):
    twice = {key.replace("X", "Y"): value for key, value in csr([1, 1], [2, 2], [0, 2], [1, 3]).items()}
    np.savez(tmp_path / "d.npz", X=np.zeros((1, 2)), **twice)
    with pytest.raises(ParseError, match="only 0 and 1"):
        read_npz(tmp_path / "d.npz")


def test_npz_may_be_compressed_once_more(tmp_path):
    np.savez(tmp_path / "d.npz", X=np.eye(2), Y=np.eye(2))
    with gzip.open(tmp_path / "d.npz.gz", "wb") as file:
        file.write((tmp_path / "d.npz").read_bytes())
    np.testing.assert_array_equal(read_file(tmp_path / "d.npz.gz").X, np.eye(2))
    (tmp_path / "bad.npz.gz").write_bytes(b"no gzip")
    with pytest.raises(ParseError, match="not a readable"):
        read_file(tmp_path / "bad.npz.gz")


def test_blank_lines_of_a_file_with_a_header_are_rows_if_it_counts_them(tmp_path):
    loose = read_svmlight(write(tmp_path, "\n2 3 2\n\n0 1:1\n\n1 2:3\n\n"))
    np.testing.assert_array_equal(loose.X.toarray(), [[0, 1, 0], [0, 0, 3]])
    counted = read_svmlight(write(tmp_path, "3 3 2\n0 1:1\n1 2:3\n\n\n"))
    np.testing.assert_array_equal(counted.X.toarray(), [[0, 1, 0], [0, 0, 3], [0, 0, 0]])
    assert counted.first_feature == 0  # as in every file with a header
    assert read_svmlight(write(tmp_path, "0 00:1 1:2\n")).first_feature == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "2 1000000000 3\n0 0:1\n1 1:1\n",
            "line 1: the header promises 1000000000 features, more than the 4194304 of a file of this size",
        ),
        ("2 3 1000000000000\n0 0:1\n1 1:1\n", "line 1: the header promises 1000000000000 labels"),
        (f"2 3 {10**24}\n0 0:1\n1 1:1\n", "line 1: the header promises .* labels"),
        (f"2 {'9' * 5000} 3\n0 0:1\n1 1:1\n", "line 1: the header promises .* features"),
        (f"{10**24} 3 3\n0 0:1\n1 1:1\n", "line 1: the header promises .* rows, the file has 2"),
        ("2 33554432 3\n0 0:1\n1 1:1\n", "line 1: the header promises 33554432 features"),
        ("0 33554431:1\n", "line 1: the number 33554431 means as many columns, more than 4194304"),
        ("33554431 0:1\n", "line 1: the number 33554431 means as many columns, more than 4194304"),
        (f"0 {'9' * 5000}:1\n", "line 1: the number 9+…9+ means as many columns"),
        (f"{'9' * 5000} 0:1\n", "line 1: the number 9+…9+ means as many columns"),
        (f"0 {'0' * 5000}:1\n", "line 1: the number 0+…0+ means as many columns"),
        (f"0 1:{'9' * 5000}\n", "line 1: expected feature:value, found '1:9+…9+'"),
        ("0 1:1_0\n", "expected feature:value"),
        ("1_0 1:1\n", "labels must be whole numbers"),
        ("0 1:٣\n", "expected feature:value"),
        ("x" * 10**6 + " 1:1\n", "labels must be whole numbers joined by commas, found 'x+…x+'$"),
    ],
)
def test_svmlight_counts_are_those_of_the_file(tmp_path, text, message):
    with pytest.raises(ParseError, match=message):
        read_svmlight(write(tmp_path, text))


def test_a_header_may_be_that_of_a_larger_set(tmp_path):
    data = read_svmlight(write(tmp_path, "1 3000 50000\n+1,2 0:1\n"))
    assert (data.X.shape, data.Y.shape, data.Y.indices.tolist()) == ((1, 3000), (1, 50000), [1, 2])


def test_blank_lines_at_the_end_take_no_time(tmp_path):
    assert len(read_svmlight(write(tmp_path, "0 1:1\n" + "\n" * 200_000))) == 1


def archive(path, arrays, method=zipfile.ZIP_DEFLATED):
    """An archive of the raw bytes of .npy files, or of arrays."""
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in arrays.items():
            raw = io.BytesIO()
            if not isinstance(content, bytes):
                np.save(raw, content)
            file.writestr(f"{name}.npy", content if isinstance(content, bytes) else raw.getvalue())
    return path


def declared(shape, dtype="<f8", data=b""):
    """A .npy file of this header and these bytes."""
    raw = io.BytesIO()
    np.lib.format.write_array_header_1_0(raw, {"descr": dtype, "fortran_order": False, "shape": shape})
    return raw.getvalue() + data


@pytest.mark.parametrize(
    "damaged",
    [
        declared((10**6, 10**6), data=bytes(800)),
        declared((10**30,), data=bytes(8)),
        declared((-1, 100), data=bytes(800)),
        declared((10**12,), "|S0"),
        declared((1, 2), data=bytes(15)),
        declared((1, 1), "|O", data=bytes(8)),
        b"\x93NUMPY\x01\x00\x20\x00" + b"(" * 32,
        b"nothing of the kind",
    ],
)
def test_shapes_are_those_of_the_bytes(tmp_path, damaged):
    path = archive(tmp_path / "d.npz", {"X": damaged, "Y": np.eye(2)})
    with pytest.raises(ParseError, match=r"d\.npz: (not a readable .npz archive|X must be a matrix)"):
        read_npz(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_what_expands_to_nothing_is_not_expanded(tmp_path, monkeypatch, method):
    monkeypatch.setattr("enstruct.data.npz.FREE", 10**6)
    path = archive(tmp_path / "d.npz", {"X": np.zeros((1000, 1000)), "Y": np.zeros((1000, 1))}, method)
    with pytest.raises(ParseError, match=r"take more than .* 200 times the file's size: save .* as CSR"):
        read_npz(path)
    (tmp_path / "e.npz.gz").write_bytes(gzip.compress(bytes(10**7)))
    with pytest.raises(ParseError, match="200 times the file's size"):
        read_file(tmp_path / "e.npz.gz")
    path = archive(tmp_path / "d.npz", {"X": np.eye(1000, 50), "Y": np.zeros((1000, 1)), "other": b"no array"}, method)
    assert read_npz(path).X.shape == (1000, 50)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.array([[0, np.nan], [0, np.inf]])}, r"X is infinite in row 1, column 1 \(from 0\)"),
        (csr([1.0, -np.inf], [2, 1], [0, 1, 2], [2, 3]), "X is infinite in row 1, column 1"),
        ({"X": np.full((2, 1), np.longdouble("1e400"))}, "X is infinite in row 0, column 0"),
        (csr([1.0], [0.0], [0, 1, 1], [2, 3]), "X_indices must be a list of whole numbers"),
        (csr([1.0], [0], [0.0, 1.0, 1.0], [2, 3]), "X_indptr must be a list of whole numbers"),
        (csr([1.0], [0], [0, 1, 1], [2.0, 3.0]), "X_shape must be a list of whole numbers"),
        (csr(["a"], [0], [0, 1, 1], [2, 3]), "X_data must be a list of numbers"),
        (csr([[1.0]], [0], [0, 1, 1], [2, 3]), "X_data must be a list of numbers"),
        (csr([1.0], [0], [0, 1, 1], [2, 2**25]), "X has 33554432 columns, more than the 4194304"),
        ({"X": np.zeros((2, 2)), "feature_names": np.array([["a", "b"], ["c", "d"]])}, "2 x 2 names for 2 columns"),
    ],
)
def test_arrays_without_sense_are_explained(tmp_path, arrays, message):
    np.savez(tmp_path / "d.npz", **{"Y": np.ones((2, 1)), **arrays})
    with pytest.raises(ParseError, match=message):
        read_npz(tmp_path / "d.npz")


def test_columns_may_be_as_many_as_entries_or_a_model_account_for():
    assert most_columns(0) == 2**22
    assert most_columns(2**20) == 2**24
    assert most_columns(2**30) == MOST_COLUMNS
    assert most_columns(0, 2**24) == 2**24


def test_a_model_s_widths_are_taken_of_small_files(tmp_path, monkeypatch):
    monkeypatch.setattr("enstruct.data.dataset.ROOMY", 100)
    np.savez(tmp_path / "d.npz", **csr([1.0], [0], [0, 1], [1, 200]), Y=np.ones((1, 1)))
    svm = write(tmp_path, "0 199:1\n")
    for path in (tmp_path / "d.npz", svm):
        assert read_file(path, n_features=200).X.shape == (1, 200)
        with pytest.raises(ParseError, match="columns, more than"):
            read_file(path)


@pytest.mark.parametrize("kind", [np.float16, np.longdouble, ">f8", np.float32])
def test_numbers_of_any_precision_in_csr(kind, tmp_path):
    X = sparse.csr_matrix(np.array([[0, 1.5], [2, 0]]))
    parts = {"X_data": X.data.astype(kind), "X_indices": X.indices, "X_indptr": X.indptr, "X_shape": X.shape}
    np.savez(tmp_path / "d.npz", **parts, Y=np.eye(2))
    assert read_npz(tmp_path / "d.npz").X.toarray().tolist() == [[0, 1.5], [2, 0]]


def test_a_label_far_below_zero_is_outside(tmp_path):
    (tmp_path / "d.svm").write_text("-3000000000 1:1\n2 1:1\n")
    with pytest.raises(ParseError, match=r"line 1: label -3000000000 is outside 0\.\.2"):
        read_svmlight(tmp_path / "d.svm")


def test_files_with_a_header_count_from_zero_and_so_do_others_asked_of_their_model(tmp_path):
    """A row means the same whatever rows stand beside it."""
    first = read_svmlight(write(tmp_path, "2 4 2\n0 1:3 2:0.5\n1 0:1\n")).first_feature
    assert first == 0
    alone = read_svmlight(write(tmp_path, "0 1:3 2:0.5\n"), 2, 4, first)
    beside = read_svmlight(write(tmp_path, "0 1:3 2:0.5\n1 0:1\n"), 2, 4, first)
    np.testing.assert_array_equal(alone.X.toarray()[0], beside.X.toarray()[0])


@pytest.mark.parametrize("ending", [".gz", ".GZ", ".Xz"])
def test_what_is_compressed_is_told_by_its_ending_in_capitals_too(tmp_path, ending):
    opened = gzip.open if ending.lower() == ".gz" else lzma.open
    with opened(tmp_path / f"a.CSV{ending}", "wt") as file:
        file.write("x,y\n1,0\n2,1\n")
    assert load(tmp_path / f"a.CSV{ending}", labels="y").X.tolist() == [[1], [2]]


def test_an_archive_without_labels_says_how_to_predict_it(tmp_path):
    np.savez(tmp_path / "x.npz", X=np.ones((2, 2)))
    with pytest.raises(ParseError, match=r"no array 'Y'.* say --unlabelled"):
        read_npz(tmp_path / "x.npz")
