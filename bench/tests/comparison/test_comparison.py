"""Cells, summaries, and the results file."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from tests.damage import with_wrong_bytes

from enstruct.data.splits import split_60_20_20
from enstruct.data.synthetic import block_exclusive
from enstruct.errors import DataError, SaveError
from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct.metrics import METRICS, Counts, average_precision, calibration_error, example_f1
from enstruct.training.callbacks import Callback
from enstruct_bench.comparison.label_comparison import LABEL_COMPARISON
from enstruct_bench.comparison.protocols import Draws, Folds
from enstruct_bench.comparison.provenance import FORMER_PROCESSOR
from enstruct_bench.comparison.results_file import Cell, ResultsFile
from enstruct_bench.comparison.run import run_cell
from enstruct_bench.comparison.summary import spread, summarise

SMALL = {"hidden": 8, "layers": 1, "max_epochs": 2}
DEFAULTS = EnergyMultiLabelClassifier("seal-nce").get_params(deep=False)


def test_cells_are_kept_resumed_and_summarised(tmp_path, blocks):
    splits, path, ran = split_60_20_20(blocks), tmp_path / "out.json", []

    def cell(method, seed):
        ran.append((method, seed))
        return run_cell(LABEL_COMPARISON, method, splits, seed, SMALL)

    methods = ["binary-relevance", "seal-nce"]
    store = ResultsFile(path, {"data": "blocks"}, DEFAULTS)
    store.run("binary-relevance", 0, lambda: cell("binary-relevance", 0))
    store = ResultsFile(path, {"data": "blocks"}, DEFAULTS)  # as a second process would
    for seed in (0, 1):
        for method in methods:
            store.run(method, seed, lambda m=method, s=seed: cell(m, s))
    assert len(ran) == 4
    rows = summarise(LABEL_COMPARISON, store.cells)
    store.write()
    assert rows[0]["tuned_difference"] is None
    difference = np.mean(rows[1]["threshold"]) - np.mean(rows[0]["threshold"])
    assert rows[1]["tuned_difference"].mean == pytest.approx(difference, abs=1e-3)
    turned = summarise(LABEL_COMPARISON, store.cells, reference=methods[1])
    assert turned[1]["tuned_difference"] is None
    assert turned[0]["tuned_difference"].mean == pytest.approx(-rows[1]["tuned_difference"].mean)
    assert rows[1]["energy_updates"] == rows[1]["predictor_updates"] == 2 * 6
    content = json.loads(path.read_text())
    assert len(content["runs"]) == 4
    assert content["runs"][0]["validation"]
    scores = {run["method"]: run["validation_score"] for run in content["runs"]}
    assert scores["binary-relevance"] is None
    assert 0 < scores["seal-nce"] <= 1


def test_the_validation_score_is_that_of_the_best_epoch_of_the_last_stage(blocks):
    seen = []

    class Watch(Callback):
        def on_epoch_end(self, loop, record):
            seen.append((record["stage"], record["score"]))

    splits = split_60_20_20(blocks)
    cell = run_cell(LABEL_COMPARISON, "nce", splits, 0, SMALL, [Watch()])
    last = [score for stage, score in seen if stage == seen[-1][0]]
    assert len(last) < len(seen)
    assert cell.record["validation_score"] == max(last)


def test_two_processes_add_to_one_file(tmp_path):
    path, rows = tmp_path / "out.json", dict.fromkeys(("fixed", "threshold", "chosen"), Counts.of(np.zeros(3)))
    one, two = ResultsFile(path, {"data": "a"}, DEFAULTS), ResultsFile(path, {"data": "a"}, DEFAULTS)
    one.run("a", 0, lambda: Cell({"method": "a", "seed": 0}, rows))
    two.run("b", 0, lambda: Cell({"method": "b", "seed": 0}, rows))
    assert set(ResultsFile(path, {"data": "a"}, DEFAULTS).cells) == {("a", 0), ("b", 0)}
    two.run("b", 1, lambda: Cell({"method": "b", "seed": 1}, rows))
    made = []
    one.run("b", 1, lambda: made.append(1))  # the other has it by now
    assert not made
    with pytest.raises(SaveError, match="Could not write"):
        ResultsFile(path / "x.json", {}, DEFAULTS).run("a", 0, lambda: Cell({"method": "a", "seed": 0}, rows))
    np.savez(path.with_suffix(".rows.npz"), x=np.zeros(1))
    with pytest.raises(DataError, match="not of one time"):
        ResultsFile(path, {"data": "a"}, DEFAULTS)


def test_another_setting_or_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "out.json"
    rows = dict.fromkeys(("fixed", "threshold", "chosen"), Counts.of(np.zeros(3)))
    store = ResultsFile(path, {"data": "a", "torch": "1"}, DEFAULTS)
    store.run("m", 0, lambda: Cell({"method": "m", "seed": 0}, rows))
    with pytest.raises(DataError, match=r"another data \('a' there, 'b' here\); torch"):
        ResultsFile(path, {"data": "b", "torch": "2"}, DEFAULTS)
    said = 0
    for _ in with_wrong_bytes(store.rows_path, times=100):
        try:
            ResultsFile(path, {"data": "a", "torch": "1"}, DEFAULTS)
        except DataError:
            said += 1
    assert said > 20
    path.write_text(path.read_text()[:40])
    with pytest.raises(DataError, match="not a results file"):
        ResultsFile(path, {"data": "a", "torch": "1"}, DEFAULTS)


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        '{"setting": null, "runs": []}',
        '{"setting": {"model": 3}, "runs": []}',
        '{"setting": {}, "runs": 3}',
        '{"setting": {"model": {}}, "runs": [{"method": "m"}]}',
    ],
)
def test_a_file_edited_by_hand_is_refused(tmp_path, content):
    path = tmp_path / "out.json"
    path.write_text(content)
    np.savez(tmp_path / "out.rows.npz", x=np.zeros(1))
    with pytest.raises(DataError, match="not a results file"):
        ResultsFile(path, {"model": {}}, DEFAULTS)


def test_data_is_known_by_its_content(tmp_path):
    path, rows = tmp_path / "out.json", dict.fromkeys(("fixed", "threshold", "chosen"), Counts.of(np.zeros(3)))
    ResultsFile(path, {"data": "a"}, DEFAULTS).run("m", 0, lambda: Cell({"method": "m", "seed": 0}, rows))
    old = ResultsFile(path, {"data": "a", "content": "1"}, DEFAULTS)  # from before it was recorded
    old.run("m", 1, lambda: Cell({"method": "m", "seed": 1}, rows))
    assert len(ResultsFile(path, {"data": "a", "content": "1"}, DEFAULTS).cells) == 2
    with pytest.raises(DataError, match=r"another content \('1' there, '2' here\)"):
        ResultsFile(path, {"data": "a", "content": "2"}, DEFAULTS)


def test_where_nothing_can_be_written_is_said_before_anything_is_run(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SaveError, match="Could not write"):
        ResultsFile.to_add_to(tmp_path / "file" / "out.json", {}, DEFAULTS)


def test_the_scores_of_two_files_are_apart(tmp_path):
    assert ResultsFile(tmp_path / "run.v1", {}, {}).rows_path != ResultsFile(tmp_path / "run.v2", {}, {}).rows_path


def test_parameters_count_that_are_not_the_defaults(tmp_path):
    path = tmp_path / "out.json"
    rows = dict.fromkeys(("fixed", "threshold", "chosen"), Counts.of(np.zeros(3)))
    store = ResultsFile(path, {"model": {**DEFAULTS, "hidden": 8}}, DEFAULTS)
    store.run("m", 0, lambda: Cell({"method": "m", "seed": 0}, rows))
    assert json.loads(path.read_text())["setting"]["model"] == {"hidden": 8}
    later = {**DEFAULTS, "dropout": 0.1, "new": 3}  # another default, and an argument that there was not
    assert ResultsFile(path, {"model": {**later, "hidden": 8}}, later).cells
    with pytest.raises(DataError, match=r"another model\.dropout \(0\.5 there, 0\.25 here\)"):
        ResultsFile(path, {"model": {**DEFAULTS, "hidden": 8, "dropout": 0.25}}, DEFAULTS)
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "setting": {"model": {**DEFAULTS, "hidden": 8}}}))  # as files were written of old
    assert ResultsFile(path, {"model": {**DEFAULTS, "hidden": 8}}, DEFAULTS).cells


def test_another_metric_and_folds(blocks):
    """Folds are one pass over the rows: the difference is that of the pooled rows, whatever their sizes."""
    folds = Folds(blocks, 3)
    settings = {**SMALL, "metric": "hamming"}
    methods = ["binary-relevance", "low-rank"]
    cells = {(m, i): run_cell(LABEL_COMPARISON, m, splits, i, settings) for i, splits in enumerate(folds) for m in methods}
    rows = summarise(LABEL_COMPARISON, cells, tested="folds")
    pooled = {m: np.concatenate([cells[m, i].rows["threshold"].above for i in range(3)]) for m in methods}
    assert len(pooled["low-rank"]) == len(blocks)
    difference = rows[1]["tuned_difference"]
    assert difference.mean == pytest.approx(100 * (pooled["low-rank"] - pooled["binary-relevance"]).mean())
    assert difference.low <= difference.mean <= difference.high
    assert "¹" not in str(difference)
    assert rows[0]["fixed"] == pytest.approx([100 * cells["binary-relevance", i].record["hamming"]["fixed"] for i in range(3)])
    assert LABEL_COMPARISON.titles("hamming")[1] == "Hamming accuracy @0.5"


def test_of_splits_rows_are_drawn_within_each(blocks):
    """The mean of the splits' differences, and wider than one pass over their rows: they overlap, and each is a run."""
    cells = {
        (method, i): run_cell(LABEL_COMPARISON, method, splits, i, SMALL)
        for i, splits in enumerate(Draws(blocks, 3, 0))
        for method in ("binary-relevance", "low-rank")
    }
    split, fold = (summarise(LABEL_COMPARISON, cells, tested=tested)[1]["tuned_difference"] for tested in ("splits", "folds"))
    of_each = [
        cells["low-rank", i].record["example_f1"]["threshold"] - cells["binary-relevance", i].record["example_f1"]["threshold"]
        for i in range(3)
    ]
    assert split.mean == pytest.approx(100 * np.mean(of_each))
    assert split.high - split.low > fold.high - fold.low


