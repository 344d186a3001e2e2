"""Every solver against the closed form, and what a solver that fails says."""

import logging

import pytest
import torch
from tests.hypergradients.problems import KINDS, Quadratic, relative_error

from enstruct.errors import DivergenceError
from enstruct.hypergradients import (
    Alternating,
    Bilevel,
    ConjugateGradient,
    Diagonal,
    Identity,
    Implicit,
    Neumann,
    ShermanMorrison,
)


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


def test_a_hessian_that_is_not_finite_is_an_error():
    theta, phi = torch.zeros(2, requires_grad=True), torch.ones(1, requires_grad=True)

    def inner(at):
        return phi.sum() * at[0].abs().sqrt().sum()

    problem = Bilevel(lambda at: at[0].sum() * phi.sum(), inner, (theta,), (phi,))
    for solver in (Neumann(2, 1.0), ConjugateGradient(3), ShermanMorrison(2), Identity()):
        with pytest.raises(DivergenceError):
            Implicit(solver, damping=1e-3).gradient(problem)


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
