"""A data set as a folder of arrays that need not fit into memory.

    layout.json      {"format": 1, "rows": n, "features": d, "labels": L, "sparse": true, "feature_names": [...] or null,
                      "label_names": [...], "first_feature": 1 or null, "bytes": {file: its size}}, and where labels have
                      a hierarchy "hierarchy": [[parent, child], ...], by their numbers
    x_values.bin     float32, of a sparse set its entries row by row, else (rows, features)
    x_indices.bin    int32, the columns of these entries, rising within a row; only of sparse sets
    x_indptr.bin     int64 (rows + 1,), where each row's entries begin; only of sparse sets
    y_indices.bin    int32, the labels of each row
    y_indptr.bin     int64 (rows + 1,)

All numbers are little-endian. ``feature_names`` is null where features have no names but f0, f1 and so on. Features are
:class:`~enstruct.data.mapped.MappedRows`; label sets are read whole. Rows are written block by block.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.dataset import Dataset, most_columns
from enstruct.data.hierarchy import Hierarchy
from enstruct.data.label_names import check_label_names
from enstruct.data.mapped import CELLS, DenseStore, MappedRows, SparseStore
from enstruct.data.opening import is_file
from enstruct.errors import DataError, DatasetNotFoundError, EnstructError, ParseError, shown
from enstruct.files import replace_folder

LAYOUT, FORMAT = "layout.json", 1
KINDS = {"values": "<f4", "indices": "<i4", "indptr": "<i8"}


FILES = {f"{matrix}_{array}.bin" for matrix in "xy" for array in KINDS}


class Layout(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What layout.json says."""

    format: int
    rows: int
    features: int
    labels: int
    sparse: bool
    feature_names: list[str] | None
    label_names: list[str]
    first_feature: int | None
    bytes: dict[str, int]
    hierarchy: list[tuple[int, int]] | None = None  # pairs of labels' numbers, parent and child


def is_on_disk(path: Path | str) -> bool:
    """Whether it is such a folder, by what lies in it."""
    return is_file(Path(path) / LAYOUT)


def read_on_disk(path: Path | str) -> Dataset:
    """The set of a folder. ParseError for one that is cut short, damaged or of another format, DatasetNotFoundError for none."""
    folder = Path(path)
    layout = _layout(folder)
    n, d = layout.rows, layout.features
    x_values = _mapped(folder, layout, "x_values")
    store: SparseStore | DenseStore
    if layout.sparse:
        indices, indptr = _mapped(folder, layout, "x_indices"), _mapped(folder, layout, "x_indptr")
        if len(indices) != len(x_values):
            raise _unfit(folder, f"{len(x_values)} values and {len(indices)} columns of them")
        _check_csr(folder, "x", indices, indptr, n, d)
        store = SparseStore(x_values, indices, indptr, d)
    else:
        if len(x_values) != n * d:
            raise _unfit(folder, f"{len(x_values)} numbers for {n} x {d}")
        store = DenseStore(x_values.reshape(n, d))
    _check_finite(folder, x_values)
    _check_named(folder, layout)
    labels, begins = _mapped(folder, layout, "y_indices"), _mapped(folder, layout, "y_indptr")
    _check_csr(folder, "y", labels, begins, n, layout.labels)
    again = np.flatnonzero(np.diff(labels.astype(np.int64)) <= 0) + 1  # each must be the first of a row
    if not np.isin(again, begins).all():
        raise _unfit(folder, "y_indices.bin with labels that do not rise within a row")
    Y = sparse.csr_matrix((np.ones(len(labels), np.uint8), np.array(labels), np.array(begins)), shape=(n, layout.labels))
    names = tuple(layout.feature_names or (f"f{i}" for i in range(d)))
    return Dataset(
        MappedRows(store),
        Y,
        names,
        tuple(layout.label_names),
        hierarchy=_hierarchy(folder, layout),
        name=folder.name,
        first_feature=layout.first_feature,
    )


def _hierarchy(folder: Path, layout: Layout) -> Hierarchy | None:
    if layout.hierarchy is None:
        return None
    hierarchy = Hierarchy(layout.labels, tuple(layout.hierarchy))
    try:
        hierarchy.check()
    except DataError as error:
        raise _unfit(folder, f"a {LAYOUT} whose hierarchy is none ({error})") from error
    return hierarchy


