"""The learned loss: formulas, whose gradient goes where, ablations."""

from dataclasses import replace

import pytest
import torch

from enstruct.encoders import MLP, Predictor
from enstruct.energies import EnergySpec, build_energy
from enstruct.errors import ConfigError, DivergenceError
from enstruct.inference.exact import all_label_sets
from enstruct.methods import METHODS, PredictorLoss
from enstruct.negatives import Situation
from enstruct.spaces import LabelSpace
from enstruct.spaces.label_vectors import dense
from enstruct.training.batches import Batch
from enstruct.training.learned_loss import LearnedLoss, check_logits
from enstruct.training.settings import Settings

ENERGY_METHODS = [name for name, method in METHODS.items() if method.has_energy]


def learned(name="seal-nce", **changes):
    method = METHODS[name].with_(**changes)
    encoder, fresh = MLP(6, 8, 1, 0.0), MLP(6, 8, 1, 0.0)
    energy = build_energy(EnergySpec(**{**method.energy, "units": 5}), encoder, fresh, 4)
    predictor = Predictor(encoder, 4)
    return LearnedLoss(method, LabelSpace(4, method.cost), energy, 4, Settings(), predictor), predictor


@pytest.fixture
def batch():
    return Batch(torch.randn(10, 6), (torch.rand(10, 4) < 0.4).float())


@pytest.mark.parametrize("name", ENERGY_METHODS)
def test_an_update_lowers_the_energys_loss_and_leaves_the_predictor_alone(name, batch):
    loss, predictor = learned(name)
    logits = predictor(batch.x)

    def level():
        torch.manual_seed(1)
        return loss.energy_loss(batch, logits).mean().item()

    before = level()
    for _ in range(30):
        loss.update(batch, logits)
    assert level() < before
    assert loss.updates == 30
    assert all(p.grad is None for p in predictor.parameters())


@pytest.mark.parametrize("name", ENERGY_METHODS)
def test_the_predictors_loss_leaves_no_gradient_on_the_energy(name, batch):
    loss, predictor = learned(name)
    loss.predictor_loss(batch, predictor(batch.x), 2.0).mean().backward()
    assert all(p.grad is None for p in loss.network.parameters())
    assert all(p.requires_grad for p in loss.network.parameters())
    assert all(p.grad is not None for p in predictor.parameters())


def test_predictor_loss_is_cross_entropy_plus_weighted_energy(batch):
    loss, predictor = learned("seal-nce", supervised_weight=0.5)
    logits = predictor(batch.x)
    p = torch.sigmoid(logits)
    entropy = -(batch.y * p.log() + (1 - batch.y) * (1 - p).log()).sum(1)
    energy = loss.network(loss.network.prepare(batch.x), p.unsqueeze(1)).squeeze(1)
    torch.testing.assert_close(loss.predictor_loss(batch, logits, 3.0), 0.5 * entropy + 3.0 * energy)


def test_regression_uses_the_bounded_value_for_both_players(batch):
    loss, predictor = learned("seal-regression", supervised_weight=0.0)
    logits = predictor(batch.x)
    energy = loss.network(loss.network.prepare(batch.x), torch.sigmoid(logits).unsqueeze(1)).squeeze(1)
    torch.testing.assert_close(loss.predictor_loss(batch, logits, 2.0), -2.0 * torch.sigmoid(-energy))


def test_margin_loss_is_the_papers_own(batch):
    """L_E = [cost - E(F(x)) + E(y)]_+ at the single point F(x)."""
    loss, predictor = learned("seal-margin")
    logits = predictor(batch.x)
    point = torch.sigmoid(logits).unsqueeze(1)
    state = loss.network.prepare(batch.x)
    cost = LabelSpace(4, loss.method.cost).cost(point, batch.y)[:, 0]
    expected = (cost - loss.network(state, point)[:, 0] + loss.network(state, batch.y.unsqueeze(1))[:, 0]).clamp(min=0)
    torch.testing.assert_close(loss.energy_loss(batch, logits), expected)


