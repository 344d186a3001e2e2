"""The loop against enumeration, a convex solver and itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import minimize as scipy_minimise
from torch import Tensor, nn

from enstruct.energies import (
    ConditionalEnergy,
    ConditionalPairwiseEnergy,
    GlobalEnergy,
    LocalEnergy,
    ModuleEnergy,
    PairwiseEnergy,
    State,
    SumEnergy,
)
from enstruct.errors import ConfigError, DataError, EnstructError
from enstruct.inference import AdamOnLogits, Inference, MirrorDescent, ProjectedAdam, ProjectedGradient, minimise
from enstruct.inference.objective import InferenceObjective, compiled
from enstruct.spaces import LabelSpace
from enstruct.spaces.costs import COSTS

L, F = 6, 5
RULES = [MirrorDescent(0.3, 0.9), ProjectedGradient(0.05, 0.8), AdamOnLogits(0.3), ProjectedAdam(0.05)]
TIGHT = {"steps": 5_000, "tolerance": 1e-10, "stable": 30}


def an_energy(convex: bool = False, layers: int = 1, seed: int = 0) -> SumEnergy:
    torch.manual_seed(seed)
    terms = [
        LocalEnergy(F, L),
        GlobalEnergy(L, 4, layers=layers, convex=convex),
        ConditionalEnergy(F, L, 3, layers=layers, convex=convex),
        PairwiseEnergy(L, 2, convex=convex),
    ]
    return SumEnergy(None, terms).double()


def corners() -> Tensor:
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=L)), dtype=torch.float64)


def enumerated(energy: SumEnergy, state: State, space: LabelSpace | None = None, truth: Tensor | None = None) -> Tensor:
    """(batch,) the least objective over {0,1}^L."""
    y = corners().unsqueeze(0).expand(state.batch, -1, -1)
    value = energy(state, y)
    if space is not None and truth is not None:
        value = value - space.cost(y, truth)
    return value.min(1).values.detach()


@pytest.mark.parametrize("rule", RULES, ids=lambda r: type(r).__name__)
def test_the_relaxed_minimum_of_a_convex_energy(rule):
    energy, x = an_energy(convex=True), torch.randn(3, F, dtype=torch.float64)
    state = energy.prepare(x).detached()
    solution = minimise(energy, state, LabelSpace(L), rule, **TIGHT)
    for row in range(len(x)):

        def objective(y: np.ndarray, row: int = row) -> tuple[float, np.ndarray]:
            at = torch.from_numpy(y)[None, None]
            value, gradient = energy.value_and_gradient(state.rows(torch.tensor([row])), at)
            return float(value.detach()), gradient.detach().numpy().ravel()

        best = scipy_minimise(objective, np.full(L, 0.5), jac=True, bounds=[(0, 1)] * L, tol=1e-12)
        assert float(solution.energy[row]) == pytest.approx(
            best.fun, abs=5e-5
        )  # an interior on logits comes near corners, never to them


@pytest.mark.parametrize("rule", RULES, ids=lambda r: type(r).__name__)
@pytest.mark.parametrize("augmented", [False, True])
def test_the_enumerated_minimum_of_a_convex_energy(rule, augmented):
    """Strong unaries put the relaxed minimum of a convex energy on a corner, so enumeration finds the same."""
    energy, x = an_energy(convex=True), torch.randn(8, F, dtype=torch.float64)
    state = energy.prepare(x)
    unaries = 6 * torch.randn(8, L, dtype=torch.float64).sign()
    state = state._replace(terms=(unaries, *state.terms[1:]))
    space = LabelSpace(L, "hamming-mean")
    truth = (torch.rand(8, L) < 0.4).double() if augmented else None
    solution = minimise(energy, state, space, rule, truth=truth, **TIGHT)
    assert float((solution.y - solution.y.round()).abs().max()) < 1e-3
    torch.testing.assert_close(solution.energy, enumerated(energy, state, space, truth), atol=1e-3, rtol=0)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: type(r).__name__)
def test_non_convex_search_rarely_misses(rule):
    """Several starts: the answer's rounding is seldom above the enumerated minimum, and the relaxed value never is by much."""
    energy, x = an_energy(seed=3), torch.randn(60, F, dtype=torch.float64)
    with torch.no_grad():
        energy.terms[3].scale.mul_(20)
    torch.manual_seed(0)
    solution = minimise(energy, energy.prepare(x), LabelSpace(L), rule, start=["uniform", *["random"] * 5], steps=400)
    rounded = energy(energy.prepare(x), solution.y.round().unsqueeze(1)).squeeze(1).detach()
    missed = rounded > enumerated(energy, energy.prepare(x)) + 1e-6
    assert float(missed.double().mean()) <= 0.15


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("nonlinearity", ["softplus", "relu", "hardtanh"])
def test_closed_form_gradients_are_autograds(layers, nonlinearity):
    torch.manual_seed(1)
    terms = [
        LocalEnergy(F, L),
        GlobalEnergy(L, 4, nonlinearity, layers),
        ConditionalEnergy(F, L, 3, nonlinearity, layers),
        PairwiseEnergy(L, 2),
        ConditionalPairwiseEnergy(F, L, 3),
        PairwiseEnergy(L, None, diagonal=False),
        PairwiseEnergy(L, None),
    ]
    for full in terms[-2:]:
        nn.init.normal_(full.factor)
    nn.init.normal_(terms[-3].scales.weight)
    energy = SumEnergy(None, terms).double()
    for mask in (None, (torch.rand(4, L) < 0.7).double()):
        state = energy.prepare(torch.randn(4, F, dtype=torch.float64), mask)
        y = torch.rand(4, 3, L, dtype=torch.float64, requires_grad=True)
        value, gradient = energy.value_and_gradient(state, y)
        (expected,) = torch.autograd.grad(energy(state, y).sum(), y)
        torch.testing.assert_close(value, energy(state, y))
        torch.testing.assert_close(gradient.expand_as(y), expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("cost", sorted(COSTS))
@pytest.mark.parametrize("holes", [False, True])
def test_cost_and_entropy_gradients_are_autograds(cost, holes):
    torch.manual_seed(2)
    space = LabelSpace(L, cost)
    y = (0.05 + 0.9 * torch.rand(4, 3, L, dtype=torch.float64)).requires_grad_()
    truth = (torch.rand(4, L) < 0.5).double()
    mask = (torch.rand(4, L) < 0.7).double() if holes else None
    (expected,) = torch.autograd.grad(space.cost(y, truth, mask).sum(), y)
    torch.testing.assert_close(space.cost_gradient(y, truth, mask), expected, atol=1e-10, rtol=0)
    (expected,) = torch.autograd.grad(space.entropy(y).sum(), y)
    torch.testing.assert_close(space.entropy_gradient(y), expected, atol=1e-10, rtol=0)
    torch.testing.assert_close(space.entropy(y, torch.logit(y)), space.entropy(y))
    torch.testing.assert_close(space.entropy_gradient(y, torch.logit(y)), expected)


def test_every_gradient_gives_the_same_answer():
    x = torch.randn(5, F, dtype=torch.float64)
    few = SumEnergy(None, [LocalEnergy(F, L), PairwiseEnergy(L, 2)]).double()  # compiling more terms takes a minute
    for energy, gradients in ((an_energy(), ("closed-form", "autograd")), (few, ("closed-form", "compiled"))):
        first, other = (
            minimise(energy, energy.prepare(x), LabelSpace(L), gradient=gradient, steps=30).y for gradient in gradients
        )
        torch.testing.assert_close(other, first, atol=1e-10, rtol=0)


def test_a_row_does_not_depend_on_its_batch():
    energy, x = an_energy(), torch.randn(1000, F, dtype=torch.float64)
    settings = Inference(steps=200, tolerance=1e-6, stable=3)
    whole = minimise(energy, energy.prepare(x), LabelSpace(L), settings=settings)
    assert len(set(whole.steps.tolist())) > 3  # rows do stop at different steps
    for row in (0, 499, 999):
        alone = minimise(energy, energy.prepare(x[row : row + 1]), LabelSpace(L), settings=settings)
        torch.testing.assert_close(alone.y[0], whole.y[row], atol=1e-10, rtol=0)
        assert torch.equal(alone.y[0].round(), whole.y[row].round())
        assert int(alone.steps[0]) == int(whole.steps[row])


def test_decisions_are_counted_from_the_start_on():
    """``stable=2``: the start, which counts, and the next iterate, so one step at least."""
    energy, x = an_energy(), torch.randn(50, F, dtype=torch.float64)
    for stable in (2, 4):
        solution = minimise(energy, energy.prepare(x), LabelSpace(L), steps=200, stable=stable)
        assert int(solution.steps.min()) >= stable - 1
    with pytest.raises(ConfigError, match="stable must be a whole number from 2"):
        Inference(stable=1)


def test_compaction_changes_nothing():
    energy, x = an_energy(), torch.randn(300, F, dtype=torch.float64)
    kept, dropped = (
        minimise(energy, energy.prepare(x), LabelSpace(L), steps=300, tolerance=1e-6, compact=compact)
        for compact in (False, True)
    )
    torch.testing.assert_close(kept.y, dropped.y, atol=1e-10, rtol=0)
    assert torch.equal(kept.steps, dropped.steps)
    assert torch.equal(kept.converged, dropped.converged)


def test_share_ends_the_batch_early():
    energy, x = an_energy(), torch.randn(200, F, dtype=torch.float64)
    solution = minimise(energy, energy.prepare(x), LabelSpace(L), steps=500, tolerance=1e-6, share=0.5)
    assert 0.5 <= float(solution.converged.double().mean()) < 1
    assert f"{int(solution.converged.sum())} of 200 rows converged" in solution.status


class _Bowl(nn.Module):
    """(y - target)^2 summed: one step of projected gradient at rate 1/2 reaches it."""

    def __init__(self, target: float) -> None:
        super().__init__()
        self.target = nn.Parameter(torch.tensor(target))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (y - self.target).square().sum(-1)


def test_start_and_final_iterate_both_count():
    energy = ModuleEnergy(_Bowl(1.0))
    state = energy.prepare(torch.zeros(1, 2))
    last = minimise(energy, state, LabelSpace(2), ProjectedGradient(0.5), start="zeros", steps=1)
    torch.testing.assert_close(last.y, torch.ones(1, 2))  # reached by the only step, evaluated after it
    first = minimise(energy, state, LabelSpace(2), MirrorDescent(50.0, 0.99), start=torch.full((1, 2), 0.9), steps=1)
    assert float(first.energy) <= 0.02 + 1e-6


def test_several_starts_keep_the_best():
    energy, x = an_energy(seed=3), torch.randn(20, F, dtype=torch.float64)
    starts = [torch.rand(20, L, dtype=torch.float64) for _ in range(3)]
    each = torch.stack([minimise(energy, energy.prepare(x), LabelSpace(L), start=s, steps=20).energy for s in starts])
    together = minimise(energy, energy.prepare(x), LabelSpace(L), start=starts, steps=20)
    torch.testing.assert_close(together.energy, each.min(0).values)


def test_temperature_alone_gives_the_logistic_answer():
    """For a linear energy s.y, minimising s.y - T H(y) gives y = sigmoid(-s / T)."""
    energy = SumEnergy(None, [LocalEnergy(F, L)]).double()
    x = torch.randn(4, F, dtype=torch.float64)
    state = energy.prepare(x)
    solution = minimise(energy, state, LabelSpace(L), MirrorDescent(0.2, 0.5), temperature=0.7, steps=500)
    torch.testing.assert_close(solution.y, torch.sigmoid(-state.terms[0].detach() / 0.7), atol=1e-5, rtol=0)


def test_a_row_without_labels_says_so_and_holes_stay_empty():
    energy, x = an_energy(), torch.randn(3, F, dtype=torch.float64)
    mask = torch.ones(3, L, dtype=torch.float64)
    mask[1], mask[2, 0] = 0, 0
    solution = minimise(energy, energy.prepare(x, mask), LabelSpace(L), steps=20)
    assert float(solution.y[1].sum()) == 0
    assert float(solution.y[2, 0]) == 0
    assert "1 rows have no output parts" in solution.status


@pytest.mark.parametrize("tolerance", [None, 1e-6])
def test_divergence_is_a_status(tolerance):
    class Explosive(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            value = -y.sum(-1)
            return torch.where((x[:, :1] > 0) & (y.sum(-1) > 1.5), torch.nan, value)

    energy = ModuleEnergy(Explosive())
    state = energy.prepare(torch.tensor([[1.0], [-1.0]]))
    solution = minimise(energy, state, LabelSpace(2), steps=40, tolerance=tolerance)
    torch.testing.assert_close(solution.energy, -solution.y.sum(-1))  # of the answer it keeps: its last good iterate
    assert 1.0 < solution.y[0].sum() <= 1.5
    assert solution.y[1].sum() > 1.9
    assert "1 rows became non-finite (first: row 0)" in solution.status


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"steps": 0}, ConfigError, "steps must be a whole number from 1"),
        ({"start": "unifrom"}, ConfigError, "uniform"),
        ({"start": "predictor"}, ConfigError, "resolve"),
        ({"start": []}, ConfigError, "starts must be a tuple"),
        ({"start": torch.zeros(2, L)}, DataError, "shape"),
        ({"start": torch.full((3, L), 1.5)}, DataError, "inside"),
        ({"share": 0.0}, ConfigError, "share"),
        ({"tolerance": 0.0}, ConfigError, "tolerance"),
        ({"temperature": -1.0}, ConfigError, "temperature"),
        ({"gradient": "autgrad"}, ConfigError, "autograd"),
    ],
)
def test_bad_requests(arguments, error, words):
    energy = an_energy()
    with pytest.raises(error, match=words) as caught:
        minimise(energy, energy.prepare(torch.randn(3, F, dtype=torch.float64)), LabelSpace(L), **arguments)
    assert isinstance(caught.value, EnstructError)


