"""Inner and outer problems with a known solution."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from enstruct.hypergradients import (
    Bilevel,
)

KINDS = ("exact", "finite-difference")


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


def relative_error(gradient: torch.Tensor, exact: torch.Tensor) -> float:
    return float((gradient - exact).norm() / exact.norm())
