"""Boosted trees as tensors against scikit-learn's own decision functions, and what of them is refused."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier

from enstruct.baselines.boosting import of_scikit_learn
from enstruct.encoders import boosted
from enstruct.encoders.boosted import BoostedTrees, Ensemble, as_tensor, sparse_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
X[:, 3] = RNG.integers(0, 3, 200)  # many ties
Y = np.stack([X[:, 0] > 0, X[:, 0] * X[:, 1] > 0, X[:, 3] == 1], axis=1)


@pytest.fixture(scope="module")
def models():
    settings = {"max_iter": 15, "max_leaf_nodes": 6, "min_samples_leaf": 5, "early_stopping": False}
    return [HistGradientBoostingClassifier(**settings, random_state=0).fit(X, y) for y in Y.T]


@pytest.fixture(scope="module")
def trees(models):
    """Labels 0, 1 and 4 have models; 2 and 3 have only their log-odds."""
    first, second, last = map(of_scikit_learn, models)
    return BoostedTrees.of_ensembles([first, second, Ensemble(-1.5), Ensemble(0.25), last])


def expected(models, rows):
    logits = np.stack([model.decision_function(rows) for model in models], axis=1)
    shares = np.tile([-1.5, 0.25], (len(rows), 1))
    return np.concatenate([logits[:, :2], shares, logits[:, 2:]], axis=1)


def test_equals_scikit_learns_decision_function(models, trees):
    rows = RNG.normal(size=(500, 4)).astype(np.float32)
    np.testing.assert_allclose(trees(as_tensor(rows)).numpy(), expected(models, rows), atol=1e-5)


def test_rows_at_thresholds_and_next_to_them_go_where_scikit_learn_sends_them(models, trees):
    """32-bit numbers that are the nearest to each threshold, from both sides."""
    rows = []
    for model in models:
        for tree in (predictor for step in model._predictors for predictor in step):
            for node in tree.nodes[tree.nodes["is_leaf"] == 0]:
                near = np.float32(node["num_threshold"])
                for value in (near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))):
                    row = X[len(rows) % 200].astype(np.float32)
                    row[node["feature_idx"]] = value
                    rows.append(row)
    rows = np.stack(rows)
    np.testing.assert_allclose(trees(as_tensor(rows)).numpy(), expected(models, rows), atol=1e-5)


def test_sparse_rows_and_blocks_change_nothing(models, trees, monkeypatch):
    rows = sparse.csr_matrix(np.where(X > 0.3, X, 0))
    whole = trees(as_tensor(rows))
    np.testing.assert_allclose(whole.numpy(), expected(models, rows.toarray().astype(np.float32)), atol=1e-5)
    assert torch.equal(trees(as_tensor(rows.toarray())), whole)
    monkeypatch.setattr(boosted, "CELLS", 1)
    assert torch.equal(trees(as_tensor(rows)), whole)
    assert trees(as_tensor(X[:0])).shape == (0, 5)
    assert np.array_equal(sparse_rows(as_tensor(rows)), rows.toarray().astype(np.float32))


def test_labels_without_any_model():
    trees = BoostedTrees.of_ensembles([Ensemble(0.5), Ensemble(-2.0)])
    assert trees(as_tensor(X[:3])).tolist() == [[0.5, -2.0]] * 3
    again = BoostedTrees.restored(trees.state_dict(), 4, 2)
    assert torch.equal(again(as_tensor(X[:3])), trees(as_tensor(X[:3])))


def test_its_tensors_are_all_of_it_and_stay_as_they_are(trees):
    again = BoostedTrees.restored(trees.state_dict(), 4, 5)
    assert torch.equal(again(as_tensor(X)), trees(as_tensor(X)))
    assert not list(trees.parameters())
    assert trees.double().threshold.dtype == torch.float32
    assert trees.to("meta").threshold.device.type == "cpu"


def changed(name, value):
    def damage(tensors):
        tensors[name] = value(tensors[name].clone())

    return damage


def put(number, place=0):
    def value(tensor):
        tensor.view(-1)[place] = number
        return tensor

    return value


def both_of_another_form(tensors):
    tensors["root"], tensors["label"] = tensors["root"].unsqueeze(0), tensors["label"].unsqueeze(0)


DAMAGE = {
    "roots and labels of another form": both_of_another_form,
    "a feature too high": changed("feature", put(4)),
    "a feature below 0": changed("feature", put(-1)),
    "a child outside": changed("left", put(10**6)),
    "a child below 0": changed("right", put(-1)),
    "a root outside": changed("root", put(10**6)),
    "a label outside": changed("label", put(5, -1)),
    "labels in disorder": changed("label", put(1)),
    "a label too few": changed("label", lambda t: t[:-1]),
    "a value too few": changed("value", lambda t: t[:-1]),
    "a threshold too many": changed("threshold", lambda t: torch.cat([t, t[:1]])),
    "another form": changed("left", lambda t: t.unsqueeze(0)),
    "roots of another form": changed("root", lambda t: t.unsqueeze(0)),
    "numbers that are no whole ones": changed("feature", lambda t: t.float()),
    "a bias too few": changed("bias", lambda t: t[:-1]),
    "a depth below 0": changed("depth", put(-1)),
    "a depth beyond all nodes": changed("depth", put(10**6)),
    "depths": changed("depth", lambda t: t.repeat(2)),
    "a threshold that is none": changed("threshold", put(torch.nan)),
    "a value without end": changed("value", put(torch.inf)),
    "a bias that is none": changed("bias", put(torch.nan)),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_tables_are_refused(trees, kind):
    tensors = dict(trees.state_dict())
    DAMAGE[kind](tensors)
    with pytest.raises(ValueError, match="outside of their tables"):
        BoostedTrees.restored(tensors, 4, 5)