def test_ablation_ranking_straight_on_the_predictor(batch):
    """Its score is the predictor's own log-probability; following the gradient raises the truth's rank."""
    loss, predictor = learned("cross-entropy", supervised="ranking")
    optimizer = torch.optim.Adam(predictor.parameters(), 0.01)

    def level():
        return -LabelSpace(4).log_prob(batch.y.unsqueeze(1), predictor(batch.x)).mean().item()

    before = level()
    for _ in range(60):
        optimizer.zero_grad()
        loss.predictor_loss(batch, predictor(batch.x), 0.0).mean().backward()
        optimizer.step()
    assert level() < before


@pytest.mark.parametrize(
    ("changes", "made"),
    [
        ({}, lambda p, loss, at: p.unsqueeze(1)),
        ({"negatives": "rounded"}, lambda p, loss, at: (p >= 0.5).float().unsqueeze(1)),
        ({"negatives": "cost-augmented"}, lambda p, loss, at: torch.sigmoid(loss.source.logits(at)).unsqueeze(1)),
    ],
    ids=["point", "rounded", "cost-augmented"],
)
@pytest.mark.parametrize("cost", ["soft-f1", "hamming-mean"])
def test_ablations_of_the_margin_by_hand(changes, made, cost, batch):
    """Its candidates and its cost are arguments."""
    loss, predictor = learned("seal-margin", cost=cost, **changes)
    logits, state = predictor(batch.x).detach(), loss.network.prepare(batch.x)
    y = made(torch.sigmoid(logits), loss, Situation(logits, batch.y, None, batch.x, loss.network, state))
    shared, both = (y * batch.y.unsqueeze(1)).sum(-1), y.sum(-1) + batch.y.sum(1, keepdim=True)
    error = 1 - 2 * shared / both.clamp(min=1e-9) if cost == "soft-f1" else (y - batch.y.unsqueeze(1)).abs().mean(-1)
    if cost == "soft-f1":
        error = torch.where(both > 0, error, 0.0)
    margin = error - loss.network(state, y) + loss.network(state, batch.y.unsqueeze(1))
    torch.testing.assert_close(loss.energy_loss(batch, logits), margin.clamp(min=0).mean(1))


@pytest.mark.parametrize(
    ("name", "changes", "count", "binary"),
    [
        ("seal-regression-s", {"negatives": "samples"}, 20, True),
        ("seal-margin", {"negatives": "perturbed", "n_samples": 3}, 3, False),
        ("seal-nce", {"n_samples": 7}, 7, True),
    ],
)
def test_ablations_of_samples_are_arguments(name, changes, count, binary, batch):
    loss, predictor = learned(name, **changes)
    logits = predictor(batch.x).detach()
    state = loss.network.prepare(batch.x)
    drawn = dense(loss.source.draw(Situation(logits, batch.y, None, batch.x, loss.network, state)).outputs())
    assert drawn.shape == (10, count, 4)
    assert bool(((drawn == 0) | (drawn == 1)).all()) == binary
    if not binary:
        torch.testing.assert_close(drawn[:, 0], torch.sigmoid(logits))  # the first is not perturbed


def test_cost_augmented_net_learns_beside_the_energy(batch):
    loss, predictor = learned("seal-margin", negatives="cost-augmented")
    before = [p.clone() for p in loss.source.parameters()]
    loss.update(batch, predictor(batch.x))
    assert all(not torch.equal(a, b) for a, b in zip(before, loss.source.parameters(), strict=True))


def test_divergence_names_the_step_and_the_quantity(batch):
    loss, predictor = learned()
    with torch.no_grad():
        next(loss.network.parameters()).fill_(float("nan"))
    with pytest.raises(DivergenceError, match=r"energy's loss became nan at its update 1.*smaller learning rate"):
        loss.update(batch, predictor(batch.x))


