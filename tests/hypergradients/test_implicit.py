"""Hypergradients against closed forms, a fully solved inner problem, and TorchOpt."""

import logging
from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F

from enstruct.encoders.sparse_mlp import csr_batch
from enstruct.errors import ConfigError, DivergenceError, SecondDerivativeError
from enstruct.hypergradients import (
    Alternating,
    Bilevel,
    ConjugateGradient,
    Diagonal,
    Identity,
    Implicit,
    Neumann,
    ShermanMorrison,
    Unrolled,
)
from enstruct.hypergradients.curvature import ExactCurvature, FiniteDifferences


@dataclass
class Quadratic:
    """inner: t'At/2 - t'(B phi + c);  outer: ||t - w||²/2 + t'P phi + phi'q.   theta* = A⁻¹(B phi + c), at which it starts."""

    a: torch.Tensor
    b: torch.Tensor
    p: torch.Tensor
    phi: torch.Tensor

    @classmethod
    def random(cls, n: int = 6, m: int = 4, diagonal: bool = False, seed: int = 0) -> "Quadratic":
        g = torch.Generator().manual_seed(seed)
        root = torch.randn(n, n, generator=g, dtype=torch.float64)
        a = (
            torch.diag(torch.rand(n, generator=g, dtype=torch.float64) + 0.5)
            if diagonal
            else root @ root.T / n + 0.5 * torch.eye(n)
        )
        b, p = (torch.randn(n, m, generator=g, dtype=torch.float64) for _ in range(2))
        return cls(a.double(), b, p, torch.randn(m, generator=g, dtype=torch.float64).requires_grad_())

    def optimum(self) -> torch.Tensor:
        return torch.linalg.solve(self.a, (self.b @ self.phi + 1).detach())

    def problem(self, theta: torch.Tensor | None = None) -> Bilevel:
        """theta in two parameters of different shape, so that flattening is tested too."""
        start = self.optimum() if theta is None else theta
        parts = tuple(p.clone().requires_grad_() for p in (start[:2].reshape(2, 1), start[2:]))

        def joined(theta):
            return torch.cat([p.reshape(-1) for p in theta])

        def outer(theta):
            t = joined(theta)
            return (t - 2).square().sum() / 2 + t @ self.p @ self.phi + self.phi.sum()

        def inner(theta):
            t = joined(theta)
            return t @ self.a @ t / 2 - t @ (self.b @ self.phi + 1)

        return Bilevel(outer, inner, parts, (self.phi,))

    def by_theta(self) -> torch.Tensor:
        return self.optimum() - 2 + (self.p @ self.phi).detach()

    def explicit(self) -> torch.Tensor:
        return self.p.T @ self.optimum() + 1

    def exact(self) -> torch.Tensor:
        return self.explicit() + self.b.T @ torch.linalg.solve(self.a, self.by_theta())


def relative_error(gradient: torch.Tensor, exact: torch.Tensor) -> float:
    return float((gradient - exact).norm() / exact.norm())


KINDS = ("exact", "finite-difference")


def identity_like(scale: float) -> Quadratic:
    quadratic = Quadratic.random()
    quadratic.a = scale * torch.eye(6, dtype=torch.float64)
    return quadratic


@pytest.mark.parametrize("hvp", KINDS)
@pytest.mark.parametrize(
    ("solver", "quadratic", "damping"),
    [
        (Neumann(400), Quadratic.random(), 0.0),
        (Neumann(2000, scale=10.0), Quadratic.random(), 0.0),
        (ConjugateGradient(12, 1e-12), Quadratic.random(), 0.0),
        (ShermanMorrison(6), Quadratic.random(), 1e-9),
        (Diagonal(1), Quadratic.random(diagonal=True), 0.0),
        (Diagonal(3), Quadratic.random(diagonal=True), 0.0),
        (Identity(3.0), identity_like(3.0), 0.0),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, float) else str(value),
)
def test_every_solver_reaches_the_closed_form(solver, quadratic, damping, hvp):
    hypergradient = Implicit(solver, hvp=hvp, damping=damping).gradient(quadratic.problem())
    assert relative_error(hypergradient.gradient[0], quadratic.exact()) < 1e-5
    assert hypergradient.report["inner_residual"] < 1e-8


