"""Wrong tags among given ones: how early they come among the suspects of taggers that have not seen the sentences.

    enstruct-bench joint conll2003 --part wrong --embeddings GLOVE --json results/wrong-tags-conll2003.json

Errors are planted in ``SHARE`` of the spans, each of a kind drawn at random: another type; a boundary one token off; dropped.
Taggers are trained by folds on the sentences with their errors. Sides, lowest first:

    joint      p(tag | x, all tags outside of its span), :meth:`enstruct.EnergySequenceTagger.tag_quality`
    cleanlab   self-confidence, p(tag | x), of the same taggers' marginals, by cleanlab's token classification (group ``peers``)

Taggers are trained on BIOES; marginals are added up to those of the tags as given, IOB2, before cleanlab sees them.

What counts is the average precision of tokens whose tag was changed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from enstruct.data.tag_schemes import Span, convert, find_spans, tags_of_scheme
from enstruct.environment import environment
from enstruct.estimators import EnergySequenceTagger
from enstruct.files import write_json
from enstruct.rules.tags import tag_may_be
from enstruct_bench.comparison.protocols import load_tagged_parts
from enstruct_bench.comparison.provenance import present_commit
from enstruct_bench.joint.kept_rows import kept_rows, say_figures

SHARE = 0.05
KINDS = ("type", "boundary", "dropped")
FOLDS = 3
RESAMPLES = 1000

Tags = list[str]


def with_errors(tags: Sequence[Sequence[str]], seed: int) -> list[Tags]:
    """IOB2 sentences with errors in ``SHARE`` of their spans; an error that would leave the sentence as it is is not one."""
    rng = np.random.default_rng([seed, 11])
    types = sorted({span.type for row in tags for span in find_spans(row)})
    out = []
    for row in tags:
        spans = list(find_spans(row))
        for k in range(len(spans)):
            if rng.random() < SHARE:
                spans[k : k + 1] = _mistaken(spans, k, len(row), str(rng.choice(KINDS)), types, rng)
                break  # one error a sentence at most
        out.append(_written(spans, len(row)))
    return out


def _mistaken(spans: list[Span], k: int, length: int, kind: str, types: list[str], rng: np.random.Generator) -> list[Span]:
    span = spans[k]
    if kind == "dropped":
        return []
    if kind == "type":
        return [span._replace(type=str(rng.choice([one for one in types if one != span.type])))]
    least, most = (spans[k - 1].end if k else 0), (spans[k + 1].start if k + 1 < len(spans) else length)
    moved = [
        one
        for one in (
            *(span._replace(start=span.start + step) for step in (-1, 1)),
            *(span._replace(end=span.end + step) for step in (-1, 1)),
        )
        if least <= one.start < one.end <= most
    ]
    return [moved[rng.integers(len(moved))]] if moved else []


def _written(spans: Sequence[Span], length: int) -> Tags:
    row = ["O"] * length
    for span in spans:
        row[span.start : span.end] = [f"B-{span.type}", *[f"I-{span.type}"] * (span.end - span.start - 1)]
    return row


def qualities(words: Any, given: list[Tags], settings: dict[str, Any], seed: int) -> dict[str, list[NDArray[np.float64]]]:
    """Side -> for each sentence (tokens,)."""
    fold_of = np.random.default_rng([seed, 12]).permutation(len(words)) % FOLDS
    found: dict[str, list[Any]] = {"joint": [None] * len(words), "cleanlab": [None] * len(words)}
    tags = sorted({tag for row in given for tag in row})
    for fold in range(FOLDS):
        train, out = (np.flatnonzero(side).tolist() for side in (fold_of != fold, fold_of == fold))
        tagger = EnergySequenceTagger(**settings, classes=tags, random_state=seed)
        tagger.fit([words[i] for i in train], [given[i] for i in train])
        asked, said = [words[i] for i in out], [given[i] for i in out]
        scores = {"joint": tagger.tag_quality(asked, said)}
        if find_spec("cleanlab") is not None:
            scores["cleanlab"] = _self_confidence(tagger, tagger.predict_proba(asked), said)
        for side, rows in scores.items():
            for i, row in zip(out, rows, strict=True):
                found[side][i] = row
    return {side: rows for side, rows in found.items() if all(row is not None for row in rows)}


def _self_confidence(tagger: EnergySequenceTagger, p: list[NDArray[Any]], said: list[Tags]) -> list[NDArray[np.float64]]:
    """By cleanlab, of marginals of the tags as they are given."""
    from cleanlab.token_classification.rank import get_label_quality_scores

    trained = tagger.classes_.tolist()
    given = tags_of_scheme({tag[2:] for tag in trained if tag != "O"}, "IOB2")
    number = {tag: k for k, tag in enumerate(given)}
    sums = np.array([[tag_may_be(tag, one, "IOB2") for tag in given] for one in trained], dtype=np.float64)
    labels = [[number[tag] for tag in row] for row in said]
    there = [i for i, row in enumerate(labels) if row]
    _, scores = get_label_quality_scores([labels[i] for i in there], [np.clip(p[i] @ sums, 0.0, 1.0) for i in there])
    out = [np.zeros(0)] * len(labels)
    for i, row in zip(there, scores, strict=True):
        out[i] = np.asarray(row, dtype=np.float64)
    return out


def figures(wrong: list[NDArray[np.bool_]], found: dict[str, list[NDArray[np.float64]]], seed: int) -> dict[str, Any]:
    """Average precision in percent of each side; "more": the joint's over cleanlab's, 95% by bootstrap over sentences."""
    truth = np.concatenate(wrong)
    out: dict[str, Any] = {side: _precision(truth, np.concatenate(rows)) for side, rows in found.items()}
    if "cleanlab" in found:
        rng, gains = np.random.default_rng(seed), []
        for _ in range(RESAMPLES):
            drawn = rng.integers(len(wrong), size=len(wrong))
            again = np.concatenate([wrong[i] for i in drawn])
            a, b = (_precision(again, np.concatenate([found[side][i] for i in drawn])) for side in ("joint", "cleanlab"))
            gains.append(a - b)
        out["more"] = [out["joint"] - out["cleanlab"], *np.quantile(gains, (0.025, 0.975)).tolist()]
    return out


def _precision(wrong: NDArray[np.bool_], quality: NDArray[np.float64]) -> float:
    return 100 * float(average_precision_score(wrong, -quality))


def wrong_tags(data: str, methods: Sequence[str], seeds: int, epochs: int, embeddings: Path | None, out: Path | None) -> None:
    """Figures of taggers by these methods, to a file of their own. EnstructError."""
    parts = load_tagged_parts(data)
    words = [*parts.validation.sentences, *parts.test.sentences]  # the sentences whose tags are reviewed
    truth = [convert(list(row), "IOB2") for part in (parts.validation, parts.test) for row in part.truth()]
    rows = kept_rows(out, data=data, epochs=epochs)
    for seed in range(seeds):
        given = with_errors(truth, seed)
        wrong = [np.array([a != b for a, b in zip(*pair, strict=True)], dtype=bool) for pair in zip(truth, given, strict=True)]
        for method in methods:
            if any((row["method"], row["seed"]) == (method, seed) for row in rows):
                continue
            begin = time.perf_counter()
            found = qualities(words, given, {"method": method, "embeddings": embeddings, "max_epochs": epochs}, seed)
            sizes = {"wrong": int(sum(map(sum, wrong))), "tokens": int(sum(map(len, wrong))), "sentences": len(words)}
            seconds = time.perf_counter() - begin
            rows.append({"method": method, "seed": seed, **sizes, **figures(wrong, found, seed), "seconds": seconds})
            say_figures(rows[-1])
            content = {"data": data, "share": SHARE, "folds": FOLDS, "epochs": epochs, "rows": rows}
            if out is not None:
                write_json(out, content | {"commit": present_commit(), "environment": environment()})
