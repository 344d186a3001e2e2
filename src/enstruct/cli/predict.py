"""What ``enstruct predict`` does; its options are declared in :mod:`enstruct.cli.parsers.predict`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from jsonargparse import Namespace
from scipy import sparse

from enstruct.cli import options as shared
from enstruct.cli.inputs import load_model, read_rows
from enstruct.cli.outputs import check_free, check_names
from enstruct.errors import ConfigError
from enstruct.files import replace_file
from enstruct.training.batches import row_blocks


def run(options: Namespace) -> None:
    if options.out is not None:
        if options.out.resolve() == Path(options.data).resolve():
            raise ConfigError(f"--out {options.out} is the file to be answered: name another.")
        check_free([options.out], options.overwrite)
    model = load_model(options.model)
    as_json = options.out is not None and options.out.suffix == ".jsonl"
    if not as_json:
        check_names("label", model.notes_["label_names"], options.out, "\t", "Answers in JSON hold any: --out FILE.jsonl.")
    X, _ = read_rows(model, options.data, shared.label_argument(options.labels), options.drop, not options.unlabelled)
    predicted = model.labels_.encode(model.predict(X, decision=options.decision, top_k=options.top_k))
    lines = _lines(model, X, predicted, as_json)
    if options.out is None:
        sys.stdout.writelines(lines)
    else:
        replace_file(options.out, lambda part: _write(part, lines))


def _write(path: Path, lines: Iterator[str]) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:  # of what UTF-8 lacks, JSON's own escape
        file.writelines(lines)


def _lines(model: Any, X: Any, predicted: sparse.csr_matrix, as_json: bool) -> Iterator[str]:
    """One a row, found as they are written: with probabilities a file may be larger than the memory."""
    names = model.notes_["label_names"]
    for some in row_blocks(predicted.shape[0], predicted.shape[1], cells=2**20):
        chosen = predicted[some]
        sets = [[names[j] for j in chosen.indices[a:b]] for a, b in pairwise(chosen.indptr)]
        if not as_json:
            yield from ("\t".join(labels) + "\n" for labels in sets)
            continue
        for labels, row in zip(sets, np.asarray(model.predict_proba(X[some])), strict=True):
            probabilities = {name: round(float(v), 6) for name, v in zip(names, row, strict=True)}
            yield json.dumps({"labels": labels, "probabilities": probabilities}, ensure_ascii=False) + "\n"