def test_the_error_of_the_series_falls_at_its_rate():
    quadratic = Quadratic.random()
    scale = 1.2 * float(torch.linalg.eigvalsh(quadratic.a)[-1])
    contraction = 1 - float(torch.linalg.eigvalsh(quadratic.a)[0]) / scale
    implicit = quadratic.exact() - quadratic.explicit()
    bound = float(torch.linalg.matrix_norm(quadratic.b, 2)) * float(torch.linalg.solve(quadratic.a, quadratic.by_theta()).norm())
    errors = []
    for terms in (0, 1, 2, 5, 10, 20, 50):
        gradient = Implicit(Neumann(terms, scale)).gradient(quadratic.problem()).gradient[0]
        errors.append(float((gradient - quadratic.explicit() - implicit).norm()))
        assert errors[-1] <= bound * contraction**terms + 1e-9
    assert errors == sorted(errors, reverse=True)


def test_no_terms_leave_the_explicit_gradient_and_one_is_the_identity():
    problem = Quadratic.random().problem()
    explicit = Alternating().gradient(problem).gradient[0]
    assert torch.equal(Implicit(Neumann(0)).gradient(problem).gradient[0], explicit)
    one = Implicit(Neumann(1, scale=4.0)).gradient(problem)
    identity = Implicit(Identity(4.0)).gradient(problem)
    torch.testing.assert_close(one.gradient[0], identity.gradient[0])
    assert not torch.allclose(one.gradient[0], explicit)


def test_the_scale_is_safe_reported_and_kept_between_steps():
    quadratic = Quadratic.random()
    problem = quadratic.problem()
    largest = float(torch.linalg.eigvalsh(quadratic.a)[-1])
    report = Implicit().gradient(problem).report
    assert largest < 2 * report["solver_scale"] < 2.5 * largest
    again = Implicit().gradient(problem).report
    assert again["solver_scale"] == report["solver_scale"]


def test_unrolling_from_the_optimum_is_the_series():
    """k steps of rate 1/c equal k terms of scale c (Lorraine et al. 2020)."""
    quadratic = Quadratic.random()
    for k in (1, 3, 7):
        unrolled = Unrolled(k, rate=0.2).gradient(quadratic.problem())
        series = Implicit(Neumann(k, scale=5.0)).gradient(quadratic.problem())
        torch.testing.assert_close(unrolled.gradient[0], series.gradient[0])


def test_unrolling_long_enough_reaches_the_closed_form_from_anywhere():
    quadratic = Quadratic.random()
    away = quadratic.optimum() + 1.0
    hypergradient = Unrolled(300, rate=0.2).gradient(quadratic.problem(away))
    assert relative_error(hypergradient.gradient[0], quadratic.exact()) < 1e-5


def test_finite_differences_agree_with_exact_products_to_second_order():
    """On a problem with third derivatives the error is that of a central difference, and shrinks with its step's square."""
    theta = torch.tensor([0.3, -0.7, 1.1], dtype=torch.float64, requires_grad=True)
    phi = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)

    def inner(parts):
        theta = parts[0]
        return (theta[0].exp() * phi.sum() + phi.prod() * theta.sin() * theta.roll(1)).sum()

    problem = Bilevel(inner, inner, (theta,), (phi,))
    v = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    exact, central = ExactCurvature(problem), FiniteDifferences(problem)
    torch.testing.assert_close(central.product(v), exact.product(v), rtol=1e-8, atol=1e-9)
    torch.testing.assert_close(central.mixed(v)[0], exact.mixed(v)[0], rtol=1e-8, atol=1e-9)
    errors = []
    for step in (0.2, 0.1):
        central.step = step
        errors.append(float((central.product(v) - exact.product(v)).norm()))
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)


class Logistic:
    """inner: regularised logistic regression plus an energy of its answers; outer: a softened margin against the truth."""

    def __init__(self) -> None:
        g = torch.Generator().manual_seed(3)
        self.x = torch.randn(12, 3, generator=g, dtype=torch.float64)
        self.y = (torch.rand(12, 2, generator=g, dtype=torch.float64) < 0.4).double()

    def problem(self, theta, phi):
        def answers(theta):
            return torch.sigmoid(self.x @ theta[0] + theta[1])

        def energy(y, phi):
            return F.softplus(y @ phi[:2] + phi[2]) * phi[3]

        def inner(theta):
            logits = self.x @ theta[0] + theta[1]
            loss = F.binary_cross_entropy_with_logits(logits, self.y) + 0.3 * energy(answers(theta), phi).mean()
            return loss + 0.05 * sum(p.square().sum() for p in theta)

        def outer(theta):
            gap = energy(self.y, phi) - energy(answers(theta), phi) + (answers(theta) - self.y).square().sum(1)
            return F.softplus(gap).mean()

        return Bilevel(outer, inner, theta, (phi,))

    def solve(self, phi):
        """theta*(phi) to machine precision, by Newton's method."""
        start = torch.zeros(8, dtype=torch.float64)

        def split(t):
            return t[:6].view(3, 2), t[6:]

        def inner(t):
            return self.problem((), phi).inner(split(t))

        for _ in range(30):
            slope = torch.autograd.functional.jacobian(inner, start)
            bend = torch.autograd.functional.hessian(inner, start)
            start = start - torch.linalg.solve(bend, slope)
        return tuple(p.detach().clone().requires_grad_() for p in split(start))