@pytest.mark.parametrize("held", ["NaN", "inf"])
def test_a_predictor_that_answers_no_numbers(held):
    """+inf too: else it is the energy's learning rate that is blamed, whose loss it makes NaN."""
    logits = torch.zeros(2, 3)
    logits[0, 1] = -torch.inf  # ruled out
    check_logits(logits, 7, 0.1)
    check_logits(logits[:0], 7, 0.1)
    logits[1, 1] = float(held)
    with pytest.raises(DivergenceError, match=rf"The predictor answers {held} after its update 7.*\(now 0.1\)"):
        check_logits(logits, 7, 0.1)


def test_warmup_raises_the_energys_weight_update_by_update():
    recipe = PredictorLoss(energy_weight=4.0, warmup=4)
    assert [recipe.weight_at(update) for update in (0, 1, 2, 4, 9)] == [0.0, 1.0, 2.0, 4.0, 4.0]
    assert replace(recipe, warmup=0).weight_at(0) == 4.0
    assert replace(recipe, supervised_weight=0.0).weight_at(0) == 4.0  # nothing to learn first


def test_an_inference_network_pays_energy_minus_cost_where_the_hinge_is_open(batch):
    """And only its bare energy while it is retuned."""
    loss, predictor = learned("infnet", supervised_weight=0.0)
    logits = predictor(batch.x)
    state = loss.network.eval().prepare(batch.x)
    answer, truth = (loss.network(state, y.unsqueeze(1)).squeeze(1) for y in (torch.sigmoid(logits), batch.y))
    gain = answer - (torch.sigmoid(logits) - batch.y).square().sum(1)
    torch.testing.assert_close(loss.predictor_loss(batch, logits, 2.0), 2 * gain * (truth > gain))
    torch.testing.assert_close(loss.predictor_loss(batch, logits, 2.0, retune=True), 2 * answer)


def test_the_entropy_rises_with_the_energy(batch):
    loss, predictor = learned(energy_weight=2.0, entropy_weight=5.0, supervised_weight=0.0, warmup=4)
    logits = predictor(batch.x).detach()
    full, quarter = (loss.predictor_loss(batch, logits, weight, learning=False) for weight in (2.0, 0.5))
    torch.testing.assert_close(quarter, full / 4)


def test_class_weights_are_of_cross_entropy():
    with pytest.raises(ConfigError, match="class_weight weighs the labels of cross-entropy"):
        LearnedLoss(
            METHODS["cross-entropy"].with_(supervised="ranking"),
            LabelSpace(4, positive_weight=torch.ones(4)),
            None,
            4,
            Settings(),
        )


def test_a_negative_entropy_weight_makes_the_terms_a_divergence():
    """For an energy linear in y, w E(F) - w H(F) is w KL(F || exp(-E)/Z) up to a constant: its gradient by enumeration."""
    torch.manual_seed(0)
    weight = 0.7
    method = METHODS["seal-nce"].with_(energy_weight=weight, entropy_weight=-4 * weight, supervised_weight=0.0, warmup=0)
    encoder = MLP(6, 8, 1, 0.0)
    energy = build_energy(EnergySpec(("local",)), encoder, encoder, 4).double()
    loss = LearnedLoss(method, LabelSpace(4, method.cost), energy, 4, Settings(), Predictor(encoder, 4))
    batch = Batch(torch.randn(3, 6, dtype=torch.float64), torch.zeros(3, 4, dtype=torch.float64))
    logits = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    (found,) = torch.autograd.grad(loss.predictor_loss(batch, logits, weight, learning=False).sum(), logits)
    corners = all_label_sets(4).double().expand(3, -1, -1)
    log_q = loss.space.log_prob(corners, logits)
    energies = energy(energy.prepare(batch.x), corners).detach()
    divergence = (log_q.exp() * (log_q - torch.log_softmax(-energies, 1))).sum()
    (expected,) = torch.autograd.grad(weight * divergence, logits)
    assert torch.allclose(found, expected, atol=1e-5)
