"""Reproducing tables: declarations, published settings and faults, the store of runs, the runner, the page."""

import json
import lzma
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from enstruct.cli.main import build_parser, main
from enstruct.comparison.environment import FORMER_PROCESSOR, environment
from enstruct.comparison.results_file import Cell
from enstruct.comparison.run import check_method, run_cell
from enstruct.data.load import load_protocol
from enstruct.errors import ConfigError, DataError, DivergenceError
from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct.files import claimed
from enstruct.inference import ProjectedAdam
from enstruct.methods import METHODS
from enstruct.metrics import METRICS
from enstruct.reports.reproduced import reproduced_page, reproduced_section
from enstruct.reproduce import ablation, runner
from enstruct.reproduce import store as store_module
from enstruct.reproduce.protocols import (
    AS_MANY_AS_PUBLISHED,
    GENERATED_SHAPES,
    MOST_UPDATES,
    capped,
    load_rows,
    method_of,
    reduced,
    settings,
)
from enstruct.reproduce.runner import adopt, check_choice, plan, run
from enstruct.reproduce.seal_settings import SEAL_SETTINGS
from enstruct.reproduce.store import Key, Store, stores_of, whereabouts
from enstruct.reproduce.table import CommandTable, LabelTable
from enstruct.reproduce.tables import TABLES

LABEL_TABLES = [table for table in TABLES.values() if isinstance(table, LabelTable)]
SMALL = LabelTable(
    "small",
    "A small table",
    "nowhere",
    ("synthetic-90",),
    {"seal-nce": {"synthetic-90": 50.0}},
    settings={"": {"max_iter": 2, "hidden": 8}},
)


def test_every_method_of_a_table_exists():
    for table in LABEL_TABLES:
        for row in table.methods():
            check_method(table.method(row))
        assert set(table.changed) | set(table.changed.values()) <= set(table.rows), table.name
        for figures in table.rows.values():
            assert set(figures) <= set(table.datasets), table.name


def test_commands_of_tables_are_understood():
    parser = build_parser()
    for table in TABLES.values():
        if isinstance(table, CommandTable):
            for command in (*table.parts.values(), *table.made.values()):
                if command[0] != "benchmark":
                    parser.parse_args(shlex.split(shlex.join(command)))


@pytest.mark.parametrize("dataset", SEAL_SETTINGS)
def test_published_settings_fit_their_methods_and_keep_the_caps(dataset):
    table = TABLES["seal-2"]
    for method in SEAL_SETTINGS[dataset]:
        given = settings(table, dataset, "published", method)
        row = EnergyMultiLabelClassifier(method_of(table, "published", method), **given)._method()
        assert given["decision"] == "fixed"
        if row.has_energy and row.stages[0].predictor and row.stages[0].energy and dataset not in AS_MANY_AS_PUBLISHED:
            steps = row.coupling
            assert steps.repeats * steps.energy_steps <= MOST_UPDATES[0]
            assert steps.repeats * steps.predictor_steps <= MOST_UPDATES[1]


def test_the_caps():
    assert capped("bibtex", "seal-nce", 12, 5) == {"repeats": 5, "energy_steps": 2}
    assert capped("bibtex", "seal-ranking", 9, 10) == {"repeats": 5, "energy_steps": 2}
    assert capped("bibtex", "seal-regression", 9, 1) == {"repeats": 1, "energy_steps": 9}
    assert capped("bibtex", "seal-margin", 1, 6) == {"first": "predictor", "predictor_steps": 5, "energy_steps": 1}
    assert capped("bibtex", "dvn", 1, 0) == {}
    assert capped("genbase", "seal-nce", 9, 10) == {"repeats": 10, "energy_steps": 9}
    assert capped("cal500", "seal-margin", 1, 10) == {"first": "predictor", "predictor_steps": 10, "energy_steps": 1}
    assert capped("delicious", "seal-ranking", 3, 10) == {"repeats": 5, "energy_steps": 2}


def test_reduced_updates_are_named():
    assert reduced("spo_FUN", "seal-regression-s") == "9 x 10 to 2 x 5"
    assert reduced("bibtex", "seal-regression") is None  # 9 x 1 is within the caps
    assert reduced("bibtex", "seal-margin") == "1 x 6 to 1 x 5"
    assert reduced("bibtex", "spen") is None
    assert reduced("bookmarks", "seal-nce") is None
    assert reduced("genbase", "seal-nce") is None


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("method", ["cross-entropy", "extra-trees"])
def test_what_is_kept_comes_out_again(method, real_data):
    """If this fails, figures have moved: raise the version, so that old runs are not averaged with new ones."""
    store, key = Store(ROOT / "results" / "reproduce", "seal-2"), Key("cal500", "fair", method, 0)
    if key not in store.runs:
        pytest.skip("there are no runs of this version and machine")
    table = TABLES["seal-2"]
    cell = run_cell(method, load_rows(table, "cal500", "fair")[0], 0, settings(table, "cal500", "fair", method))
    np.testing.assert_allclose(cell.rows["chosen"], store.runs[key].rows["chosen"], atol=1e-3)


