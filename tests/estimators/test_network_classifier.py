"""The estimator as its users use it."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from tests.configured import configured

from enstruct import METHODS, EnergyMultiLabelClassifier, EnergySpec, example_f1
from enstruct.data.hierarchy import Hierarchy
from enstruct.data.synthetic import block_exclusive
from enstruct.decisions import bayes_risk
from enstruct.encoders import SparseLinear
from enstruct.errors import ConfigError, ConstantLabelWarning, DataError, DivergenceError
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.methods import Method
from enstruct.negatives import PredictorSamples
from enstruct.training.callbacks import Callback

SMALL = {"hidden": 16, "layers": 1, "max_epochs": 3, "random_state": 0}


def small(*args, **changes):
    return configured(NetworkClassifier, *args, **{**SMALL, **changes})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.usefixtures("quick_bases")
def test_every_method_is_better_than_chance_and_answers_the_same_after_loading(method, blocks, tmp_path):
    n = 100 if method == "crf-lp" else 300  # an integer program a row
    X = np.exp(blocks.X[:n]) if METHODS[method].scaling == "tfidf" else blocks.X[:n]
    Y, spec = blocks.Y[:n], EnergySpec(**{**METHODS[method].energy, "units": 16})
    settings = {"max_epochs": 6, "hidden": 32, "learning_rate": 1e-2, "dropout": 0.1, "energy_network": spec}
    model = configured(EnergyMultiLabelClassifier, method, **{**SMALL, **settings}).fit(X, Y)
    predicted, p = model.predict(X), model.predict_proba(X)
    assert sparse.issparse(predicted)
    assert example_f1(Y, predicted) > (0.45 if method == "boosting" else 0.5)  # with five trees; every label on gives 0.4
    assert model.score(X, Y) == example_f1(Y, predicted)
    assert p.shape == (n, 16)
    assert ((p >= 0) & (p <= 1)).all()
    model.save(tmp_path / "m")
    loaded = EnergyMultiLabelClassifier.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba(X), p)
    for decision in model.rules_:
        assert (loaded.predict(X, decision=decision) != model.predict(X, decision=decision)).nnz == 0
    if METHODS[method].has_energy:
        np.testing.assert_array_equal(loaded.energy(X, Y), model.energy(X, Y))
    assert loaded.get_params()["energy_network"] == spec
    assert loaded.decision_ == model.decision_


@pytest.mark.parametrize("terms", [("local",), ("global",), ("conditional",), ("pairwise",), ("local", "global", "pairwise")])
def test_energy_terms_train(terms, blocks):
    """A label set that is wrong costs more than the true one, on average over rows."""
    settings = {"warmup": 0, "max_epochs": 8, "n_iter_no_change": 8, "learning_rate": 1e-3, "energy_rate": 10.0}
    model = small(energy_network=EnergySpec(terms, units=8), **settings).fit(blocks.X, blocks.Y)
    wrong = np.roll(blocks.Y.toarray(), 1, axis=1)  # the next label of each: of another block, or no choice that is allowed
    assert (model.energy(blocks.X, wrong) - model.energy(blocks.X, blocks.Y)).mean() > 0.1


@pytest.mark.parametrize("features", ["copied", "frozen", "shared"])
def test_energy_features_train(features, blocks):
    """Copied ones go on from the predictor's by themselves, frozen ones stay, shared ones are the predictor's."""
    for method in ("seal-nce", "seal-static-nce"):
        if (method, features) == ("seal-static-nce", "shared"):
            continue  # is refused
        first = []

        class Watch(Callback):
            def on_batch_end(self, loop, first=first):
                if not first:
                    first.extend(p.detach().clone() for p in loop.game.loss.network.encoder.parameters())

        spec = EnergySpec(features=features, units=8)
        model = small(method, energy_network=spec, warmup=0, callbacks=[Watch()]).fit(blocks.X, blocks.Y)
        own, predictors = model.energy_.encoder, list(model.predictor_.encoder.parameters())
        assert (getattr(own, "lender", None) is model.predictor_.encoder) == (features == "shared")
        if features != "shared":
            assert not any(torch.equal(a, b) for a, b in zip(own.parameters(), predictors, strict=True))
            assert {p.requires_grad for p in own.parameters()} == {features == "copied"}
        if features == "frozen" and method == "seal-nce":
            assert all(torch.equal(a, b) for a, b in zip(own.parameters(), first, strict=True))
        if features == "copied":
            assert not any(torch.equal(a, b) for a, b in zip(own.parameters(), first, strict=True))


def test_the_energy_prefers_the_truth_after_training(blocks):
    model = small(max_epochs=60, warmup=0, hidden=32, learning_rate=3e-3).fit(blocks.X, blocks.Y)
    wrong = np.roll(blocks.Y.toarray(), 1, axis=0)
    assert (model.energy(blocks.X, blocks.Y) < model.energy(blocks.X, wrong)).mean() > 0.9


def test_dense_csr_and_float32_inputs_agree(blocks):
    dense = small().fit(blocks.X, blocks.Y)
    assert np.abs(dense.predict_proba(blocks.X) - dense.predict_proba(blocks.X.astype(np.float32))).max() < 1e-5
    assert dense.predict_proba(blocks.X.astype(np.float32)).shape == (300, 16)
    binary = (blocks.X > 0.5).astype(float)
    validation = {"X_val": binary[:100], "y_val": blocks.Y[:100]}  # rows are ordered by content, so a held-out part would differ
    a = small("binary-relevance").fit(binary, blocks.Y, **validation).predict_proba(binary)
    validation["X_val"] = sparse.csr_matrix(binary[:100])
    b = small("binary-relevance").fit(sparse.csr_matrix(binary), blocks.Y, **validation).predict_proba(sparse.csr_matrix(binary))
    np.testing.assert_allclose(a, b, atol=5e-3)  # of two solvers: the one for dense rows shrinks the intercept a little


def test_tfidf_is_that_of_scikit_learn_on_training_rows_alone(blocks, tmp_path):
    counts = sparse.csr_matrix(np.abs(np.rint(3 * blocks.X)))
    weighting = TfidfTransformer().fit(counts[100:])
    own = NetworkClassifier("binary-relevance-tfidf").fit(counts[100:], blocks.Y[100:], X_val=counts[:100], y_val=blocks.Y[:100])
    plain = NetworkClassifier("binary-relevance", standardize=False)
    plain.fit(weighting.transform(counts[100:]), blocks.Y[100:], X_val=weighting.transform(counts[:100]), y_val=blocks.Y[:100])
    np.testing.assert_allclose(own.predict_proba(counts), plain.predict_proba(weighting.transform(counts)), atol=1e-4)
    own.save(tmp_path / "m")
    assert np.array_equal(NetworkClassifier.load(tmp_path / "m").predict_proba(counts), own.predict_proba(counts))
    net = small("cross-entropy", standardize="tfidf").fit(counts.toarray(), blocks.Y)  # a network on dense counts
    np.testing.assert_allclose(net.predict_proba(counts.toarray()), net.predict_proba(counts), atol=1e-6)
    with pytest.raises(ConfigError, match="Negative values"):
        small("binary-relevance-tfidf").fit(-counts, blocks.Y)


@pytest.mark.parametrize("method", ["binary-relevance", "seal-nce"])
def test_features_that_no_training_row_has_change_nothing(method, blocks, tmp_path):
    X = sparse.csr_matrix(np.where(np.arange(64) % 3 == 0, 0.0, blocks.X))
    model = small(method).fit(X, blocks.Y)
    other = sparse.csr_matrix(np.where(np.arange(64) % 3 == 0, 5.0, X.toarray()))
    assert np.array_equal(model.predict_proba(other), model.predict_proba(X))
    assert model.data_.features.columns.tolist() == [j for j in range(64) if j % 3]
    model.save(tmp_path / "m")
    assert np.array_equal(NetworkClassifier.load(tmp_path / "m").predict_proba(other), model.predict_proba(X))
    assert small(method).fit(sparse.csr_matrix(blocks.X), blocks.Y).data_.features.columns is None
    again = small("cross-entropy", warm_start=True).fit(X, blocks.Y)
    assert len(again.fit(sparse.csr_matrix(blocks.X), blocks.Y).data_.features.columns) == 42
    with pytest.raises(ConfigError, match="warm_start"):
        again.fit(sparse.csr_matrix(blocks.X[:, :10]), blocks.Y)


def test_training_without_a_supervised_loss(blocks):
    """SEAL's Figure 2a; the predictor then learns from the energy from its first update on."""
    model = small("seal-nce", supervised_weight=0.0).fit(blocks.X, blocks.Y)
    assert model.updates_["predictor"] == 3 * -(-240 // 32)
    with pytest.raises(ConfigError, match="nothing to learn from"):
        small("infnet", supervised_weight=0.0).fit(blocks.X, blocks.Y)


def test_forms_of_y_come_back_as_they_went_in(blocks):
    indicator = blocks.Y.toarray().astype(int)
    names = [[blocks.label_names[j] for j in np.flatnonzero(row)] for row in indicator]
    as_matrix = small().fit(blocks.X, indicator)
    as_names = small().fit(blocks.X, names)
    assert as_matrix.predict(blocks.X).dtype.kind == "i"
    assert as_matrix.classes_.tolist() == list(range(16))
    assert as_names.classes_.tolist() == sorted(blocks.label_names)
    assert {name for row in as_names.predict(blocks.X) for name in row} <= set(blocks.label_names)
    assert as_names.score(blocks.X, names) == pytest.approx(as_matrix.score(blocks.X, indicator), abs=0.05)
    assert small().fit(blocks.X, [set(row) for row in names]).predict(blocks.X) == as_names.predict(blocks.X)


def test_binary_and_multiclass_targets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3], axis=1)]
    model = small(max_epochs=60, learning_rate=5e-3, dropout=0.1).fit(X, y)
    assert model.score(X, y) > 0.85
    np.testing.assert_allclose(model.predict_proba(X).sum(1), 1)
    binary = small(max_epochs=20).fit(X, y == "a")
    assert binary.decision_function(X).shape == (200,)
    assert ((binary.decision_function(X) > 0) == binary.predict(X)).all()


