"""Small energies with every term at random, and what they say by enumeration of the formulas themselves."""

import itertools

import torch

from enstruct.energies.residual import ResidualEnergy
from enstruct.joint import Joint

TERMS = {
    "pairs": {"pairs": True},
    "factors": {"pairs": True, "rank": 2},
    "units": {"pairs": False, "units": 5},
    "smoothed": {"pairs": True, "smoothed": True},
    "all": {"pairs": True, "units": 5, "stacked": True, "varying": True, "smoothed": True},
    "independent": {"pairs": False},
}
L = 6


def random_energy(n_labels=L, seed=0, scale=0.8, **terms):
    """Every parameter away from where it starts."""
    draws = torch.Generator().manual_seed(seed)
    energy = ResidualEnergy(n_labels, **terms)
    with torch.no_grad():
        for parameter in energy.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draws) * scale)
    energy.standardise_by(torch.randn(50, n_labels, generator=draws) * 2 + 0.5)
    energy.smooth_towards(0.1 + 0.8 * torch.rand(n_labels, generator=draws))
    return energy.eval()


def random_logits(rows, n_labels=L, seed=1):
    return torch.randn(rows, n_labels, generator=torch.Generator().manual_seed(seed)) * 1.5 - 0.3


def joint_of(energy, logits, seed=0):
    with torch.no_grad():
        return Joint(energy, energy.prepare(logits), torch.sigmoid(logits), seed)


def all_sets(n_labels=L):
    """(2^n, n) label sets."""
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=n_labels)))


def by_formula(energy, logits, y):
    """E of one row's logits (labels,) and one label set (labels,), term by term as the module's docstring has it, in doubles."""
    e = {name: value.detach().double() for name, value in (*energy.named_parameters(), *energy.named_buffers())}
    x, y, n = logits.double(), y.double(), len(y)
    mu, h = 1 / (1 + (-x).exp()), (x.clamp(e["lowest"], e["highest"]) - e["mean"]) / e["std"]
    if "smoothing" in e:
        w = 1 / (1 + (-e["smoothing"]).exp())
        mu = (1 - w) * mu + w * e["frequency"]
    z = (mu / (1 - mu)).log()
    r, value = y - mu, 0.0
    for i in range(n):
        field = e["slope"][i] * z[i] + e["bias"][i]
        if "stack" in e:
            field = field + sum(e["stack"][i, j] * h[j] for j in range(n))
        value = value - y[i] * field
    if "table" in e:
        for i in range(n):
            for j in range(n):
                if i != j:
                    value = value - 0.5 * r[i] * r[j] * (e["table"][i, j] + e["table"][j, i])
    if "left" in e:
        for i in range(n):
            for j in range(n):
                if i != j:
                    value = value - 0.5 * r[i] * r[j] * (e["left"][i] @ e["right"][j] + e["left"][j] @ e["right"][i])
    if "matrix" in e:
        for k in range(len(e["weights"])):
            u = e["unit_bias"][k] + sum(e["matrix"][i, k] * r[i] for i in range(n))
            if "vary" in e:
                u = u + sum(e["vary"][i, k] * h[i] for i in range(n))
            value = value - e["weights"][k] * (u + (u * u + 4).sqrt()) / 2
    return value


def log_densities(joint, known=None):
    """(rows, 2^n): -E of all label sets, -inf of those that differ from what is told."""
    sets = all_sets(joint.start.shape[1])
    with torch.no_grad():
        value = -joint.energy(joint.state, sets.expand(len(joint.start), -1, -1)).double()
    if known is None:
        return value
    return value.masked_fill(((sets != known.unsqueeze(1)) & ~known.isnan().unsqueeze(1)).any(2), -torch.inf)


def marginals(joint, known=None):
    """(rows, labels) by enumeration."""
    return torch.softmax(log_densities(joint, known), 1) @ all_sets(joint.start.shape[1]).double()


def half_told(rows, n_labels=L, seed=2, share=0.4):
    """(rows, labels) of 0, 1 and NaN; the rows differ in how many are told, the first row tells nothing and the last all."""
    draws = torch.Generator().manual_seed(seed)
    y = (torch.rand(rows, n_labels, generator=draws) < 0.5).float()
    known = torch.where(torch.rand(rows, n_labels, generator=draws) < share, y, torch.nan)
    known[2:3, 0] = y[2:3, 0]  # free labels that are not the first ones
    known[3:4, 1::2] = y[3:4, 1::2]
    known[0] = torch.nan
    known[-1] = y[-1]
    return known
