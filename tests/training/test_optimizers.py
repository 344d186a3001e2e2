"""torch's optimisers by name, through the estimator and through a checkpoint."""

from fractions import Fraction

import pytest
import torch
from scipy import sparse

from enstruct import EnergyMultiLabelClassifier, EnergySegmenter
from enstruct.data.synthetic import block_exclusive, ellipses
from enstruct.errors import ConfigError
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.training.checkpoint import Checkpoint
from enstruct.training.optimizers import OPTIMIZERS, give, learnt_by, make_optimizer


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_each_lowers_a_loss(name):
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 1)
    x = torch.randn(20, 3)
    optimizer = make_optimizer(name, layer, 0.01)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = (layer(x) - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]


def test_gradients_that_lie_otherwise_in_memory_move_the_weights_they_are_of():
    torch.manual_seed(0)
    start, slope = torch.randn(4, 3, 3, 3), torch.randn(4, 3, 3, 3).contiguous(memory_format=torch.channels_last)
    moved = []
    for fused in (True, False):
        layer = torch.nn.Conv2d(3, 4, 3, bias=False)
        with torch.no_grad():
            layer.weight.copy_(start)
        optimizer = torch.optim.AdamW(layer.parameters(), 0.1, fused=fused)
        give(optimizer, [slope])
        optimizer.step()
        moved.append(layer.weight.detach() - start)
    assert torch.allclose(*moved, atol=1e-6)
    give(optimizer, [None])
    assert layer.weight.grad is None


@pytest.mark.usefixtures("quick_fields")
@pytest.mark.parametrize(
    ("kind", "method"), [("masks", "seal-margin"), ("masks", "infnet+"), ("masks", "implicit-cd"), ("labels", "crf-lbp")]
)
def test_energies_learn_by_gradients_that_lie_as_their_weights_do(kind, method, monkeypatch):
    seen = []

    def look(optimizer):
        for p in learnt_by(optimizer):
            if p.grad is not None:  # the step over an axis of one entry is nobody's
                seen.append([(a, b) for a, b, n in zip(p.grad.stride(), p.stride(), p.shape, strict=True) if n > 1])

    for optimizer in (torch.optim.AdamW, torch.optim.Adam):
        step = optimizer.step
        monkeypatch.setattr(optimizer, "step", lambda self, *a, step=step, **k: (look(self), step(self, *a, **k))[1])
    if kind == "masks":
        EnergySegmenter(method, max_epochs=1, width=4, random_state=0).fit(*ellipses(12))
    else:
        rows = block_exclusive(40)
        EnergyMultiLabelClassifier(method, max_epochs=1, random_state=0).fit(sparse.csr_matrix(rows.X), rows.Y)
    assert seen
    assert all(gradient == weight for steps in seen for gradient, weight in steps)


def test_unknown_names_and_impossible_decay():
    layer = torch.nn.Linear(1, 1)
    with pytest.raises(ConfigError, match="Did you mean 'sgd'"):
        make_optimizer("sgdd", layer, 0.1)
    with pytest.raises(ConfigError, match="weight_decay=0"):
        make_optimizer("rprop", layer, 0.1, 0.5)


def test_the_predictors_optimizer_is_a_parameter_and_survives_a_resume(tmp_path):
    rows = block_exclusive(100, seed=0)
    common = {"method": "implicit-ssvm", "hidden": 8, "layers": 1, "optimizer": "sgd", "learning_rate": 0.05, "random_state": 0}
    whole = NetworkClassifier(max_epochs=4, **common).fit(rows.X, rows.Y)
    path = tmp_path / "part.ckpt"

    class StopError(Exception):
        pass

    class Interrupt(Checkpoint):
        def on_epoch_end(self, loop, record):
            super().on_epoch_end(loop, record)
            if record["epoch"] == 2:
                raise StopError

    with pytest.raises(StopError):
        NetworkClassifier(max_epochs=4, callbacks=[Interrupt(path)], **common).fit(rows.X, rows.Y)
    resumed = NetworkClassifier(max_epochs=4, callbacks=[Checkpoint(path, resume=True)], **common).fit(rows.X, rows.Y)
    for a, b in zip(whole.predictor_.parameters(), resumed.predictor_.parameters(), strict=True):
        assert torch.equal(a, b)
    for a, b in zip(whole.energy_.parameters(), resumed.energy_.parameters(), strict=True):
        assert torch.equal(a, b)


def test_rates_of_any_kind_of_number():
    module = torch.nn.Linear(2, 1)
    group = make_optimizer("adamw", module, Fraction(1, 4), Fraction(1, 2)).param_groups[0]
    assert (group["lr"], group["weight_decay"]) == (0.25, 0.5)
