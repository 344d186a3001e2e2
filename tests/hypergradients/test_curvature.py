"""Products with second derivatives: exact, by finite differences, and through layers of all kinds."""

import pytest
import torch
from tests.hypergradients.problems import KINDS

from enstruct.encoders.sparse_mlp import csr_batch
from enstruct.errors import ConfigError, SecondDerivativeError
from enstruct.hypergradients import (
    Bilevel,
    ConjugateGradient,
    Identity,
    Implicit,
    Neumann,
    Unrolled,
)
from enstruct.hypergradients.curvature import ExactCurvature, FiniteDifferences, GaussNewton


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


def logistic_field():
    """A small network with a softplus, the cross-entropy of its logits, and (beside it) an energy that bends the other way."""
    torch.manual_seed(0)
    x, y = torch.randn(7, 3, dtype=torch.float64), (torch.rand(7, 2) < 0.5).double()
    theta = tuple(torch.randn(*shape, dtype=torch.float64).requires_grad_() for shape in ((3, 4), (4, 2)))
    phi = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)

    def logits(at):
        return torch.nn.functional.softplus(x @ at[0]) @ at[1]

    def supervised(z):
        return torch.nn.functional.binary_cross_entropy_with_logits(z, y)

    def inner(at):
        z = logits(at)
        return supervised(z) - phi.sum() * z.sigmoid().square().mean()

    return Bilevel(lambda at: logits(at).sum(), inner, theta, (phi,), {}, logits, supervised)


def test_gauss_newton_is_the_curvature_of_the_supervised_loss_behind_the_jacobian():
    problem = logistic_field()
    theta = problem.theta
    flat_theta = torch.cat([p.reshape(-1) for p in theta]).detach()

    def split(t):
        return t[:12].view(3, 4), t[12:].view(4, 2)

    jacobian = torch.autograd.functional.jacobian(lambda t: problem.logits(split(t)).flatten(), flat_theta)
    z = problem.logits(theta).detach()
    bend = torch.autograd.functional.hessian(lambda at: problem.supervised(at.view_as(z)), z.flatten())
    expected = jacobian.T @ bend @ jacobian + 0.3 * torch.eye(20, dtype=torch.float64)
    curvature = GaussNewton(problem, damping=0.3)
    products = torch.stack([curvature.product(v) for v in torch.eye(20, dtype=torch.float64)])
    torch.testing.assert_close(products, expected)
    exact = torch.stack([ExactCurvature(problem).product(v) for v in torch.eye(20, dtype=torch.float64)])
    assert torch.linalg.eigvalsh((exact + exact.T) / 2)[0] < -1e-3  # which is why one wants it
    assert torch.linalg.eigvalsh(expected)[0] >= 0.3 - 1e-9
    v = torch.randn(20, dtype=torch.float64)
    torch.testing.assert_close(curvature.mixed(v)[0], ExactCurvature(problem).mixed(v)[0])
    assert curvature.residual == pytest.approx(ExactCurvature(problem).residual)


def test_gauss_newton_needs_to_know_the_logits():
    problem = logistic_field()
    with pytest.raises(ConfigError, match="take hvp='exact'"):
        Implicit(hvp="gauss-newton").gradient(Bilevel(problem.outer, problem.inner, problem.theta, problem.phi))


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
