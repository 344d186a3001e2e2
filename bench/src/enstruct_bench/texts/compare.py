"""Models of texts on one collection of documents, under the same rules: F1, exact sets, and what told labels are worth.

    OMP_NUM_THREADS=1 python -m enstruct_bench.texts.compare reuters21578 --encoder FOLDER --seeds 3 --out results/texts-R90.json

Every side learns from four fifths of the training documents, drawn by the seed and stratified; by the others it stops and chooses
its settings, and its decision rules are fitted and chosen there, one for each metric. Test documents are the published ones.
"half told": half of each document's labels, the same for all, are told; a joint answers by its conditionals, everybody else by
their marginals, both with the set of largest expected F1 and told labels as told, and what counts is example-F1 of those that are
not. While nothing is told a joint's decisions are by its base's marginals, as its ``predict`` has it. Features of the frozen
encoder are kept between runs, so that seconds of a fit do not count them. Runs that the file has are not run again; label sets
lie beside it, for intervals. Runs of several machines go into one file by ``--join``. ``--device``: of networks of ours; peers
take what accelerator there is.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from enstruct.data.rows import as_indicator
from enstruct.data.splits import holdout
from enstruct.decisions.choose import cross_validate, fit_rule, make_rule
from enstruct.decisions.expected_f1 import ExpectedF1
from enstruct.environment import environment, processor
from enstruct.errors import EnstructError
from enstruct.estimators.candidates import AVERAGEABLE
from enstruct.files import replace_file, write_json
from enstruct.metrics import get_metric
from enstruct.records import read_record
from enstruct_bench.comparison.bootstrap import paired_difference
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.joint.kept_rows import kept_rows
from enstruct_bench.joint.told import random_order, told_share
from enstruct_bench.texts.collections import load_collection
from enstruct_bench.texts.sides import ON_TERMS, SIDES, Fitted, Task, clipped, is_there

METRICS = ("micro-f1", "macro-f1", "subset-accuracy")
PAIRED = (*METRICS, "half-told")
"""Of which intervals are given. Documents are drawn; labels, of which macro-F1 is a mean, stay."""
SETTINGS = ("data", "max_tokens", "shots", "few", "chosen_on")
"""What rows of one file share."""
Sets = dict[str, sparse.csr_matrix]


def decided(held: NDArray[Any], truth: Any, p: NDArray[Any], metric: str) -> sparse.csr_matrix:
    """Label sets of marginals ``p``, by the rule that is best on those held out."""
    name = cross_validate(AVERAGEABLE, held, truth, metric).best()
    return fit_rule(make_rule(name), held, truth, metric, None).predict(p)


def shots(Y: NDArray[Any], each: int, seed: int) -> NDArray[np.intp]:
    """Documents, in an order drawn by the seed, that have a label which fewer than so many before them have."""
    counts, rows = np.zeros(Y.shape[1], dtype=np.int64), []
    for row in np.random.default_rng(seed).permutation(len(Y)):
        if (counts[Y[row] > 0] < each).any():
            rows.append(row)
            counts += Y[row]
    return np.sort(np.array(rows))


def few_of(train: NDArray[np.intp], held: NDArray[np.intp], few: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """So many of ``train``, and a fourth as many of ``held``: who has few documents has few to choose on."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.permutation(train)[:few]), np.sort(rng.permutation(held)[: max(1, few // 4)])