def test_published_faults_of_genbase(real_data):
    right = load_protocol("genbase", "auto")[0]
    wrong = load_rows(TABLES["seal-2"], "genbase", "published")[0]
    assert wrong.train.X.shape[1] == right.train.X.shape[1] + 1 == 1186
    numbers = np.concatenate([part.X[:, 0] for part in wrong.parts().values()])
    assert sorted(numbers) == list(range(662))
    assert wrong.train.X[:, 1:].mean() > 0.99  # YES counts as 0
    assert wrong.train.Y.shape == right.train.Y.shape


def test_published_faults_of_fun_sets(real_data):
    wrong = load_rows(TABLES["seal-2"], "spo_FUN", "published")[0]
    assert wrong.train.Y.shape[1] == 500
    assert (wrong.test.Y[:, 0].toarray() == 1).all()
    given = settings(TABLES["seal-2"], "spo_FUN", "published", "nce")
    assert given["learn_constant"] is given["standardize"] is True


def test_energy_only_rows_are_published_with_their_inference():
    table = TABLES["seal-2"]
    for row, steps in (("spen", 20), ("dvn", 30), ("nce", 20)):
        given = settings(table, "cal500", "published", row)
        method = EnergyMultiLabelClassifier(method_of(table, "published", row), **given)._method()
        assert isinstance(method.inference.rule, ProjectedAdam)
        assert (method.inference.rule.rate, method.inference.steps) == (SEAL_SETTINGS["cal500"][row].inference_rate, steps)
        assert given["energy_clip"] == 10
        assert not any(stage.transplant for stage in method.stages)
    assert method_of(table, "fair", "spen") == "spen"


def make(store, tmp_path=None, seeds=2, minutes=None, table=SMALL):
    keys = list(plan(table, ["synthetic-90"], ["fair"], ["binary-relevance", "cross-entropy", "seal-nce"], seeds))
    return run(table, store, keys, minutes, lambda title: [])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("reproduce")
    assert make(Store(path, "small")) == 6
    return path


