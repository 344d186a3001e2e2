"""The expected drop in entropy, estimated from samples, against enumeration."""

import torch
from tests.joint.problems import TERMS, L, all_sets, half_told, joint_of, log_densities, random_energy, random_logits

from enstruct.joint import asking
from enstruct.joint.asking import drop_in_entropy

ROWS = 6


def entropy(p):
    return -(torch.xlogy(p, p) + torch.xlogy(1 - p, 1 - p))


def exact_drop(joint, known):
    """Sum of the labels' entropies less its expectation over the answer, label by label."""
    weights, sets = torch.softmax(log_densities(joint, known), 1), all_sets().double()
    out = torch.full(known.shape, -1.0, dtype=torch.float64)
    for row, w in enumerate(weights):
        for i in torch.nonzero(known[row].isnan()).squeeze(1):
            after = 0.0
            for value in (0, 1):
                part = w * (sets[:, i] == value)
                after = after + part.sum() * entropy((part @ sets / part.sum()).clamp(0, 1)).sum()
            out[row, i] = entropy((w @ sets).clamp(0, 1)).sum() - after
    return out


def test_drops_by_enumeration():
    """400 samples: each mutual information is within about 0.05 of its own value, five of them are added."""
    joint, known = joint_of(random_energy(**TERMS["all"]), random_logits(ROWS)), half_told(ROWS, share=0.2)
    estimate, exact = drop_in_entropy(joint, known), exact_drop(joint, known)
    assert torch.equal(estimate == -1, ~known.isnan())
    assert (estimate - exact).abs().max() < 0.15
    asked = torch.isnan(known[:-1]).any(1)
    chosen = exact[:-1][asked].gather(1, estimate[:-1][asked].argmax(1, keepdim=True)).squeeze(1)
    assert (exact[:-1][asked].amax(1) - chosen < 0.1).all()


def test_many_samples_come_nearer_and_without_bias():
    joint, known = joint_of(random_energy(**TERMS["all"]), random_logits(ROWS)), half_told(ROWS, share=0.2)
    assert (drop_in_entropy(joint, known, samples=40_000) - exact_drop(joint, known)).abs().max() < 0.02


def test_labels_without_couplings_are_worth_their_own_entropy():
    """2 S I is chi square of one degree; less the bias 1 and not below 0 that is 2 phi(1) = 0.484 in the mean, five times."""
    known, logits = torch.full((40, L), torch.nan), random_logits(40)
    joints = [joint_of(random_energy(**TERMS["independent"]), logits, seed) for seed in range(20)]
    excess = torch.stack([drop_in_entropy(joint, known) - entropy(joint.marginals(known)) for joint in joints])
    assert (excess >= -1e-6).all()
    assert 0.6 < float(excess.mean()) / ((L - 1) * 0.484 * 0.5 / asking.SAMPLES) < 1.4


def test_mutual_information_by_hand():
    both, p = torch.tensor([[[0.5, 0.5], [0.5, 0.5]]]), torch.tensor([[0.5, 0.5]])
    torch.testing.assert_close(asking._mutual(both, p)[0, 0, 1], torch.log(torch.tensor(2.0)))
    torch.testing.assert_close(asking._mutual(torch.full((1, 2, 2), 0.25), p)[0, 0, 1], torch.tensor(0.0))


def test_blocks_of_rows_change_nothing(monkeypatch):
    joint, known = joint_of(random_energy(**TERMS["all"]), random_logits(ROWS)), half_told(ROWS)
    whole = drop_in_entropy(joint, known)
    monkeypatch.setattr(asking, "CELLS", 1)
    torch.testing.assert_close(drop_in_entropy(joint, known), whole)
