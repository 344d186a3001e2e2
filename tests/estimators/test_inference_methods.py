"""Methods that answer by inference, and refinement, through the estimator."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse
from tests.configured import configured

from enstruct import METHODS, EnergyMultiLabelClassifier, example_f1
from enstruct.data.dataset import Dataset
from enstruct.errors import ConfigError
from enstruct.methods import Method
from enstruct.training.callbacks import Callback


def separable(n: int = 300) -> Dataset:
    """Six labels, each the side of a hyperplane."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    Y = sparse.csr_matrix((X @ rng.normal(size=(8, 6)) > 1).astype(np.uint8))
    return Dataset(X, Y, tuple("abcdefgh"), tuple("uvwxyz"))


DATA = separable()
EVERYTHING = example_f1(DATA.Y, np.ones(DATA.Y.shape))
SMALL = {"hidden": 32, "layers": 1, "dropout": 0.0, "max_epochs": 15, "random_state": 0}


def fitted(method: str | Method, **changes) -> EnergyMultiLabelClassifier:
    return configured(EnergyMultiLabelClassifier, method, **{**SMALL, **changes}).fit(DATA.X, DATA.Y)


def test_spen_clamps_and_transplants():
    """After the second stage the local energy is still minus the pretrained predictor; after the third it has moved."""
    two = replace(METHODS["spen"], stages=METHODS["spen"].stages[:2])
    model = fitted(two)
    local, head = model.energy_.part("local").scores, model.predictor_.head
    np.testing.assert_array_equal(local.weight.detach(), -head.weight.detach())
    np.testing.assert_array_equal(local.bias.detach(), -head.bias.detach())
    for name, weights in model.energy_.encoder.state_dict().items():
        np.testing.assert_array_equal(weights, model.predictor_.encoder.state_dict()[name])
    assert all(p.requires_grad for p in model.energy_.parameters())  # nothing stays clamped after the fit
    joint = fitted("spen")
    assert not np.array_equal(joint.energy_.part("local").scores.weight.detach(), -joint.predictor_.head.weight.detach())


def test_refinement_moves_marginals_towards_lower_free_energy():
    model = fitted("seal-nce", max_epochs=30)
    plain, refined = model.predict_proba(DATA.X), model.predict_proba(DATA.X, refine=20)

    def free_energy(p):
        """E(x, p) - H(p), with E at relaxed p."""
        import torch

        with torch.no_grad():
            state = model.energy_.prepare(torch.from_numpy(np.asarray(model.data_.features(DATA.X), dtype=np.float32)))
            energy = model.energy_(state, torch.from_numpy(p.astype(np.float32)).unsqueeze(1)).squeeze(1).numpy()
        inside = np.clip(p, 1e-6, 1 - 1e-6)
        return energy + (inside * np.log(inside) + (1 - inside) * np.log1p(-inside)).sum(1)

    assert free_energy(refined).mean() < free_energy(plain).mean()
    assert example_f1(DATA.Y, model.predict(DATA.X, refine=20)) > EVERYTHING + 0.1
    assert (model.predict(DATA.X, refine=5, top_k=2).sum(1) == 2).all()


@pytest.mark.parametrize("method", ["seal-ranking", "seal-margin", "seal-regression"])
def test_refinement_of_every_kind_of_energy(method):
    model = fitted(method, max_epochs=30, n_iter_no_change=30, learning_rate=1e-3)
    p = model.predict_proba(DATA.X, refine=5)
    assert ((p >= 0) & (p <= 1)).all()
    assert np.abs(p - model.predict_proba(DATA.X)).max() > 1e-3
    assert example_f1(DATA.Y, model.predict(DATA.X, refine=5)) > EVERYTHING + 0.1


def test_refining_without_an_energy_is_refused():
    with pytest.raises(ConfigError, match="no energy"):
        fitted("cross-entropy", max_epochs=2).predict(DATA.X, refine=5)
    with pytest.raises(ConfigError, match="refine must be a whole number from 1 on"):
        fitted("seal-nce", max_epochs=2).predict(DATA.X, refine=0)


