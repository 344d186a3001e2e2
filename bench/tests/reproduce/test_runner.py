"""The runner: what is run, in which order, what is never run again, budgets, other tables' cells."""

import json
from dataclasses import replace

import numpy as np
import pytest
from bench.tests.either import main
from bench.tests.small_table import SMALL, make

from enstruct import workplaces
from enstruct.errors import ConfigError, DataError, DivergenceError
from enstruct.estimators import EnergyMultiLabelClassifier
from enstruct.methods import METHODS
from enstruct_bench.comparison.locks import claimed
from enstruct_bench.reports.reproduced import reproduced_section
from enstruct_bench.reproduce import runner
from enstruct_bench.reproduce.protocols import settings
from enstruct_bench.reproduce.runner import adopt, check_choice, plan, run
from enstruct_bench.reproduce.store import Key, Store, stores_of
from enstruct_bench.reproduce.tables import TABLES


def test_finished_runs_are_never_made_again(copied_runs):
    before = (copied_runs / "small.jsonl").read_text()
    assert make(Store(copied_runs, "small")) == 0
    assert (copied_runs / "small.jsonl").read_text() == before
    assert make(Store(copied_runs, "small"), seeds=3) == 3
    assert (copied_runs / "small.jsonl").read_text().startswith(before)


def test_a_budget_too_small_for_one_run(copied_runs):
    store = Store(copied_runs, "small")
    with pytest.raises(ConfigError, match=r"too small for one run.*nothing is lost"):
        make(store, seeds=3, minutes=1e-7)
    assert len(Store(copied_runs, "small").runs) == 6


def test_how_long_a_run_takes_is_taken_from_its_like_or_said_to_be_unknown(copied_runs):
    store = Store(copied_runs, "small")
    known = max(run.line["seconds"] for key, run in store.runs.items() if key.method == "seal-nce")
    assert runner._expected(store, Key("synthetic-90", "fair", "seal-nce", 7)) == known
    said = []
    assert runner._fits(store, Key("synthetic-90", "fair", "spen", 0), 60.0, 1.0, said.append, begun=False)
    assert runner._fits(store, Key("synthetic-90", "published", "seal-nce", 0), 1e-3, 1.0, said.append, begun=False)
    assert "not known:" in said[0]
    assert f"not known (under the other protocol at most {known:.0f} s)" in said[1]
    elsewhere = Store(copied_runs, "small", where=("another machine",))
    assert not elsewhere.runs
    assert runner._expected(elsewhere, Key("synthetic-90", "fair", "seal-nce", 7)) == known
    with pytest.raises(ConfigError, match="as on another machine"):
        runner._fits(elsewhere, Key("synthetic-90", "fair", "seal-nce", 7), known / 2, 0.01, said.append, begun=False)
    assert [runner._seconds(number) for number in (0.31, 9.6, 600.4)] == ["0.31", "9.6", "600"]


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

    def work(comparison, method, *rest):
        if method == "seal-nce":
            raise DivergenceError("the loss is nan in epoch 1")
        return real(comparison, method, *rest)

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
    slower = replace(SMALL, settings={"": {"max_epochs": 1, "hidden": 8}})
    assert run(slower, Store(alone, "small"), keys[:1], None, lambda title: []) == 1  # other settings may not diverge
    assert not Store(alone, "small").diverged


def test_runs_of_other_settings_are_not_mixed_in(copied_runs):
    changed = replace(SMALL, settings={"": {"max_epochs": 3, "hidden": 8}})
    with pytest.raises(DataError, match="other settings"):
        make(Store(copied_runs, "small"), seeds=3, table=changed)
    assert len(Store(copied_runs, "small").runs) == 6


def test_rows_of_other_settings_are_passed_over_beside_others(copied_runs):
    """A table that has some is not closed to the rest."""
    table = replace(
        SMALL, rows={**SMALL.rows, "often": {}}, variants={"often": ("cross-entropy", {"method__rounds_per_batch": 2})}
    )
    first, second = (Key("synthetic-90", "fair", name, 0) for name in ("often", "cross-entropy"))
    assert run(table, Store(copied_runs, "small"), [first], None, lambda title: []) == 1
    changed, said = replace(table, variants={"often": ("cross-entropy", {"method__rounds_per_batch": 3})}), []
    both = [first._replace(seed=2), second._replace(seed=2)]
    assert run(changed, Store(copied_runs, "small"), both, None, lambda title: [], said.append) == 1
    assert said == ["synthetic-90 fair often is passed over: its runs have other settings than small declares by now (--again)"]
    assert {both[0], both[1]} & set(Store(copied_runs, "small").runs) == {both[1]}