@pytest.fixture
def copy(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_finished_runs_are_never_made_again(copy):
    before = (copy / "small.jsonl").read_text()
    assert make(Store(copy, "small")) == 0
    assert (copy / "small.jsonl").read_text() == before
    assert make(Store(copy, "small"), seeds=3) == 3
    assert (copy / "small.jsonl").read_text().startswith(before)


def test_a_line_says_all_that_is_needed(folder):
    lines = [json.loads(text) for text in (folder / "small.jsonl").read_text().splitlines()]
    assert len(lines) == 6
    for line in lines:
        assert line["settings"] == {"max_iter": 2, "hidden": 8}
        assert {"enstruct", "torch", "machine", "threads"} <= set(line["environment"])
        assert {"fixed", "threshold", "chosen"} <= set(line["example_f1"])
        assert line["seconds"] > 0
        assert "commit" in line
        assert {"predictor_updates", "energy_updates", "epochs", "micro_f1", "macro_f1"} <= set(line)
        assert set(line["metrics"]) >= {"fixed", "threshold", "chosen"}
        assert all(set(found) == set(METRICS) for found in line["metrics"].values())
        assert line["metrics"]["threshold"]["example-f1"] == line["example_f1"]["threshold"]
        assert line["parameters"]["learning_rate"] == 1e-3
    assert lines[2]["parameters"]["seal-nce: predictor_loss.energy_weight"] == 3
    assert lines[2]["parameters"]["seal-nce: objective.loss"] == "nce_loss"


def test_a_line_cut_short_is_made_again_and_nothing_else(copy, caplog):
    text = (copy / "small.jsonl").read_text()
    (copy / "small.jsonl").write_text(text[:-40])
    store = Store(copy, "small")
    assert len(store.runs) == 5
    assert "line 6 was cut short" in caplog.text
    assert make(store) == 1
    assert len(Store(copy, "small").runs) == 6


def test_a_damaged_file_is_not_written_over(copy):
    lines = (copy / "small.jsonl").read_text().splitlines()
    (copy / "small.jsonl").write_text("\n".join(["{broken", *lines[1:]]) + "\n")
    with pytest.raises(DataError, match=r"line 1 .*take that line out"):
        Store(copy, "small")
    (copy / "small.jsonl").write_bytes("\n".join(lines).encode().replace(b"}", b"\xff", 1) + b"\n")
    with pytest.raises(DataError, match="line 1"):
        Store(copy, "small")
    for torn in ('"settings": {', '"environment": {'):  # edited by hand, the last line too
        (copy / "small.jsonl").write_text("\n".join([*lines[:-1], lines[-1].replace(torn, '"else": {', 1)]) + "\n")
        with pytest.raises(DataError, match=r"line 6 is no run"):
            Store(copy, "small")
    (copy / "small.jsonl").write_text("\n".join(lines) + "\n\n\n")
    assert len(Store(copy, "small").runs) == 6
    (copy / "small.rows.npz").write_bytes(b"no archive")
    with pytest.raises(DataError, match="damaged"):
        Store(copy, "small")
    (copy / "small.rows.npz").write_bytes(b"PK")
    with pytest.raises(DataError, match="damaged"):
        Store(copy, "small")
    (copy / "small.rows.npz").unlink()
    with pytest.raises(DataError, match="put it back"):
        Store(copy, "small")


def test_runs_of_another_version_are_kept_apart(copy):
    text = (copy / "small.jsonl").read_text()
    (copy / "small.jsonl").write_text(text.replace(f'"torch": "{environment()["torch"]}"', '"torch": "1.0"', 2))
    arrays = dict(np.load(copy / "small.rows.npz"))
    moved = {}
    for name, scores in arrays.items():
        old = any(part in name for part in ("binary-relevance/0/", "cross-entropy/0/"))
        moved[name.replace(environment()["torch"], "1.0") if old else name] = scores
    np.savez_compressed(copy / "small.rows.npz", **moved)
    store = Store(copy, "small")
    assert (len(store.runs), len(store.elsewhere)) == (4, 2)
    assert make(store) == 2
    again = Store(copy, "small")
    assert (len(again.runs), len(again.elsewhere)) == (6, 2)
    other = Store(copy, "small", again.elsewhere[0].where)
    assert len(other.runs) == 2


def test_a_budget_too_small_for_one_run(copy):
    store = Store(copy, "small")
    with pytest.raises(ConfigError, match=r"too small for one run.*nothing is lost"):
        make(store, seeds=3, minutes=1e-7)
    assert len(Store(copy, "small").runs) == 6


def test_how_long_a_run_takes_is_taken_from_its_like_or_said_to_be_unknown(copy):
    store = Store(copy, "small")
    known = max(run.line["seconds"] for key, run in store.runs.items() if key.method == "seal-nce")
    assert runner._expected(store, Key("synthetic-90", "fair", "seal-nce", 7)) == known
    said = []
    assert runner._fits(store, Key("synthetic-90", "fair", "spen", 0), 60.0, 1.0, said.append, begun=False)
    assert runner._fits(store, Key("synthetic-90", "published", "seal-nce", 0), 1e-3, 1.0, said.append, begun=False)
    assert "not known:" in said[0]
    assert f"not known (under the other protocol at most {known:.0f} s)" in said[1]


def test_a_budget_ends_between_runs(tmp_path, monkeypatch):
    said, clock = [], iter(range(0, 10_000, 70))
    monkeypatch.setattr(runner.time, "monotonic", lambda: next(clock))
    keys = list(plan(SMALL, ["synthetic-90"], ["fair"], ["binary-relevance", "cross-entropy"], 2))
    store = Store(tmp_path, "small")
    assert run(SMALL, store, keys, 3.0, lambda title: [], said.append) == 2
    assert "2 runs are left" in said[-1]


def test_an_automatic_row_is_expected_to_take_its_budget(tmp_path):
    keys = [Key("synthetic-90", "fair", "auto", 0)]
    with pytest.raises(ConfigError, match="expected to take 600 s"):
        run(SMALL, Store(tmp_path, "small"), keys, 9.0, lambda title: [])


def test_a_run_that_diverges_does_not_stop_the_table(tmp_path, monkeypatch):
    real = runner.run_cell

    def work(method, *rest):
        if method == "seal-nce":
            raise DivergenceError("the loss is nan in epoch 1")
        return real(method, *rest)

    monkeypatch.setattr(runner, "run_cell", work)
    said, store = [], Store(tmp_path, "small")
    keys = [Key("synthetic-90", "fair", method, 0) for method in ("seal-nce", "binary-relevance")]
    assert run(SMALL, store, keys, None, lambda title: [], said.append) == 1
    assert said == ["synthetic-90 fair seal-nce seed 0 diverged: the loss is nan in epoch 1"]
    store = Store(tmp_path, "small")
    assert list(store.runs) == keys[1:]
    assert store.diverged[keys[0]].line["diverged"] == "the loss is nan in epoch 1"
    assert run(SMALL, store, keys, None, lambda title: []) == 0  # it would diverge again
    row = next(line for line in reproduced_section(SMALL, store).splitlines() if line.startswith("| seal-nce"))
    assert row.count("diverged") == 6  # three scores, three differences
    assert [other.where for other in stores_of(tmp_path, "small")] == [store.where]

    alone = tmp_path / "alone"
    assert run(SMALL, Store(alone, "small"), keys[:1], None, lambda title: []) == 0
    monkeypatch.setattr(runner, "run_cell", real)
    slower = replace(SMALL, settings={"": {"max_iter": 1, "hidden": 8}})
    assert run(slower, Store(alone, "small"), keys[:1], None, lambda title: []) == 1  # other settings may not diverge
    assert not Store(alone, "small").diverged


def test_seeds_that_diverged_are_counted_beside_the_mean_of_the_others(copy):
    store = Store(copy, "small")
    for _ in range(2):  # a second process says it again
        store.add_diverged(Key("synthetic-90", "fair", "seal-nce", 2), {"diverged": "nan"}, {}, environment(), None)
    assert len((copy / "small.jsonl").read_text().splitlines()) == 7
    row = next(line for line in reproduced_section(SMALL, Store(copy, "small")).splitlines() if line.startswith("| seal-nce"))
    assert row.count("(1 diverged)") == 3


def test_two_processes_add_to_one_table(tmp_path):
    one, two = Store(tmp_path, "small"), Store(tmp_path, "small")
    cell = Cell({"example_f1": {"chosen": 0.5}}, {"chosen": np.array([0.5])})
    one.add(Key("d", "fair", "m", 0), cell, {}, environment(), None)
    two.add(Key("d", "fair", "m", 1), cell, {}, environment(), None)
    assert sorted(key.seed for key in Store(tmp_path, "small").runs) == [0, 1]


def test_runs_of_other_settings_are_not_mixed_in(copy):
    changed = replace(SMALL, settings={"": {"max_iter": 3, "hidden": 8}})
    with pytest.raises(DataError, match="other settings"):
        make(Store(copy, "small"), seeds=3, table=changed)
    assert len(Store(copy, "small").runs) == 6


def test_rows_of_other_settings_are_passed_over_beside_others(copy):
    """A table that has some is not closed to the rest."""
    table = replace(SMALL, rows={**SMALL.rows, "often": {}}, variants={"often": ("cross-entropy", {"repeats": 2})})
    first, second = (Key("synthetic-90", "fair", name, 0) for name in ("often", "cross-entropy"))
    assert run(table, Store(copy, "small"), [first], None, lambda title: []) == 1
    changed, said = replace(table, variants={"often": ("cross-entropy", {"repeats": 3})}), []
    both = [first._replace(seed=2), second._replace(seed=2)]
    assert run(changed, Store(copy, "small"), both, None, lambda title: [], said.append) == 1
    assert said == ["synthetic-90 fair often is passed over: its runs have other settings than small declares by now (--again)"]
    assert {both[0], both[1]} & set(Store(copy, "small").runs) == {both[1]}


def test_runs_of_other_settings_are_made_again_when_told_so(copy):
    changed, store = replace(SMALL, settings={"": {"max_iter": 3, "hidden": 8}}), Store(copy, "small")
    first = Key("synthetic-90", "fair", "cross-entropy", 0)
    assert " ²" not in reproduced_section(SMALL, store)
    assert reproduced_section(changed, store).count(" ²") == 9  # three cells of three rows
    command = "`enstruct reproduce small --protocol fair --datasets synthetic-90 --methods"
    assert f"{command} binary-relevance,cross-entropy,seal-nce --seeds 2 --again`" in reproduced_section(changed, store)
    with pytest.raises(ConfigError, match=r"cross-entropy seed 1, .* give --seeds 2"):
        run(changed, store, [first], None, lambda title: [], again=True)
    both = [first, first._replace(seed=1)]
    with pytest.raises(ConfigError, match="too small"):
        run(changed, store, both, 1e-9, lambda title: [], again=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "run_cell", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run(changed, store, both, None, lambda title: [], again=True)
    assert len(Store(copy, "small").runs) == 6  # nothing goes before there is something in its place
    other = Store(copy, "small")  # a slower process, which looked before
    assert run(changed, store, both, None, lambda title: [], again=True) == 2
    runner._drop_former(changed, other, first)
    assert set(both) <= set(Store(copy, "small").runs)  # what has been made meanwhile stays
    assert store.runs[first].line["settings"]["max_iter"] == 3
    kept = {(key.method, key.seed) for key in Store(copy, "small").runs}
    assert kept == {(method, seed) for method in ("binary-relevance", "cross-entropy", "seal-nce") for seed in (0, 1)}
    assert run(SMALL, store, [Key("synthetic-90", "fair", "seal-nce", 2)], None, lambda title: []) == 1


def test_runs_that_go_leave_whole_files_whenever_the_process_ends(copy, monkeypatch):
    store, first = Store(copy, "small"), Key("synthetic-90", "fair", "cross-entropy", 0)

    def killed(self):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "_write_scores", killed)
        with pytest.raises(KeyboardInterrupt):
            store.drop(lambda run: run.key == first)
    assert len(Store(copy, "small").runs) == 5
    store = Store(copy, "small")
    store.add_diverged(Key("synthetic-90", "fair", "m", 0), {"diverged": "nan"}, {}, environment(), None)
    store.drop(lambda run: run.key.method == "m")
    assert not Store(copy, "small").diverged


def test_a_line_without_scores_says_what_to_do(copy):
    store = Store(copy, "small")
    store.runs.popitem()
    store._write_scores()
    with pytest.raises(DataError, match=r"line 6 has no scores .* Take that line out"):
        Store(copy, "small")


def test_a_stale_copy_of_another_table_s_run_is_taken_anew(folder, copy, monkeypatch):
    """Of two tables with one cell, the second has it by other settings than both declare by now."""
    twin = replace(SMALL, name="twin", settings={"": {"max_iter": 1, "hidden": 8}})
    key = Key("synthetic-90", "fair", "cross-entropy", 0)
    assert run(twin, Store(copy, "twin"), [key], None, lambda title: []) == 1
    twin = replace(SMALL, name="twin")
    for table in (SMALL, twin):
        monkeypatch.setitem(runner.TABLES, table.name, table)
    said = []
    assert run(twin, Store(copy, "twin"), [key], None, lambda title: [], said.append, again=True) == 0
    assert said == ["1 runs are those of other tables"]
    assert Store(copy, "twin").runs[key].line["borrowed_from"] == "small"


def test_two_processes_do_not_make_the_same_run(tmp_path):
    key = Key("synthetic-90", "fair", "binary-relevance", 0)
    lock = tmp_path / f".small {key}.lock"
    with claimed(lock) as first:
        assert first
        said = []
        assert run(SMALL, Store(tmp_path, "small"), [key], None, lambda title: [], said.append) == 0
        assert "another process's work" in said[0]
    assert run(SMALL, Store(tmp_path, "small"), [key], None, lambda title: []) == 1
    assert not lock.exists()


def test_runs_of_another_processor_are_apart(copy, monkeypatch):
    former = {**environment(), "processor": FORMER_PROCESSOR}
    assert whereabouts({k: v for k, v in former.items() if k != "processor"}) == whereabouts(former)
    other = {**former, "processor": "another"}
    assert whereabouts(other) == (*whereabouts(former), "processor another")
    monkeypatch.setattr(store_module, "environment", lambda: other)
    monkeypatch.setattr(runner, "environment", lambda: other)
    store, said = Store(copy, "small"), []
    mine = Key("synthetic-90", "fair", "binary-relevance", 0)
    if environment()["processor"] == FORMER_PROCESSOR:
        assert not store.runs
    assert run(SMALL, store, [mine], None, lambda title: [], said.append) == 1
    if environment()["processor"] != "another":
        assert f"runs made with processor {environment()['processor']} (here another) are kept apart" in said[0]
    assert len(stores_of(copy, "small")) == 2
    assert "processor another" in reproduced_section(SMALL, store)


def test_scores_of_one_place_are_not_those_of_another(tmp_path, monkeypatch):
    """Though the name of the one is the beginning of the other's."""
    key, places = Key("d", "fair", "m", 0), [{**environment(), "processor": name} for name in (FORMER_PROCESSOR, "another")]
    for value, place in ((0.1, places[0]), (0.2, places[1]), (0.9, places[1])):
        monkeypatch.setattr(store_module, "environment", lambda place=place: place)
        store = Store(tmp_path, "t")
        store.drop(lambda run: run.key == key)
        store.add(key, Cell({}, {"chosen": np.array([value])}), {}, place, None)
    for value, place in ((0.1, places[0]), (0.9, places[1])):
        monkeypatch.setattr(store_module, "environment", lambda place=place: place)
        assert Store(tmp_path, "t").runs[key].rows == {"chosen": np.float32([value])}


def test_lines_of_two_places_stand_in_one_order_wherever_they_are_written(tmp_path, monkeypatch):
    """A file that changed its order with the machine would be all changed lines to git."""
    places = [{**environment(), "processor": name} for name in (FORMER_PROCESSOR, "another")]
    for seed, place in enumerate((*places, *places[::-1])):
        monkeypatch.setattr(store_module, "environment", lambda place=place: place)
        Store(tmp_path, "t").add(Key("d", "fair", "m", seed), Cell({}, {"chosen": np.array([0.5])}), {}, place, None)
        lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
        of_here = [line["environment"]["processor"] for line in lines]
        assert of_here == sorted(of_here, key=[FORMER_PROCESSOR, "another"].index)
    assert [line["seed"] for line in lines] == [0, 3, 1, 2]


@pytest.mark.parametrize("method", ["seal-nce", "auto"])
def test_a_changed_default_is_noticed(method, copy, monkeypatch):
    store = Store(copy, "small")
    one, given = next(iter(store.runs.values())), settings(SMALL, "synthetic-90", "fair", method)
    key = Key("synthetic-90", "fair", method, 7)
    cell = Cell({"parameters": runner.parameters(method, given)}, one.rows)
    store.add(key, cell, runner.encoded(given), environment(), None)
    runner.check_settings(SMALL, store, [key])
    row = METHODS["seal-nce"]
    heavier = replace(row, predictor_loss=replace(row.predictor_loss, energy_weight=5.0))
    monkeypatch.setitem(METHODS, "seal-nce", heavier)
    with pytest.raises(DataError, match=r"seal-nce: predictor_loss.energy_weight"):
        runner.check_settings(SMALL, store, [key])


def test_another_default_of_the_automatic_rows_methods_is_noticed(copy, monkeypatch):
    store, given = Store(copy, "small"), settings(SMALL, "synthetic-90", "fair", "auto")
    one, key = next(iter(store.runs.values())), Key("synthetic-90", "fair", "auto", 7)
    store.add(key, Cell({"parameters": runner.parameters("auto", given)}, one.rows), runner.encoded(given), environment(), None)
    runner.check_settings(SMALL, store, [key])
    monkeypatch.setattr(runner, "CONSIDERED", (*runner.CONSIDERED, "mlp"))
    with pytest.raises(DataError, match=r"\(methods\)"):
        runner.check_settings(SMALL, store, [key])


def test_a_reader_between_the_two_files_of_a_writer(folder, copy, monkeypatch):
    """A writer replaces the arrays first, then the lines; who reads lines before arrays finds all rows of every line."""
    reader, writer = Store(copy, "small"), Store(copy, "small")
    one = next(iter(writer.runs.values()))
    arrays = Store._arrays

    def late(self):
        monkeypatch.setattr(Store, "_arrays", arrays)
        writer.add(Key("d", "fair", "m", 1), Cell({}, one.rows), {}, environment(), None)
        return arrays(self)

    monkeypatch.setattr(Store, "_arrays", late)
    reader.refresh()
    assert len(reader.runs) == 6


def test_folds_are_run_as_many_as_there_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folds = replace(SMALL, split="10-fold")
    assert len(list(plan(folds, ["synthetic-90"], ["fair"], ["binary-relevance"], None))) == 10
    assert len(list(plan(folds, ["synthetic-90"], ["fair"], ["binary-relevance"], 3))) == 3
    assert len(list(plan(folds, ["synthetic-90"], ["fair"], ["binary-relevance"], 30))) == 10
    assert len(list(plan(SMALL, ["synthetic-90"], ["fair"], ["binary-relevance"], None))) == runner.SEEDS
    with pytest.raises(ConfigError, match="at least 1"):
        list(plan(SMALL, ["synthetic-90"], ["fair"], ["binary-relevance"], 0))
    with pytest.raises(ConfigError, match="seal-nce"):
        list(plan(SMALL, ["synthetic-90"], ["fair"], ["seal-nec"], 1))


def test_what_is_asked_for_must_exist():
    with pytest.raises(ConfigError, match="synthetic-90"):
        check_choice(SMALL, ["synthetic-9"], [])
    with pytest.raises(ConfigError, match="fair"):
        check_choice(SMALL, [], ["published"])
    assert check_choice(SMALL, [], []) == (["synthetic-90"], ["fair"])


def test_a_set_that_is_not_there_is_an_error_only_if_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("ENSTRUCT_DATA", str(tmp_path))
    table, said = replace(SMALL, datasets=("rcv1", "synthetic-90")), []
    keys = list(plan(table, ["rcv1", "synthetic-90"], ["fair"], ["binary-relevance"], 1))
    with pytest.raises(DataError, match="rcv1"):
        run(table, Store(tmp_path, "small"), keys, None, lambda title: [])
    with pytest.raises(DataError, match="rcv1"):  # before the first run
        run(table, Store(tmp_path, "small"), keys[::-1], None, lambda title: [])
    assert not Store(tmp_path, "small").runs
    assert run(table, Store(tmp_path, "small"), keys, None, lambda title: [], said.append, needed=False) == 1
    assert "rcv1 is passed over" in said[0]


def test_who_has_expr_fun_runs_it(tmp_path, monkeypatch):
    folder = tmp_path / "multilabel" / "expr_FUN"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for part in ("train", "valid", "test"):
        rows = "".join(f"{rng.normal():.3f},{rng.normal():.3f},{rng.choice(['01/02', '03', '01/02@03'])}\n" for _ in range(30))
        head = "@relation e\n@attribute a numeric\n@attribute b numeric\n@attribute class hierarchical 01,01/02,03\n@data\n"
        with lzma.open(folder / f"expr_FUN.{part}.arff.xz", "wt") as file:
            file.write(head + rows)
    monkeypatch.setenv("ENSTRUCT_DATA", str(tmp_path))
    fair, published = (load_rows(TABLES["seal-2"], "expr_FUN", protocol)[0] for protocol in ("fair", "published"))
    assert (fair.train.Y.shape, published.train.Y.shape) == ((30, 3), (30, 4))  # with a root, as published
    keys = list(plan(TABLES["seal-2"], ["expr_FUN"], ["fair"], ["binary-relevance"], 1))
    assert run(TABLES["seal-2"], Store(tmp_path, "seal-2"), keys, None, lambda title: []) == 1


def test_generated_rows_have_the_shapes_of_sets_that_are_not_here():
    parts = load_rows(TABLES["shapes"], "shape-expr_FUN", "fair")[0].parts().values()
    assert sum(len(part) for part in parts) == 3773
    assert {(part.X.shape[1], part.Y.shape[1]) for part in parts} == {(561, 500)}
    assert set(GENERATED_SHAPES) == {name.partition("-")[2] for name in TABLES["shapes"].datasets}


def test_a_cell_that_another_table_has_is_not_run_again(folder, tmp_path, monkeypatch):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    kin, other = replace(SMALL, name="kin"), replace(SMALL, name="other", settings={"": {"max_iter": 1, "hidden": 8}})
    again = replace(SMALL, name="again")
    monkeypatch.setattr(runner, "TABLES", {table.name: table for table in (SMALL, again, kin, other)})
    for path in folder.glob("small.*"):  # a third table has the same cells
        (tmp_path / path.name.replace("small", "again")).write_bytes(path.read_bytes())
    keys = [Key("synthetic-90", "fair", method, 0) for method in ("binary-relevance", "cross-entropy")]
    said = []
    assert run(kin, Store(tmp_path, "kin"), keys, None, lambda title: [], said.append) == 0
    assert said == ["2 runs are those of other tables"]
    taken, original = Store(tmp_path, "kin").runs, Store(tmp_path, "small").runs
    assert set(taken) == set(keys)
    assert taken[keys[1]].line["example_f1"] == original[keys[1]].line["example_f1"]
    assert (taken[keys[1]].line["table"], taken[keys[1]].line["borrowed_from"]) == ("kin", "again")
    assert run(other, Store(tmp_path, "other"), keys[1:], None, lambda title: []) == 1  # of other settings
    old = original[keys[1]]
    old.line["parameters"]["learning_rate"] = 0.5
    (tmp_path / "small.jsonl").write_text("".join(json.dumps(found.line) + "\n" for found in original.values()))
    (tmp_path / "kin.jsonl").unlink()
    (tmp_path / "again.jsonl").unlink()
    assert run(kin, Store(tmp_path, "kin"), keys, None, lambda title: []) == 1  # one of the two had another default


def test_a_variant_is_its_method_with_other_parameters(tmp_path):
    table = replace(SMALL, variants={"often": ("cross-entropy", {"repeats": 3})})
    key = next(iter(plan(table, ["synthetic-90"], ["fair"], ["often"], 1)))
    store = Store(tmp_path, "small")
    assert run(table, store, [key, Key("synthetic-90", "fair", "cross-entropy", 0)], None, lambda title: []) == 2
    often, once = store.runs[key].line, store.runs[Key("synthetic-90", "fair", "cross-entropy", 0)].line
    assert often["method"] == "often"
    assert often["predictor_updates"] == 3 * once["predictor_updates"] * often["epochs"] / once["epochs"]
    assert not runner.outdated(table, store.runs[key])
    given = settings(TABLES["seal-2"], "genbase", "published", "cross-entropy-5-updates")
    assert given == settings(TABLES["seal-2"], "genbase", "published", "cross-entropy") | {"repeats": 5}


@pytest.mark.parametrize("row", ablation.ROWS)
def test_every_change_of_the_ablation_changes_what_is_trained(row, tmp_path):
    table = replace(TABLES["ablation"], datasets=("synthetic-90",), settings={"": {"max_iter": 1, "hidden": 8}})
    original = table.changed[row]
    keys = list(plan(table, ["synthetic-90"], ["fair"], [original, row], 1))
    store = Store(tmp_path, "ablation")
    assert run(table, store, keys, None, lambda title: []) == 2
    before, after = (store.runs[key].line for key in keys)
    assert before["calibration_error"] != after["calibration_error"]  # the finest score that is kept


def test_a_variant_may_be_a_method_of_its_own(tmp_path):
    """Its declaration is what its runs are made with: another one makes them out of date."""
    nce = METHODS["seal-nce"]
    early = replace(nce, name="early", stages=(*METHODS["cross-entropy"].stages, *nce.stages))
    table = replace(SMALL, variants={"early": (early, {})}, protocols=("fair", "published"))
    keys = list(plan(table, ["synthetic-90"], ["fair"], ["early", "seal-nce"], 1))
    store = Store(tmp_path, "small")
    assert run(table, store, keys, None, lambda title: []) == 2
    staged, together = (store.runs[key].line for key in keys)
    assert (staged["method"], staged["epochs"], together["epochs"]) == ("early", 4, 2)  # two epochs a stage
    assert not runner.outdated(table, store.runs[keys[0]])
    late = replace(table, variants={"early": (replace(early, stages=nce.stages), {})})
    assert runner.outdated(late, store.runs[keys[0]]) == ["early: stages"]
    assert not list(plan(table, ["synthetic-90"], ["published"], ["early"], 1))  # of which no paper has settings


def test_the_section_shows_published_and_measured_figures(folder):
    text = reproduced_section(SMALL, Store(folder, "small"))
    row = next(line for line in text.splitlines() if line.startswith("| seal-nce"))
    runs = [json.loads(line) for line in (folder / "small.jsonl").read_text().splitlines()]
    mine = [100 * line["example_f1"]["chosen"] for line in runs if line["method"] == "seal-nce"]
    assert "| 50.00 | – | " in row
    assert f"{np.mean(mine):.2f} ±{np.std(mine, ddof=1):.2f}" in row
    assert row.rstrip(" |").endswith("| 2")
    empty = reproduced_section(TABLES["shapes"], Store(folder, "shapes"))
    assert "Not run (fair): `enstruct reproduce shapes --protocol fair --datasets shape-bookmarks`" in empty


def test_adopting_a_comparison(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["data", "synthetic", "synthetic-90.npz", "--rows", "150"]) == 0
    compare = ["compare", "synthetic-90.npz", "--methods", "binary-relevance,cross-entropy", "--seeds", "1", "--json", "c.json"]
    assert main([*compare, "--model.max_iter", "2", "--model.hidden", "8"]) == 0
    store = Store(tmp_path, "small")
    assert adopt(SMALL, store, tmp_path / "c.json") == 2
    assert adopt(SMALL, store, tmp_path / "c.json") == 0
    made = Store(tmp_path / "own", "small")
    run(SMALL, made, list(store.runs), None, lambda title: [])
    for key, taken in store.runs.items():
        assert np.allclose(taken.rows["chosen"], made.runs[key].rows["chosen"])  # the same cell, either way
    assert all(found.line["parameters"]["max_iter"] == 2 for found in store.runs.values())
    assert not any(":" in name for found in store.runs.values() for name in found.line["parameters"])  # no file says those
    runner.check_settings(SMALL, store, list(store.runs))
    tuned = json.loads((tmp_path / "c.json").read_text())
    tuned["setting"]["tuned"] = {"cross-entropy": {"learning_rate": 0.5}}
    (tmp_path / "t.json").write_text(json.dumps(tuned))
    with pytest.raises(DataError, match="tuned settings"):
        adopt(SMALL, Store(tmp_path / "new", "small"), tmp_path / "t.json")
    with pytest.raises(DataError, match="another hidden"):
        adopt(replace(SMALL, settings={"": {"max_iter": 2, "hidden": 9}}), Store(tmp_path / "new", "small"), tmp_path / "c.json")


def test_the_page_holds_every_table(folder):
    text = "\n".join(reproduced_page(folder))
    for name in TABLES:
        assert f"### {name}:" in text
    assert "not run" in text


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(TABLES, "small", SMALL)
    assert main(["reproduce", "--list"]) == 0
    assert "seal-2" in capsys.readouterr().out
    assert main(["reproduce", "small", "--seeds", "1", "--methods", "binary-relevance", "--results", "r"]) == 0
    assert "1 runs made" in capsys.readouterr().out
    lines = (tmp_path / "r" / "small.jsonl").read_text()
    (tmp_path / "r" / "small.jsonl").write_text("{broken\n" + lines)
    assert main(["reproduce", "--list", "--results", "r"]) == 0
    listed = capsys.readouterr().out
    assert "damaged" in listed
    assert "spen-figures" in listed  # the other tables all the same
    (tmp_path / "r" / "small.jsonl").write_text(lines)
    for budget in ("0", "-1"):
        assert main(["reproduce", "small", "--seeds", "1", "--results", "r", "--budget", budget]) == 2
        assert "above 0" in capsys.readouterr().err
    (tmp_path / "r" / "spen-1.jsonl").mkdir()
    assert main(["reproduce", "--list", "--results", "r"]) == 0
    assert "damaged" in capsys.readouterr().out
    assert main(["reproduce", "small", "--methods", ",", "--results", "r"]) == 2
    assert "no list of names" in capsys.readouterr().err
    assert main(["reproduce", "SMALL"]) == 2
    assert "Did you mean 'small'" in capsys.readouterr().err
    assert main(["reproduce", "smal"]) == 2
    assert main(["reproduce", "seal-3"]) == 2
    assert "cannot run here" in capsys.readouterr().err
    assert main(["reproduce", "implicit-appendix-d", "--datasets", "b"]) == 2
    assert "has the parts" in capsys.readouterr().err
    assert main(["reproduce", "seal-1", "--budget", "3"]) == 2
    assert "made by other commands" in capsys.readouterr().err
    (tmp_path / "c.json").write_text("[]")
    assert main(["reproduce", "small", "--adopt", "c.json", "--results", "r"]) == 2
    assert "no results file" in capsys.readouterr().err
    assert main(["reproduce", "implicit-5"]) == 2
    assert "made by `make bench`" in capsys.readouterr().out


def test_a_store_keeps_what_it_is_given(tmp_path):
    store = Store(tmp_path, "t")
    cell = Cell({"example_f1": {"chosen": 0.5}, "seconds": 1.0}, {"chosen": np.array([0.25, 0.75])})
    store.add(Key("d", "fair", "m", 3), cell, {"hidden": 3}, environment(), "abc")
    again = Store(tmp_path, "t").runs[Key("d", "fair", "m", 3)]
    assert again.rows["chosen"].tolist() == [0.25, 0.75]
    assert again.line["commit"] == "abc"