def measured(side: str, task: Task, texts: list[str], Y: NDArray[np.uint8]) -> tuple[dict[str, Any], Sets]:
    begin = time.perf_counter()
    fitted = SIDES[side](task)
    seconds = time.perf_counter() - begin
    truth, held = as_indicator(task.validation.Y), clipped(fitted.marginals(task.validation.texts))
    begin = time.perf_counter()
    p = clipped(fitted.marginals(texts))
    sets = {metric: decided(held, truth, p, metric) for metric in METRICS}
    figures = {metric: 100 * get_metric(metric)(as_indicator(Y), sets[metric]) for metric in METRICS}
    row = {
        "side": side,
        "seed": task.seed,
        **figures,
        "device": hardware(fitted.device),
        "fit_seconds": seconds,
        "answer_seconds": time.perf_counter() - begin,
    }
    if not fitted.calibrated:  # scores that decisions can be cut from, and no more
        return row, sets
    told = told_share(Y.astype(np.float32), random_order(Y.shape, task.seed), 0.5)
    sets["half-told"] = _half_told(fitted, texts, p, told)
    loss = -np.log(np.clip(np.where(Y == 1, p, 1 - p), 1e-4, 1))
    row |= {
        "half-told": 100 * get_metric("example-f1")(_asked(Y, told), sets["half-told"]),
        "log-loss": float(loss.sum(1).mean()),
    }
    if fitted.joint is not None:
        row |= {"base": "+".join(one.base.name for one in fitted.joint.base_), "energy": fitted.joint.terms_}
    return row, sets


def _half_told(fitted: Fitted, texts: list[str], p: NDArray[Any], told: NDArray[Any]) -> sparse.csr_matrix:
    """Answers on the labels that are not told, nothing on the others."""
    if fitted.joint is not None:  # which refuses what no row that it learnt from had, as few documents lack labels
        never = fitted.joint.constants_ == 1 - told
        p = fitted.joint.predict_proba(texts, known=np.where(never, np.nan, told))
    p = np.where(np.isnan(told), p, told)
    return _asked(ExpectedF1(allow_empty=True).predict(p).toarray(), told)


def _asked(Y: NDArray[Any], told: NDArray[Any]) -> sparse.csr_matrix:
    return as_indicator(np.where(np.isnan(told), Y, 0))


def differences(folder: Path, rows: list[dict[str, Any]], name: str, reference: str) -> dict[str, Any]:
    """Side -> metric -> [mean, low, high] points above the reference, over the seeds that both have."""
    truth = load_collection(name).test.Y
    seeds = {side: {row["seed"] for row in rows if row["side"] == side} for side in {row["side"] for row in rows}}
    out: dict[str, Any] = {}
    for side in seeds:
        common = sorted(seeds[side] & seeds.get(reference, set()))
        if side == reference or not common:
            continue
        of_side = [metric for metric in PAIRED if all(metric in row for row in rows if row["side"] in (side, reference))]
        out[side] = {metric: _paired(folder, truth, common, reference, side, metric) for metric in of_side}
    return out


