"""Hypergradients against a fully solved inner problem and TorchOpt."""

import pytest
import torch
from tests.hypergradients.problems import KINDS, Logistic, Quadratic, relative_error

from enstruct.errors import ConfigError
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


def test_a_predictor_held_fixed_has_the_explicit_gradient_only():
    quadratic = Quadratic.random()
    problem = quadratic.problem()
    fixed = tuple(p.detach() for p in problem.theta)
    fixed_problem = Bilevel(lambda _: problem.outer(fixed), problem.inner, (), problem.phi)
    expected = Alternating().gradient(problem).gradient[0]
    for coupling in (Implicit(), Unrolled(2), Alternating()):
        torch.testing.assert_close(coupling.gradient(fixed_problem).gradient[0], expected)


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
