"""The game on one batch: which weight the energy has in each player's loss, and what the anchor and a stage's rates do."""

from dataclasses import replace

import pytest
import torch

from enstruct.encoders import MLP, Predictor
from enstruct.energies import EnergySpec, build_energy
from enstruct.hypergradients import Identity, Implicit
from enstruct.methods import METHODS, Stage
from enstruct.spaces import LabelSpace
from enstruct.training.batches import Batch
from enstruct.training.game import Game
from enstruct.training.learned_loss import LearnedLoss
from enstruct.training.settings import Settings

TOGETHER = Stage(predictor=True, energy=True)


def a_game(method="seal-margin", **changes):
    """The same weights and batch every time, in double precision."""
    torch.manual_seed(0)
    predictor = Predictor(MLP(4, 5, 1, 0.0), 3).double()
    energy = build_energy(EnergySpec(units=4), predictor.encoder, MLP(4, 5, 1, 0.0), 3).double()
    made = METHODS[method].with_(**changes)
    game = Game(predictor, LearnedLoss(made, LabelSpace(3), energy, 3, Settings(), predictor))
    weight = torch.tensor([0.5, 2.0, 0.0, 1.5, 1.0, 1.0], dtype=torch.float64)
    return game, Batch(torch.randn(6, 4, dtype=torch.float64), (torch.rand(6, 3) < 0.5).double(), weight=weight)


def reaction(stage=TOGETHER, updates=0, **changes):
    """How large the predictor's part is in the gradient of an energy that moves first: linear in its weight in the inner loss."""
    coupling = Implicit(Identity(), update_first="energy")
    game, batch = a_game("implicit-ssvm", coupling=coupling, **changes)
    game.predictor_updates = updates
    game.play(batch, stage)
    return game.reports[0]["implicit_ratio"]


def test_the_energys_weight_in_the_inner_loss_is_the_predictors_own():
    one = reaction(energy_weight=1.0, warmup=0)
    assert one > 1e-3
    for weight in (0.25, 3.0):
        assert reaction(energy_weight=weight, warmup=0) == pytest.approx(weight * one, rel=1e-9)
    assert reaction(energy_weight=4.0, warmup=8, updates=1) == pytest.approx(0.5 * one, rel=1e-9)
    assert reaction(replace(TOGETHER, energy_in_loss=False), energy_weight=4.0, warmup=0) == 0


def by_hand(game, batch, weight):
    """(cross-entropy + weight * energy), the weighted mean over rows."""
    logits = game.predictor(batch.x)
    entropy = torch.nn.functional.binary_cross_entropy_with_logits(logits, batch.y, reduction="none").sum(1)
    network = game.loss.network
    energy = network(network.prepare(batch.x), torch.sigmoid(logits).unsqueeze(1)).squeeze(1)
    return float(((entropy + weight * energy) * batch.weight).mean().detach())


@pytest.mark.parametrize(
    ("stage", "updates", "weight"),
    [
        (TOGETHER, 0, 0.0),  # the warm-up begins
        (TOGETHER, 2, 1.0),
        (TOGETHER, 9, 4.0),
        (replace(TOGETHER, energy_in_loss=False), 9, 0.0),
    ],
)
def test_the_predictor_pays_for_the_energy_by_the_weight_of_its_update(stage, updates, weight):
    game, batch = a_game(energy_weight=4.0, warmup=8)
    game.predictor_updates = updates
    expected = by_hand(game, batch, weight)
    alone = replace(stage, energy=False)  # else the energy moves first
    assert game.play(batch, alone)["predictor"] == pytest.approx(expected, rel=1e-9)
    assert game.predictor_updates == updates + 1


def test_the_energy_counts_rows_by_their_weight():
    game, batch = a_game()
    logits = game.predictor(batch.x).detach()
    rows = game.loss.energy_loss(batch, logits).detach()
    assert game.play(batch, replace(TOGETHER, predictor=False))["energy"] == pytest.approx(float((rows * batch.weight).mean()))
    assert float((rows * batch.weight).mean()) != pytest.approx(float(rows.mean()))


def test_the_anchor_holds_the_predictor_to_where_the_stage_began():
    game, batch = a_game(energy_weight=4.0, warmup=0, anchor_weight=0.7)
    game.enter(TOGETHER)
    with torch.no_grad():
        for p in game.predictor.parameters():
            p += 0.1
    drift = sum(0.01 * p.numel() for p in game.predictor.parameters())
    expected = by_hand(game, batch, 4.0) + 0.7 * drift
    assert game.play(batch, replace(TOGETHER, energy=False))["predictor"] == pytest.approx(expected, rel=1e-9)
    game.enter(replace(TOGETHER, energy_in_loss=False))
    assert not game.anchor


def test_a_stage_scales_the_rates_it_was_given_and_the_predictors_once_more():
    game, _ = a_game()
    first = {name: optimizer.param_groups[0]["lr"] for name, optimizer in game.optimizers.items()}
    assert first["energy"] == pytest.approx(Settings().learning_rate * game.method.energy_rate)
    for _ in range(2):  # not a tenth of a tenth
        game.enter(Stage(predictor=True, energy=True, rate=0.1, predictor_rate=0.5))
    now = {name: optimizer.param_groups[0]["lr"] for name, optimizer in game.optimizers.items()}
    assert now == pytest.approx({"energy": 0.1 * first["energy"], "predictor": 0.05 * first["predictor"]})