def test_a_writer_waits_for_the_other_s_lock(tmp_path):
    """A second process that holds the lock while this one writes: its run, written last before the lock is free, is kept."""
    path, rows = tmp_path / "out.json", dict.fromkeys(("fixed", "threshold", "chosen"), Counts.of(np.zeros(3)))
    one = ResultsFile(path, {"data": "a"}, DEFAULTS)
    one.run("a", 0, lambda: Cell({"method": "a", "seed": 0}, rows))
    script = f"""
import sys, time
import numpy as np
from pathlib import Path
from enstruct.metrics import Counts
from enstruct_bench.comparison.results_file import Cell, ResultsFile
from enstruct_bench.comparison.locks import locked
path = Path({str(path)!r})
store = ResultsFile(path, {{"data": "a"}}, {{}})
with locked(path.with_name(".out.json.lock")):
    print("locked", flush=True)
    time.sleep(0.5)
    store.cells["b", 0] = Cell({{"method": "b", "seed": 0}}, {{"chosen": Counts.of(np.zeros(3))}})
    store._write()
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        one.run("c", 0, lambda: Cell({"method": "c", "seed": 0}, rows))
    assert set(ResultsFile(path, {"data": "a"}, DEFAULTS).cells) == {("a", 0), ("b", 0), ("c", 0)}


def test_each_row_has_the_seeds_it_has_and_says_how_many_it_shares():
    rng = np.random.default_rng(0)

    def cell(method, seed):
        rows = {name: Counts.of(rng.random(40)) for name in ("fixed", "threshold", "chosen")}
        figures = {"decision": "fixed"}
        counted = dict.fromkeys(
            ("predictor_updates", "energy_updates", "fit_seconds", "predict_seconds", "micro_f1", "macro_f1"), 0
        )
        return Cell({"method": method, "seed": seed, **figures, **counted}, rows)

    cells = {(m, s): cell(m, s) for m, n in (("a", 2), ("b", 3), ("c", 1)) for s in range(n)}
    rows = summarise(LABEL_COMPARISON, cells)
    assert [row["seeds"] for row in rows] == [2, 3, 1]
    assert spread(cells) == "1 to 3"
    assert str(rows[1]["chosen_difference"]).endswith("] (2)")
    assert str(rows[2]["chosen_difference"]).endswith("] ¹")
    del cells["a", 0]
    assert summarise(LABEL_COMPARISON, cells)[2]["chosen_difference"] is None  # no seed in common


def test_a_file_from_before_processors_were_recorded_goes_on(tmp_path):
    rows = dict.fromkeys(("fixed", "threshold", "chosen"), Counts.of(np.zeros(3)))
    path, here = tmp_path / "a.json", {"environment": {"torch": "1", "processor": FORMER_PROCESSOR}}
    ResultsFile(path, {"environment": {"torch": "1"}}, DEFAULTS).run("m", 0, lambda: Cell({"method": "m", "seed": 0}, rows))
    store = ResultsFile(path, here, DEFAULTS)
    assert store.cells
    store.write()
    elsewhere = {"environment": {"torch": "1", "processor": "another"}}
    with pytest.raises(DataError, match=rf"environment\.processor \('{re.escape(FORMER_PROCESSOR)}' there, 'another' here\)"):
        ResultsFile(path, elsewhere, DEFAULTS)
    old = ResultsFile(tmp_path / "b.json", {"environment": {"torch": "1"}}, DEFAULTS)
    old.run("m", 0, lambda: Cell({"method": "m", "seed": 0}, rows))
    with pytest.raises(DataError, match="'another' here"):  # what does not say where it was made was not made just anywhere
        ResultsFile(tmp_path / "b.json", elsewhere, DEFAULTS)


def test_a_cell_records_the_metrics_of_its_answers():
    splits = split_60_20_20(block_exclusive(150, seed=0), 0)
    record = run_cell(LABEL_COMPARISON, "cross-entropy", splits, 3, {**SMALL, "max_epochs": 5}).record
    model = EnergyMultiLabelClassifier("cross-entropy", random_state=3, **{**SMALL, "max_epochs": 5})
    model.fit(splits.train.X, splits.train.Y, X_val=splits.validation.X, y_val=splits.validation.Y)
    truth, answers = splits.test.Y, {**model.predict_by_rule(splits.test.X), "chosen": model.predict(splits.test.X)}
    p = model.predict_proba(splits.test.X)
    assert record["metrics"].keys() == answers.keys()
    for rule, predicted in answers.items():
        assert record["metrics"][rule] == {name: metric(truth, predicted) for name, metric in METRICS.items()}
        assert record["example_f1"][rule] == example_f1(truth, predicted)
    for name in ("micro-f1", "macro-f1", "subset-accuracy"):
        assert record[name.replace("-", "_")] == record["metrics"]["chosen"][name]
    assert record["metrics"]["chosen"] != record["metrics"]["fixed"]  # or the lines above say little
    assert (record["average_precision"], record["calibration_error"]) == (
        average_precision(truth, p),
        calibration_error(truth, p),
    )
    assert (record["decision"], record["epochs"]) == (model.decision_, model.n_iter_)