def test_no_closed_form_no_pretence():
    energy = ModuleEnergy(_Bowl(1.0))
    with pytest.raises(ConfigError, match="no closed-form"):
        minimise(energy, energy.prepare(torch.zeros(1, 2)), LabelSpace(2), gradient="closed-form")


def test_projected_adam_is_torchs_adam_with_a_clamp():
    energy, x = an_energy(), torch.randn(3, F, dtype=torch.float64)
    state = energy.prepare(x).detached()
    y = torch.nn.Parameter(torch.full((3, 1, L), 0.5, dtype=torch.float64))
    optimizer = torch.optim.Adam([y], lr=0.07)
    seen = []
    for _ in range(12):
        value = energy(state, y)
        seen.append((value.detach().clone(), y.detach().clone()))
        optimizer.zero_grad()
        value.sum().backward()
        optimizer.step()
        with torch.no_grad():
            y.clamp_(0, 1)
    seen.append((energy(state, y).detach(), y.detach().clone()))
    values, points = torch.stack([v for v, _ in seen]), torch.stack([p for _, p in seen])
    best = values.argmin(0)
    solution = minimise(energy, state, LabelSpace(L), ProjectedAdam(0.07), steps=12)
    torch.testing.assert_close(solution.energy, values.min(0).values[:, 0])
    torch.testing.assert_close(solution.y, torch.stack([points[best[row, 0], row, 0] for row in range(3)]))


