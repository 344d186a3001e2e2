"""Classifier chains against scikit-learn and enumeration."""

import itertools

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from enstruct_bench.joint import chains, table
from enstruct_bench.joint.chains import Chain, Chains, fit_chain, fit_chains, fit_ensemble
from enstruct_bench.joint.masked_network import Scale
from enstruct_bench.joint.table import Table

SETS = np.array(list(itertools.product([0, 1], repeat=4)), dtype=np.float32)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)).astype(np.float32)
Y = (X @ RNG.normal(size=(3, 4)) + RNG.normal(size=(80, 1)) > 0).astype(np.float32)


def test_a_chain_is_a_row_of_logistic_regressions_on_x_and_earlier_labels():
    order = np.array([2, 0, 3, 1])
    chain = fit_chain(torch.from_numpy(X), Y, 2.0, order)
    for place, label in enumerate(order):
        inputs = np.hstack([X, Y[:, order[:place]]])
        peer = LogisticRegression(C=0.5, tol=1e-8, max_iter=500).fit(inputs, Y[:, label])
        own = np.concatenate([chain.of_x[:, label].numpy(), chain.of_y[order[:place], label].numpy()])
        assert own == pytest.approx(peer.coef_[0], abs=0.01)
        assert float(chain.bias[label]) == pytest.approx(peer.intercept_[0], abs=0.01)
        assert (chain.of_y[order[place:], label] == 0).all()


def test_features_that_are_very_many_stay_sparse(monkeypatch):
    dense = fit_ensemble(sparse.csr_matrix(X), Y, 0.1, chains=2, seed=0)
    monkeypatch.setattr(table, "WIDE", 2)
    monkeypatch.setattr(chains, "CHAINS", 2)
    monkeypatch.setattr(chains, "RIDGES", (0.1, 1e4))
    fitted = fit_chains(Table(sparse.csr_matrix(X), Y, np.arange(20), sparse.csr_matrix(X), Y), 0)
    ridge = fit_ensemble(sparse.csr_matrix(X), Y, 0.1, chains=2, seed=0)
    assert chains.inputs(ridge.scale, sparse.csr_matrix(X)).layout == torch.sparse_csr
    for one, other in zip(ridge.chains, dense.chains, strict=True):
        assert torch.allclose(one.of_x, other.of_x, atol=1e-3)
    assert ridge.log_probability(sparse.csr_matrix(X), Y).value == pytest.approx(dense.log_probability(X, Y).value, abs=1e-3)
    assert all(torch.equal(one.of_x, other.of_x) for one, other in zip(fitted.model.chains, ridge.chains, strict=True))
    assert fitted.model.marginals(sparse.csr_matrix(X), np.full(Y.shape, np.nan, np.float32)).shape == Y.shape


@pytest.mark.parametrize("noise", [0.0, 30.0])
def test_the_ridge_is_sought_as_long_as_held_out_rows_gain(monkeypatch, noise):
    monkeypatch.setattr(chains, "CHAINS", 2)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((150, 4)).astype(np.float32)
    y = (x[:, :3] + noise * rng.standard_normal((150, 3)) > 0).astype(np.float32)
    asked = []
    fit = chains.fit_ensemble
    monkeypatch.setattr(chains, "fit_ensemble", lambda X, Y, ridge, *more: asked.append(ridge) or fit(X, Y, ridge, *more))
    held = np.arange(50)
    chains.fit_chains(Table(x, y, held, x, y), 0)
    train = np.arange(50, 150)
    worth = [fit(x[train], y[train], ridge, 2, 0).log_probability(x[held], y[held]).value.mean() for ridge in chains.RIDGES]
    chosen = chains.RIDGES.index(asked[-1])
    assert asked[-1] < 1 or noise
    assert worth[chosen] >= max(worth[max(0, chosen - 1) : chosen + 2])


@pytest.fixture(scope="module")
def ensemble():
    return fit_ensemble(X, Y, 1.0, chains=3, seed=0)


def test_the_probabilities_of_all_label_sets_sum_to_one(ensemble):
    of_sets = np.stack([ensemble.log_probability(X[:5], np.tile(each, (5, 1))).value for each in SETS])
    assert np.exp(of_sets).sum(0) == pytest.approx(np.ones(5), abs=1e-4)
    likely = Chains(ensemble.chains, ensemble.scale, draws=200).likely_sets(X[:5])
    assert (likely == SETS[of_sets.argmax(0)]).all()


def test_told_labels_are_answered_as_by_enumeration(ensemble):
    many = Chains(ensemble.chains, ensemble.scale, draws=4000)
    rows, nan = X[:3], np.nan
    known = np.array([[1, nan, nan, nan], [nan, nan, 0, 1], [nan] * 4], dtype=np.float32)
    p = np.exp(np.stack([ensemble.log_probability(rows, np.tile(each, (3, 1))).value for each in SETS], axis=1))
    for row, told in enumerate(known):
        weight = p[row] * np.where(np.isnan(told), True, told == SETS).all(1)
        asked = np.isnan(told)
        assert many.marginals(rows, known)[row][asked] == pytest.approx((weight @ SETS / weight.sum())[asked], abs=0.02)


def test_what_is_told_counts_against_the_order_of_the_chain():
    of_y = torch.zeros(2, 2)
    of_y[0, 1] = 6.0  # label 1 follows label 0
    chain = Chain(np.array([0, 1]), torch.zeros(1, 2), of_y, torch.tensor([0.0, -3.0]))
    told = np.array([[np.nan, 1], [np.nan, 0]], dtype=np.float32)
    p = Chains([chain], Scale.of(np.zeros((2, 1))), draws=4000).marginals(np.zeros((2, 1)), told)
    q = 1 / (1 + np.exp(-3.0))
    assert p[:, 0] == pytest.approx([q, 1 - q], abs=0.02)
