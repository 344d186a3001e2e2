"""Models that are trained already, as functions and as frozen classifiers, under an energy."""

import numpy as np
import pytest
import torch
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from enstruct import EnergyMultiLabelClassifier, JointMultiLabelClassifier, find_label_issues
from enstruct.errors import ConfigError, ModelFileError

pytestmark = pytest.mark.usefixtures("quick_joints")
RNG = np.random.default_rng(0)
Y = np.repeat(RNG.integers(0, 2, (120, 1)), 4, axis=1) ^ (RNG.random((120, 4)) < 0.1)
P = np.clip(0.5 + (Y - 0.5) * RNG.uniform(-0.2, 0.8, Y.shape), 0.02, 0.98)
"""What a model says of the labels, each by itself, while all of them go together."""


def joint(base, **changes):
    return JointMultiLabelClassifier(base, folds=2, random_state=0, **changes)


def test_a_function_of_rows_is_the_base():
    model = joint(expit).fit(logit(P), Y)
    np.testing.assert_allclose(model.base_proba(logit(P)), np.clip(P, 1e-4, 1 - 1e-4), atol=1e-6)
    known = np.full(Y.shape, np.nan)
    known[:, 0] = Y[:, 0]
    told = model.predict_proba(logit(P), known=known)
    others = Y[:, 1:]
    loss = [-np.log(np.where(others == 1, p[:, 1:], 1 - p[:, 1:])).mean() for p in (told, P)]
    assert loss[0] < 0.8 * loss[1]


def test_gradients_devices_and_labels_that_never_vary_are_no_matter():
    layer = torch.nn.Linear(4, 5)
    whole = np.column_stack([np.zeros(len(Y), dtype=int), Y])
    model = joint(lambda X: torch.sigmoid(layer(torch.as_tensor(X, dtype=torch.float32)))).fit(P, whole)
    with torch.no_grad():
        wanted = torch.sigmoid(layer(torch.as_tensor(P, dtype=torch.float32))).numpy()
    np.testing.assert_allclose(model.base_proba(P)[:, 1:], wanted[:, 1:], atol=1e-6)
    assert (model.base_proba(P)[:, 0] == 0).all()


def test_a_frozen_classifier_stays_as_it_is():
    own = MultiOutputClassifier(LogisticRegression()).fit(P, Y)
    model = EnergyMultiLabelClassifier(base=FrozenEstimator(own), random_state=0).fit(P, Y)
    wanted = np.stack([p[:, 1] for p in own.predict_proba(P)], axis=1)
    np.testing.assert_allclose(model.joint_.base_proba(P), np.clip(wanted, 1e-4, 1 - 1e-4), atol=1e-6)
    assert model.joint_.base_[0].base.name == "MultiOutputClassifier"


def test_saved_and_passed_to_load(tmp_path):
    model = joint(expit).fit(logit(P), Y)
    model.save(tmp_path / "model")
    again = JointMultiLabelClassifier.load(tmp_path / "model", base=expit)
    assert np.array_equal(again.predict_proba(logit(P)), model.predict_proba(logit(P)))
    for base in (None, LogisticRegression()):
        with pytest.raises(ModelFileError, match="has a function for its base, 'expit': pass base="):
            JointMultiLabelClassifier.load(tmp_path / "model", base=base)


def test_given_labels_that_are_wrong():
    given = Y.astype(int).copy()
    given[:10, 0] ^= 1
    issues = find_label_issues(P, given, base=lambda X: X, random_state=0)
    assert np.mean([row < 10 and label == 0 for row, label, _ in issues.cells()[:10]]) >= 0.5


class Untagged(ClassifierMixin, BaseEstimator):
    """Of label sets, which its tags do not say."""

    def fit(self, X, y):
        self.n_labels_ = y.shape[1]
        return self

    def predict_proba(self, X):
        return np.full((len(X), self.n_labels_), 0.5)


@pytest.mark.parametrize(
    ("base", "message"),
    [
        (lambda X: X[:, :3], r"<lambda> must give probabilities \(60, 4\), rows and labels, not \(60, 3\)"),
        (lambda X: X + 1, "<lambda> gives 1.* probabilities lie between 0 and 1"),
        (torch.nn.Linear(4, 4), "base= is a module: give a function of its probabilities"),
        (FrozenEstimator(LogisticRegression().fit(P, Y[:, 0])), "the frozen LogisticRegression answers for one label"),
        (Untagged(), r"Untagged\.fit fails on one label.*multi_label = True"),
        (Untagged, "base= is 'auto', a method's name, a classifier of scikit-learn's, or a function of rows"),
    ],
)
def test_what_is_none_is_named(base, message):
    with pytest.raises(ConfigError, match=message) as found:
        joint(base, minutes=0.1).fit(P, Y)
    assert len(str(found.value)) <= 300


def test_it_can_be_cloned_and_searched():
    assert clone(joint(expit)).get_params()["base"] is expit