@pytest.mark.parametrize("method", ["cross-entropy", "binary-relevance"])
def test_probabilities_of_a_rare_class_are_its_rate_and_weights_count_once(method):
    """As scikit-learn has it on rows that say nothing: the base rate, or one half where classes weigh the same."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 2)), rng.random(1500) < 0.08
    for class_weight in (None, "balanced", {True: 11.5}):
        theirs = LogisticRegression(class_weight=class_weight).fit(X, y).predict_proba(X)[:, 1].mean()
        model = small(method, max_epochs=25, early_stopping=False, class_weight=class_weight).fit(X, y)
        assert model.predict_proba(X)[:, 1].mean() == pytest.approx(theirs, abs=0.06 if theirs > 0.3 else 0.02)


def test_a_class_whose_rows_weigh_nothing_has_its_column():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)), np.repeat(["a", "b", "c"], 30)
    with pytest.warns(ConstantLabelWarning):
        model = small(max_epochs=3).fit(X, y, sample_weight=(y != "c").astype(float))
    p = model.predict_proba(X)
    assert p.shape == (90, 3)
    np.testing.assert_allclose(p.sum(1), 1)
    assert (p[:, 2] == 0).all()


def test_decisions_are_switchable_without_retraining(blocks):
    model = small(max_epochs=10).fit(blocks.X, blocks.Y)
    assert set(model.rules_) == {"fixed", "threshold", "scaled", "top-k", "expected-f1", "bayes-risk", "per-label"}
    assert set(model.decision_scores_) == set(model.rules_)
    by_argument = model.predict(blocks.X, decision="top-k")
    assert (model.set_decision("top-k").predict(blocks.X) != by_argument).nnz == 0
    assert (np.asarray(model.predict(blocks.X, top_k=3).sum(1)) == 3).all()
    fixed = model.predict(blocks.X, decision="fixed").toarray()
    assert (fixed == (model.predict_proba(blocks.X) >= 0.5)).all()
    assert model.thresholds_.shape == (16,)


def test_samples_are_tried_by_themselves_up_to_so_many_labels(blocks, monkeypatch):
    monkeypatch.setattr(bayes_risk, "MOST_LABELS", 15)
    few = small(max_epochs=1).fit(blocks.X, blocks.Y)
    assert "bayes-risk" not in few.rules_
    with pytest.raises(ConfigError, match="beyond 15 labels, decision='bayes-risk' before fit"):
        few.predict(blocks.X, decision="bayes-risk")
    assert small(max_epochs=1, decision="bayes-risk").fit(blocks.X, blocks.Y).decision_ == "bayes-risk"


def test_margin_and_regression_energies_refuse_bayes_risk(blocks):
    with pytest.raises(ConfigError, match="density"):
        small("seal-margin", decision="bayes-risk").fit(blocks.X, blocks.Y)
    model = small("seal-margin").fit(blocks.X, blocks.Y)
    with pytest.raises(ConfigError, match="density"):
        model.set_decision("bayes-risk")


def test_samples_have_the_models_marginals(blocks):
    model = small(max_epochs=5).fit(blocks.X, blocks.Y)
    drawn = model.sample(blocks.X[:3], 4000, random_state=1)
    assert drawn.shape == (3, 4000, 16)
    np.testing.assert_allclose(drawn.mean(1), model.predict_proba(blocks.X[:3]), atol=0.05)


@pytest.mark.parametrize("method", ["spen", "dvn", "crf"])
def test_methods_that_answer_by_inference_have_no_samples(method, blocks):
    model = small(method, max_epochs=1).fit(blocks.X, blocks.Y)
    with pytest.raises(
        ConfigError, match=f"method='{method}' answers by inference on its energy, whose minimum is no distribution"
    ):
        model.sample(blocks.X, 2)


def test_constant_labels_are_predicted_with_one_warning(blocks):
    Y = np.hstack([blocks.Y.toarray(), np.zeros((300, 1)), np.ones((300, 1))]).astype(int)
    with pytest.warns(ConstantLabelWarning, match="2 of 18 labels") as caught:
        model = small().fit(blocks.X, Y)
    assert len(caught) == 1
    for decision in model.rules_:
        predicted = model.predict(blocks.X, decision=decision)
        assert not predicted[:, 16].any()
        assert predicted[:, 17].all()
    p = model.predict_proba(blocks.X)
    assert (p[:, 16] == 0).all()
    assert (p[:, 17] == 1).all()
    assert model.decision_function(blocks.X)[0, 17] == 30
    assert model.sample(blocks.X[:2], 3)[..., 17].all()


def test_constant_labels_may_be_learnt_and_judged(blocks):
    Y = np.hstack([blocks.Y.toarray(), np.zeros((300, 1)), np.ones((300, 1))]).astype(int)
    model = small(learn_constant=True, max_epochs=30).fit(blocks.X, Y)
    p = model.predict_proba(blocks.X)
    assert model.predictor_.head.out_features == 18
    assert ((p > 0) & (p < 1)).all()
    assert p[:, 16].mean() < 0.2
    assert p[:, 17].mean() > 0.8
    with pytest.warns(ConstantLabelWarning):  # a solver cannot
        linear = NetworkClassifier("binary-relevance", learn_constant=True).fit(blocks.X, Y)
    assert (linear.predict_proba(blocks.X)[:, 17] == 1).all()


def test_empty_rows_and_empty_label_sets_are_valid(blocks):
    X, Y = blocks.X.copy(), blocks.Y.toarray().astype(int)
    X[:20], Y[10:40] = 0, 0
    model = small().fit(sparse.csr_matrix(X), Y)
    found = model.predict_proba(sparse.csr_matrix(X))
    assert found.shape == (300, 16)
    assert (found[:20] == found[0]).all()  # rows of zeros are alike
    assert found[:20].sum(1).mean() < found[40:].sum(1).mean()  # half of them have no label


def test_own_validation_rows(blocks):
    validation = block_exclusive(100, seed=9)
    model = small().fit(blocks.X, blocks.Y, X_val=validation.X, y_val=validation.Y)
    assert model.updates_["predictor"] == 3 * -(-300 // 32)
    with pytest.raises(ConfigError, match="both"):
        small().fit(blocks.X, blocks.Y, X_val=validation.X)


def test_standardisation_sees_training_rows_only(blocks):
    validation = block_exclusive(100, seed=9)
    model = small().fit(blocks.X, blocks.Y, X_val=validation.X + 1000, y_val=validation.Y)
    np.testing.assert_allclose(model.data_.features.scaler.mean_, blocks.X.mean(0))


def test_weights_equal_repetitions_and_no_copy_is_a_validation_row(blocks):
    weight = np.random.default_rng(0).integers(0, 4, 300)
    weighted = small().fit(blocks.X, blocks.Y, sample_weight=weight)
    repeated = small().fit(np.repeat(blocks.X, weight, axis=0), blocks.Y[np.repeat(np.arange(300), weight)])
    np.testing.assert_array_equal(weighted.predict_proba(blocks.X), repeated.predict_proba(blocks.X))


def test_class_weight_raises_the_weighted_labels(blocks):
    settings = {"max_epochs": 15, "learning_rate": 5e-3}
    plain = small(**settings).fit(blocks.X, blocks.Y).predict_proba(blocks.X)
    heavy = small(**settings, class_weight={3: 20.0}).fit(blocks.X, blocks.Y).predict_proba(blocks.X)
    assert heavy[:, 3].mean() > plain[:, 3].mean() + 0.2
    with pytest.raises(ConfigError, match="class_weight names 99"):
        small(class_weight={99: 1.0}).fit(blocks.X, blocks.Y)


def test_partial_fit_learns_and_continues(blocks):
    model = small("cross-entropy", learning_rate=5e-3, dropout=0.1)
    for _ in range(30):
        model.partial_fit(blocks.X, blocks.Y)
    assert model.n_iter_ == 30
    assert model.history_[-1]["predictor_loss"] < 0.6 * model.history_[0]["predictor_loss"]
    assert model.score(blocks.X, blocks.Y) > 0.5
    assert not hasattr(NetworkClassifier("binary-relevance"), "partial_fit")


def test_partial_fit_goes_on_with_what_was_fitted(blocks, tmp_path):
    model = small("cross-entropy", max_epochs=20, learning_rate=5e-3, dropout=0.1).fit(blocks.X, blocks.Y)
    fitted, epochs = model.score(blocks.X, blocks.Y), model.n_iter_
    model.save(tmp_path / "m")
    loaded = NetworkClassifier.load(tmp_path / "m")
    for each in (model, loaded):
        before = each.predict_proba(blocks.X)
        each.partial_fit(blocks.X[:20], blocks.Y[:20])
        assert each.n_iter_ == epochs + 1
        assert abs(each.score(blocks.X, blocks.Y) - fitted) < 0.05
        assert 0 < np.abs(each.predict_proba(blocks.X) - before).max() < 0.2
        assert "expected-f1" in each.rules_  # those of fit


def test_partial_fit_after_a_second_fit_trains_the_new_networks(blocks):
    model = small("cross-entropy", max_epochs=3).partial_fit(blocks.X, blocks.Y)
    model.fit(blocks.X, blocks.Y)
    before = model.predict_proba(blocks.X)
    model.partial_fit(blocks.X, blocks.Y)
    assert np.abs(model.predict_proba(blocks.X) - before).max() > 0


def test_partial_fit_counts_on_after_a_save(blocks, tmp_path):
    model = small("seal-nce").partial_fit(blocks.X, blocks.Y)
    first = dict(model.updates_)
    assert first["predictor"] == first["energy"] == -(-300 // 32)
    model.save(tmp_path / "m")
    again = NetworkClassifier.load(tmp_path / "m").partial_fit(blocks.X, blocks.Y)
    assert again.updates_ == {player: 2 * n for player, n in first.items()}


def test_partial_fit_keeps_the_energy_s_weight_where_it_rose_to(blocks):
    model = small("seal-nce", warmup=20, max_epochs=4).fit(blocks.X, blocks.Y)
    updates = model.updates_["predictor"]
    assert updates > 20
    model.partial_fit(blocks.X[:50], blocks.Y[:50])
    assert model.partial_game_.predictor_updates == updates + 2
    assert model.partial_game_._energy_weight(model.partial_game_.method.stages[0]) == 3


def test_partial_fit_of_another_kind_of_method_or_labels_says_so(blocks):
    model = small("cross-entropy").fit(blocks.X, blocks.Y)
    model.set_params(method="seal-nce")
    with pytest.raises(ConfigError, match="partial_fit goes on with networks"):
        model.partial_fit(blocks.X, blocks.Y)
    Y = blocks.Y.toarray()
    Y[:, 2] = 0
    with pytest.warns(ConstantLabelWarning, match="never vary"):
        model = small("cross-entropy").fit(blocks.X, sparse.csr_matrix(Y))
    model.partial_fit(blocks.X, sparse.csr_matrix(Y))  # no warning: it does not vary here either
    with pytest.warns(ConstantLabelWarning, match=r"do so now \(first: \[2\]"):
        model.partial_fit(blocks.X, blocks.Y)


def test_one_validation_row_chooses_no_rule(blocks):
    one = {"X_val": blocks.X[:1], "y_val": blocks.Y[:1]}
    with pytest.raises(DataError, match="One validation row"):
        small().fit(blocks.X, blocks.Y, **one)
    assert small(decision="fixed").fit(blocks.X, blocks.Y, **one).decision_ == "fixed"


def test_partial_fit_weighs_labels(blocks):
    plain, heavy = (small("cross-entropy", learning_rate=5e-3, class_weight=w) for w in (None, {3: 20.0}))
    for _ in range(15):
        plain.partial_fit(blocks.X, blocks.Y)
        heavy.partial_fit(blocks.X, blocks.Y)
    assert heavy.predict_proba(blocks.X)[:, 3].mean() > plain.predict_proba(blocks.X)[:, 3].mean() + 0.2
    with pytest.raises(ConfigError, match="all rows at once"):
        small("cross-entropy", class_weight="balanced").partial_fit(blocks.X, blocks.Y)


def test_warm_start_goes_on(blocks):
    model = small("cross-entropy", max_epochs=8, learning_rate=3e-3, warm_start=True)
    first = model.fit(blocks.X, blocks.Y).history_[0]["predictor_loss"]
    assert model.fit(blocks.X, blocks.Y).history_[0]["predictor_loss"] < 0.9 * first


def test_own_encoder_energy_and_method(blocks):
    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(64, 12)

        def forward(self, x):
            return torch.tanh(self.linear(x))

    class Energy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bilinear = torch.nn.Linear(64, 16)

        def forward(self, x, y):
            return (self.bilinear(x).unsqueeze(1) * y).sum(-1)

    mine = Method(
        "mine",
        PredictorSamples(5),
        METHODS["seal-nce"].objective,
        METHODS["seal-nce"].predictor_loss,
        stages=METHODS["seal-nce"].stages,
    )
    encoder = Encoder()
    before = encoder.linear.weight.clone()
    model = small(mine, encoder=encoder, energy_network=Energy()).fit(blocks.X, blocks.Y)
    assert model.predictor_.head.in_features == 12
    assert torch.equal(encoder.linear.weight, before)  # a parameter is not changed by fit


def test_encoders_of_one_s_own_keep_to_single_precision(blocks):
    class Recurrent(torch.nn.Module):
        """Makes tensors of the default precision on its way."""

        def __init__(self, n_features):
            super().__init__()
            self.cell, self.out_features = torch.nn.GRUCell(n_features, 12), 12

        def forward(self, x):
            return self.cell(x, torch.zeros(len(x), 12))

    class Half(torch.nn.Module):
        """Sees to its own precision."""

        def __init__(self, n_features):
            super().__init__()
            self.linear, self.out_features = torch.nn.Linear(n_features, 8).bfloat16(), 8

        def forward(self, x):
            return self.linear(x.bfloat16()).to(x.dtype)

    class Energy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = torch.nn.GRUCell(64, blocks.Y.shape[1])

        def forward(self, x, y):
            return (y * self.cell(x, torch.zeros(len(x), blocks.Y.shape[1])).unsqueeze(1)).sum(-1)

    X = (blocks.X.toarray() if hasattr(blocks.X, "toarray") else np.asarray(blocks.X)).astype(np.float64)
    for encoder in (Recurrent, Half):
        model = small("cross-entropy", encoder=encoder, max_epochs=1).fit(X, blocks.Y)
        assert model.predict(X).shape == blocks.Y.shape
    plain = small("cross-entropy", encoder=torch.nn.Linear(64, 8), max_epochs=1).fit(X, blocks.Y)
    assert plain.decision_function(X[:1]).dtype == np.float64
    np.testing.assert_allclose(plain.decision_function(X[:1]), plain.decision_function(X)[:1], atol=1e-13)  # double all through
    model = small("seal-nce", energy_network=Energy(), max_epochs=1).fit(X, blocks.Y)
    assert model.predict(X, refine=2).shape == blocks.Y.shape
    with pytest.raises(ConfigError, match=r"encoder\.float\(\)"):
        small("cross-entropy", encoder=torch.nn.Linear(64, 8).double(), max_epochs=1).fit(X, blocks.Y)


def test_a_last_batch_of_one_row_trains_batch_normalisation():
    data = block_exclusive(33, seed=1)
    encoder = torch.nn.Sequential(torch.nn.Linear(64, 8), torch.nn.BatchNorm1d(8))
    model = small("cross-entropy", encoder=encoder, max_epochs=1, batch_size=16, decision="fixed")
    model.fit(data.X, data.Y, X_val=data.X, y_val=data.Y)
    assert model.history_[-1]["predictor_updates"] == 2  # 16 and 17 rows


def test_hierarchical_predictions_are_closed():
    from enstruct.data.hierarchy import Hierarchy

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    hierarchy = Hierarchy(4, ((0, 1), (1, 2)))
    Y = hierarchy.close((X[:, :4] > 0.7).astype(int)).toarray()
    model = small(max_epochs=20, rules=hierarchy).fit(X, Y)
    for decision in model.rules_:
        predicted = model.predict(X, decision=decision)
        assert (predicted[:, 0] >= predicted[:, 1]).all()
        assert (predicted[:, 1] >= predicted[:, 2]).all()
    p = model.predict_proba(X)
    assert (p[:, 0] >= p[:, 1]).all()


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.date_range("2020-01-01", periods=300), "column 'when' holds datetime64"),
        (pd.to_timedelta(np.arange(300), unit="D"), "column 'when' holds timedelta64"),
        (["a"] * 300, "could not convert.*column 'when' holds"),
    ],
)
def test_columns_that_are_no_numbers_are_named(column, message, blocks):
    frame = pd.DataFrame(blocks.X[:300]).add_prefix("x").assign(when=column)
    with pytest.raises(DataError, match=message):
        small(max_epochs=1).fit(frame, blocks.Y[:300])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, Y: (np.where(X > 2, np.nan, X), Y), "NaN"),
        (lambda X, Y: (np.where(X > 2, np.inf, X), Y), "infinity"),
        (lambda X, Y: (X[:, :0], Y), "0 feature"),
        (lambda X, Y: (X[:100], Y), "inconsistent numbers of samples"),
        (lambda X, Y: (X, np.zeros_like(Y)), "constant"),
        (lambda X, Y: (X, Y * 2), "only 0 and 1"),
        (lambda X, Y: (X, Y + np.nan), "NaN"),
        (lambda X, Y: (np.full(X.shape, "text"), Y), "convert"),
        (lambda X, Y: (X, None), "None"),
    ],
)
def test_unusable_data_is_one_clear_error(change, message, blocks):
    X, Y = change(blocks.X, blocks.Y.toarray().astype(float))
    with pytest.raises(DataError, match=message):
        small().fit(X, Y)


def test_wrong_width_and_unknown_names_at_prediction(blocks):
    model = small().fit(blocks.X, blocks.Y)
    with pytest.raises(DataError, match="64 features"):
        model.predict(blocks.X[:, :5])
    names = small().fit(blocks.X, [["a"] if x > 0 else ["b"] for x in blocks.X[:, 0]])
    with pytest.raises(DataError, match="'zebra'"):
        names.score(blocks.X[:1], [["zebra"]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "seal-nec"}, "Did you mean 'seal-nce'"),
        ({"decision": "treshold"}, "Did you mean 'threshold'"),
        ({"metric": "f1"}, "Unknown metric"),
        ({"learning_rate": 0}, "learning_rate must be positive"),
        ({"max_epochs": 0}, "max_epochs"),
        ({"batch_size": -1}, "batch_size"),
        ({"early_stopping": "maybe"}, "early_stopping"),
        ({"validation_fraction": 1.5}, "validation_fraction"),
        ({"standardize": "yes"}, "standardize"),
        ({"nonlinearity": "relux"}, "Did you mean 'relu'"),
        ({"energy_network": 3}, "EnergySpec"),
        ({"early_stopping": False, "decision": "threshold"}, "no validation rows"),
    ],
)
def test_bad_settings_are_named(settings, message, blocks):
    with pytest.raises(ConfigError, match=message):
        small(**settings).fit(blocks.X, blocks.Y)


def test_a_diverging_fit_says_what_to_try(blocks):
    with pytest.raises(DivergenceError, match="smaller learning rate"):
        small(learning_rate=1e30, clip=None, warmup=0).fit(blocks.X, blocks.Y)


@pytest.mark.parametrize("change", ["width", "labels", "method"])
def test_warm_start_on_another_task_says_so(change: str) -> None:
    data = block_exclusive(60, seed=0)
    model = NetworkClassifier(max_epochs=1, warm_start=True, random_state=0).fit(data.X, data.Y)
    X, Y = (data.X[:, :-1] if change == "width" else data.X), (data.Y[:, :-1] if change == "labels" else data.Y)
    if change == "method":
        model.set_params(method="cross-entropy")
    with pytest.raises(ConfigError, match="warm_start=True goes on"):
        model.fit(X, Y)


def test_a_sparse_matrix_with_an_entry_twice_counts_it_once_or_says_so(blocks):
    rows, columns = blocks.Y.nonzero()
    twice = sparse.coo_matrix((np.ones(2 * len(rows)), (np.r_[rows, rows], np.r_[columns, columns])), shape=blocks.Y.shape)
    with pytest.raises(DataError, match="only 0 and 1"):
        small().fit(blocks.X, twice)
    for form in ("lil", "dok", "coo"):
        model = small(max_epochs=1).fit(blocks.X, blocks.Y.asformat(form))
        assert model.predict(blocks.X).shape == blocks.Y.shape


def test_label_sets_as_pandas_and_numpy_hold_them(blocks):
    names = [[blocks.label_names[j] for j in row.indices] for row in blocks.Y]
    column = np.empty(len(names), dtype=object)
    column[:] = names
    expected = small(max_epochs=2).fit(blocks.X, names).predict(blocks.X)
    for given in (column, pd.Series(names), [np.array(row) for row in names]):
        found = small(max_epochs=2).fit(blocks.X, given).predict(blocks.X)
        assert found == expected
    assert type(next(row[0] for row in expected if row)) is str
    with pytest.raises(DataError, match="of one kind"):
        small().fit(blocks.X, [["a", 1]] * 300)
    for missing in (None, float("nan"), pd.NA):
        with pytest.raises(DataError, match="None or NaN"):
            small().fit(blocks.X, [["a", missing]] * 300)


def test_rows_in_another_form_than_those_of_fit(blocks):
    model = small(max_epochs=2).fit(blocks.X, blocks.Y)
    np.testing.assert_allclose(model.predict_proba(sparse.csr_matrix(blocks.X)), model.predict_proba(blocks.X), atol=1e-6)


def test_energies_of_other_rows_are_refused(blocks):
    model = small(max_epochs=1).fit(blocks.X, blocks.Y)
    with pytest.raises(DataError, match="5 rows and y 3"):
        model.energy(blocks.X[:5], blocks.Y[:3])


@pytest.mark.parametrize(
    "given",
    [
        {"clip": -1.0},
        {"energy_clip": 0.0},
        {"energy_rate": 0.0},
        {"batch_size": 1.5},
        {"hidden": 0},
        {"dropout": 3.0},
        {"device": "gpu"},
        {"class_weight": {0: -5.0}},
        {"class_weight": {0: float("nan")}},
        {"class_weight": {0: "heavy"}},
        {"inference": "adam"},
    ],
)
def test_settings_that_turn_training_round_or_off_are_refused(given, blocks):
    with pytest.raises(ConfigError, match=next(iter(given)).rpartition("_")[2]):
        small(**given).fit(blocks.X, blocks.Y)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(blocks):
    with pytest.raises(ConfigError, match="no such GPU"):
        small(device="cuda").fit(blocks.X, blocks.Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hidden": "x"}, "hidden must be a whole number from 1"),
        ({"layers": 1.5}, "layers must be a whole number from 0"),
        ({"dropout": None}, "dropout must be a number, not None"),
        ({"learning_rate": "a"}, "learning_rate must be 'auto' or a number, not 'a'"),
        ({"clip": "a"}, "clip must be a number"),
        ({"weight_decay": -1}, "weight_decay must be at least 0"),
        ({"weight_decay": None}, "weight_decay must be a number, not None"),
        ({"batch_size": None}, "batch_size must be a number, not None"),
        ({"tol": "a"}, "tol must be a number"),
        ({"tol": -1}, "tol must be at least 0"),
        ({"callbacks": 3}, "callbacks must be a list of callbacks, not 3"),
        ({"encoder": 3}, "encoder must be a module, a function that makes one, or a TextEncoder, not 3"),
        ({"rules": 3}, "rules must be a rule of enstruct.rules"),
        ({"n_samples": "a"}, "n_samples must be a whole number"),
        ({"energy_weight": "a"}, "energy_weight must be a number"),
        ({"energy_steps": "2"}, "energy_steps must be a whole number from 1"),
        ({"rounds_per_batch": 2.5}, "rounds_per_batch must be a whole number from 1"),
        ({"n_samples": 2.5}, "n_samples must be a whole number from 1"),
        ({"validation_epochs": True}, "validation_epochs must be a whole number from 0"),
        ({"validation_fraction": "a", "early_stopping": True}, "validation_fraction must be a number"),
        ({"validation_fraction": 1, "early_stopping": True}, "must lie between 0 and 1, not 1"),
    ],
)
def test_parameters_of_another_type_are_named(blocks, parameters, message):
    with pytest.raises(ConfigError, match=message):
        configured(NetworkClassifier, **parameters).fit(blocks.X, blocks.Y)


def test_the_k_most_probable_labels_may_be_ones_that_never_varied(blocks):
    Y = blocks.Y.toarray()
    Y[:, 2], Y[:, 5] = 1, 0
    with pytest.warns(ConstantLabelWarning):
        model = small("cross-entropy").fit(blocks.X, sparse.csr_matrix(Y))
    p = model.predict_proba(blocks.X)
    for k in (1, 3):
        found = model.predict(blocks.X, top_k=k).toarray()
        assert (found.sum(1) == k).all()
        assert found[:, 2].all()
        assert not found[:, 5].any()
        assert all(p[i][row == 1].min() >= p[i][row == 0].max() for i, row in enumerate(found))
    with pytest.raises(ConfigError, match="top_k must be a whole number"):
        model.predict(blocks.X, top_k=2.5)


@pytest.mark.parametrize("method", ["binary-relevance", "extra-trees", "cross-entropy"])
def test_csr_rows_with_indices_of_64_bits(method, blocks):
    X = sparse.csr_matrix(np.where(blocks.X > 0, blocks.X, 0))
    wide = sparse.csr_matrix(X.shape)
    wide.data, wide.indices, wide.indptr = X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)
    found = small(method).fit(wide, blocks.Y).predict_proba(wide)
    assert np.array_equal(found, small(method).fit(X, blocks.Y).predict_proba(X))
    assert wide.indices.dtype == np.int64


def test_whole_numbers_as_names(blocks):
    named = [np.flatnonzero(row).tolist() for row in blocks.Y.toarray()]
    model = small().fit(blocks.X, named)
    low = [[0], [1]]  # of these rows alone it could be a matrix
    by_matrix = small().fit(blocks.X, blocks.Y).energy(blocks.X[:2], sparse.csr_matrix(np.eye(16, dtype=int)[:2]))
    assert np.allclose(model.energy(blocks.X[:2], low), by_matrix)
    assert model.score(blocks.X[:2], low) == example_f1(np.eye(16)[:2], model.data_.labels.encode(model.predict(blocks.X[:2])))
    with pytest.raises(DataError, match="not tuples"):
        small().fit(blocks.X, [[("a", j) for j in row] for row in named])


@pytest.mark.parametrize("method", ["seal-nce", "seal-ranking", "implicit-cd", "cross-entropy"])
def test_numbers_beyond_single_precision_and_answers_that_are_none(method, blocks):
    with pytest.raises(DataError, match=r"beyond 3e\+38"):
        small(method, standardize=False).fit(blocks.X * 1e39, blocks.Y)
    with pytest.raises(DivergenceError, match="smaller learning rate"):
        small(method, learning_rate=1e30, clip=None, warmup=0).fit(blocks.X, blocks.Y)


def test_what_cannot_be_is_said_before_training(blocks):
    class Never(Callback):
        def on_train_begin(self, loop):
            raise AssertionError("training has begun")

    for changes, what in [
        ({"decision": "threshold", "early_stopping": False}, "no validation rows"),
        ({"rules": Hierarchy(3, ((0, 1),))}, "of 3 labels, and there are 16"),
        ({"random_state": np.random.default_rng(0)}, "random_state"),
    ]:
        with pytest.raises(ConfigError, match=what):
            small(**changes, callbacks=[Never()]).fit(blocks.X, blocks.Y)


@pytest.mark.parametrize("batch_size", [1, 32, 100])
def test_small_data_take_fewer_updates_and_others_as_many_as_ever(batch_size):
    """Where an energy learns alone, which nobody knows the end of beforehand."""

    def settings(n):
        return NetworkClassifier("dvn", batch_size=batch_size)._settings(n)

    for n in (180, 200, 1000, 10**6):
        steps = -(-n // batch_size)
        assert (settings(n).max_epochs, settings(n).patience) == (max(200, -(-5000 // steps)), max(20, -(-500 // steps)))
    sizes = (1, 10, 18, 100, 180)
    epochs = [settings(n).max_epochs for n in sizes]
    updates = [e * -(-n // batch_size) for e, n in zip(epochs, sizes, strict=True)]
    assert updates == sorted(updates)
    assert epochs[1] == 112


def test_what_auto_stands_for():
    def found(method="seal-nce", n=10**4, passes=False, **parameters):
        got = NetworkClassifier(method, **parameters)._settings(n, passes)
        return got.schedule, got.max_epochs, got.patience, got.batch_size, round(got.learning_rate, 6)

    assert found() == ("cycles", 30, 30, 128, 0.003)
    assert found(n=320) == ("cycles", 30, 30, 32, 0.0015)
    assert found(n=180) == ("cycles", 50, 50, 32, 0.0015)  # 300 updates
    assert found(n=10**5) == ("cycles", 10, 10, 128, 0.003)
    assert found(max_epochs=7) == ("linear", 7, 7, 128, 0.003)
    assert found(learning_rate=0.02, batch_size=64) == ("cycles", 30, 30, 64, 0.02)
    assert found(n_iter_no_change=3) == ("plateau", 200, 3, 128, 0.002)
    assert found(max_epochs=7, n_iter_no_change=3) == ("plateau", 7, 3, 128, 0.002)
    assert found("dvn") == ("plateau", 200, 20, 32, 0.001)
    assert found(passes=True)[0] == "plateau"
    assert found(passes=True)[3:] == found(n=20, passes=True)[3:] == (32, 0.001)


def test_rates_of_a_stage_rise_and_fall(blocks):
    """In the first tenth to the peak, then to nothing at its end; every epoch is made, whatever the scores."""
    rates = []

    class Watch(Callback):
        def on_batch_end(self, loop):
            rates.append(loop.game.optimizer.param_groups[0]["lr"])

    model = NetworkClassifier("cross-entropy", hidden=8, max_epochs=20, callbacks=[Watch()], random_state=0)
    model.fit(blocks.X, blocks.Y)
    assert len(model.history_) == 20
    assert max(rates) == pytest.approx(1.5e-3 * 0.9, rel=0.02)
    assert np.argmax(rates) == pytest.approx(len(rates) / 10, abs=1)
    assert rates[0] < 0.02 * max(rates)
    assert rates[-1] < 0.02 * max(rates)


def test_passes_over_validation_rows_have_a_rate_left(blocks):
    rates = []

    class Watch(Callback):
        def on_train_end(self, loop):
            rates.append(loop.game.optimizer)

    model = small(METHODS["cross-entropy"].with_(validation_epochs=1), callbacks=[Watch()]).fit(blocks.X, blocks.Y)
    assert rates[0].param_groups[0]["lr"] == pytest.approx(0.1 * 1.5e-3)
    alone = small("cross-entropy").fit(blocks.X, blocks.Y)
    assert not np.allclose(model.predict_proba(blocks.X), alone.predict_proba(blocks.X), atol=1e-4)


def test_rules_of_an_earlier_fit_are_forgotten(blocks):
    model = small().fit(blocks.X, blocks.Y)
    assert len(model.thresholds_) == 16
    assert not hasattr(model.set_params(early_stopping=False).fit(blocks.X, blocks.Y), "thresholds_")


@pytest.mark.filterwarnings("ignore::enstruct.errors.ConstantLabelWarning")  # of the class without weight
def test_rows_without_weight_judge_nothing(blocks):
    y = np.arange(300) % 3
    model = small("cross-entropy", class_weight={2: 0.0})
    with pytest.raises(DataError, match="No validation row has a weight"):
        model.fit(blocks.X, y, X_val=blocks.X[2:9:3], y_val=y[2:9:3])
    model.fit(blocks.X, y, X_val=blocks.X[:30], y_val=y[:30])
    with pytest.raises(DataError, match=r"Every sample weight is zero|at least one non-zero"):
        model.score(blocks.X, y, sample_weight=np.zeros(300))


def test_draws_by_a_seed_or_a_random_state(blocks):
    model = small("cross-entropy").fit(blocks.X, blocks.Y)
    assert np.array_equal(model.sample(blocks.X, 2, 7), model.sample(blocks.X, 2, 7))
    found = [model.sample(blocks.X, 2, np.random.RandomState(7)) for _ in range(2)]
    assert np.array_equal(*found)


def test_networks_follow_the_device_that_is_set(blocks):
    model = small().fit(blocks.X, blocks.Y).set_params(device="meta")
    assert model._networks().predictor.head.weight.device.type == "meta"


def test_a_kept_energy_does_not_read_features_that_go_on_changing():
    data = block_exclusive(80, seed=0)
    model = NetworkClassifier("seal-static-nce", energy_network=EnergySpec(features="shared"), max_epochs=1, random_state=0)
    with pytest.raises(ConfigError, match="take features='copied' or 'separate'"):
        model.fit(data.X, data.Y)


def test_a_module_of_one_s_own_keeps_sparse_rows_while_rows_end():
    class Own(torch.nn.Module):
        def __init__(self, n_features, n_labels):
            super().__init__()
            self.linear = SparseLinear(n_features, n_labels)

        def forward(self, x, y):
            return (self.linear(x).unsqueeze(1) * y).sum(-1)

    data = block_exclusive(60, seed=0)
    for X in (data.X, sparse.csr_matrix(data.X)):
        own, settings = Own(X.shape[1], data.Y.shape[1]), {"max_epochs": 1, "random_state": 0}
        p = NetworkClassifier("spen-from-scratch", energy_network=own, **settings).fit(X, data.Y).predict_proba(X)
        assert ((p >= 0) & (p <= 1)).all()
