"""Distances to published figures, and what chance makes of them."""

import numpy as np
import pytest
from scipy.stats import t as student

from enstruct.environment import environment
from enstruct.metrics import Counts
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.reports.published_figures import PUBLISHED_SEEDS, chance
from enstruct_bench.reports.reproduced import reproduced_section
from enstruct_bench.reproduce.protocols import settings
from enstruct_bench.reproduce.runner import encoded
from enstruct_bench.reproduce.store import Key, Store
from enstruct_bench.reproduce.tables import TABLES

SEAL_2 = TABLES["seal-2"]


def add(store, method, seed, figure, rows, validation=None):
    record = {"example_f1": dict.fromkeys(("fixed", "threshold", "chosen"), figure), "decision": "fixed"}
    cell = Cell(record | {"validation_score": validation}, dict.fromkeys(("chosen", "fixed"), Counts.of(rows)))
    parameters = encoded(settings(SEAL_2, "cal500", "published", method))
    store.add(Key("cal500", "published", method, seed), cell, parameters, environment(), None)


@pytest.mark.parametrize(("runs", "same_rows"), [(1, False), (2, False), (5, False), (5, True), (3, True)])
def test_two_figures_of_one_method_differ_by_less_than_chance_in_95_of_100_cases(runs, same_rows):
    """Fifths of a thousand rows drawn twice, or once; scores have a part of the row and one of the row in this run, and runs
    differ as wholes. Of one run the spread of runs is not known, and is none here."""
    rng, n = np.random.default_rng(0), 200
    of_rows = rng.normal(0.4, 0.2, 5 * n)

    def scores(number, tested):
        of_runs = rng.normal(0, 0.02 if runs > 1 else 0, (number, 1))
        return of_rows[tested] + of_runs + rng.normal(0, 0.05, (number, n))

    def within():
        tested = rng.permutation(5 * n)[:n]
        others = tested if same_rows else rng.permutation(5 * n)[:n]
        ours, theirs = scores(runs, tested), scores(PUBLISHED_SEEDS, others)
        return abs(ours.mean() - theirs.mean()) <= chance([*ours], same_rows)

    assert 0.925 < np.mean([within() for _ in range(1500)]) < 0.98


def test_one_run_on_the_same_rows_tells_nothing_of_chance():
    assert chance([np.linspace(0, 1, 11)], same_rows=True) is None


def test_figures_are_sorted_by_whether_chance_explains_their_distance(tmp_path):
    store, spread = Store(tmp_path, "seal-2"), np.linspace(0, 0.8, 101)
    published = {method: SEAL_2.rows[method]["cal500"] / 100 for method in ("cross-entropy", "dvn")}
    add(store, "cross-entropy", 0, published["cross-entropy"] + 0.01, spread)
    add(store, "dvn", 0, published["dvn"] - 0.1, spread)
    text = reproduced_section(SEAL_2, store, ["cal500"])
    expected = 100 * student.ppf(0.975, 100) * np.sqrt(2 * 0.8 * spread.var(ddof=1) / len(spread))
    assert f"Within: cross-entropy +1.00 ±{expected:.2f}. Beyond: dvn -10.00 ±{expected:.2f}." in text


def test_the_run_that_a_search_would_pick_stands_beside_the_mean(tmp_path):
    store, rows = Store(tmp_path, "seal-2"), np.full(20, 0.5)
    runs = {"spen": [(0.3, 0.9), (0.5, 0.41239), (0.4, 0.8)], "nce": [(0.3, 0.9)], "dvn": [(0.3, 0.9), (None, 0.99)]}
    for method, scores in runs.items():
        for seed, (validation, test) in enumerate(scores):
            add(store, method, seed, test, rows, validation)
    text = reproduced_section(SEAL_2, store, ["cal500"])
    assert "best score on validation rows: spen 41.24 (3)." in text
