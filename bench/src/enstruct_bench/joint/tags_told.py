"""What told tags say of the others: taggers on whole sentences, with a share of their tokens told.

    enstruct-bench joint conll2003 --embeddings GLOVE --json results/told-tags-conll2003.json

Every tagger answers by its chain (:mod:`enstruct.joint.chain`). A method's name may say which terms its energy has, as
"crf@local+chain+skip-2"; what is more than a chain answers by sampling. At each share the same tokens are told to all of them.
What counts are entities (spans with type) that have a token which is not told, among those of the truth and those of the
answer; tokens that are not told; whole sentences. "alone" is the same tagger's answer without what is told, on the same
entities; "pasted" is that with told tags put over it, which infers nothing, and which gains are held against.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from enstruct.data.tagged import told_at_random
from enstruct.energies import EnergySpec
from enstruct.environment import environment
from enstruct.estimators import EnergySequenceTagger
from enstruct.files import write_json
from enstruct.metrics import Counts
from enstruct.metrics.base import ratio
from enstruct.metrics.tags import accuracy_counts, span_counts
from enstruct_bench.comparison.bootstrap import paired_difference
from enstruct_bench.comparison.protocols import load_tagged_parts
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.joint.kept_rows import kept_rows, say_figures

SHARES = (0.0, 0.25, 0.5, 0.75)
CLIP = 1e-9


def exact_counts(truth: Any, answer: Any) -> Counts:
    return Counts.of(np.array([list(a) == list(b) for a, b in zip(truth, answer, strict=True)]))


def measured(tagger: EnergySequenceTagger, words: Any, truth: list[list[str]], seed: int) -> dict[str, Any]:
    """Figures of one tagger at all shares; ``counts`` are kept apart for intervals."""
    nothing = [[None] * len(row) for row in truth]
    alone = tagger.predict(words, known=nothing)
    chosen = tagger.predict(words)
    out: dict[str, Any] = {"rule": tagger.decision_, "f1_of_rule": _ratio(span_counts(truth, chosen, nothing)), "shares": {}}
    out["nats"] = float(-tagger.log_prob(words, truth).mean())
    counts = {}
    for share in SHARES:
        known = told_at_random(truth, share, seed)
        begin = time.perf_counter()
        answer = tagger.predict(words, known=known)
        seconds = time.perf_counter() - begin
        kept = all(k is None or k == a for row, got in zip(known, answer, strict=True) for k, a in zip(row, got, strict=True))
        pasted = [[a if k is None else k for k, a in zip(*pair, strict=True)] for pair in zip(known, alone, strict=True)]
        with_known, without, put = (span_counts(truth, tags, known) for tags in (answer, alone, pasted))
        counts[share] = with_known, without, put
        out["shares"][f"{share:g}"] = {
            "f1": _ratio(with_known),
            "f1_alone": _ratio(without),
            "f1_pasted": _ratio(put),
            "gain": [100 * value for value in paired_difference([without], [with_known])],
            "gain_over_pasted": [100 * value for value in paired_difference([put], [with_known])],
            "accuracy": _ratio(accuracy_counts(truth, answer, known)),
            "exact": _ratio(exact_counts(truth, answer)),
            "seconds": seconds,
            "told_as_told": kept,
        }
    return out | {"counts": counts}


def _ratio(counts: Counts) -> float:
    return 100 * float(ratio(counts))


def named(method: str) -> EnergySequenceTagger:
    """Unfitted, by a method's name and perhaps its energy's terms. ConfigError."""
    name, at, terms = method.partition("@")
    spec = EnergySpec(tuple(terms.split("+")), features="separate") if at else None
    return EnergySequenceTagger(name, energy_network=spec)


def told_tags(data: str, methods: Sequence[str], seeds: int, epochs: int, embeddings: Path | None, out: Path | None) -> None:
    """Figures of taggers by these methods, to a file of their own. EnstructError."""
    parts, vectors = load_tagged_parts(data), None if embeddings is None else embeddings.name
    words, truth = parts.test.sentences, [list(row) for row in parts.test.truth()]
    rows = kept_rows(out, data=data, epochs=epochs, embeddings=vectors)
    for seed in range(seeds):
        for method in methods:
            if any((row["method"], row["seed"]) == (method, seed) for row in rows):
                continue
            begin = time.perf_counter()
            tagger = named(method).set_params(embeddings=embeddings, max_epochs=epochs, random_state=seed)
            tagger.fit(
                parts.train.sentences, parts.train.truth(), X_val=parts.validation.sentences, y_val=parts.validation.truth()
            )
            seconds = time.perf_counter() - begin
            figures = measured(tagger, words, truth, seed)
            figures.pop("counts")
            rows.append({"method": method, "seed": seed, "fit_seconds": seconds, **figures})
            say_figures(rows[-1])
            sizes = {name: len(part.sentences) for name, part in vars(parts).items()}
            content = {"data": data, "sentences": sizes, "epochs": epochs, "rows": rows}
            own = {"embeddings": vectors, "commit": present_commit()}
            if out is not None:
                write_json(out, {**content, **own, "environment": environment()})