def test_a_module_energy_cannot_be_pretrained():
    import torch
    from torch import nn

    class Bare(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(6))

        def forward(self, x, y):
            return y @ self.weight

    with pytest.raises(ConfigError, match="module of your own"):
        fitted("spen", energy_network=Bare(), max_epochs=1)


def test_the_entropy_term_at_test_time_softens_the_same_energy():
    """Both rows train alike up to the choice of epochs; without early stopping their energies are the same."""
    hard, soft = (fitted(method, early_stopping=False, max_epochs=5) for method in ("spen", "spen-entropy"))
    for a, b in zip(hard.energy_.parameters(), soft.energy_.parameters(), strict=True):
        assert torch.equal(a, b)

    def entropy(p):
        p = np.clip(p, 1e-6, 1 - 1e-6)
        return -(p * np.log(p) + (1 - p) * np.log(1 - p)).mean()

    assert entropy(soft.predict_proba(DATA.X)) > entropy(hard.predict_proba(DATA.X))


def test_the_anchor_holds_an_inference_network_to_its_start():
    """With a huge anchor the game cannot move the network from the cross-entropy solution; without one it does."""
    moved = {}
    for anchor in (0.0, 1e4):
        settings = {"anchor_weight": anchor, "early_stopping": False, "max_epochs": 5}
        alone = fitted(replace(METHODS["infnet"], stages=METHODS["infnet"].stages[:1]), **settings)
        game = fitted("infnet", **settings)
        moved[anchor] = (game.predictor_.head.weight - alone.predictor_.head.weight).norm().item()
    assert moved[1e4] < 0.3 * moved[0.0]


def test_the_anchor_is_where_each_stage_with_the_energy_began():
    """A predictor that learns anew beside a finished energy is held to its own start, and none where the energy is out."""
    held = {}

    class Watch(Callback):
        def on_epoch_end(self, loop, record):
            held[record["stage"]] = bool(loop.game.anchor)

    fitted("seal-static-nce", anchor_weight=1e4, early_stopping=False, max_epochs=2, callbacks=[Watch()])
    assert held == {0: False, 1: False, 2: True}


def test_entropy_term_sharpens():
    soft, sharp = (fitted("infnet", entropy_weight=weight, early_stopping=False) for weight in (0.0, 50.0))

    def entropy(model):
        p = np.clip(model.predict_proba(DATA.X), 1e-6, 1 - 1e-6)
        return -(p * np.log(p) + (1 - p) * np.log(1 - p)).mean()

    assert entropy(sharp) < entropy(soft)


def test_problems_of_energies_relative_to_the_predictor_add_its_log_probability():
    model, X = fitted("seal-ranking", early_stopping=False), DATA.X[:6]
    assert model._method().relative
    tilted, bare = model.inference_problem(X), model.inference_problem(X, bare=True)
    y = torch.from_numpy(np.random.default_rng(0).random((6, 3, DATA.Y.shape[1])) < 0.5).float()
    logits = torch.from_numpy(model.decision_function(X.astype(np.float32))).float()
    log_p = torch.nn.functional.logsigmoid(torch.where(y > 0, logits.unsqueeze(1), -logits.unsqueeze(1))).sum(-1)
    difference = tilted.energy(tilted.state, y) - bare.energy(bare.state, y) + log_p
    assert torch.allclose(difference - difference[:, :1], torch.zeros_like(difference), atol=1e-3)  # but for a constant
    refined = model.predict_proba(X.astype(np.float32), refine=3)
    assert np.allclose(refined, tilted.solve(model._method().refinement(3)).y.detach().numpy(), atol=1e-5)
    assert not np.allclose(refined, bare.solve(model._method().refinement(3)).y.detach().numpy(), atol=1e-3)
