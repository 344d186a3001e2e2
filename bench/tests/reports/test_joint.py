"""Sections of joints say what their splits are, and which figures are of few rows."""

from pathlib import Path

import numpy as np
import pytest

from enstruct.metrics import Counts
from enstruct_bench.comparison.bootstrap import difference_over_splits, paired_difference
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.joint.summary import difference
from enstruct_bench.reports.joint import SAME, _few, _is_published

PAGE = Path(__file__).parents[3] / "docs" / "results.md"


@pytest.mark.parametrize(("data", "published"), [("spo_FUN", True), ("spo_GO", True), ("yeast", False), ("mine.csv", False)])
def test_splits_that_were_published(data, published):
    assert _is_published(data) == published


def test_the_page_says_so_of_a_set_with_published_parts():
    section = PAGE.read_text(encoding="utf-8").split("(`joint-spo_FUN.json`)")[1].split("\n## ")[0]
    assert f"splits{SAME}" in section
    assert "NLL, exact and F1 are of 200 of these rows, spread evenly. Asks: of 25 rows" in section


def cells(n_rows):
    rng = np.random.default_rng(0)
    return {
        (method, seed): Cell({}, {key: Counts.of(rng.random(n_rows)) for key in ("nll", "f1@0.5", "questions")})
        for method in ("joint", "base")
        for seed in (0, 1)
    }


@pytest.mark.parametrize("figure", ["f1@0.5", "questions"])
def test_rows_that_all_seeds_share_are_drawn_once(figure):
    """But for questions, whose rows are each seed's own."""
    some = cells(30)
    a, b = ([some[method, seed].rows[figure] for seed in (0, 1)] for method in ("joint", "base"))
    once, anew = paired_difference(a, b), difference_over_splits(a, b)
    factor = 100 if figure.startswith("f1") else 1
    expected = anew if figure == "questions" else once
    assert difference(some, "joint", "base", figure, same_rows=True) == pytest.approx([factor * each for each in expected])
    assert difference(some, "joint", "base", figure) == pytest.approx([factor * each for each in anew])


def test_figures_of_few_rows_are_named():
    assert _few(cells(200), 1266).startswith(" NLL, exact and F1 are of 200 of these rows")
    assert _few(cells(104), 101) == " Asks: of 104 rows, of more than 20 labels a twentieth at a time."
