"""What every estimator promises, whatever its outputs are."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tests.estimators.test_tagger import make_sentences

from enstruct import EnergyMultiLabelClassifier, EnergySegmenter, EnergySequenceTagger
from enstruct.data.synthetic import block_exclusive, ellipses
from enstruct.errors import ConfigError, DataError
from enstruct.negatives import PredictorPoint
from enstruct.tasks import TASKS

pytestmark = pytest.mark.usefixtures("quick_fields")


class Case(NamedTuple):
    """An estimator that trains in no time, and data for it that are lists or arrays of rows."""

    estimator: Any
    quick: dict[str, Any]
    X: Any
    y: Any

    def make(self, method="cross-entropy", **settings):
        return self.estimator(method, **{"random_state": 0, "max_epochs": 2, **self.quick, **settings})

    def take(self, index):
        pick = (lambda rows: [rows[i] for i in index]) if isinstance(self.X, list) else (lambda rows: rows[np.asarray(index)])
        return pick(self.X), pick(self.y)

    def parts(self):
        """(X, y) to train on, (X, y) to validate on."""
        n = len(self.X)
        return self.take(range(n // 2)), self.take(range(n // 2, n))


def flat(answers):
    return np.concatenate([np.asarray(each).ravel() for each in answers])


ROWS = block_exclusive(80, seed=0)
CASES = {
    "labels": Case(EnergyMultiLabelClassifier, {"hidden": 8, "layers": 1}, ROWS.X, ROWS.Y.toarray()),
    "tags": Case(EnergySequenceTagger, {"hidden": 6, "embedding_dim": 5}, *make_sentences(40)),
    "masks": Case(EnergySegmenter, {"width": 3, "levels": 1}, *ellipses(16, 12, seed=0)),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def test_there_is_a_case_for_every_task():
    assert CASES.keys() == TASKS.keys()
    assert [TASKS[name].estimator for name in CASES] == [case.estimator.__name__ for case in CASES.values()]


def test_constructors_have_thirty_parameters_at_most_and_fit_the_same_five(case):
    import inspect

    assert len(inspect.signature(case.estimator).parameters) <= 30
    assert list(inspect.signature(case.estimator.fit).parameters)[1:6] == ["X", "y", "sample_weight", "X_val", "y_val"]


def test_columns_are_parameters_of_the_method(case):
    model = case.make("seal-margin").set_params(method__energy_weight=0.25, learning_rate=0.5)
    assert (model.method.predictor_loss.energy_weight, model.learning_rate) == (0.25, 0.5)
    assert model.get_params()["method__energy_weight"] == 0.25
    assert not any(name.startswith("method__") for name in model.get_params(deep=False))
    assert model.method == TASKS[next(name for name, c in CASES.items() if c is case)].methods["seal-margin"].with_(
        energy_weight=0.25
    )
    assert clone(model).method == model.method
    before = model.get_params()
    with pytest.raises(ConfigError, match="Did you mean 'energy_weight'"):
        model.set_params(method__energy_wieght=1.0, learning_rate=0.1)
    assert model.get_params() == before  # nothing of it is taken
    with pytest.raises(ConfigError, match="cost"):
        case.make(model.method.with_(cost="no-such"))


def test_former_names_are_refused_with_those_of_now(case):
    with pytest.raises(ConfigError, match="max_iter= is called max_epochs="):
        case.make(max_iter=3)
    with pytest.raises(ConfigError, match=r"with_\(energy_weight=\.\.\.\), or set_params\(method__energy_weight"):
        case.make(energy_weight=3)
    with pytest.raises(ConfigError, match="max_iter= is called max_epochs="):
        case.make().set_params(max_iter=3)
    with pytest.raises(ConfigError, match="Y_val= is called y_val="):
        case.make().fit(case.X, case.y, Y_val=case.y)


def test_a_method_with_other_columns_is_saved_as_data(case, tmp_path):
    model = case.make("seal-nce").set_params(method__n_samples=3, method__energy_weight=0.5, method__warmup=0)
    model.fit(case.X, case.y).save(tmp_path / "m", {"mine": 1})
    loaded = case.estimator.load(tmp_path / "m")
    assert (loaded.method, loaded.notes_) == (model.method, {"mine": 1})
    assert np.array_equal(flat(loaded.predict_proba(case.X)), flat(model.predict_proba(case.X)))
    assert np.array_equal(loaded.energy(case.X, case.y), model.energy(case.X, case.y))
    assert loaded.score(case.X, case.y) == model.score(case.X, case.y)


def test_answers_need_a_fit(case):
    for call in (case.make().predict, case.make().predict_proba, case.make().infer):
        with pytest.raises(NotFittedError):
            call(case.X)


def test_refinement_and_inference_need_an_energy_and_lower_it(case):
    model = case.make("seal-margin").fit(case.X, case.y)
    problem, solution = model.inference_problem(case.X), model.infer(case.X, steps=20)
    begin = problem.energy(problem.state, problem.predicted.unsqueeze(1)).squeeze(1)
    assert (solution.energy <= begin + 1e-5).all()  # the best iterate is kept, and the predictor's answer is the first
    assert (solution.energy < begin - 1e-5).any()
    assert not np.array_equal(flat(model.predict_proba(case.X, refine=2)), flat(model.predict_proba(case.X)))
    plain = case.make().fit(case.X, case.y)
    for call in (lambda: plain.energy(case.X, case.y), lambda: plain.predict(case.X, refine=2), lambda: plain.infer(case.X)):
        with pytest.raises(ConfigError, match="no energy"):
            call()


def test_rows_without_weight_teach_nothing(case):
    (X, y), held_out = case.parts()
    weight = np.ones(len(X))
    weight[: len(X) // 3] = 0
    kept = case.take(range(len(X) // 3, len(X)))
    # a tagger knows the words of sentences without weight no better than those of others
    weighed = case.make().fit(X, y, weight, *held_out)
    fewer = case.make().fit(*kept, None, *held_out)
    assert np.allclose(flat(weighed.predict_proba(X)), flat(fewer.predict_proba(X)), atol=1e-6)


def test_weights_count_in_proportion_and_change_what_is_learnt(case):
    (X, y), held_out = case.parts()
    rng = np.random.default_rng(0)
    odd = rng.exponential(size=len(X)) + 0.01
    plain, same, odds, twice = (
        flat(case.make().fit(X, y, weight, *held_out).predict_proba(X)) for weight in (None, np.full(len(X), 3.0), odd, 2 * odd)
    )
    assert np.array_equal(plain, same)
    assert not np.allclose(plain, odds, atol=1e-6)
    assert np.allclose(odds, twice, atol=1e-6)


def test_bad_weights_are_named(case):
    for weight in (np.ones(3), -np.ones(len(case.X)), np.full(len(case.X), np.nan), np.zeros(len(case.X))):
        with pytest.raises(DataError, match=r"(?i)sample.weight"):
            case.make().fit(case.X, case.y, weight)


def test_scores_take_weights(case):
    model = case.make().fit(case.X, case.y)
    half = len(case.X) // 2
    weight = np.r_[np.ones(half), np.zeros(len(case.X) - half)]
    assert model.score(case.X, case.y, weight) == pytest.approx(model.score(*case.take(range(half))))


def test_passes_one_by_one_learn_and_go_on_from_a_fit(case, tmp_path):
    model = case.make(learning_rate=0.02)
    for _ in range(6):
        model.partial_fit(case.X, case.y)
    losses = [record["predictor_loss"] for record in model.history_]
    assert losses[-1] < losses[0]
    assert (model.n_iter_, len(model.predict(case.X))) == (6, len(case.X))
    model.save(tmp_path / "m")
    again = case.estimator.load(tmp_path / "m")
    assert np.array_equal(flat(again.predict_proba(case.X)), flat(model.predict_proba(case.X)))
    fitted = case.make().fit(case.X, case.y)
    p = flat(fitted.predict_proba(case.X))
    fitted.partial_fit(case.X, case.y)
    assert fitted.updates_["predictor"] > 0
    assert not np.array_equal(flat(fitted.predict_proba(case.X)), p)
    with pytest.raises(AttributeError, match="partial_fit"):
        case.make("spen" if case.estimator is not EnergySegmenter else "infnet").partial_fit(case.X, case.y)


def test_warm_starts_go_on_with_the_networks_at_hand(case):
    model = case.make(warm_start=True).fit(case.X, case.y)
    first = [p.detach().clone() for p in model.predictor_.parameters()]
    model.set_params(learning_rate=1e-12, weight_decay=0.0).fit(case.X, case.y)
    for now, then in zip(model.predictor_.parameters(), first, strict=True):
        assert np.allclose(now.detach().numpy(), then.numpy(), atol=1e-6)
    wider = {"hidden": 9} if case.estimator is not EnergySegmenter else {"width": 5}
    with pytest.raises(ConfigError, match="set it back, or fit anew"):
        model.set_params(**wider).fit(case.X, case.y)


def test_validation_rows_come_in_pairs(case):
    with pytest.raises(ConfigError, match="both X_val and y_val"):
        case.make().fit(case.X, case.y, X_val=case.X)


def test_a_method_of_other_parts_is_code(case, tmp_path):
    class Mine(PredictorPoint):
        pass

    row = TASKS[next(name for name, c in CASES.items() if c is case)].methods["seal-margin"].with_(negatives=Mine())
    model = case.make(row).fit(case.X, case.y)
    model.save(tmp_path / "m")
    with pytest.raises(Exception, match=r"pass method=\.\.\. to load"):
        case.estimator.load(tmp_path / "m")
    loaded = case.estimator.load(tmp_path / "m", method=row)
    assert np.array_equal(flat(loaded.predict_proba(case.X)), flat(model.predict_proba(case.X)))


def test_weights_of_later_passes_count_beside_those_of_the_first(case):
    losses = []
    for weight in (1.0, 4.0):
        model = case.make()
        for each in (1.0, weight):
            model.partial_fit(case.X, case.y, sample_weight=np.full(len(case.X), each))
        losses.append(model.history_[-1]["predictor_loss"])
    assert losses[1] > 2 * losses[0]  # four times but for dropout and the steps between batches


def test_networks_of_other_settings_or_of_another_method_are_not_saved(case, tmp_path):
    narrow = "embedding_dim" if case.estimator is EnergySequenceTagger else next(iter(case.quick))
    for change in ({narrow: 7}, {"method": "seal-margin"}):
        model = case.make().fit(case.X, case.y).set_params(**change)
        with pytest.raises(ConfigError, match="set it back, or fit anew"):
            model.save(tmp_path / "m")
        assert not (tmp_path / "m").exists()
