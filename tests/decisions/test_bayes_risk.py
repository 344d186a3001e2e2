"""Minimum-Bayes-risk decoding against brute force over all answers."""

import itertools

import numpy as np
import pytest
import torch
from scipy import sparse

from enstruct.decisions.bayes_risk import ALPHAS, BayesRisk, minimum_risk
from enstruct.energies import GlobalEnergy, SumEnergy
from enstruct.errors import ConfigError
from enstruct.estimators.posterior import EnergyPosterior, draw, stratified_uniforms
from enstruct.metrics import example_f1
from enstruct.objectives import Density

SETS = np.array(list(itertools.product([0, 1], repeat=4)))


def gains(kind, samples):
    """(16, S) gain of every answer against every sample."""
    shared, size, theirs = SETS @ samples.T, SETS.sum(1)[:, None], samples.sum(1)[None]
    if kind == "f1":
        return np.where(size + theirs > 0, 2 * shared / np.maximum(size + theirs, 1), 1.0)
    if kind == "hamming":
        return 1 - (size + theirs - 2 * shared) / 4
    return ((shared == size) & (shared == theirs)).astype(float)


@pytest.mark.parametrize("kind", ["f1", "hamming", "subset"])
@pytest.mark.parametrize("seed", range(5))
def test_decision_maximises_the_weighted_gain_over_all_answers(kind, seed):
    rng = np.random.default_rng(seed)
    samples = (rng.random((3, 12, 4)) < 0.4).astype(np.uint8)
    log_weight = rng.normal(size=(3, 12)) * 2
    chosen = minimum_risk(sparse.csr_matrix(samples.reshape(36, 4)), log_weight, kind).toarray()
    for row in range(3):
        weight = np.exp(log_weight[row])
        values = gains(kind, samples[row]) @ weight / weight.sum()
        mine = values[np.flatnonzero((chosen[row] == SETS).all(1))[0]]
        assert mine == pytest.approx(values.max(), abs=1e-6)


@pytest.mark.parametrize("labels", [10, 30])
def test_samples_that_share_nothing_are_best_answered_by_all_of_them(labels):
    """n samples of one label each: k of the labels are worth k / n * 2 / (k + 1), which rises with k."""
    samples = np.eye(labels, dtype=np.uint8)
    heavy = np.eye(labels, dtype=np.uint8)[np.zeros(labels, int)]  # the same label in every sample
    chosen = minimum_risk(sparse.csr_matrix(np.vstack([samples, heavy])), np.zeros((2, labels)), allow_empty=False)
    assert chosen.sum(1).ravel().tolist() == [[labels, 1]]


def test_never_empty_when_told_so():
    samples = sparse.csr_matrix(np.array([[0, 0], [0, 0], [0, 1]], dtype=np.uint8))
    assert minimum_risk(samples, np.zeros((1, 3))).nnz == 0
    assert minimum_risk(samples, np.zeros((1, 3)), allow_empty=False).toarray().tolist() == [[0, 1]]


@pytest.mark.parametrize("density", [Density.JOINT, Density.RELATIVE])
def test_weighted_samples_estimate_the_declared_density(density):
    """Weighted frequencies over {0,1}^4 against the enumerated density of a random energy."""
    energy = SumEnergy(None, [GlobalEnergy(4, 6)])
    with torch.no_grad():
        for p in energy.parameters():
            p.normal_()
    predictor = torch.nn.Linear(3, 4)
    X = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    posterior = EnergyPosterior(predictor, energy, density, 4, n_samples=60_000)
    log_p = torch.distributions.Bernoulli(logits=predictor(torch.from_numpy(X))).log_prob
    every = torch.tensor(SETS, dtype=torch.float32)
    values = -energy(energy.prepare(torch.zeros(1, 1)), every.unsqueeze(0))[0]
    row = 0
    for samples, log_weight in posterior.weigh(X):
        dense = samples.toarray().reshape(*log_weight.shape, 4)
        for y, w in zip(dense, log_weight, strict=True):
            weight = np.exp(w - w.max())
            seen = np.bincount(y @ [8, 4, 2, 1], weight, 16) / weight.sum()
            exact = values
            if density is Density.RELATIVE:
                exact = values + log_p(every.unsqueeze(1)).sum(-1)[:, row]
            np.testing.assert_allclose(seen, torch.softmax(exact, 0).detach().numpy(), atol=0.02)
            row += 1
    assert row == 2


def test_stratified_uniforms_have_exact_marginals_and_pairs():
    uniforms = stratified_uniforms(1000, 5)
    logits = torch.logit(torch.tensor([[0.1, 0.25, 0.5, 0.7, 0.99]]))
    y = draw(logits, uniforms).to_dense()[0].numpy()
    p = np.array([0.1, 0.25, 0.5, 0.7, 0.99])
    assert (np.abs(y.mean(0) - p) <= 1 / 1000 + 1e-9).all()
    pairs = y.T @ y / 1000
    off = ~np.eye(5, dtype=bool)
    assert (np.abs(pairs - np.outer(p, p))[off] < 5 / np.sqrt(1000) * 0.5).all()


def test_a_rows_decision_does_not_depend_on_its_neighbours(blocks):
    energy, predictor = SumEnergy(None, [GlobalEnergy(16, 6)]), torch.nn.Linear(64, 16)
    posterior = EnergyPosterior(predictor, energy, Density.JOINT, 16)
    rule = BayesRisk(posterior, alpha=0.5)
    X = blocks.X[:40].astype(np.float32)
    together = rule.predict(None, X).toarray()
    alone = np.vstack([rule.predict(None, X[i : i + 1]).toarray() for i in range(40)])
    assert (together == alone).all()


def test_without_a_density_it_says_what_is_needed():
    with pytest.raises(ConfigError, match="NCE or ranking"):
        BayesRisk().predict(None, np.zeros((1, 2)))


@pytest.mark.parametrize("sharp", [3.0, -3.0])
def test_of_the_powers_of_the_weights_the_best_is_taken(sharp):
    """Where the likeliest samples are right the weights count in full, where they are wrong not at all."""
    rng = np.random.default_rng(0)
    truth = (rng.random((60, 4)) < 0.4).astype(np.uint8)
    samples = (rng.random((60, 12, 4)) < 0.4).astype(np.uint8)
    log_weight = sharp * (samples == truth[:, None]).sum(2)
    flat = sparse.csr_matrix(samples.reshape(-1, 4))

    class Drawn:
        def weigh(self, X):
            kept = X[:, 0].astype(int)
            yield sparse.csr_matrix(samples[kept].reshape(-1, 4)), log_weight[kept]

    rule = BayesRisk(Drawn()).fit(np.zeros((60, 4)), truth, X=np.arange(60.0)[:, None])
    worth = [example_f1(truth, minimum_risk(flat, alpha * log_weight, "f1", rule.allow_empty)) for alpha in ALPHAS]
    assert worth[ALPHAS.index(rule.alpha)] == max(worth) > min(worth) + 0.05
    assert (rule.alpha > 0) == (sharp > 0)
