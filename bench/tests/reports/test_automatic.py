"""The headline table is what the runs say: means, paired differences, answers, candidates."""

import numpy as np
import pytest

from enstruct.metrics import Counts
from enstruct_bench.comparison.results_file import Cell, ResultsFile
from enstruct_bench.reports.automatic import automatic_section


def cell(method, seed, f1, **more):
    record = {"method": method, "seed": seed, "example_f1": {"chosen": f1}, "fit_seconds": 90.0, **more}
    return Cell(record, {"chosen": Counts.of(np.full(20, f1))})


def automatic(seed, f1, answer, nets, method="auto"):
    members = ["binary-relevance", "binary-relevance-tfidf", *["seal-nce"] * nets]
    return cell(method, seed, f1, answer=answer, members=members, candidate_f1={"seal-nce": f1 - 0.01, "everything": f1})


@pytest.fixture
def folder(tmp_path):
    store = ResultsFile(tmp_path / "compare-x.json", {"data": "mine", "model": {}}, {})
    for seed, (answer, nets) in enumerate([("everything", 6), ("everything", 4), ("seal-nce", 6)]):
        store.run("auto", seed, lambda s=seed, a=answer, n=nets: automatic(s, 0.60 + 0.01 * s, a, n))
        store.run("binary-relevance", seed, lambda s=seed: cell("binary-relevance", s, 0.5))
        store.run("extra-trees", seed, lambda s=seed: cell("extra-trees", s, 0.54))
    return tmp_path


def test_the_table_says_what_the_runs_say(folder):
    text = automatic_section(folder)
    row = next(line for line in text.splitlines() if line.startswith("| mine | 3"))
    assert "| 50.00 | 54.00 | not run | 61.00 | +11.00 [+9.78, +12.22] | +7.00 [+5.78, +8.22] | not run |" in row
    assert row.endswith("| 4-6 | – | 1.5 | everything 2, seal-nce 1 |")
    assert "| mine | 60.00 | 61.00 |" in text
    assert "Not run." in text


def test_folded_rows_are_held_against_their_like(folder):
    store = ResultsFile(folder / "compare-y.json", {"data": "mine", "model": {}}, {})
    store.run("auto-folds", 1, lambda: automatic(1, 0.63, "seal-nce", 6, "auto-folds"))
    store.run("auto-folds:binary-relevance", 1, lambda: cell("auto-folds:binary-relevance", 1, 0.52))
    store.run("auto-folds:extra-trees", 1, lambda: cell("auto-folds:extra-trees", 1, 0.6))
    row = next(line for line in automatic_section(folder).splitlines() if line.startswith("| mine | 1"))
    assert "| 61.00 | 52.00 | 60.00 | not run | 63.00 | +2.00 [+2.00, +2.00] ¹ | +11.00 [+11.00, +11.00] ¹ | +3.00 " in row


def test_what_each_kind_of_method_adds(folder):
    assert "of fewer methods" not in automatic_section(folder)
    name = "auto:binary-relevance+extra-trees+cross-entropy"
    store = ResultsFile(folder / "compare-z.json", {"data": "mine", "model": {}}, {})
    for seed in (0, 2):
        store.run(name, seed, lambda s=seed: automatic(s, 0.59 + 0.01 * s, "everything", 6, name))
    store.run("infnet+", 0, lambda: cell("infnet+", 0, 0.5))  # a method of that name
    text = automatic_section(folder)
    assert "infnet+" not in text
    assert f"| mine | {name} | 60.00 | 6 | auto | 61.00 | 4-6 | +1.00 [+1.00, +1.00] (2) | 3 |" in text


def test_runs_of_other_splits_are_not_put_together(folder):
    store = ResultsFile(folder / "compare-z.json", {"data": "mine", "model": {}, "split_seed": 1}, {})
    store.run("auto", 7, lambda: automatic(7, 0.63, "seal-nce", 6))
    rows = [line for line in automatic_section(folder).splitlines() if line.startswith("| mine")]
    assert any("(compare-z.json)" in row and "| 1 |" in row and "| 63.00 |" in row for row in rows)
    assert any("compare" not in row and "| 3 |" in row and "| 61.00 |" in row for row in rows)


def test_files_of_other_rows_or_folds_are_not_put_together(folder):
    other = {"data": "mine", "model": {}, "rows": {"test": 30}}
    ResultsFile(folder / "compare-z.json", other, {}).run("auto", 0, lambda: longer(automatic(0, 0.7, "seal-nce", 6), 30))
    folds = ResultsFile(folder / "compare-k.json", {"data": "mine", "model": {}, "split": "2-fold"}, {})
    for seed, n in ((0, 20), (1, 30)):
        folds.run("auto", seed, lambda s=seed, n=n: longer(automatic(s, 0.6 + s / 10, "seal-nce", 6), n))
        folds.run("binary-relevance", seed, lambda s=seed, n=n: longer(cell("binary-relevance", s, 0.5), n))
    rows = [line for line in automatic_section(folder).splitlines() if line.startswith("| mine (")]
    assert any("compare-z.json" in row and "| 70.00 |" in row for row in rows)
    pooled = next(row for row in rows if "compare-k.json" in row and "| 2 |" in row)
    assert "| +16.00 [" in pooled  # 20 rows differ by 10 points, 30 by 20
    assert "¹" not in pooled


def longer(one, n):
    return Cell(one.record, {name: Counts.of(np.full(n, scores.above[0])) for name, scores in one.rows.items()})


def test_a_parameter_younger_than_a_file_had_its_default(folder):
    young = {"model": {"monitor": "auto"}, "data": "mine"}
    ResultsFile(folder / "compare-z.json", young, {}).run("auto", 7, lambda: automatic(7, 0.63, "seal-nce", 6))
    assert "| mine | 4 |" in automatic_section(folder)
    other = {"model": {"monitor": "fixed"}, "data": "mine"}
    ResultsFile(folder / "compare-w.json", other, {}).run("auto", 8, lambda: automatic(8, 0.63, "seal-nce", 6))
    rows = [line for line in automatic_section(folder).splitlines() if line.startswith("| mine")]
    assert any("(compare-w.json)" in row and "| 1 |" in row for row in rows)
    assert any("compare" not in row and "| 4 |" in row for row in rows)


def test_runs_of_another_version_stand_in_a_row_of_their_own(folder):
    store = ResultsFile(folder / "compare-z.json", {"data": "mine", "model": {}, "environment": {"torch": "9"}}, {})
    store.run("auto", 7, lambda: automatic(7, 0.63, "seal-nce", 6))
    rows = [line for line in automatic_section(folder).splitlines() if line.startswith("| mine (")]
    assert any("(torch None)" in row and "| 3 |" in row and "| 61.00 |" in row for row in rows)
    assert any("(torch 9)" in row and "| 1 |" in row and "| 63.00 |" in row for row in rows)


def test_without_runs_there_is_no_section(tmp_path):
    assert automatic_section(tmp_path) == ""