@pytest.mark.parametrize("hvp", KINDS)
def test_against_central_differences_of_the_fully_solved_inner_problem(hvp):
    logistic = Logistic()
    phi = torch.tensor([0.8, -1.2, 0.3, 1.5], dtype=torch.float64, requires_grad=True)
    hypergradient = Implicit(ConjugateGradient(30, 1e-12), hvp=hvp).gradient(logistic.problem(logistic.solve(phi.detach()), phi))
    numeric = []
    for i in range(4):
        values = []
        for sign in (1, -1):
            moved = phi.detach().clone()
            moved[i] += sign * 1e-4
            problem = logistic.problem(logistic.solve(moved), moved)
            values.append(float(problem.outer(problem.theta).detach()))
        numeric.append((values[0] - values[1]) / 2e-4)
    assert relative_error(hypergradient.gradient[0], torch.tensor(numeric, dtype=torch.float64)) < 1e-6
    assert hypergradient.report["implicit_ratio"] > 0.1


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_agrees_with_torchopt():
    """An independent library's implicit gradient, by its own linear solver."""
    import torchopt

    quadratic = Quadratic.random()

    def stationarity(theta, phi):
        return quadratic.a @ theta - quadratic.b @ phi - 1

    @torchopt.diff.implicit.custom_root(stationarity, argnums=1, solve=torchopt.linear_solve.solve_normal_cg(maxiter=50, atol=0))
    def solve(theta, phi):
        return torch.linalg.solve(quadratic.a, (quadratic.b @ phi + 1).detach())

    theta = solve(torch.zeros(6, dtype=torch.float64), quadratic.phi)
    problem = quadratic.problem()
    (theirs,) = torch.autograd.grad(problem.outer((theta[:2], theta[2:])), quadratic.phi)
    ours = Implicit(ConjugateGradient(20, 1e-12)).gradient(problem).gradient[0]
    assert relative_error(ours, theirs) < 1e-5


def test_a_hessian_that_is_not_finite_is_an_error():
    theta, phi = torch.zeros(2, requires_grad=True), torch.ones(1, requires_grad=True)

    def inner(at):
        return phi.sum() * at[0].abs().sqrt().sum()

    problem = Bilevel(lambda at: at[0].sum() * phi.sum(), inner, (theta,), (phi,))
    for solver in (Neumann(2, 1.0), ConjugateGradient(3), ShermanMorrison(2), Identity()):
        with pytest.raises(DivergenceError):
            Implicit(solver, damping=1e-3).gradient(problem)


def test_finite_differences_see_the_same_random_draws():
    theta, phi = torch.ones(50, dtype=torch.float64, requires_grad=True), torch.ones(1, dtype=torch.float64, requires_grad=True)

    def inner(at):
        return phi.sum() * (torch.nn.functional.dropout(at[0], 0.5) ** 2).sum() / 2

    problem = Bilevel(lambda at: at[0].sum(), inner, (theta,), (phi,))
    product = FiniteDifferences(problem).product(torch.ones(50, dtype=torch.float64))
    assert set(product.round(decimals=6).tolist()) <= {0.0, 4.0}  # each kept entry is doubled twice


def test_a_parameter_that_nothing_uses_is_no_obstacle():
    """With v of H v = 1, H = 2 phi, the gradient is -2 theta'v: v = 1/2 solved, 4/9 by two terms at scale 3."""
    theta = (torch.ones(2, dtype=torch.float64, requires_grad=True), torch.ones(3, dtype=torch.float64, requires_grad=True))
    phi = torch.ones(1, dtype=torch.float64, requires_grad=True)
    problem, without = (
        Bilevel(lambda at: at[0].sum(), lambda at: phi.sum() * at[0].square().sum(), used, (phi,)) for used in (theta, theta[:1])
    )
    for coupling, expected in (
        (Implicit(ConjugateGradient(2)), -2.0),
        (Implicit(Neumann(2, 3.0), hvp="finite-difference"), -16 / 9),
        (Unrolled(2), Unrolled(2).gradient(without).gradient[0].item()),
    ):
        assert coupling.gradient(problem).gradient[0].item() == pytest.approx(expected, rel=1e-6)
    assert expected < -1e-3


