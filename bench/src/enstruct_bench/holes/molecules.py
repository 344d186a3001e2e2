"""Assays of molecules: SMILES and a table of 0, 1 and empty cells, read into fingerprints and labels with holes.

A molecule's features are the bits of its extended-connectivity fingerprint (ECFP4: Morgan's, of radius 2, folded to 1024 bits;
Rogers & Hahn 2010), made anew each time, which takes seconds. SMILES that rdkit cannot read are left out, and counted.
"""

from __future__ import annotations

import csv
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from enstruct.data.catalogue import data_root, not_passed_on
from enstruct.data.dataset import Dataset, any_of
from enstruct.data.opening import read_lines
from enstruct.data.rows import as_indicator
from enstruct.errors import MissingExtraError, ParseError, shown

MOLECULES = {
    "tox21": "multilabel/tox21/tox21.csv.xz",
    "toxcast": "multilabel/toxcast/toxcast.csv.gz",
    "sider": "multilabel/sider/sider.csv",
}
"""Named sets -> paths below ENSTRUCT_DATA. None has a public copy that may be fetched for users."""
SMILES = "smiles"
RADIUS, BITS = 2, 1024
CELLS = {"": np.nan, "0": 0.0, "0.0": 0.0, "1": 1.0, "1.0": 1.0}


class Molecules(NamedTuple):
    """``unreadable``: how many SMILES were left out."""

    data: Dataset
    unreadable: int


def load_molecules(name: str) -> Molecules:
    """A named set. MissingExtraError without rdkit, DatasetNotFoundError, ParseError."""
    path = MOLECULES[name]
    root = data_root()
    if root is None or not (root / path).is_file():
        raise not_passed_on(name, path)
    header, *rows = csv.reader(read_lines(root / path))
    if SMILES not in header:
        raise ParseError(f"there is no column {SMILES}", root / path)
    place = header.index(SMILES)
    X, read = fingerprints([row[place] for row in rows])
    kept = [rows[number] for number in read]
    labels = [i for i in range(len(header)) if i != place]
    wrong = next((row[i] for row in kept for i in labels if row[i] not in CELLS), None)
    if wrong is not None:
        raise ParseError(f"a label is {shown(wrong)}, and not 0, 1 or empty", root / path)
    Y = np.array([[CELLS[row[i]] for i in labels] for row in kept])
    bits = tuple(f"bit{i}" for i in range(BITS))
    names = tuple(header[i] for i in labels)
    data = Dataset(X, as_indicator(np.nan_to_num(Y)), bits, names, name=name, unknown=any_of(np.isnan(Y)))
    return Molecules(data, len(rows) - len(kept))


def fingerprints(smiles: list[str]) -> tuple[sparse.csr_matrix, list[int]]:
    """(molecules, bits) of 0 and 1, and which of the SMILES these are: those that can be read. MissingExtraError."""
    try:
        from rdkit import Chem, rdBase
        from rdkit.Chem import rdFingerprintGenerator
    except ImportError as error:
        raise MissingExtraError("Molecules need rdkit: pip install './bench[molecules]'.") from error
    generator: Any = rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=BITS)
    with rdBase.BlockLogs():  # it writes of each that it cannot read
        molecules = [Chem.MolFromSmiles(each) for each in smiles]
        read = [i for i, molecule in enumerate(molecules) if molecule is not None]
        bits = [generator.GetFingerprintAsNumPy(molecules[i]) for i in read]
    return sparse.csr_matrix(np.array(bits, dtype=np.float64).reshape(len(read), BITS)), read