def _layout(folder: Path) -> Layout:
    if not folder.is_dir():
        raise DatasetNotFoundError(f"There is no folder {shown(str(folder), 150)}.")
    try:
        content = (folder / LAYOUT).read_bytes()
        number = json.loads(content)["format"]
        if number != FORMAT:
            raise _unfit(folder, f"format {shown(number)}, and this enstruct reads {FORMAT}")
        layout = msgspec.json.decode(content, type=Layout)
    except EnstructError:
        raise
    except (OSError, ValueError, LookupError, TypeError, RecursionError, msgspec.MsgspecError) as error:
        raise _unfit(folder, f"a {LAYOUT} that cannot be read ({shown(str(error), 80)})") from error
    named = layout.feature_names is None or len(layout.feature_names) == layout.features
    entries = sum(size for file, size in layout.bytes.items() if file in FILES) // 4
    few = 0 <= layout.features <= most_columns(entries) and 0 <= layout.labels <= most_columns(entries)
    counted = layout.rows >= 0 and layout.first_feature in (None, 0, 1)
    if not (named and few and counted and len(layout.label_names) == layout.labels):
        raise _unfit(folder, f"a {LAYOUT} whose counts do not go together")
    if not layout.rows:
        raise ParseError("no rows", folder)
    return layout


def _check_named(folder: Path, layout: Layout) -> None:
    check_label_names(layout.label_names, folder / LAYOUT)
    names = layout.feature_names or []
    if len(set(names)) < len(names):
        raise _unfit(folder, f"a {LAYOUT} with two features of one name")


def _mapped(folder: Path, layout: Layout, name: str) -> NDArray[Any]:
    file = folder / f"{name}.bin"
    size = file.stat().st_size if file.is_file() else -1
    promised = layout.bytes.get(file.name, -2)
    if size < 0:
        raise _unfit(folder, f"no {file.name}, which {LAYOUT} promises")
    if size != promised:
        raise _unfit(folder, f"{file.name} of {max(0, size)} bytes, not the {max(0, promised)} that {LAYOUT} promises")
    kind = np.dtype(KINDS[name.split("_")[1]])
    if size % kind.itemsize:
        raise _unfit(folder, f"{file.name} of {size} bytes, which are no whole numbers")
    return np.memmap(file, kind, "r") if size else np.zeros(0, kind)


def _check_csr(folder: Path, what: str, indices: NDArray[Any], indptr: NDArray[Any], n: int, width: int) -> None:
    """ParseError for places beyond the arrays: another's memory would be read there."""
    begins = np.asarray(indptr)
    rising = len(begins) == n + 1 and begins[0] == 0 and begins[-1] == len(indices) and (begins[:-1] <= begins[1:]).all()
    if not rising:
        raise _unfit(folder, f"{what}_indptr.bin, which does not say where {n} rows of {len(indices)} entries begin")
    for start in range(0, len(indices), CELLS):
        part = np.asarray(indices[start : start + CELLS])
        if part.min() < 0 or part.max() >= width:
            raise _unfit(folder, f"{what}_indices.bin with columns beyond the {width} that there are")


def _check_finite(folder: Path, values: NDArray[Any]) -> None:
    for start in range(0, len(values), CELLS):
        if not np.isfinite(values[start : start + CELLS]).all():
            raise _unfit(folder, "x_values.bin with numbers that are not finite")


def _unfit(folder: Path, what: str) -> ParseError:
    return ParseError(f"the folder has {what}: write it anew by `enstruct data convert`", folder)


