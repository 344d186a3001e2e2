"""Predict label sets for the rows of a file.

Writes one line a row, labels separated by tabs; to a .jsonl file, objects with labels and probabilities.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from jsonargparse import ArgumentParser, Namespace

from enstruct.cli import options as shared
from enstruct.cli.inputs import load_model, read_rows
from enstruct.files import replace_file


def parser() -> ArgumentParser:
    p = shared.new_parser(__doc__ or "")
    p.add_argument("model", type=Path, help="folder written by `enstruct train`")
    shared.add_data(p)
    p.add_argument("--out", type=Path, default=None, help="file to write (default: standard output)")
    p.add_argument("--decision", type=str, default=None, help="another fitted decision rule")
    p.add_argument("--top_k", type=int, default=None, help="the k most probable labels instead")
    p.add_argument("--unlabelled", type=bool, nargs="?", const=True, default=False, help="the file has no labels")
    return p


def run(options: Namespace) -> None:
    model = load_model(options.model)
    X, _ = read_rows(model, options.data, shared.label_argument(options.labels), options.drop, not options.unlabelled)
    predicted = model.labels_.encode(model.predict(X, decision=options.decision, top_k=options.top_k))
    names = model.notes_["label_names"]
    sets = [[names[j] for j in predicted.indices[a:b]] for a, b in zip(predicted.indptr, predicted.indptr[1:], strict=False)]
    if options.out is not None and options.out.suffix == ".jsonl":
        lines = _json_lines(sets, np.asarray(model.predict_proba(X)), names)
    else:
        lines = ["\t".join(labels) for labels in sets]
    text = "\n".join(lines) + "\n"
    if options.out is None:
        sys.stdout.write(text)
    else:
        replace_file(options.out, lambda part: part.write_text(text, encoding="utf-8"))


def _json_lines(sets: list[list[str]], p: np.ndarray, names: list[str]) -> list[str]:
    def record(labels: list[str], row: Any) -> dict[str, Any]:
        return {"labels": labels, "probabilities": {name: round(float(v), 6) for name, v in zip(names, row, strict=True)}}

    return [json.dumps(record(labels, row), ensure_ascii=False) for labels, row in zip(sets, p, strict=True)]
