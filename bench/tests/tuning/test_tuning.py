"""Tuning: what is suggested fits the method, studies go on and are shared, equal trials, failures are counted."""

import json
import os
import platform
from datetime import datetime, timedelta

import pytest
from bench.tests.either import main
from optuna import TrialPruned
from optuna.trial import FixedTrial, TrialState, create_trial

from enstruct import EnergyMultiLabelClassifier
from enstruct.data.splits import split_60_20_20
from enstruct.data.synthetic import block_exclusive
from enstruct.energies import EnergySpec
from enstruct.errors import ConfigError, DivergenceError
from enstruct.methods import METHODS
from enstruct.negatives import PerturbedSamples
from enstruct_bench.tuning import study as tuning
from enstruct_bench.tuning.search_spaces import suggest
from enstruct_bench.tuning.study import Report, Task, _middle, ended, open_study, search, searched, summary


def tune(method, task, study, trials):
    search(method, task, study, trials)
    return summary(method, task, study, trials)


@pytest.fixture(scope="module")
def task():
    return Task(split_60_20_20(block_exclusive(120, seed=0)), fixed={"max_epochs": 2, "batch_size": 64})


@pytest.mark.parametrize(("method", "reported"), [("cross-entropy", True), ("dvn", True), ("nce", False)])
def test_only_scores_of_answers_are_told_to_a_study(method, reported, task):
    """The objective of an energy alone is another number with other candidates."""

    class Noted(FixedTrial):
        def report(self, value, step):
            steps.append(step)

    steps = []
    rows = task.splits.train
    model = EnergyMultiLabelClassifier(method, max_epochs=2, hidden=4, callbacks=[Report(Noted({}))], random_state=0)
    model.fit(rows.X, rows.Y)
    assert steps == ([1, 2] if reported else [])


def test_studies_in_a_database(task, tmp_path):
    """By a URL, for workers on several hosts: one that opens it later sees the trials of the other."""
    url = f"sqlite:///{tmp_path / 'trials.db'}"
    tune("cross-entropy", task, open_study("s", url, {"about": 1}), 2)
    assert len(ended(open_study("s", url, {"about": 1}))) == 2
    with pytest.raises(ConfigError, match="holds trials of s with another about"):
        open_study("s", url, {"about": 2})


@pytest.mark.parametrize("url", ["sqlite:////nowhere/at/all/trials.db", "nothing://me:secret@host/trials"])
def test_databases_that_are_not_there(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="cannot be used") as caught:
        open_study("s", url)
    assert len(str(caught.value)) <= 300
    assert "secret" not in str(caught.value)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("method", [name for name, row in METHODS.items() if row.solver is None])
def test_every_network_method_takes_what_is_suggested_for_it(method):
    suggested = suggest(FixedTrial(_middle()), METHODS[method], 10)
    row = EnergyMultiLabelClassifier("seal-nce").set_params(method=method, **suggested)._method()
    measures = row.has_energy and bool({"global", "conditional", "conv"} & {*EnergySpec(**row.energy).terms})
    assert ("energy_network" in suggested) == measures


def test_what_a_method_fixes_or_has_no_use_for_is_not_searched():
    """The CRF's encoder has no layers and its energy no units; DVN trains no predictor; the perceptron's sizes are its own."""
    assert not {"layers", "hidden", "dropout", "units", "learning_rate"} & set(searched("crf", 10))
    assert "learning_rate" not in searched("dvn", 10)
    assert "units" in searched("dvn", 10)
    assert list(searched("mlp", 10)) == ["dropout", "learning_rate", "rounds_per_batch"]
    assert {"layers", "hidden", "dropout", "units", "learning_rate"} <= set(searched("seal-nce", 10))


def test_every_side_may_learn_from_a_batch_several_times():
    assert {"rounds_per_batch", "energy_steps"} <= set(searched("seal-nce", 10))
    assert list(searched("cross-entropy", 10)) == ["dropout", "hidden", "layers", "learning_rate", "rounds_per_batch"]
    assert (
        suggest(FixedTrial({**_middle(), "rounds_per_batch": 10}), METHODS["cross-entropy"], 10)["method__rounds_per_batch"] == 10
    )


