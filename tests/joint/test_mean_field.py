"""Mean field: exact without couplings, a fixed point with them, and the same whatever rows are beside."""

import torch
from tests.joint.problems import TERMS, half_told, joint_of, marginals, random_energy, random_logits

from enstruct.joint import mean_field as module
from enstruct.joint.mean_field import mean_field

ROWS = 5


def test_exact_without_couplings():
    joint, known = joint_of(random_energy(**TERMS["independent"]), random_logits(ROWS)), half_told(ROWS)
    m = mean_field(joint.energy, joint.state, known)
    torch.testing.assert_close(m.double(), marginals(joint, known), atol=1e-6, rtol=1e-5)


def test_means_are_a_fixed_point_and_told_labels_as_told():
    joint, known = joint_of(random_energy(**TERMS["all"], scale=0.3), random_logits(ROWS)), half_told(ROWS)
    m = mean_field(joint.energy, joint.state, known, steps=25)
    free = known.isnan()
    with torch.no_grad():
        again = torch.sigmoid(joint.energy.flips(joint.state, m))
    torch.testing.assert_close(m[free], again[free], atol=1e-4, rtol=1e-3)
    assert torch.equal(m[~free], known[~free])
    assert (m.double() - marginals(joint, known)).abs().max() < 0.1  # weak couplings


def test_the_first_step_leaves_the_bases_marginals_and_others_go_half_the_way():
    joint, known = joint_of(random_energy(**TERMS["pairs"]), random_logits(ROWS)), half_told(ROWS)
    free, base = known.isnan(), joint.start
    with torch.no_grad():
        first = torch.where(free, torch.sigmoid(joint.energy.flips(joint.state, torch.where(free, base, known))), known)
        second = 0.5 * first + 0.5 * torch.sigmoid(joint.energy.flips(joint.state, first))
    torch.testing.assert_close(mean_field(joint.energy, joint.state, known, steps=1), first)
    torch.testing.assert_close(mean_field(joint.energy, joint.state, known, steps=2)[free], second[free])


def test_blocks_of_rows_change_nothing(monkeypatch):
    joint, known = joint_of(random_energy(**TERMS["all"]), random_logits(ROWS)), half_told(ROWS)
    whole = mean_field(joint.energy, joint.state, known)
    monkeypatch.setattr(module, "CELLS", 1)
    torch.testing.assert_close(mean_field(joint.energy, joint.state, known), whole)
    assert mean_field(joint.energy, joint.take(torch.arange(0)).state, known[:0]).shape == (0, known.shape[1])
