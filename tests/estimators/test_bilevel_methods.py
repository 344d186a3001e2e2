"""Bilevel training through the estimator: every coupling, what it logs, what it refuses."""

import gc

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from tests.configured import configured

from enstruct import EnergyLoss, EnergyMultiLabelClassifier, EnergySpec
from enstruct.data.synthetic import block_exclusive
from enstruct.encoders import MLP, Predictor
from enstruct.energies import build_energy
from enstruct.errors import ConfigError, SecondDerivativeError
from enstruct.hypergradients import (
    Alternating,
    ConjugateGradient,
    Diagonal,
    Identity,
    Implicit,
    Neumann,
    ShermanMorrison,
    Unrolled,
)
from enstruct.hypergradients.curvature import flat
from enstruct.methods import METHODS
from enstruct.spaces import LabelSpace
from enstruct.training.batches import Batch
from enstruct.training.bilevel import batch_problem, differentiating
from enstruct.training.learned_loss import LearnedLoss
from enstruct.training.settings import Settings

SMALL = {"hidden": 12, "layers": 1, "max_epochs": 3, "random_state": 0, "warmup": 1}


@pytest.fixture(scope="module")
def data():
    rows = block_exclusive(120, seed=0)
    return rows.X[:, :20], rows.Y


def fitted(data, method="implicit-cd", **changes):
    return configured(EnergyMultiLabelClassifier, method, **{**SMALL, **changes}).fit(*data)


@pytest.mark.parametrize("method", ["implicit-cd", "implicit-ssvm", "implicit-dvn"])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_methods_train_and_their_implicit_part_is_not_zero(data, method, kind):
    X, Y = data
    model = fitted((sp.csr_matrix(X) if kind == "csr" else X, Y), method)
    for record in model.history_:
        steps = record["outer_steps"]
        per_epoch = model.updates_["energy"] // len(model.history_)
        assert len(steps["implicit_ratio"]) == len(steps["inner_residual"]) == per_epoch
        assert min(steps["inner_residual"]) > 0
        assert record["implicit_ratio"] == pytest.approx(np.mean(steps["implicit_ratio"]))
    assert model.history_[-1]["implicit_ratio"] > 1e-4
    assert model.predict(X[:5]).shape == (5, Y.shape[1])


