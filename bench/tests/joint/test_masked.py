"""Peers trained on masks, and feedback-propagation."""

import numpy as np
import pytest
import torch
from scipy import sparse

from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct_bench.joint import feedback_prop, masked_network, masked_trees
from enstruct_bench.joint import table as tables
from enstruct_bench.joint.feedback_prop import fit_feedback, moved
from enstruct_bench.joint.masked_network import fit_masked_network
from enstruct_bench.joint.masked_trees import fit_masked_trees, with_told
from enstruct_bench.joint.table import Table
from enstruct_bench.joint.told import asked_loss, nothing_told, random_order, told_share


def copies(n=200):
    """Six labels that are all one toss of a coin, of which x says nothing."""
    rng = np.random.default_rng(0)
    Y = np.repeat(rng.random((n, 1)) < 0.5, 6, axis=1).astype(np.float32)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    return Table(X[50:], Y[50:], np.arange(100, 150), X[:50], Y[:50])


@pytest.fixture(scope="module")
def table():
    return copies()


def half_told_helps(model, X, Y):
    """Whether the others' loss is less than half of what it is with nothing told."""
    known = told_share(Y, random_order(Y.shape, 0), 0.5)
    told, untold = model.marginals(X, known), model.marginals(X, nothing_told(*known.shape))
    return asked_loss(told, Y, known) < 0.5 * asked_loss(untold, Y, known)


@pytest.fixture
def fast(monkeypatch):
    monkeypatch.setattr(masked_trees, "TREES", 20)
    monkeypatch.setattr(masked_trees, "TREES_TO_CHOOSE", 5)
    monkeypatch.setattr(masked_network, "HIDDEN", 64)
    monkeypatch.setattr(masked_network, "DROPOUTS", (0.1,))
    monkeypatch.setattr(masked_network, "EPOCHS", 60)


@pytest.mark.parametrize("fit", [fit_masked_trees, fit_masked_network])
def test_told_labels_lower_the_loss_of_the_others(fit, table, fast):
    side = fit(table, 0)
    known = told_share(table.Y_test, random_order(table.Y_test.shape, 0), 0.5)
    told, untold = side.model.marginals(table.X_test, known), side.model.marginals(table.X_test, nothing_told(*known.shape))
    asked = np.isnan(known)
    assert asked_loss(told, table.Y_test, known) < 0.5 * asked_loss(untold, table.Y_test, known)
    assert told.shape == asked.shape
    assert side.held_marginals(known).shape == (len(table.held), table.n_labels)
    assert (side.model.marginals(table.X_test, known) == told).all()
    joint = side.model.log_probability(table.X_test, table.Y_test).value
    product = -asked_loss(untold, table.Y_test, nothing_told(*known.shape)) * table.n_labels
    assert joint.mean() > product + 1  # all but one label follow: there are log 2 nats instead of six times as many


def test_features_that_do_not_fit_densely_stay_sparse(table, fast, monkeypatch):
    monkeypatch.setattr(masked_network, "fits_densely", lambda X: False)
    X, X_test = sparse.csr_matrix(np.eye(150, 9, dtype=np.float32)), sparse.csr_matrix((50, 9), dtype=np.float32)
    side = fit_masked_network(Table(X, table.Y, table.held, X_test, table.Y_test), 0)
    assert not any(weight.shape[1] == 9 + table.n_labels for weight in side.model.network.parameters() if weight.ndim == 2)
    assert half_told_helps(side.model, X_test, table.Y_test)


def test_trees_read_axes_of_features_that_are_very_many(table, fast, monkeypatch):
    monkeypatch.setattr(tables, "WIDE", 5)
    monkeypatch.setattr(masked_trees, "AXES", 4)
    X, X_test = (sparse.random(n, 9, 0.3, "csr", np.float32, np.random.default_rng(0)) for n in (150, 50))
    side = fit_masked_trees(Table(X, table.Y, table.held, X_test, table.Y_test), 0)
    assert side.model.axes.components_.shape == (4, 9)
    assert not np.array_equal(side.judge.axes.components_, side.model.axes.components_)  # axes of the training rows alone
    assert half_told_helps(side.model, X_test, table.Y_test)


def test_of_many_labels_trees_are_fewer_and_no_leaf_is_chosen(table, fast, monkeypatch):
    monkeypatch.setattr(masked_trees, "MANY_LABELS", 5)
    monkeypatch.setattr(masked_trees, "TREES_OF_MANY", 10)
    grown = []
    grow = masked_trees.grow
    monkeypatch.setattr(
        masked_trees, "grow", lambda X, Y, leaf, trees, seed: grown.append((leaf, trees)) or grow(X, Y, leaf, trees, seed)
    )
    fit_masked_trees(table, 0)
    assert grown == [(10, 10), (10, 10)]


def test_what_judges_has_not_seen_the_held_out_labels(table, fast, monkeypatch):
    monkeypatch.setattr(masked_trees, "LEAVES", (10,))
    other = copies()
    other.Y[other.held] = 1 - other.Y[other.held]
    nothing = nothing_told(len(table.held), table.n_labels)
    sides = [fit_masked_trees(each, 0) for each in (table, other)]
    assert (sides[0].held_marginals(nothing) == sides[1].held_marginals(nothing)).all()
    answers = [side.model.marginals(table.X_test, nothing_told(len(table.Y_test), table.n_labels)) for side in sides]
    assert (answers[0] != answers[1]).any()


def test_codes_of_told_labels():
    assert with_told(np.array([[7.0]]), np.array([[1, 0, np.nan]])).tolist() == [[7, 1, -1, 0]]


def test_feedback_moves_the_layer_down_the_gradient_and_leaves_rows_without_any():
    rng = torch.Generator().manual_seed(0)
    h, weight, bias = torch.randn(4, 3, generator=rng), torch.randn(5, 3, generator=rng), torch.zeros(5)
    known = np.full((4, 5), np.nan)
    known[0, :2], known[1, 3] = (1, 0), 1
    start = h.clone()
    one = moved(h, weight, bias, known, 1, 0.1)
    x = start.clone().requires_grad_(True)
    told = torch.as_tensor(known, dtype=torch.float32)
    each = torch.nn.functional.binary_cross_entropy_with_logits(x @ weight.T, told.nan_to_num(), reduction="none")
    (slope,) = torch.autograd.grad(each[~told.isnan()].sum(), x)
    assert torch.allclose(one, start - 0.1 * slope, atol=1e-6)
    many = moved(h, weight, bias, known, 50, 0.1)
    assert torch.equal(many[2:], start[2:])
    assert torch.sigmoid(many[0] @ weight[0]) > torch.sigmoid(start[0] @ weight[0])


def test_feedback_without_steps_is_the_network(table, monkeypatch):
    monkeypatch.setattr(feedback_prop, "STEPS", (0,))
    monkeypatch.setattr(feedback_prop, "NetworkClassifier", _short)
    side = fit_feedback(table, 0)
    nothing = nothing_told(len(table.Y_test), table.n_labels)
    assert side.model.marginals(table.X_test, nothing) == pytest.approx(side.model.network.predict_proba(table.X_test), abs=1e-5)


def _short(**settings):
    return NetworkClassifier(**settings, max_epochs=2, hidden=8)