def test_rates_of_inference_are_searched_where_there_is_one():
    assert [m for m in ("spen", "dvn", "nce", "seal-nce", "crf") if "inference_rate" in searched(m, 10)] == ["spen", "dvn", "nce"]
    suggested = suggest(FixedTrial({**_middle(), "inference_rate": 0.03}), METHODS["dvn"], 10)
    row = EnergyMultiLabelClassifier("seal-nce").set_params(method="dvn", **suggested)._method()
    assert (row.inference.rule.rate, row.inference.steps) == (0.03, METHODS["dvn"].inference.steps)


def test_updates_a_batch_are_capped():
    wished = {**_middle(), "rounds_per_batch": 5, "energy_steps": 12}
    suggested = suggest(FixedTrial(wished), METHODS["seal-nce"], 10)
    assert suggested["method__rounds_per_batch"] * suggested["method__energy_steps"] <= 10
    suggested = suggest(FixedTrial(wished), METHODS["seal-regression-s"], 100)
    assert (suggested["method__rounds_per_batch"], suggested["method__energy_steps"]) == (5, 12)
    assert isinstance(suggested["method__negatives"], PerturbedSamples)
    with pytest.raises(ConfigError, match="solver"):
        suggest(FixedTrial(_middle()), METHODS["binary-relevance"])
    with pytest.raises(ConfigError, match="most_updates"):
        suggest(FixedTrial(_middle()), METHODS["seal-nce"], 0)


def test_a_study_goes_on_where_it_stopped_and_counts_others_trials(task, tmp_path):
    first = tune("cross-entropy", task, open_study("s", tmp_path / "j"), 2)
    again = open_study("s", tmp_path / "j")
    assert len(ended(again)) == 2
    other = open_study("s", tmp_path / "j")  # another process
    tune("cross-entropy", task, other, 3)
    third = tune("cross-entropy", task, again, 3)
    assert sum(third["trials"].values()) == 3
    rates = [trial.params["learning_rate"] for trial in ended(again)]
    assert len(set(rates)) == 3  # nobody draws another's trials again
    assert first["value"] in [trial.value for trial in ended(again)]
    assert third["value"] == max(trial.value for trial in ended(again) if trial.value is not None)


def test_studies_opened_at_once_draw_different_trials(task, tmp_path, monkeypatch):
    """As two processes do that are started together on a file that is not there yet."""

    def draw(into):
        def value(method, task, trial, bar):
            into.append(suggest(trial, METHODS[method], 10)["learning_rate"])
            return 0.5

        monkeypatch.setattr(tuning, "_value", value)
        return into

    drawn = draw([])
    one, two = open_study("s", tmp_path / "j"), open_study("s", tmp_path / "j")
    for trials in (1, 3, 5):
        tune("cross-entropy", task, one, trials)
        tune("cross-entropy", task, two, trials + 1)
    assert len(set(drawn)) == len(drawn) == 6
    again = draw([])
    tune("cross-entropy", task, open_study("t", tmp_path / "j"), 6)
    assert again == drawn  # the same trials, whoever makes them


def test_a_trial_of_another_machine_s_yesterday_is_not_waited_for(task, tmp_path):
    study = open_study("s", tmp_path / "j")
    study.ask().set_user_attr("process", "elsewhere 7")
    assert tuning.at_work(study) == 1
    assert not tuning._alive("elsewhere 7", datetime.now() - timedelta(days=2))