@pytest.mark.parametrize("solver", [ConjugateGradient(20, 1e-12), ShermanMorrison(6), Neumann(400)])
def test_damping_is_added_to_the_curvature(solver):
    quadratic = Quadratic.random()
    gradient = Implicit(solver, damping=0.7).gradient(quadratic.problem()).gradient[0]
    damped = torch.linalg.solve(quadratic.a + 0.7 * torch.eye(6), quadratic.by_theta())
    torch.testing.assert_close(gradient, quadratic.explicit() + quadratic.b.T @ damped)


def test_a_series_that_does_not_converge_says_what_to_change(caplog):
    quadratic = Quadratic.random()
    largest = float(torch.linalg.eigvalsh(quadratic.a)[-1])
    problem = quadratic.problem()
    with caplog.at_level(logging.WARNING, logger="enstruct"):
        report = Implicit(Neumann(30, scale=largest / 4)).gradient(problem).report
        Implicit(Neumann(30, scale=largest / 4)).gradient(problem)
    assert report["solver_failed"] == 1
    assert len(caplog.records) == 1  # once a fit
    text = caplog.text
    assert "spectral radius" in text
    assert "Set scale above" in text


def test_a_diverging_series_is_cut_before_it_grows():
    """Whatever the curvature, v is at most terms / c times b."""
    quadratic = Quadratic.random()
    quadratic.a = quadratic.a - 5 * torch.eye(6)
    problem = quadratic.problem()
    cut = Implicit(Neumann(200, scale=0.8)).gradient(problem)
    one = Implicit(Neumann(1, scale=0.8)).gradient(problem)
    assert cut.report["solver_failed"] == 1
    torch.testing.assert_close(cut.gradient[0], one.gradient[0])


@pytest.mark.parametrize("solver", [Identity(), Neumann(3), ConjugateGradient(5)])
def test_a_linear_inner_loss_has_no_curvature_and_gives_no_reaction(solver):
    problem = Quadratic.random().problem()
    linear = Bilevel(problem.outer, lambda theta: sum(p.sum() for p in theta), problem.theta, problem.phi)
    expected = Alternating().gradient(problem).gradient[0]
    torch.testing.assert_close(Implicit(solver).gradient(linear).gradient[0], expected)


def test_the_scale_rises_with_the_curvature_between_estimates():
    quadratic = Quadratic.random()
    problem = quadratic.problem()
    first = Implicit().gradient(problem).report["solver_scale"]
    quadratic.a *= 10
    steeper = quadratic.problem()
    steeper.memory.update(problem.memory)
    Implicit().gradient(steeper)  # its products show the larger curvature
    assert Implicit().gradient(steeper).report["solver_scale"] > 3 * first


def test_negative_curvature_is_named_with_a_damping_that_mends_it(caplog):
    quadratic = Quadratic.random()
    lowest = float(torch.linalg.eigvalsh(quadratic.a)[0])
    quadratic.a = quadratic.a - (lowest + 0.5) * torch.eye(6)  # lowest eigenvalue -0.5
    with caplog.at_level(logging.WARNING, logger="enstruct"):
        report = Implicit(ConjugateGradient(20)).gradient(quadratic.problem()).report
    assert report["solver_failed"] == 1
    assert "indefinite" in caplog.text
    assert "damping" in caplog.text
    assert Implicit(ConjugateGradient(20), damping=0.6).gradient(quadratic.problem()).report["solver_failed"] == 0
    assert Implicit(Neumann(200)).gradient(quadratic.problem()).report["solver_failed"] == 1
    assert Implicit(ShermanMorrison(6), damping=1e-3).gradient(quadratic.problem()).report["solver_failed"] == 1


def test_a_predictor_held_fixed_has_the_explicit_gradient_only():
    quadratic = Quadratic.random()
    problem = quadratic.problem()
    fixed = tuple(p.detach() for p in problem.theta)
    fixed_problem = Bilevel(lambda _: problem.outer(fixed), problem.inner, (), problem.phi)
    expected = Alternating().gradient(problem).gradient[0]
    for coupling in (Implicit(), Unrolled(2), Alternating()):
        torch.testing.assert_close(coupling.gradient(fixed_problem).gradient[0], expected)