def _paired(folder: Path, truth: Any, seeds: list[int], reference: str, side: str, metric: str) -> list[float]:
    counts: list[list[Any]] = []
    for each in (reference, side):
        counts.append([])
        for seed in seeds:
            told = told_share(truth.astype(np.float32), random_order(truth.shape, seed), 0.5)
            true = _asked(truth, told) if metric == "half-told" else as_indicator(truth)
            own = get_metric("example-f1" if metric == "half-told" else metric)
            counts[-1].append(own.counts(true, sparse.load_npz(folder / f"{each}-{seed}-{metric}.npz")))
    return [100 * value for value in paired_difference(counts[0], counts[1])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--encoder", type=Path, default=None)
    parser.add_argument("--max_tokens", type=int, default=256)
    few = parser.add_mutually_exclusive_group()
    few.add_argument(
        "--few", type=int, default=None, help="documents to train on, drawn by the seed, and a fourth as many to choose on"
    )
    few.add_argument("--shots", type=int, default=None, help="documents a label to train and to choose on (default: all)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--join", type=Path, nargs="+", default=[], help="files of such runs, whose rows are taken in")
    parser.add_argument("--reference", default="terms-svm,frozen-network", help="sides that others are held against")
    parser.add_argument("--out", type=Path, default=None, help="default: texts-DATA.json")
    options = parser.parse_args()
    options.out = options.out or Path(f"texts-{options.data}.json")
    try:
        collection = load_collection(options.data)
    except EnstructError as error:
        raise SystemExit(f"error: {error}") from error
    options.left_out = [side for side in options.sides.split(",") if not is_there(side)]
    if options.left_out:
        print(f"left out, as what they need is not installed: {', '.join(options.left_out)}", file=sys.stderr)
    options.chosen_on = None if options.few is None else "a fourth as many"  # of older files of few documents it was far more
    settings = {name: getattr(options, name) for name in SETTINGS}
    try:
        rows = kept_rows(options.out, **settings)
    except EnstructError as error:
        raise SystemExit(f"error: {error}") from error
    options.encoder_name = _name(options.encoder)
    if rows:  # sides on terms read none, whatever the others read
        before = read_record(options.out, {"encoder": (str, None)}, "no file of these runs")["encoder"]
        if options.encoder_name not in (None, before) and before is not None:
            raise SystemExit(f"error: {options.out} holds runs of another encoder ({before}): name another file.")
        options.encoder_name = options.encoder_name or before
    folder = options.out.with_suffix(".sets")
    for other in options.join:
        rows += joined(other, options, rows, folder)
    for seed in range(options.seeds):
        for side in options.sides.split(","):
            if side in options.left_out or any((row["side"], row["seed"]) == (side, seed) for row in rows):
                continue
            there = np.arange(len(collection.train)) if options.shots is None else shots(collection.train.Y, options.shots, seed)
            train, held = (there[part] for part in holdout(as_indicator(collection.train.Y[there]), 0.2, seed))
            if options.few is not None:
                train, held = few_of(train, held, options.few, seed)
            learnt, judged = (collection.train.take(part) for part in (train, held))
            task = Task(learnt, judged, options.encoder, options.max_tokens, seed, options.device)
            row, sets = measured(side, task, collection.test.texts, collection.test.Y)
            for metric, chosen in sets.items():
                replace_file(folder / f"{side}-{seed}-{metric}.npz", partial(sparse.save_npz, matrix=chosen))
            rows.append(row | {"documents": len(train), "commit": present_commit()})
            print(rows[-1], flush=True)
            _write(options, rows, folder)
    if rows:
        _write(options, rows, folder)  # differences to other references than before, too


def _name(encoder: Path | None) -> str | None:
    return None if encoder is None else encoder.name


def hardware(device: str) -> str:
    """Its name."""
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else processor()


def joined(other: Path, options: argparse.Namespace, rows: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """The rows of another file that these lack, their label sets copied; each says which encoder it read, where that is another
    one than this run's. SystemExit where it is of other data or documents."""
    content = read_record(other, {"rows": [dict], "data": str}, "no file of these runs")
    for name in SETTINGS:
        if content.get(name) != getattr(options, name):
            raise SystemExit(f"{other} is of {name}={content.get(name)!r}, and this run of {getattr(options, name)!r}.")
    there = {(row["side"], row["seed"]) for row in rows}
    new = [row for row in content["rows"] if (row["side"], row["seed"]) not in there]
    encoder = content.get("encoder")
    if encoder is not None and encoder != _name(options.encoder):
        new = [row if row["side"] in ON_TERMS else {"encoder": encoder, **row} for row in new]
    for row in new:
        sets = list(other.with_suffix(".sets").glob(f"{row['side']}-{row['seed']}-*.npz"))
        if not sets:
            raise SystemExit(f"{other.with_suffix('.sets')} lacks the label sets of {row['side']}, seed {row['seed']}.")
        for path in sets:
            replace_file(folder / path.name, partial(shutil.copyfile, path))
    return new


def _write(options: argparse.Namespace, rows: list[dict[str, Any]], folder: Path) -> None:
    there = {row["side"] for row in rows}
    references = [name for name in options.reference.split(",") if name in there]
    content = {
        "data": options.data,
        "encoder": options.encoder_name,
        "max_tokens": options.max_tokens,
        "shots": options.shots,
        "few": options.few,
        "chosen_on": options.chosen_on,
        "left_out": options.left_out,
        "rows": rows,
        "differences": {name: differences(folder, rows, options.data, name) for name in references},
    }
    write_json(options.out, {**content, "environment": environment()})


if __name__ == "__main__":
    main()