class Writer:
    """Appends rows to the arrays of a new folder; ``finish`` says what they are."""

    def __init__(self, folder: Path, sparse_rows: bool) -> None:
        self.folder, self.sparse = folder, sparse_rows
        names = ("x_values", *(("x_indices", "x_indptr") if sparse_rows else ()), "y_indices", "y_indptr")
        self._files: dict[str, IO[bytes]] = {name: open(folder / f"{name}.bin", "wb") for name in names}  # noqa: SIM115
        self._ends = {"x": 0, "y": 0}
        self.rows = 0
        for name in names:
            if name.endswith("indptr"):
                self._write(name, np.zeros(1))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    @property
    def entries(self) -> int:
        """Numbers and labels written so far."""
        return self._ends["x"] + self._ends["y"]

    def _write(self, name: str, numbers: Any) -> None:
        self._files[name].write(np.ascontiguousarray(numbers, KINDS[name.split("_")[1]]).tobytes())

    def add(self, X: Any, Y: sparse.csr_matrix) -> None:
        """Rows X, dense or CSR as the folder's, and their label sets. DataError for what is no number of single precision."""
        values = X.data if self.sparse else X
        with np.errstate(over="ignore"):
            odd = ~np.isfinite(np.asarray(values, dtype=np.float32))
        if odd.any():
            at = np.argwhere(odd)[0]
            row, feature = (np.searchsorted(X.indptr, at[0], "right") - 1, X.indices[at[0]]) if self.sparse else at
            raise DataError(
                f"Row {self.rows + int(row)}, feature {int(feature)} (both from 0): {values[tuple(at)]:g} is missing, infinite "
                "or beyond single precision, and rows on disk are as they are: fill it first, as SimpleImputer does."
            )
        if self.sparse:
            csr = sparse.csr_matrix(X)
            csr.sort_indices()
            self._add("x", csr)
            self._write("x_values", csr.data)
        else:
            self._write("x_values", X)
        labels = sparse.csr_matrix(Y, copy=True)
        labels.eliminate_zeros()  # a zero that is stored is no label
        labels.sum_duplicates()
        self._add("y", labels)
        self.rows += X.shape[0]

    def _add(self, what: str, csr: sparse.csr_matrix) -> None:
        self._write(f"{what}_indices", csr.indices)
        self._write(f"{what}_indptr", csr.indptr[1:].astype(np.int64) + self._ends[what])
        self._ends[what] += csr.nnz

    def finish(
        self,
        features: int,
        label_names: Iterable[str],
        feature_names: Iterable[str] | None = None,
        first_feature: int | None = None,
        hierarchy: Hierarchy | None = None,
    ) -> None:
        """Close the arrays and write layout.json."""
        for file in self._files.values():
            file.close()
        names = [*label_names]
        sizes = {f"{name}.bin": (self.folder / f"{name}.bin").stat().st_size for name in self._files}
        told = None if feature_names is None else [*feature_names]
        edges = None if hierarchy is None else [*hierarchy.edges]
        layout = Layout(FORMAT, self.rows, features, len(names), self.sparse, told, names, first_feature, sizes, edges)
        (self.folder / LAYOUT).write_bytes(msgspec.json.encode(layout))


def put_in_place(path: Path, fill: Callable[[Path], object]) -> None:
    """A folder that ``fill`` has filled, if it can be read. DataError where something else than such a folder stands."""

    def whole(folder: Path) -> None:
        fill(folder)
        read_on_disk(folder)

    _check_replaceable(path)  # before anything is written
    replace_folder(path, whole, _check_replaceable)


def _check_replaceable(path: Path) -> None:
    if path.is_dir():
        strange = sorted({entry.name for entry in path.iterdir()} - FILES - {LAYOUT})
        if not strange:
            return
        raise DataError(
            f"{path} is not replaced: it holds {shown(strange[0])}, which is no file of a data set. Choose another place."
        )
    if path.exists():
        raise DataError(f"{path} is a file, and is not replaced: choose another place for a folder of arrays.")


def write_on_disk(path: Path | str, data: Dataset) -> None:
    """A set in memory as such a folder, in place of one that is there. DataError for texts, missing cells and labels that are not
    known, and where something else stands at ``path``."""
    if data.holds_texts:
        raise DataError(f"{data.name} holds texts, and a folder of arrays numbers: leave --text out, or train on the file.")
    data.check_known("A folder of arrays holds label sets that are known: leave such rows out.")
    if sparse.issparse(data.X):
        data = replace(data, X=sparse.csr_matrix(data.X))
    is_sparse = data.X.is_sparse if isinstance(data.X, MappedRows) else sparse.issparse(data.X)

    def fill(folder: Path) -> None:
        with Writer(folder, is_sparse) as writer:
            for X, Y in _blocks(data):
                writer.add(X, Y)
            usual = data.feature_names == tuple(f"f{i}" for i in range(data.X.shape[1]))
            names = None if usual else data.feature_names
            writer.finish(data.X.shape[1], data.label_names, names, data.first_feature, data.hierarchy)

    put_in_place(Path(path), fill)


def _blocks(data: Dataset, rows: int = 4096) -> Iterator[tuple[Any, sparse.csr_matrix]]:
    for start in range(0, len(data), rows):
        part = data.X[start : start + rows]
        yield part.read() if isinstance(part, MappedRows) else part, data.Y[start : start + rows]