@pytest.mark.parametrize("rule", [lambda: MirrorDescent(0), lambda: MirrorDescent(0.1, 1.0), lambda: AdamOnLogits(-1)])
def test_rules_refuse_bad_rates(rule):
    with pytest.raises(ConfigError, match="rate"):
        rule()


def test_a_missing_compiler_is_a_logged_fallback(monkeypatch, caplog):
    def no_compiler(*arguments, **options):
        raise RuntimeError("no C++ compiler")

    monkeypatch.setattr(torch, "compile", no_compiler)
    compiled.cache_clear()
    energy, x = an_energy(), torch.randn(4, F, dtype=torch.float64)
    solution = minimise(energy, energy.prepare(x), LabelSpace(L), gradient="compiled", steps=10)
    compiled.cache_clear()
    assert "no C++ compiler" in caplog.text
    assert torch.equal(solution.y, minimise(energy, energy.prepare(x), LabelSpace(L), steps=10).y)


@pytest.mark.parametrize("as_value", [False, True])
@pytest.mark.parametrize("gradient", ["closed-form", "autograd"])
@pytest.mark.parametrize("masked", [False, True])
def test_the_whole_objectives_gradient(as_value, gradient, masked):
    """Energy or value, cost and entropy together, against autograd on the objective's own value."""
    energy, x = an_energy(), torch.randn(4, F, dtype=torch.float64)
    truth = (torch.rand(4, L) < 0.5).double()
    mask = (torch.rand(4, L) < 0.7).double() if masked else None
    objective = InferenceObjective(energy, energy.prepare(x, mask).detached(), LabelSpace(L), truth, 0.3, as_value, gradient)
    y = (0.1 + 0.8 * torch.rand(4, 2, L, dtype=torch.float64)).requires_grad_()
    (expected,) = torch.autograd.grad(objective.value(y).sum(), y)
    with torch.no_grad():
        value, slope = objective.value_and_gradient(y.detach())
        torch.testing.assert_close(value, objective.value(y))
        torch.testing.assert_close(objective.gradient_alone(y.detach()), slope)
    torch.testing.assert_close(slope, expected)


