"""From nothing: when a model is fitted, and how it is judged."""

import time

import numpy as np
import pytest
from tests.generated_songs import songs

from enstruct.metrics import rowwise_f1
from enstruct.metrics.intervals import Interval
from enstruct.workbench import learning
from enstruct.workbench.label_sets import LabelSets
from enstruct.workbench.learning import Judgement, Learner, Work, fit, over_rows

SETTINGS = {"base": "binary-relevance", "folds": 2, "random_state": 0}


def sets_of(X):
    return LabelSets(["a"], X, None, None, None)


def work(n, folder, before=None, judging=None, seed=0):
    X, Y = songs(n, seed)
    judging = np.arange(n) % 2 == 0 if judging is None else judging
    return Work(np.arange(n), X, Y.astype(float), judging, str(folder), SETTINGS, before)


def test_an_interval_covers_the_mean():
    rng = np.random.default_rng(0)
    covered = [(i := over_rows(rng.normal(1, 2, 40))).low <= 1 <= i.high for _ in range(200)]
    assert 0.88 <= np.mean(covered) <= 0.99


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_the_estimate_is_that_of_unseen_rows(tmp_path):
    judged = fit(work(120, tmp_path / "m"))
    assert judged.judged == 60
    fresh, Y = songs(600, seed=77)
    from enstruct import JointMultiLabelClassifier

    model = JointMultiLabelClassifier.load(tmp_path / "m")
    actual = rowwise_f1(Y, model.predict_proba(fresh) >= 0.5).mean()
    assert judged.f1.low - 0.03 <= actual <= judged.f1.high + 0.03
    assert judged.f1.low < judged.f1.value < judged.f1.high


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_what_the_last_doubling_gained(tmp_path):
    """The model of then is judged on rows that it has not seen, the ones of now by folds: paired, row by row."""
    fit(work(20, tmp_path / "then"))
    judged = fit(work(160, tmp_path / "now", before=(str(tmp_path / "then"), np.arange(20))))
    assert judged.gain is not None
    assert judged.gain.value > 0
    assert fit(work(24, tmp_path / "few", before=(str(tmp_path / "then"), np.arange(20)))).gain is None  # two rows say nothing


def test_few_rows_say_nothing(tmp_path):
    judged = fit(work(20, tmp_path / "m", judging=np.arange(20) < 5))
    assert judged.f1 is None
    assert "Too few rows" in judged.words


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (None, "not known yet"),
        (Interval(0.05, 0.02, 0.08), "going on pays."),
        (Interval(0.02, -0.02, 0.06), "not certain"),
        (Interval(0.0, -0.02, 0.01), "hardly pays any longer"),
    ],
)
def test_when_going_on_pays(gain, words):
    judged = Judgement(40, 12, Interval(0.5, 0.4, 0.6), Interval(1.5, 1.2, 1.9), gain)
    assert words in judged.words
    assert "50.0 [40.0, 60.0]" in judged.words


@pytest.fixture
def learners():
    made = []
    yield made
    for each in made:
        each.close()


def finish(learner):
    deadline = time.monotonic() + 60
    while learner.fitting and time.monotonic() < deadline:
        time.sleep(0.05)


def test_a_model_comes_once_there_are_rows(learners):
    X, Y = songs(60)
    ready = []
    learner = Learner(sets_of(X), np.ones(60, dtype=bool), SETTINGS, ready.append)
    learners.append(learner)
    done = {row: Y[row].astype(float) for row in range(19)}
    assert not learner.consider(done)
    assert "once 20 rows" in learner.words
    done |= {row: Y[row].astype(float) for row in range(19, 22)}
    assert learner.consider(done)
    assert not learner.consider(done)  # one at a time
    assert "being fitted" in learner.words
    finish(learner)
    assert ready[0].predict_proba(X).shape == (60, 6)
    assert (learner.judgement.rows, learner.judgement.judged) == (22, 22)
    assert "A model of 22 rows" in learner.words
    assert not learner.consider(done)  # not before there are a quarter more


def test_what_cannot_be_fitted_is_said(monkeypatch, learners):
    monkeypatch.setattr(learning, "FIRST", 4)
    learner = Learner(sets_of(np.zeros((9, 2))), np.ones(9, dtype=bool), SETTINGS)
    learners.append(learner)
    assert learner.consider({row: np.zeros(3) for row in range(5)})  # no label varies
    finish(learner)
    assert "could be fitted" in learner.words
    assert learner.judgement is None
