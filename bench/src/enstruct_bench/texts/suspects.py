"""Suspects among the labels that documents were given: the worst of a collection, and how early planted ones come.

    OMP_NUM_THREADS=1 python -m enstruct_bench.texts.suspects goemotions --encoder FOLDER --out results/suspects-goemotions.json

Of the training documents, or so many of them, drawn by the seed. Labels as they were published have their least likely cells
printed, with the texts; the file keeps numbers of documents, and no text. Then labels are made wrong in the ways of
:mod:`enstruct_bench.joint.wrong_cells`, a model is fitted to each, and what counts is the average precision of the wrong cells:

    joint      the probability that y_i is right, by x and the other labels, :func:`enstruct.find_label_issues`
    base       p(y_i | x), the same cross-fitted marginals
    issues, adjusted
               cleanlab's two ways, of these marginals (group ``peers``)
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from enstruct import JointMultiLabelClassifier, TextEncoder
from enstruct.environment import environment
from enstruct.estimators.label_issues import conditional_quality
from enstruct.files import write_json
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.joint.cleanlab import KINDS, cleanlab_quality
from enstruct_bench.joint.kept_rows import kept_rows
from enstruct_bench.joint.wrong_cells import NOISE, given_probability, made_wrong, precision_of_suspects
from enstruct_bench.texts.collections import Documents, load_collection

PUBLISHED = "as published"
RESAMPLES = 200


Qualities = dict[str, NDArray[np.float64]]


def qualities(
    documents: Documents, given: NDArray[Any], base: str, encoder: TextEncoder | None, seed: int
) -> tuple[Qualities, dict[str, str]]:
    """Side -> (documents, labels) quality of the given cells; what the joint stands on."""
    model = JointMultiLabelClassifier(base, encoder=encoder, folds=3, random_state=seed).fit(documents.texts, given)
    if len(model.varying_) < given.shape[1]:
        raise SystemExit(f"{given.shape[1] - len(model.varying_)} labels never vary in these documents: take more of them.")
    fit = model.fitted_on_
    p = expit(fit.logits[fit.group].astype(np.float64))
    sides: Qualities = {"joint": conditional_quality(fit, model.seed_)[0][fit.group], "base": given_probability(p, given)}
    if find_spec("cleanlab") is not None:
        sides |= {kind: cleanlab_quality(p, given, kind) for kind in KINDS}
    return sides, {"base": "+".join(one.base.name for one in model.base_), "energy": model.terms_}


def precisions(sides: Qualities, wrong: NDArray[np.bool_], seed: int) -> dict[str, Any]:
    """Average precision in percent a side; "more": the joint's over each other's, 95% by bootstrap over documents."""
    out: dict[str, Any] = {side: 100 * precision_of_suspects(quality, wrong) for side, quality in sides.items()}
    rng = np.random.default_rng(seed)
    draws = [rng.integers(len(wrong), size=len(wrong)) for _ in range(RESAMPLES)]
    drawn = {side: [100 * precision_of_suspects(quality[rows], wrong[rows]) for rows in draws] for side, quality in sides.items()}
    out["more"] = {
        side: [out["joint"] - out[side], *np.quantile(np.subtract(drawn["joint"], drawn[side]), (0.025, 0.975)).tolist()]
        for side in sides
        if side != "joint"
    }
    return out


def worst(documents: Documents, rows: NDArray[np.intp], quality: NDArray[np.float64], first: int) -> list[dict[str, Any]]:
    """The cells of the lowest quality: document, label, whether it was given, and its probability."""
    out = []
    for cell in np.argsort(quality, axis=None, kind="stable")[:first]:
        i, label = np.unravel_index(cell, quality.shape)
        there = bool(documents.Y[i, label])
        out.append({"document": int(rows[i]), "label": documents.names[label], "given": there, "p": float(quality[i, label])})
        print(f"{quality[i, label]:.5f}  {documents.names[label]} was {'' if there else 'not '}given: {documents.texts[i][:160]}")
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--encoder", type=Path, default=None, help="folder (default: terms)")
    parser.add_argument("--max_tokens", type=int, default=256)
    parser.add_argument("--base", default="cross-entropy")
    parser.add_argument("--documents", type=int, default=None, help="drawn by the seed (default: all)")
    parser.add_argument("--noise", default=",".join(NOISE), help="kinds that are planted; 'none' is the published labels alone")
    parser.add_argument("--first", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    every = load_collection(options.data).train
    rows = np.random.default_rng(options.seed).permutation(len(every))[: options.documents]
    documents = every.take(rows)
    encoder = None if options.encoder is None else TextEncoder(options.encoder, max_tokens=options.max_tokens)
    setting = {"data": options.data, "encoder": None if encoder is None else options.encoder.name, "base": options.base}
    kept = kept_rows(options.out, **setting)
    planted = [] if options.noise == "none" else options.noise.split(",")
    for noise in (PUBLISHED, *planted):
        if any((row["noise"], row["seed"]) == (noise, options.seed) for row in kept):
            continue
        given, wrong = (documents.Y, None) if noise == PUBLISHED else made_wrong(documents.Y, noise, options.seed)
        sides, fitted = qualities(documents, given, options.base, encoder, options.seed)
        if wrong is None:
            own: dict[str, Any] = {"worst": worst(documents, rows, sides["joint"], options.first)}
        else:
            own = precisions(sides, wrong, options.seed)
            print(noise, {side: round(own[side], 2) for side in sides}, flush=True)
        of_run = {"noise": noise, "seed": options.seed, "documents": len(rows), "commit": present_commit()}
        kept.append({**of_run, "fitted": fitted, **own})
        write_json(options.out, {**setting, "rows": kept, "environment": environment()})


if __name__ == "__main__":
    main()