@pytest.mark.skipif(not tuning._begun(os.getpid()), reason="this system does not tell when a process began")
def test_a_process_that_got_a_dead_one_s_number_is_another(task, tmp_path):
    parent, node = os.getppid(), platform.node()
    assert tuning._alive(f"{node} {parent} {tuning._begun(parent)}", None)
    assert tuning._alive(f"{node} {parent}", None)  # a journal from before this was written
    assert not tuning._alive(f"{node} {parent} 1", None)
    study = open_study("s", tmp_path / "j")
    study.ask().set_user_attr("process", f"{node} {parent} {tuning._begun(parent)}")
    with pytest.raises(ConfigError, match="1 are other processes' work"):
        tune("cross-entropy", task, study, 1)


def test_fewer_trials_than_a_study_has_take_the_first(task, tmp_path):
    study = open_study("s", tmp_path / "j")
    tune("cross-entropy", task, study, 3)
    first = max(ended(study)[:1], key=lambda trial: trial.value)
    best = tune("cross-entropy", task, study, 1)
    assert (best["best"], best["value"], sum(best["trials"].values())) == (first.number, first.value, 1)


def test_a_trial_cut_short_is_not_the_best(task, tmp_path):
    """Optuna keeps the last score it reported as its value, which is another score than a whole trial's."""
    study = open_study("s", tmp_path / "j")
    tune("cross-entropy", task, study, 1)
    trial = study.ask()
    trial.report(9.0, 1)
    study.tell(trial, state=TrialState.PRUNED)
    best = tune("cross-entropy", task, study, 2)
    assert (best["best"], best["trials"]) == (0, {"complete": 1, "pruned": 1})


@pytest.mark.parametrize("content", [b'{"best": [1, 2]}', b'{\n "best": 1\n}', b"SQLite format 3\x00\n\x01\x02", b"op_code"])
def test_other_files_are_left_alone(content, tmp_path):
    (tmp_path / "j").write_bytes(content)
    with pytest.raises(ConfigError, match="no journal of trials"):
        open_study("s", tmp_path / "j")
    assert (tmp_path / "j").read_bytes() == content


def test_other_bounds_are_another_search(tmp_path):
    narrow = {"searched": {"n_samples": {"high": 80}}}
    open_study("s", tmp_path / "j", narrow)
    with pytest.raises(ConfigError, match="another searched"):
        open_study("s", tmp_path / "j", {"searched": searched("seal-nce", 10)})


def test_a_journal_cut_short_goes_on(task, tmp_path, caplog):
    tune("cross-entropy", task, open_study("s", tmp_path / "j"), 2)
    whole = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(whole[:-20])
    study = open_study("s", tmp_path / "j")
    assert "cut short" in caplog.text
    assert sum(tune("cross-entropy", task, study, 2)["trials"].values()) == 2
    assert sum(tune("cross-entropy", task, open_study("s", tmp_path / "j"), 2)["trials"].values()) == 2


def test_the_value_is_what_the_best_settings_give_again(task, tmp_path):
    best = tune("cross-entropy", task, open_study("s", tmp_path / "j"), 1)
    model = EnergyMultiLabelClassifier("seal-nce").set_params(
        method="cross-entropy", random_state=0, **best["settings"], **best["fixed"]
    )
    model.fit(task.splits.train.X, task.splits.train.Y, X_val=task.splits.validation.X, y_val=task.splits.validation.Y)
    assert max(model.decision_scores_.values()) == pytest.approx(best["value"])


def test_trials_that_diverge_are_counted_as_failed(task, tmp_path, monkeypatch):
    def diverge(*arguments):
        raise DivergenceError("too fast")

    monkeypatch.setattr(tuning, "_value", diverge)
    study = open_study("s", tmp_path / "j")
    with pytest.raises(ConfigError, match="No trial of cross-entropy"):
        tune("cross-entropy", task, study, 2)
    assert [trial.state for trial in ended(study)] == [TrialState.FAIL] * 2


def test_trials_that_fall_behind_are_cut_short(task, tmp_path):
    study = open_study("s", tmp_path / "j")
    steps = dict.fromkeys(range(1, 60), 0.99)
    for _ in range(5):
        study.add_trial(create_trial(value=0.99, params={}, distributions={}, intermediate_values=steps))
    slow = Task(task.splits, fixed={"max_epochs": 40, "n_iter_no_change": 40, "batch_size": 64})
    with pytest.raises(TrialPruned):
        tuning._value("cross-entropy", slow, study.ask(), [])


