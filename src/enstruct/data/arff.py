"""ARFF files, dense and sparse, as the multi-label collections write them.

Which attributes are labels comes from a Mulan XML file, from MEKA's ``-C n`` in the relation name (n > 0:
the first n, n < 0: the last), from a ``hierarchical`` class attribute, or from the caller.

Nominal attributes are encoded by meaning: {0,1}, {NO,YES}, {false,true} and the like become one 0/1 column
in whichever order they are declared; others become one column a value. Missing cells (``?``) become NaN; a label's
is one that is not known, a hierarchical class's a row of which none is.
String, date and relational attributes, and nominal ones that look like identifiers, are refused until the
caller names them in ``drop``.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.arff_header import Attribute, Header, read_header, split_values, unquote
from enstruct.data.dataset import Dataset
from enstruct.data.hierarchy import Hierarchy, parse_hierarchy
from enstruct.data.label_names import check_label_names, counted
from enstruct.data.numbers import overflows, to_numbers, whole
from enstruct.data.opening import read_lines
from enstruct.data.rows import indicator_of
from enstruct.data.stacking import Stack, blocks
from enstruct.errors import DataError, ParseError, shown

IDENTIFIER_SHARE, FEW = 0.5, 50
"""Nominal inputs with more than ``FEW`` values, and with one for more than that share of the rows, are taken for identifiers."""


class _File(NamedTuple):
    """Some of the rows, as their lines stand in the file, numbered."""

    path: Path
    attributes: list[Attribute]
    lines: list[tuple[int, str]]


def read_arff(
    path: Path | str,
    labels: Path | str | Sequence[str] | int | None = None,
    drop: Sequence[str] = (),
    feature_names: Sequence[str] | None = None,
) -> Dataset:
    """Read one file.

    ``labels``: a Mulan XML file, a list of attribute names (empty: no labels), or a number as in MEKA's ``-C``;
    None looks into the relation name, for a hierarchical attribute, and for an XML file of the same name beside
    the file. ``feature_names``: what a model has learnt from; of other nominal inputs, those with a value for most rows are
    refused as identifiers, and without a model so is a name in ``drop`` that is not there. Raises ParseError (file, line,
    column).
    """
    header = read_header(Path(path))
    if feature_names is not None:
        drop = [attribute.name for attribute in header.attributes if attribute.name in drop]
    dropped = {*_attribute_indices(header, drop)}
    targets = [i for i in _label_columns(header, labels, drop) if i not in dropped]
    inputs = sorted({*range(len(header.attributes))} - {*targets} - dropped)
    if not inputs:
        raise ParseError("no input attribute is left", header.path)
    for i in inputs:
        _refuse_text(header, header.attributes[i])
    _refuse_identifiers(header, [header.attributes[i] for i in inputs], {*(feature_names or ())})
    wanted = sorted([*inputs, *targets])
    label_sets = _LabelSets(header, targets)
    features, indicators, unknown = Stack(), Stack(), list[Any]()
    is_sparse = None
    for lines in blocks(header.rows):
        file = _File(header.path, header.attributes, lines)
        is_sparse = lines[0][1].startswith("{") if is_sparse is None else is_sparse
        cells = _sparse_cells(file, wanted) if is_sparse else _dense_cells(file, wanted)
        features.add(_features(file, inputs, cells, is_sparse))
        Y, holes = label_sets.of(file, cells)
        indicators.add(Y)
        unknown.append((features.rows, holes if holes.any() else None))
    if not features.rows:
        raise ParseError("the @data section has no rows", header.path)
    names = tuple(name for i in inputs for name in _names_of(header.attributes[i])), tuple(label_sets.names)
    X, Y = features.whole(), indicators.whole()
    return Dataset(X, Y, *names, label_sets.hierarchy, Path(path).name, unknown=_together(unknown, Y.shape))


def _together(parts: list[tuple[int, NDArray[np.bool_] | None]], shape: tuple[int, int]) -> NDArray[np.bool_] | None:
    """What is unknown of blocks, each with the row that it ends at; None where nothing is."""
    if all(part is None for _, part in parts):
        return None
    unknown = np.zeros(shape, dtype=bool)
    for end, part in parts:
        if part is not None:
            unknown[end - len(part) : end] = part
    return unknown


# -- which columns --------------------------------------------------------------------------------


def _label_columns(header: Header, labels: Any, drop: Sequence[str]) -> list[int]:
    if labels is None:
        labels, drop = _implied_labels(header), ()  # a number of the file's own counts what is left out too
    if isinstance(labels, int):
        return [*counted(header.path, [a.name for a in header.attributes], labels, drop)]
    if isinstance(labels, (str, Path)):
        labels = read_label_names(labels)
    if len({*labels}) < len(labels):
        raise ParseError(f"a label is named twice: {', '.join(shown(name, 20) for name in labels)}", header.path)
    columns = {header.attributes[i].name: i for i in sorted(_attribute_indices(header, labels))}
    for i, attribute in enumerate(header.attributes):
        first = columns.get(attribute.name, i)
        if first != i:
            line = header.attributes[first].line
            raise ParseError(f"the label stands in line {line} as well: rename one", header.path, attribute.line, attribute.name)
    return [*columns.values()]


def _implied_labels(header: Header) -> Any:
    meka = re.search(r"-C\s+(-?[0-9]+)", header.relation)
    if meka:
        number = whole(meka[1].removeprefix("-")) or 0
        return -number if meka[1].startswith("-") else number
    hierarchical = [a.name for a in header.attributes if a.kind == "hierarchical"]
    if hierarchical:
        return hierarchical
    stem = header.path.name.split(".")[0]
    for candidate in (stem, re.sub(r"[-_](train|test|valid|training)$", "", stem)):
        beside = header.path.with_name(f"{candidate}.xml")
        if beside.is_file():
            return beside
    mend = "pass the Mulan XML file, a list of names, or their number (n: the first n, -n: the last n)"
    raise ParseError(f"cannot tell which attributes are labels: {mend}", header.path)


def read_label_names(path: Path | str) -> list[str]:
    """Label names of a Mulan XML file. ParseError, of names that occur twice or would not fit in a line as well."""
    try:
        root = ElementTree.fromstring("\n".join(read_lines(path)))
    except ElementTree.ParseError as error:
        raise ParseError(f"not a well-formed label file ({error})", path) from error
    names = [e.get("name", "") for e in root.iter() if e.tag.rsplit("}", 1)[-1] == "label"]
    if not names:
        raise ParseError("no <label name=...> entries", path)
    check_label_names(names, path)
    return names


def _attribute_indices(header: Header, names: Sequence[str]) -> list[int]:
    """Of names that occur twice the first."""
    number: dict[str, int] = {}
    for i, attribute in enumerate(header.attributes):
        number.setdefault(attribute.name, i)
    for name in names:
        if name not in number:
            raise ParseError(f"there is no attribute {shown(name)}", header.path)
    return [number[name] for name in names]


def _refuse_text(header: Header, attribute: Attribute) -> None:
    if attribute.kind == "text":
        raise _left_out(header, attribute, "holds text or dates")


def _refuse_identifiers(header: Header, inputs: Sequence[Attribute], learnt: set[str]) -> None:
    """Before any of their values takes a column. The file is read once more where an input has many."""
    many = [one for one in inputs if len(one.values) > FEW and not learnt & {*_columns(one)}]
    if not many:
        return
    rows = sum(1 for _ in read_header(header.path).rows)
    for one in many:
        if len(one.values) > IDENTIFIER_SHARE * rows:
            raise _left_out(header, one, f"has {len(one.values)} values in {rows} rows: it looks like an identifier")


def _left_out(header: Header, attribute: Attribute, what: str) -> ParseError:
    message = f"this input {what}; leave it out with drop=[{shown(attribute.name)}]"
    return ParseError(message, header.path, attribute.line, attribute.name)


# -- data -----------------------------------------------------------------------------------------

Cells = dict[int, tuple[np.ndarray, Any]]
"""Column number -> (row numbers, values there as text or numbers); other rows hold 0."""


def _dense_cells(file: _File, wanted: list[int]) -> Cells:
    n, texts = len(file.attributes), [split_values(body) for _, body in file.lines]
    for (number, _), values in zip(file.lines, texts, strict=True):
        if len(values) != n:
            raise ParseError(f"{len(values)} values where {n} attributes are declared", file.path, number)
    rows, columns = np.arange(len(texts)), [*zip(*texts, strict=True)]
    return {i: (rows, _convert(file, i, rows, columns[i])) for i in wanted}


def _sparse_cells(file: _File, wanted: list[int]) -> Cells:
    n = len(file.attributes)
    rows: dict[int, list[int]] = {i: [] for i in range(n)}
    texts: dict[int, list[str]] = {i: [] for i in range(n)}
    for row, (number, body) in enumerate(file.lines):
        if not (body.startswith("{") and body.endswith("}")):
            raise ParseError("a sparse row must be enclosed in { }; the line may be truncated", file.path, number)
        for token in split_values(body[1:-1]) if body[1:-1].strip() else ():
            digits, _, value = token.partition(" ")
            index = whole(digits)
            if index is None or index >= n or not value:
                raise ParseError(f"bad entry {shown(token)}: expected 'index value' with index < {n}", file.path, number)
            if rows[index][-1:] == [row]:
                raise ParseError(f"attribute {index} stands twice in this row", file.path, number)
            rows[index].append(row)
            texts[index].append(unquote(value.strip()))
    cells = {i: (np.asarray(rows[i], dtype=np.int64), _convert(file, i, rows[i], texts[i])) for i in wanted}
    return {i: _with_unlisted(file.attributes[i], len(file.lines), *cells[i]) for i in wanted}


def _with_unlisted(attribute: Attribute, n: int, rows: np.ndarray, values: Any) -> tuple[np.ndarray, Any]:
    """Sparse rows leave out the first declared value of a nominal attribute, whatever it means."""
    if attribute.kind != "nominal":
        return rows, values
    first = attribute.values[0]
    if attribute.codes is None:
        full = np.full(n, first, dtype=object)
    elif attribute.codes[first]:
        full = np.ones(n)
    else:
        return rows, values
    full[rows] = values
    return np.arange(n), full


def _convert(file: _File, column: int, rows: Any, texts: Sequence[str]) -> Any:
    """Numbers for numeric and 0/1 attributes, texts for the rest; a bad value is reported with its line."""
    attribute = file.attributes[column]
    if attribute.kind in ("hierarchical", "text"):
        return [*texts]
    if attribute.kind == "numeric":
        values, bad = to_numbers(["nan" if text == "?" else text for text in texts])
        if bad is None:
            return values
        wanted = "a number: it is too large, or infinite" if overflows(texts[bad]) else "a number"
    else:
        codes, known = attribute.codes, {*attribute.values, "?"}
        bad = next((at for at, text in enumerate(texts) if text not in known), None)
        if bad is None:
            return [*texts] if codes is None else np.array([codes[text] if text != "?" else np.nan for text in texts])
        wanted = f"one of {', '.join(shown(value, 20) for value in attribute.values[:6])}"
    line = file.lines[int(rows[bad])][0]
    raise ParseError(f"{shown(texts[bad])} is not {wanted}", file.path, line, attribute.name)


def _features(file: _File, inputs: list[int], cells: Cells, is_sparse: bool) -> Any:
    """(rows, features), of nominal inputs without a 0/1 meaning a column a value."""
    columns: list[tuple[np.ndarray, np.ndarray]] = []  # the rows and values of each
    for i in inputs:
        attribute, (rows, values) = file.attributes[i], cells[i]
        if attribute.kind == "numeric" or attribute.codes is not None:
            columns.append((rows, values))
        else:
            texts = np.asarray(values, dtype=object)
            columns += [(rows, np.where(texts == "?", np.nan, texts == value)) for value in attribute.values]
    if not is_sparse:
        return np.column_stack([values for _, values in columns])
    X = _from_columns(columns, len(file.lines))
    X.eliminate_zeros()
    return X


def _names_of(attribute: Attribute) -> list[str]:
    """Of an input's columns."""
    return [attribute.name] if attribute.kind == "numeric" or attribute.codes is not None else _columns(attribute)