def test_runs_of_other_settings_are_made_again_when_told_so(copied_runs):
    changed, store = replace(SMALL, settings={"": {"max_epochs": 3, "hidden": 8}}), Store(copied_runs, "small")
    first = Key("synthetic-90", "fair", "cross-entropy", 0)
    assert " ²" not in reproduced_section(SMALL, store)
    assert reproduced_section(changed, store).count(" ²") == 9  # three cells of three rows
    command = "`enstruct-bench run small --protocol fair --datasets synthetic-90 --methods"
    assert f"{command} binary-relevance,cross-entropy,seal-nce --seeds 3 --again`" in reproduced_section(changed, store)
    with pytest.raises(ConfigError, match=r"cross-entropy seed 1, .* give --seeds 2"):
        run(changed, store, [first], None, lambda title: [], again=True)
    both = [first, first._replace(seed=1)]
    with pytest.raises(ConfigError, match="too small"):
        run(changed, store, both, 1e-9, lambda title: [], again=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "run_cell", lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run(changed, store, both, None, lambda title: [], again=True)
    assert len(Store(copied_runs, "small").runs) == 6  # nothing goes before there is something in its place
    assert run(changed, store, both, None, lambda title: [], again=True) == 2
    assert store.runs[first].line["settings"]["max_epochs"] == 3
    kept = {(key.method, key.seed) for key in Store(copied_runs, "small").runs}
    assert kept == {(method, seed) for method in ("binary-relevance", "cross-entropy", "seal-nce") for seed in (0, 1)}
    assert run(SMALL, store, [Key("synthetic-90", "fair", "seal-nce", 2)], None, lambda title: []) == 1


def test_a_stale_copy_of_another_table_s_run_is_taken_anew(finished_runs, copied_runs, monkeypatch):
    """Of two tables with one cell, the second has it by other settings than both declare by now."""
    twin = replace(SMALL, name="twin", settings={"": {"max_epochs": 1, "hidden": 8}})
    key = Key("synthetic-90", "fair", "cross-entropy", 0)
    assert run(twin, Store(copied_runs, "twin"), [key], None, lambda title: []) == 1
    twin = replace(SMALL, name="twin")
    for table in (SMALL, twin):
        monkeypatch.setitem(runner.TABLES, table.name, table)
    said = []
    assert run(twin, Store(copied_runs, "twin"), [key], None, lambda title: [], said.append, again=True) == 0
    assert said == ["1 runs are those of other tables"]
    assert Store(copied_runs, "twin").runs[key].line["borrowed_from"] == "small"


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


def test_a_claim_on_a_file_that_is_gone_is_none(tmp_path, monkeypatch):
    """Opened before its holder took it away: another may have the claim on the file that is there by now."""
    lock = tmp_path / "x.lock"

    lock_file = workplaces.fcntl.flock

    def locked_too_late(file, how):
        lock_file(file, how)
        lock.unlink()

    with monkeypatch.context() as late:
        late.setattr(workplaces.fcntl, "flock", locked_too_late)
        with claimed(lock) as mine:
            assert not mine
    with claimed(lock) as mine:
        assert mine


def test_a_changed_default_or_a_new_argument_leaves_runs_what_they_are(copied_runs, monkeypatch):
    before = runner._defaults()
    monkeypatch.setattr(runner, "_defaults", lambda: {**before, "dropout": 0.25, "max_epochs": 7, "new": 1})
    row = METHODS["seal-nce"]
    heavier = replace(row, predictor_loss=replace(row.predictor_loss, energy_weight=5.0))
    monkeypatch.setitem(METHODS, "seal-nce", heavier)
    assert make(Store(copied_runs, "small")) == 0


def test_a_changed_setting_of_a_row_makes_its_runs_others(copied_runs):
    (run,) = [run for key, run in Store(copied_runs, "small").runs.items() if key[2:] == ("cross-entropy", 0)]

    def differing(method="cross-entropy", **changes):
        return runner.outdated(replace(SMALL, variants={"cross-entropy": (method, changes)}), run)

    assert differing() == []
    assert differing(dropout=EnergyMultiLabelClassifier("seal-nce").dropout) == []  # said, but the default as it is
    assert differing(dropout=0.1, hidden=9) == ["dropout", "hidden"]
    assert differing(method__rounds_per_batch=2) == ["method__rounds_per_batch"]
    assert differing("mlp") == ["method"]


def test_folds_are_run_as_many_as_there_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folds = replace(SMALL, split="10-fold")
    assert len(list(plan(folds, ["synthetic-90"], ["fair"], ["binary-relevance"], None))) == 10
    assert len(list(plan(folds, ["synthetic-90"], ["fair"], ["binary-relevance"], 3))) == 3
    assert len(list(plan(folds, ["synthetic-90"], ["fair"], ["binary-relevance"], 30))) == 10
    assert len(list(plan(replace(SMALL, split="4-split"), ["synthetic-90"], ["fair"], ["binary-relevance"], None))) == 4
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


def test_a_cell_that_another_table_has_is_not_run_again(finished_runs, tmp_path, monkeypatch):
    for path in finished_runs.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    kin, other = replace(SMALL, name="kin"), replace(SMALL, name="other", settings={"": {"max_epochs": 1, "hidden": 8}})
    again = replace(SMALL, name="again")
    monkeypatch.setattr(runner, "TABLES", {table.name: table for table in (SMALL, again, kin, other)})
    for path in finished_runs.glob("small.*"):  # a third table has the same cells
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
    old.line["settings"]["learning_rate"] = 0.5
    (tmp_path / "small.jsonl").write_text("".join(json.dumps(run.line) + "\n" for run in original.values()))
    (tmp_path / "kin.jsonl").unlink()
    (tmp_path / "again.jsonl").unlink()
    assert run(kin, Store(tmp_path, "kin"), keys, None, lambda title: []) == 1  # one of the two had another setting


def test_a_variant_is_its_method_with_other_parameters(tmp_path):
    table = replace(SMALL, variants={"often": ("cross-entropy", {"method__rounds_per_batch": 3})})
    key = next(iter(plan(table, ["synthetic-90"], ["fair"], ["often"], 1)))
    store = Store(tmp_path, "small")
    assert run(table, store, [key, Key("synthetic-90", "fair", "cross-entropy", 0)], None, lambda title: []) == 2
    often, once = store.runs[key].line, store.runs[Key("synthetic-90", "fair", "cross-entropy", 0)].line
    assert often["method"] == "often"
    assert often["predictor_updates"] == 3 * once["predictor_updates"] * often["epochs"] / once["epochs"]
    assert not runner.outdated(table, store.runs[key])
    parameters = settings(TABLES["seal-2"], "genbase", "published", "cross-entropy-5-updates")
    assert parameters == settings(TABLES["seal-2"], "genbase", "published", "cross-entropy") | {"method__rounds_per_batch": 5}


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


def test_adopting_a_comparison(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["data", "synthetic", "synthetic-90.npz", "--rows", "150"]) == 0
    compare = ["compare", "synthetic-90.npz", "--methods", "binary-relevance,cross-entropy", "--seeds", "1", "--json", "c.json"]
    assert main([*compare, "--model.max_epochs", "2", "--model.hidden", "8"]) == 0
    store = Store(tmp_path, "small")
    assert adopt(SMALL, store, tmp_path / "c.json") == 2
    assert adopt(SMALL, store, tmp_path / "c.json") == 0
    made = Store(tmp_path / "own", "small")
    run(SMALL, made, list(store.runs), None, lambda title: [])
    for key, taken in store.runs.items():
        assert np.allclose(taken.rows["chosen"].above, made.runs[key].rows["chosen"].above)  # the same cell, either way
    assert all(run.line["settings"] == {"max_epochs": 2, "hidden": 8} for run in store.runs.values())
    runner.check_settings(SMALL, store, list(store.runs))
    others = json.loads((tmp_path / "c.json").read_text())
    others["setting"]["content"] = "0" * 16
    (tmp_path / "o.json").write_text(json.dumps(others))
    with pytest.raises(DataError, match="on other rows than small's synthetic-90"):
        adopt(SMALL, Store(tmp_path / "new", "small"), tmp_path / "o.json")
    named = {**others, "setting": {**others["setting"], "data": "genbase.npz"}}  # a file of that name is not the set
    (tmp_path / "n.json").write_text(json.dumps(named))
    with pytest.raises(DataError, match="other data or another split"):
        adopt(replace(SMALL, datasets=("genbase",)), Store(tmp_path / "new", "small"), tmp_path / "n.json")
    tuned = json.loads((tmp_path / "c.json").read_text())
    tuned["setting"]["tuned"] = {"cross-entropy": {"learning_rate": 0.5}}
    (tmp_path / "t.json").write_text(json.dumps(tuned))
    with pytest.raises(DataError, match="tuned settings"):
        adopt(SMALL, Store(tmp_path / "new", "small"), tmp_path / "t.json")
    with pytest.raises(DataError, match="another hidden"):
        adopt(
            replace(SMALL, settings={"": {"max_epochs": 2, "hidden": 9}}), Store(tmp_path / "new", "small"), tmp_path / "c.json"
        )