def test_an_interruption_says_what_is_kept_and_how_to_go_on(tmp_path, monkeypatch, capsys):
    def work(*rest):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tuning, "_value", work)
    assert main(["data", "synthetic", "mine.npz", "--rows", "60"]) == 0
    assert main(["tune", "mine.npz", "--methods", "cross-entropy", "--trials", "1"]) == 130
    said = "interrupted; trials that ended are in tuning.journal: the same command goes on with them\n"
    assert capsys.readouterr().err == said


def test_the_command_gives_every_method_the_same_trials(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["data", "synthetic", "mine.npz", "--rows", "120"]) == 0
    arguments = ["tune", "mine.npz", "--methods", "cross-entropy,seal-nce", "--trials", "2", "--json", "best.json"]
    assert main([*arguments, "--model.max_epochs", "2"]) == 0
    best = json.loads((tmp_path / "best.json").read_text())["best"]
    assert [each["method"] for each in best] == ["cross-entropy", "seal-nce"]
    assert all(sum(each["trials"].values()) == 2 for each in best)
    assert "method__energy_weight" in best[1]["settings"]
    compared = ["compare", "mine.npz", "--seeds", "1", "--tuned", "best.json", "--json", "out.json"]
    assert main([*compared, "--methods", "binary-relevance,cross-entropy,seal-nce"]) == 0
    out = json.loads((tmp_path / "out.json").read_text())
    assert out["setting"]["tuned"] == {each["method"]: each["settings"] for each in best}
    assert out["setting"]["model"]["max_epochs"] == 2
    one = [*compared[:-1], "shared.json", "--methods"]
    assert main([*one, "cross-entropy"]) == 0
    assert main([*one, "seal-nce"]) == 0  # another process, or another day
    shared = json.loads((tmp_path / "shared.json").read_text())
    assert {run["method"] for run in shared["runs"]} == {"cross-entropy", "seal-nce"}
    assert main([*one, "seal-nce", "--model.max_epochs", "5"]) == 2
    assert "tuned with max_epochs=2" in capsys.readouterr().err
    assert main([*one, "seal-nce", "--model.metric", "macro-f1"]) == 2
    assert "tuned for example-f1" in capsys.readouterr().err
    assert main([*arguments, "--method.energy_weight", "2"]) == 2
    assert "energy_weight is searched" in capsys.readouterr().err
    assert main([*one, "seal-nce", "--model.layers", "3"]) == (2 if best[1]["settings"]["layers"] != 3 else 0)
    assert [run["epochs"] for run in out["runs"]] == [1, 2, 2]  # tuned with two
    assert main([*compared[:-1], "other.json", "--methods", "cross-entropy,spen"]) == 2
    assert "no settings of spen" in capsys.readouterr().err
    more = json.loads((tmp_path / "best.json").read_text())
    more["best"][0]["trials"]["complete"] += 2
    (tmp_path / "unequal.json").write_text(json.dumps(more))
    unequal = [*compared[:5], "unequal.json", "--json", "never.json", "--methods"]
    assert main([*unequal, "cross-entropy,seal-nce"]) == 2
    assert "unequal numbers of trials" in capsys.readouterr().err
    assert main(["tune", "mine.npz", "--methods", "cross-entropy,binary-relevance", "--json", "never.json"]) == 2
    assert not (tmp_path / "never.json").exists()  # all methods are looked at before the first trial
    assert main(["tune", "mine.npz", "--methods", "binary-relevance"]) == 2
    assert "nothing to tune" in capsys.readouterr().err
    assert main(["tune", "nothing.npz"]) == 2
    assert main([*arguments, "--most_updates", "3", "--model.max_epochs", "2"]) == 2
    assert "another most_updates" in capsys.readouterr().err
    assert main(["tune", "mine.npz", "--trials", "0"]) == 2