@pytest.mark.parametrize(
    "coupling",
    [
        Implicit(ConjugateGradient(3), damping=1.0),
        Implicit(Diagonal(), damping=0.1),
        Implicit(ShermanMorrison(3), damping=1.0),
        Implicit(Identity(10.0)),
        Implicit(hvp="finite-difference"),
        Unrolled(2),
        "unrolled",
        "implicit",
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["seal-nce", "seal-margin"])
def test_any_objective_goes_with_any_hypergradient(data, method, coupling):
    model = fitted(data, method, coupling=coupling, max_epochs=1)
    assert 0 < model.history_[-1]["implicit_ratio"] < np.inf


@pytest.mark.parametrize("gradient", ["score-function", "straight-through", "concrete"])
def test_every_sample_gradient_moves_the_energy(data, gradient):
    model = fitted(data, sample_gradient=gradient, max_epochs=1)
    assert model.history_[-1]["implicit_ratio"] > 1e-4


def test_alternating_and_implicit_without_terms_take_the_same_steps(data):
    """The implicit term dropped, what is left is alternating training on the same batches, with the predictor first."""
    still = {"method": "implicit-ssvm", "dropout": 0.0, "max_epochs": 1}  # one order of batches, no draws of samples
    plain = fitted(data, coupling=Alternating(update_first="predictor"), **still)
    none = fitted(data, coupling=Implicit(Neumann(0)), **still)
    full = fitted(data, **still)
    torch.testing.assert_close(list(plain.energy_.parameters()), list(none.energy_.parameters()), rtol=1e-3, atol=1e-5)
    assert any(
        not torch.allclose(a, b, atol=1e-5) for a, b in zip(plain.energy_.parameters(), full.energy_.parameters(), strict=True)
    )


def test_same_seed_same_model_and_saved_with_its_hypergradient(data, tmp_path):
    coupling = Implicit(ConjugateGradient(2), damping=0.5, predictor_steps=2)
    first, second = (fitted(data, coupling=coupling) for _ in range(2))
    for a, b in zip(first.energy_.parameters(), second.energy_.parameters(), strict=True):
        assert torch.equal(a, b)
    first.save(tmp_path / "model")
    again = EnergyMultiLabelClassifier.load(tmp_path / "model")
    assert again.method.coupling == coupling
    np.testing.assert_array_equal(again.predict_proba(data[0]), first.predict_proba(data[0]))


def test_inner_steps_are_taken_before_the_energy_moves(data):
    model = fitted(data, predictor_steps=3, max_epochs=1)
    assert model.updates_["predictor"] == 3 * model.updates_["energy"]


def test_memory_does_not_grow_with_the_inner_steps(data):
    """Bytes that autograd keeps at once, over a whole fit."""

    def peak(predictor_steps):
        now, most = 0, 0

        class Held:
            def __init__(self, tensor):
                nonlocal now, most
                self.tensor = tensor
                now += tensor.numel() * tensor.element_size()
                most = max(most, now)

            def __del__(self):
                nonlocal now
                now -= self.tensor.numel() * self.tensor.element_size()

        gc.collect()
        with torch.autograd.graph.saved_tensors_hooks(Held, lambda held: held.tensor):
            fitted(data, predictor_steps=predictor_steps, max_epochs=1, early_stopping=False)
        return most

    assert peak(8) <= 1.05 * peak(1)


def test_refining_on_validation_rows_moves_the_predictor_only(data):
    plain, refined = fitted(data), fitted(data, validation_epochs=2)
    for a, b in zip(plain.energy_.parameters(), refined.energy_.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(plain.predictor_.head.weight, refined.predictor_.head.weight)
    assert len(refined.history_) == len(plain.history_)
    assert refined.updates_["predictor"] > plain.updates_["predictor"]
    assert refined.decision_scores_ == plain.decision_scores_  # the rules are fitted to rows the predictor has not learnt
    with pytest.raises(ConfigError, match="X_val"):
        fitted(data, validation_epochs=1, early_stopping=False)
    with pytest.raises(ConfigError, match="whole number"):
        fitted(data, validation_epochs=1.5)
    with pytest.raises(ConfigError, match="solver"):
        configured(EnergyMultiLabelClassifier, "binary-relevance", validation_epochs=1).fit(*data)


class WithBatchNorm(torch.nn.Module):
    def __init__(self, n_inputs):
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(n_inputs, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh(), torch.nn.Dropout(0.5)
        )
        self.out_features = 8

    def forward(self, x):
        return self.net(x)


def test_batch_norm_is_still_in_the_inner_problem(data):
    """Its statistics move with the predictor's own steps only."""
    model = fitted(data, encoder=WithBatchNorm, max_epochs=1)
    norm = model.predictor_.encoder.net[1]
    assert int(norm.num_batches_tracked) == model.updates_["predictor"]


class Bag(torch.nn.Module):
    """Features by an embedding bag, which has no second derivative."""

    def __init__(self, n_inputs):
        super().__init__()
        self.table = torch.nn.EmbeddingBag(n_inputs, 6, mode="sum")
        self.n_inputs, self.out_features = n_inputs, 6

    def forward(self, x):
        tokens = torch.arange(self.n_inputs).expand(len(x), -1)
        return torch.tanh(self.table(tokens, per_sample_weights=x.float()))


def test_one_dropout_mask_serves_a_whole_outer_step():
    """Finite differences see the mask that exact products see; the next outer step draws another."""
    batch, loss, predictor = tiny(dropout=0.5)
    with differentiating(predictor, batch.x):
        problem, other = (batch_problem(predictor, loss, batch, 1.0, {}) for _ in range(2))
        exact = Implicit(Neumann(3, 10.0)).gradient(problem).gradient
        differences = Implicit(Neumann(3, 10.0), hvp="finite-difference").gradient(problem).gradient
        redrawn = Implicit(Neumann(3, 10.0)).gradient(other).gradient
    for a, b in zip(exact, differences, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-8)
    assert any(not torch.allclose(a, b) for a, b in zip(exact, redrawn, strict=True))


def test_the_batchs_problem_against_the_explicit_hessian():
    """The predictor's and the energy's real losses, every entry of H built, solved and multiplied out."""
    batch, loss, predictor = tiny(dropout=0.0)
    with differentiating(predictor, batch.x):
        problem = batch_problem(predictor, loss, batch, 1.0, {})
        found = Implicit(ConjugateGradient(200, 1e-12), damping=2.0).gradient(problem).gradient
        problem = batch_problem(predictor, loss, batch, 1.0, {})
        slope = flat(torch.autograd.grad(problem.inner(problem.theta), problem.theta, create_graph=True))
        rows = [flat(torch.autograd.grad(entry, problem.theta, retain_graph=True)) for entry in slope]
        hessian = torch.stack(rows) + 2.0 * torch.eye(len(rows), dtype=torch.float64)
        outer = torch.autograd.grad(problem.outer(problem.theta), (*problem.phi, *problem.theta), retain_graph=True)
        n = len(problem.phi)
        v = torch.linalg.solve(hessian, flat(outer[n:]))
        mixed = torch.autograd.grad(slope @ v, problem.phi, allow_unused=True)
    for got, explicit, reaction in zip(found, outer[:n], mixed, strict=True):
        expected = explicit if reaction is None else explicit - reaction
        torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-9)
    assert max(float(m.norm()) for m in mixed if m is not None) > 1e-4


def tiny(dropout):
    """A batch, the learned loss of implicit-ssvm and a predictor, in double precision."""
    torch.manual_seed(0)
    predictor = Predictor(MLP(4, 5, 2, dropout), 3).double()
    energy = build_energy(EnergySpec(units=4), predictor.encoder, MLP(4, 5, 1, 0.0), 3).double()
    loss = LearnedLoss(METHODS["implicit-ssvm"], LabelSpace(3), energy, 3, Settings())
    return Batch(torch.randn(6, 4, dtype=torch.float64), (torch.rand(6, 3) < 0.5).double()), loss, predictor


def test_a_static_row_has_no_stage_to_differentiate_through(data):
    with pytest.raises(ConfigError, match="no stage"):
        fitted(data, "seal-static-nce", coupling="implicit")


def test_a_layer_without_second_derivative_is_named(data):
    with pytest.raises(SecondDerivativeError, match=r"finite-difference.*'encoder.table' \(EmbeddingBag\)"):
        fitted(data, encoder=Bag, max_epochs=1)
    model = fitted(data, encoder=Bag, max_epochs=1, coupling=Implicit(Neumann(2), hvp="finite-difference"))
    assert model.history_[-1]["implicit_ratio"] > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coupling": "implizit"}, "Did you mean 'implicit'"),
        ({"coupling": "implicit", "negatives": "rounded"}, "no gradient"),
        ({"sample_gradient": "straight"}, "straight-through"),
        ({"negatives": "point", "sample_gradient": "concrete"}, "no discrete samples"),
        ({"coupling": "alternating", "sample_gradient": "concrete"}, "go through the predictor"),
        ({"predictor_steps": 0}, "a whole number from 1"),
    ],
)
def test_bad_settings(data, changes, message):
    with pytest.raises(ConfigError, match=message):
        fitted(data, **changes)


def test_the_drop_in_loss_cannot_differentiate_through_a_network_it_does_not_see():
    with pytest.raises(ConfigError, match="alternating"):
        EnergyLoss(8, 3, "implicit-cd")
    EnergyLoss(8, 3, METHODS["implicit-cd"].with_(coupling="alternating"))