def test_a_layer_without_second_derivative_is_refused_and_finite_differences_take_it():
    bag = torch.nn.EmbeddingBag(5, 3, mode="sum").double()
    tokens = torch.tensor([[0, 1], [2, 4]])
    phi = torch.ones(3, dtype=torch.float64, requires_grad=True)

    def loss(theta):
        out = torch.func.functional_call(bag, {"weight": theta[0]}, (tokens, None, torch.ones(2, 2, dtype=torch.float64)))
        return (out.tanh() @ phi).square().sum()

    problem = Bilevel(loss, loss, (bag.weight,), (phi,))
    for solver in (Neumann(2), Neumann(1, 5.0), Identity()):
        with pytest.raises(SecondDerivativeError, match="finite-difference"):
            Implicit(solver).gradient(problem)
    Implicit(Neumann(2), hvp="finite-difference").gradient(problem)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Implicit(predictor_steps=0),
        lambda: Unrolled(0),
        lambda: Unrolled(1, rate=0.0),
        lambda: Neumann(-1),
        lambda: Neumann(3, scale=0.0),
        lambda: ConjugateGradient(0),
        lambda: Diagonal(0),
        lambda: Diagonal(1, floor=0.0),
        lambda: ShermanMorrison(0),
        lambda: Identity(0.0),
        lambda: Implicit(hvp="approximate"),
        lambda: Implicit(damping=-1.0),
        lambda: Implicit("neumann"),
        lambda: Implicit(ShermanMorrison(2)).gradient(Quadratic.random().problem()),
    ],
)
def test_impossible_settings_are_refused(make):
    with pytest.raises(ConfigError):
        make()


def test_csr_input_gives_the_dense_products():
    """The whole chain through a sparse first layer, exact products and finite differences."""
    import numpy as np
    import scipy.sparse as sp

    from enstruct.encoders import MLP, Predictor
    from enstruct.encoders.sparse_mlp import twice_differentiable

    torch.manual_seed(0)
    rows = sp.random(6, 15, density=0.3, format="csr", random_state=0, dtype=np.float64)
    predictor = Predictor(MLP(15, hidden=4, layers=1, dropout=0.0, sparse=True), 3).double()
    phi = torch.randn(3, dtype=torch.float64, requires_grad=True)
    theta = tuple(predictor.parameters())
    names = [name for name, _ in predictor.named_parameters()]

    def problem(x):
        def out(theta):
            return torch.func.functional_call(predictor, dict(zip(names, theta, strict=True)), (x,)).sigmoid()

        return Bilevel(lambda t: (out(t) @ phi).cos().sum(), lambda t: (out(t) @ phi).square().sum(), theta, (phi,))

    sparse, dense = csr_batch(rows, torch.float64), torch.from_numpy(rows.toarray())
    expected = Implicit(Neumann(4, 5.0)).gradient(problem(dense)).gradient[0]
    with twice_differentiable(predictor):
        for hvp in KINDS:
            gradient = Implicit(Neumann(4, 5.0), hvp=hvp).gradient(problem(sparse)).gradient[0]
            torch.testing.assert_close(gradient, expected, rtol=1e-6, atol=1e-8)
    with pytest.raises(SecondDerivativeError):
        Implicit(Neumann(4, 5.0)).gradient(problem(sparse))


def test_a_bilstm_gives_the_products_of_the_explicit_hessian():
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(3, 2, bidirectional=True, batch_first=True).double()
    x = torch.randn(2, 4, 3, dtype=torch.float64)
    phi = torch.randn(4, dtype=torch.float64, requires_grad=True)
    names, theta = zip(*lstm.named_parameters(), strict=True)

    def out(theta):
        return torch.func.functional_call(lstm, dict(zip(names, theta, strict=True)), (x,))[0]

    def inner(theta):
        return (out(theta) @ phi).sigmoid().square().sum() + sum(p.square().sum() for p in theta)

    problem = Bilevel(lambda t: (out(t) @ phi).cos().sum(), inner, tuple(theta), (phi,))
    implicit = Implicit(ConjugateGradient(150, 1e-12)).gradient(problem)
    differences = Implicit(ConjugateGradient(150, 1e-8), hvp="finite-difference").gradient(problem)
    torch.testing.assert_close(implicit.gradient[0], differences.gradient[0], rtol=1e-5, atol=1e-7)
    slope = torch.cat([g.reshape(-1) for g in torch.autograd.grad(inner(theta), theta, create_graph=True)])
    hessian = torch.stack([torch.cat([g.reshape(-1) for g in torch.autograd.grad(s, theta, retain_graph=True)]) for s in slope])
    outer = torch.autograd.grad(problem.outer(theta), (phi, *theta))
    v = torch.linalg.solve(hessian, torch.cat([g.reshape(-1) for g in outer[1:]]))
    (mixed,) = torch.autograd.grad(slope @ v, phi)
    torch.testing.assert_close(implicit.gradient[0], outer[0] - mixed, rtol=1e-8, atol=1e-10)