def _columns(attribute: Attribute) -> list[str]:
    """Of a nominal input: one a value."""
    return [f"{attribute.name}={value}" for value in attribute.values]


def _from_columns(columns: list[tuple[np.ndarray, np.ndarray]], n: int) -> sparse.csr_matrix:
    """The matrix of ``n`` rows whose columns hold these values in these rows."""
    row, values = (np.concatenate(arrays) for arrays in zip(*columns, strict=True))
    column = np.repeat(np.arange(len(columns)), [len(rows) for rows, _ in columns])
    return sparse.csr_matrix((values, (row, column)), shape=(n, len(columns)))


class _LabelSets:
    """What the label attributes say of rows: ``names``, their ``hierarchy`` if they have one. ParseError for such as are none."""

    def __init__(self, header: Header, targets: list[int]) -> None:
        self.targets, self.attributes = targets, [header.attributes[i] for i in targets]
        self.hierarchy: Hierarchy | None = None
        self._number: dict[str, int] = {}
        if {attribute.kind for attribute in self.attributes} == {"hierarchical"}:
            if len(targets) > 1:
                raise ParseError("more than one hierarchical class attribute", header.path)
            attribute = self.attributes[0]
            self.names, self.hierarchy, self._number = parse_hierarchy(attribute.declared)
            lines = [attribute.line] * len(self.names)
        else:
            self.names, lines = ([getattr(one, what) for one in self.attributes] for what in ("name", "line"))
        check_label_names(self.names, header.path, lines)

    def of(self, file: _File, cells: Cells) -> tuple[sparse.csr_matrix, NDArray[np.bool_]]:
        """(Y, where a label is not known), both (rows, labels)."""
        unknown = np.zeros((len(file.lines), len(self.names)), dtype=bool)
        if self.hierarchy is not None:
            return self._closed(self.hierarchy, file, *cells[self.targets[0]], unknown), unknown
        if not self.targets:
            return sparse.csr_matrix((len(file.lines), 0), dtype=np.uint8), unknown
        columns = []
        for k, (i, attribute) in enumerate(zip(self.targets, self.attributes, strict=True)):
            rows, values = cells[i]
            if attribute.kind != "numeric" and attribute.codes is None:
                what = "a label attribute must be {0,1}, {NO,YES} or the like"
                raise ParseError(what, file.path, attribute.line, attribute.name)
            bad = ~(np.isin(values, (0.0, 1.0)) | np.isnan(values))
            if bad.any():
                line = file.lines[int(rows[np.argmax(bad)])][0]
                raise ParseError("a label must be 0 or 1, or ? where it is unknown", file.path, line, attribute.name)
            unknown[rows[np.isnan(values)], k] = True
            on = rows[values == 1]
            columns.append((on, np.ones(len(on), dtype=np.uint8)))
        return _from_columns(columns, len(file.lines)), unknown

    def _closed(
        self, hierarchy: Hierarchy, file: _File, rows: np.ndarray, texts: Sequence[str], unknown: NDArray[np.bool_]
    ) -> sparse.csr_matrix:
        """Label sets with what their labels imply; marks ``unknown``."""
        attribute = self.attributes[0]
        label_sets: list[list[int]] = [[] for _ in file.lines]
        for row, text in zip(rows, texts, strict=True):
            unknown[row] = text == "?"
            for name in () if text == "?" else text.split("@"):
                if name not in self._number:
                    raise ParseError(f"undeclared class {shown(name)}", file.path, file.lines[row][0], attribute.name)
                label_sets[row].append(self._number[name])
        try:
            return hierarchy.close(indicator_of(label_sets, len(self.names)))
        except DataError as error:
            raise ParseError(str(error), file.path, attribute.line, attribute.name) from error
