"""Label sets drawn from a residual energy of pairs, and how far from it an estimate may be for the noise of the sample alone.

With log p(y | x) = theta . phi(x, y) - log Z and delta_i = phi(y_i = 1) - phi(y_i = 0), the minimum of the pseudo-likelihood of
n rows is normal about theta with covariance J^-1 K J^-1 / n (Godambe 1960; Besag 1975):

    J = mean sum_i v_i delta_i delta_i',   v_i = sigma(s_i) sigma(-s_i),   K = mean g g',   g = sum_i (y_i - sigma(s_i)) delta_i

so that 2 n KL(theta || estimate) is distributed as sum_k l_k chi^2_1, l the eigenvalues of F J^-1 K J^-1 and F
the Fisher information: of mean sum l and variance 2 sum l^2 (for maximum likelihood l = 1, which is Wilks's theorem).
"""

from typing import NamedTuple

import torch
from tests.joint.problems import all_sets

from enstruct.energies.residual import ResidualEnergy


def planted(couplings):
    """An energy of exactly these couplings (labels, labels) on logits that need no recalibration."""
    energy = ResidualEnergy(len(couplings), pairs=True)
    with torch.no_grad():
        energy.table.copy_(couplings.triu(1))
    return energy.eval()


@torch.no_grad()
def log_probabilities(energy, logits):
    """(rows, 2^labels) in doubles, by enumeration."""
    sets = all_sets(logits.shape[1])
    return torch.log_softmax(-energy(energy.prepare(logits), sets.expand(len(logits), -1, -1)).double(), 1)


def draw(energy, logits, seed):
    """A label set for each row (rows, labels), exactly."""
    p = log_probabilities(energy, logits).exp()
    index = torch.multinomial(p, 1, generator=torch.Generator().manual_seed(seed)).squeeze(1)
    return all_sets(logits.shape[1])[index]


def divergence(truth, estimate, logits):
    """Mean KL(truth || estimate) in nats a row."""
    log_p = log_probabilities(truth, logits)
    return float((log_p.exp() * (log_p - log_probabilities(estimate, logits))).sum(1).mean())


class Noise(NamedTuple):
    """Of the estimate from so many rows: the mean and the standard deviation of KL, standard errors of W (labels, labels)."""

    mean: float
    spread: float
    couplings: torch.Tensor


def noise_of(energy, logits):
    """By the formulas above, the sets of each row enumerated."""
    n, L = logits.shape
    sets, z, mu = all_sets(L).double(), logits.double(), torch.sigmoid(logits.double())
    i, j = torch.triu_indices(L, L, 1)
    y = sets.expand(n, -1, -1)
    r = y - mu.unsqueeze(1)
    phi = torch.cat([y * z.unsqueeze(1), y, r[:, :, i] * r[:, :, j]], 2)  # (rows, sets, parameters)
    p = log_probabilities(energy, logits).exp()
    theta = torch.cat([torch.ones(L), torch.zeros(L), energy.couplings().detach()[i, j]]).double()
    J, K, g = 0.0, 0.0, torch.zeros_like(phi)
    powers = 2 ** torch.arange(L - 1, -1, -1)
    number = (sets.long() * powers).sum(1)
    for label in range(L):
        absent = number - sets[:, label].long() * powers[label]
        delta = phi[:, absent + powers[label]] - phi[:, absent]
        s = torch.sigmoid(delta @ theta)
        J = J + torch.einsum("rs,rsa,rsb->ab", p * s * (1 - s), delta, delta) / n
        g = g + (sets[:, label] - s).unsqueeze(2) * delta
    K = torch.einsum("rs,rsa,rsb->ab", p, g, g) / n
    mean = torch.einsum("rs,rsa->ra", p, phi)
    F = torch.einsum("rs,rsa,rsb->ab", p, phi, phi) / n - mean.T @ mean / n
    inverse = torch.linalg.inv(J)
    covariance = inverse @ K @ inverse
    share = F @ covariance
    errors = torch.zeros(L, L, dtype=torch.float64)
    errors[i, j] = errors[j, i] = (covariance.diagonal()[2 * L :] / n).sqrt()
    return Noise(float(share.trace()) / (2 * n), float((2 * (share @ share).trace()).sqrt()) / (2 * n), errors)
