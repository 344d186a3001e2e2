"""Results files that are damaged: what cannot be used is a DataError, before any of it is."""

import json

import numpy as np
import pytest
from tests.damage import with_wrong_fields

from enstruct.errors import DataError
from enstruct.metrics import Counts
from enstruct_bench.comparison.comparisons import COMPARISONS
from enstruct_bench.comparison.light import LIGHT_CELLS, formatted_light_row, summarise_light
from enstruct_bench.comparison.results_file import Cell, ResultsFile
from enstruct_bench.comparison.summary import formatted, summarise

ONE = {"fit_seconds": 1.0, "predict_seconds": 0.1, "predictor_updates": 5, "energy_updates": 0, "epochs": 3, "decision": "fixed"}
LABELS = {**ONE, "micro_f1": 0.5, "macro_f1": 0.4}
RATIOS = {**ONE, "accuracy": 0.7, "pooled": 0.6, "without": None}


def table(name, cells):
    """As the command prints it."""
    if name == "light":
        rows = [formatted_light_row(row, [5]) for row in summarise_light(cells, [5])]
    else:
        rows = [formatted(COMPARISONS[name], row) for row in summarise(COMPARISONS[name], cells)]
    return [[*map(str, row)] for row in rows]


KINDS = {
    "labels": (COMPARISONS["labels"].kind(), LABELS, ("fixed", "threshold", "chosen")),
    "tags": (COMPARISONS["tags"].kind(), {**RATIOS, "metric": "span-f1"}, ("greedy", "chosen")),
    "masks": (COMPARISONS["masks"].kind(), {**RATIOS, "metric": "iou"}, ("greedy", "chosen")),
    "light": (LIGHT_CELLS, {"labelled": 5, "accuracy": 0.5}, ("accuracy",)),
}
SETTING = {"data": "x", "model": {"hidden": 8}, "environment": {"torch": "1"}}


def written(path, name, length=6):
    kind, record, rules = KINDS[name]
    store, rng = ResultsFile(path, SETTING, {}, kind), np.random.default_rng(0)
    for method in ("a", "b"):
        for seed in (0, 1):
            full = {**record, "method": f"{method} @5" if name == "light" else method, "seed": seed, "row": method}
            below = 1.0 if name == "labels" else rng.integers(1, 5, length)
            rows = {rule: Counts.of(rng.random(length), below) for rule in rules}
            store.run(full["method"], seed, lambda full=full, rows=rows: Cell(full, rows))
    return store


@pytest.mark.parametrize("name", KINDS)
def test_whatever_is_wrong_with_a_file_is_said(name, tmp_path):
    kind = KINDS[name][0]
    path = tmp_path / "out.json"
    whole = table(name, written(path, name).cells)
    said = []
    for _ in with_wrong_fields(path, times=60):
        try:
            cells = ResultsFile(path, SETTING, {}, kind).cells
            if cells:
                table(name, cells)
        except DataError as error:
            said.append(str(error))
    assert len(said) > 20
    assert all("out." in each for each in said)
    assert table(name, ResultsFile(path, SETTING, {}, kind).cells) == whole


@pytest.mark.parametrize(
    "scores", [np.zeros(5), np.zeros((6, 3)), np.array(["x"] * 6), np.zeros(0), np.float64(1), np.full(6, np.nan)]
)
def test_scores_that_cannot_be_held_against_others(scores, tmp_path):
    path = tmp_path / "out.json"
    store = written(path, "labels")
    with np.load(store.rows_path) as archive:
        arrays = dict(archive)
    np.savez(store.rows_path, **{**arrays, "b/1/chosen": scores})
    with pytest.raises(DataError, match=r"out\.rows\.npz has no scores for b, seed 1, chosen"):
        ResultsFile(path, SETTING, {}, KINDS["labels"][0])
    arrays.pop("b/1/chosen")
    np.savez(store.rows_path, **arrays)
    with pytest.raises(DataError, match="no scores for b, seed 1, chosen"):
        ResultsFile(path, SETTING, {}, KINDS["labels"][0])


def test_folds_have_their_own_rows(tmp_path):
    setting, (kind, record, rules) = {**SETTING, "split": "2-fold"}, KINDS["labels"]
    store = ResultsFile(tmp_path / "f.json", setting, {}, kind)
    for fold, length in enumerate((6, 5)):
        rows = dict.fromkeys(rules, Counts.of(np.zeros(length)))
        store.run("a", fold, lambda fold=fold, rows=rows: Cell({**record, "method": "a", "seed": fold}, rows))
    assert len(ResultsFile(tmp_path / "f.json", setting, {}, kind).cells) == 2


def test_scores_without_their_records_are_not_replaced(tmp_path):
    store = written(tmp_path / "out.json", "labels")
    before = store.rows_path.read_bytes()
    store.path.unlink()
    with pytest.raises(DataError, match=r"out\.rows\.npz is there without out\.json"):
        ResultsFile.to_add_to(store.path, SETTING, {})
    assert store.rows_path.read_bytes() == before


def test_a_field_that_is_wrong_is_named(tmp_path):
    path = tmp_path / "out.json"
    written(path, "labels")
    content = json.loads(path.read_text())
    content["runs"][2]["macro_f1"] = "much"
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match=r"got `str` - at `\$\.runs\[2\]\.macro_f1`"):
        ResultsFile(path, SETTING, {}, KINDS["labels"][0])


def test_cells_of_a_comparison_hold_the_commit_they_were_made_from(tmp_path, monkeypatch):
    monkeypatch.setattr("enstruct_bench.comparison.results_file.present_commit", lambda *folders: "abc123")
    file = ResultsFile(tmp_path / "r.json", {}, {})
    cell = file.run("a", 0, lambda: Cell({"method": "a", "seed": 0}, {"chosen": Counts.of(np.ones(1))}))
    assert cell.record["commit"] == "abc123"
