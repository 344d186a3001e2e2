"""Whether an exported model answers as its model does, on every test row, and what it weighs and takes.

    OMP_NUM_THREADS=1 python -m enstruct_bench.costs.exports yeast cal500 ... [--base auto] [--out results/exports.json]

For each set the joint (the default classifier) on that base, fitted on training and validation rows, and its file, both on test
rows in single precision. One row: seconds of one answer of each, the median over some. Finished sets are kept.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from scipy import sparse

from enstruct.environment import environment
from enstruct.estimators import JointMultiLabelClassifier
from enstruct.export import export_onnx
from enstruct.files import write_json
from enstruct_bench.comparison.protocols import load_protocol
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.comparison.whereabouts import whereabouts

BLOCK, ALONE = 256, 20
"""Rows at a time, and rows that are answered alone."""


def measured(name: str, base: Any, minutes: float, seed: int = 0) -> dict[str, Any]:
    splits = load_protocol(name)[0]
    X, Y = (_stacked([getattr(part, side) for part in (splits.train, splits.validation)]) for side in ("X", "Y"))
    model = JointMultiLabelClassifier(base, minutes=minutes, random_state=seed)
    began = time.perf_counter()
    model.fit(X, Y)
    fitted = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as place:
        began = time.perf_counter()
        files = export_onnx(model, Path(place) / "out")
        exported = time.perf_counter() - began
        session = onnxruntime.InferenceSession(str(files[0].path), _one_thread())
        return {
            "data": name,
            "base": "+".join(fit.base.name for fit in model.base_),
            "decision": str(model.decision_),
            "seed": seed,
            "fit_seconds": fitted,
            "export_seconds": exported,
            "bytes": files[0].size,
            "weights": files[0].weights,
            **_answers(model, session, splits.test.X),
            "commit": present_commit(),
        }


def _answers(model: JointMultiLabelClassifier, session: Any, X: Any) -> dict[str, Any]:
    equal, largest = 0, 0.0
    for first in range(0, X.shape[0], BLOCK):
        rows = X[first : first + BLOCK].astype(np.float32)
        p, chosen = session.run(["probabilities", "label_sets"], {"features": _dense(rows)})
        largest = max(largest, float(np.abs(p - model.base_proba(rows)).max()))
        equal += int((sparse.csr_matrix(model.predict(rows)).toarray() == chosen).all(1).sum())
    alone = [X[[i]].astype(np.float32) for i in range(min(ALONE, X.shape[0]))]
    by_file = [_seconds(lambda row=row: session.run(["label_sets"], {"features": _dense(row)})) for row in alone]
    by_model = [_seconds(lambda row=row: model.predict(row)) for row in alone]
    return {
        "rows": int(X.shape[0]),
        "equal": equal,
        "largest_difference": largest,
        "file_seconds": float(np.median(by_file)),
        "model_seconds": float(np.median(by_model)),
    }


def _seconds(run: Any) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _dense(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def _stacked(parts: list[Any]) -> Any:
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def _one_thread() -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return options


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--base", default="auto")
    parser.add_argument("--minutes", type=float, default=1.0, help='of "auto"')
    parser.add_argument("--out", type=Path, default=Path("results/exports.json"))
    options = parser.parse_args()
    content: dict[str, Any] = {"rows": [], "environment": environment()}
    if options.out.exists():
        content = json.loads(options.out.read_text(encoding="utf-8"))
        if whereabouts(content["environment"]) != whereabouts(environment()):
            parser.error(f"{options.out} is of another version or machine: give another file.")
    for name in options.data:
        if name not in [row["data"] for row in content["rows"]]:
            content["rows"].append(measured(name, options.base, options.minutes))
            write_json(options.out, content)
            print(content["rows"][-1], flush=True)


if __name__ == "__main__":
    main()