@pytest.mark.parametrize(
    ("rule", "there", "back"),
    [(MirrorDescent(0.3, 0.9), torch.logit, torch.sigmoid), (ProjectedGradient(0.3, 0.9), torch.clone, lambda y: y.clamp(0, 1))],
    ids=["mirror", "projected"],
)
def test_three_steps_with_momentum_by_hand(rule, there, back):
    """Velocity v <- m v - rate g: added to the logits without their slope, or to y, which is clamped."""
    space, y = LabelSpace(2), torch.tensor([[[0.4, 0.9]]], dtype=torch.float64)
    memory, at, velocity = rule.start(y, space), there(y), torch.zeros_like(y)
    for gradient in (torch.tensor([[[0.5, -1.0]]]), torch.tensor([[[-0.2, 0.3]]]), torch.tensor([[[0.1, 0.4]]])):
        memory, y = rule.step(memory, y, gradient.double(), space)
        velocity = 0.9 * velocity - 0.3 * gradient.double()
        at = at + velocity if rule.keeps_logits else back(at + velocity)
        torch.testing.assert_close(y, back(at))


def test_a_compiled_loop_takes_the_steps_of_the_plain_one(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda function: function)
    compiled.cache_clear()
    energy, x = an_energy(), torch.randn(6, F, dtype=torch.float64)
    for settings in ({"steps": 7}, {"steps": 60, "tolerance": 1e-3}):
        plain, fast = (
            minimise(energy, energy.prepare(x), LabelSpace(L), gradient=gradient, **settings) for gradient in ("auto", "compiled")
        )
        assert torch.equal(plain.y, fast.y)
        assert torch.equal(plain.steps, fast.steps)
    compiled.cache_clear()
