"""Few labelled references, many unlabelled ones: the citation protocol, one cell a method, number of labels and draw.

200 references are held out for the test, the labelled ones are drawn from the others, and what remains of those, with the
references of other collections, is unlabelled (tags stripped; at most 1,000). Every learning method starts from one tagger
trained by cross-entropy on the labelled references of its draw; no other reference's tags are ever read in training.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from enstruct.data.tagged import Tagged, Token
from enstruct.estimators import EnergySequenceTagger
from enstruct.estimators.weak_data import as_words
from enstruct.methods import get_method
from enstruct.methods.tags import TAG_METHODS
from enstruct.metrics.base import ratio
from enstruct.metrics.tags import accuracy_counts
from enstruct.training.callbacks import Callback
from enstruct.weak_supervision.citations import CITATION_EXPECTATIONS, citation_reward
from enstruct_bench.comparison.quantity import Quantity, Value, mean_and_deviation
from enstruct_bench.comparison.results_file import Cell, Kind
from enstruct_bench.comparison.rules_only import predict_by_rules
from enstruct_bench.comparison.summary import difference, seeds_of
from enstruct_bench.comparison.tag_comparison import BASELINE, TAG_COMPARISON

TEST, MOST_UNLABELLED = 200, 1000
RULES = "rules"
LIGHT_CELLS = Kind({"row": str, "labelled": int, "accuracy": float}, ("accuracy",))
PUBLISHED: dict[str, dict[int, float]] = {
    "ge": {5: 54.7, 10: 57.9, 50: 68.0},
    "r-spen": {5: 55.0, 10: 65.0, 50: 81.5},
    "dvn": {5: 57.4, 10: 60.9, 50: 79.4},
    "sg-spen": {5: 53.0, 10: 62.4, 50: 82.6},
    "implicit-cd": {5: 55.9, 10: 67.8, 50: 82.9},
}
"""Token accuracy in the implicit-training paper's Table 4 (another extension of Cora, other rules, words and encoder)."""


@dataclass(frozen=True)
class Draw:
    labelled: Tagged
    unlabelled: list[list[Token]]
    test: Tagged
    tags: list[str]  # all of the task's, which its few labelled references need not show


def draw_references(data: Tagged, others: Sequence[list[Token]], n_labelled: int, draw: int, split_seed: int = 0) -> Draw:
    """The test references depend on ``split_seed`` alone, the labelled ones on the draw too; fewer are part of more."""
    order = np.random.default_rng(split_seed).permutation(len(data))
    test, rest = order[:TEST], order[TEST:]
    rest = np.random.default_rng([split_seed, draw]).permutation(rest)
    unlabelled = [*(data.sentences[i] for i in rest[n_labelled:]), *others]
    tags = sorted({tag for row in data.truth() for tag in row})
    return Draw(data.take(rest[:n_labelled]), unlabelled[:MOST_UNLABELLED], data.take(test), tags)


def run_light_cell(
    method: str,
    drawn: Draw,
    draw: int,
    model: dict[str, Any],
    epochs: int,
    initial: EnergySequenceTagger | None = None,
    callbacks: Sequence[Callback] = (),
) -> tuple[Cell, EnergySequenceTagger | None]:
    """Token accuracy on the test references; the tagger is None for the rules alone.

    ``epochs`` at most of each stage over the unlabelled references; the baseline, of few updates each, has the model's own limit.
    """
    begin = time.perf_counter()
    tagger, updates = None, {"predictor": 0, "energy": 0}
    if method == RULES:
        words = [as_words(sentence) for sentence in drawn.test.sentences]
        predicted = predict_by_rules(words, citation_reward(), drawn.tags, seed=draw)
    else:
        row = get_method(method, TAG_METHODS)
        settings = {
            **model,
            "classes": drawn.tags,
            "method": method,
            "random_state": draw,
            "initial": initial,
            "callbacks": list(callbacks),
        }
        if method != BASELINE:
            settings["max_epochs"] = epochs
        tagger = EnergySequenceTagger().set_params(**settings)
        tagger.fit(
            drawn.labelled.sentences,
            drawn.labelled.truth(),
            unlabelled=drawn.unlabelled,
            reward=citation_reward() if row.has_energy else None,
            expectations=CITATION_EXPECTATIONS if row.predictor_loss.expectation_weight else None,
        )
        predicted, updates = tagger.predict(drawn.test.sentences), tagger.updates_
    counts = accuracy_counts(drawn.test.truth(), predicted)
    record = {
        "method": f"{method} @{len(drawn.labelled)}",
        "row": method,
        "labelled": len(drawn.labelled),
        "unlabelled": len(drawn.unlabelled),
        "seed": draw,
        "accuracy": ratio(counts),
        "reward": _mean_reward(drawn.test, predicted),
        "updates": updates,
        "seconds": time.perf_counter() - begin,
    }
    return Cell(record, {"accuracy": counts}), tagger


def _mean_reward(test: Tagged, predicted: list[list[str]]) -> float:
    reward = citation_reward()
    return float(
        np.mean([reward.score(reward.read(as_words(s)), tags) for s, tags in zip(test.sentences, predicted, strict=True)])
    )


def needs_baseline(method: str) -> bool:
    return method not in (BASELINE, RULES) and (TAG_COMPARISON.goes_on(method) or method == "ge")


def summarise_light(cells: dict[tuple[str, int], Cell], sizes: Sequence[int]) -> list[dict[str, Any]]:
    """One row a method: for each number of labels mean accuracy over its draws, deviation, and the difference to the first."""
    methods = list(dict.fromkeys(cell.record["row"] for cell in cells.values()))
    return [_row(cells, method, methods[0], sizes) for method in methods]


def _row(cells: dict[tuple[str, int], Cell], method: str, reference: str, sizes: Sequence[int]) -> dict[str, Any]:
    row: dict[str, Any] = {"method": method}
    for n in sizes:
        draws = seeds_of(cells, f"{method} @{n}")
        values = [100 * cells[f"{method} @{n}", draw].record["accuracy"] for draw in draws]
        row[f"{n}"] = mean_and_deviation(values, ".1f") if values else None
        row[f"{n}_published"] = PUBLISHED.get(method, {}).get(n)
        row[f"{n}_difference"] = difference(cells, f"{reference} @{n}", f"{method} @{n}", "accuracy")
    return row


def light_titles(sizes: Sequence[int]) -> list[str]:
    return ["method", *(title for n in sizes for title in (f"{n} labelled", "Δ [95%]", "published"))]


def formatted_light_row(row: dict[str, Any], sizes: Sequence[int]) -> list[Value]:
    out: list[Value] = [row["method"]]
    for n in sizes:
        mean, difference, published = row[str(n)], row[f"{n}_difference"], row[f"{n}_published"]
        out += [
            "not run" if mean is None else mean,
            "–" if difference is None else difference.quantity(),
            "–" if published is None else Quantity(published, form=".1f"),
        ]
    return out
