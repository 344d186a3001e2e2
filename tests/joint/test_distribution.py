"""The joint's answers against enumeration of the whole energy, by whichever way they are found."""

import numpy as np
import pytest
import torch
from tests.joint.problems import TERMS, L, all_sets, half_told, joint_of, log_densities, marginals, random_energy, random_logits
from tests.joint.test_clamped import sum_energy

from enstruct.energies.residual import ResidualEnergy
from enstruct.joint import Joint, distribution, enumeration
from enstruct.joint.clamped import ClampedResidual

ROWS = 5


@pytest.fixture(params=["enumerated", "sampled"])
def way(request, monkeypatch):
    if request.param == "sampled":
        monkeypatch.setattr(enumeration, "MOST_FREE", 0)
        monkeypatch.setattr(enumeration, "MOST_COUNTED", 0)
    return request.param


@pytest.fixture(params=["residual", "sum"])
def joint(request):
    if request.param == "residual":
        return joint_of(random_energy(**TERMS["all"], scale=0.5), random_logits(ROWS))
    return Joint(*sum_energy(), torch.full((ROWS, L), 0.5))


def test_marginals(joint, way):
    known = half_told(ROWS)
    p = joint.marginals(known)
    assert (p - marginals(joint, known)).abs().max() < (1e-5 if way == "enumerated" else 0.04)
    assert torch.equal(p[~known.isnan()], known[~known.isnan()])
    assert torch.equal(joint.marginals(), joint.marginals(torch.full((ROWS, L), torch.nan)))


def test_tolerance_is_that_of_chains(joint, monkeypatch):
    monkeypatch.setattr(enumeration, "MOST_FREE", 0)
    exact = marginals(joint)
    error = [(joint.marginals(None, tolerance) - exact).square().mean() for tolerance in (0.1, 0.004)]
    assert error[1] < error[0]


def test_samples(joint, way):
    known, n = half_told(ROWS), 3000
    y = joint.sample(n, known)
    assert y.shape == (ROWS, n, L)
    told = ~known.isnan()
    assert torch.equal(y.transpose(1, 2)[told], known[told].unsqueeze(1).expand(-1, n))
    weights, sets = torch.softmax(log_densities(joint, known), 1), all_sets().double()
    exact = torch.einsum("rs,si,sj->rij", weights, sets, sets)
    estimate = (y.transpose(1, 2) @ y / n).double()
    assert ((estimate - exact).abs() <= 5 * ((exact * (1 - exact)).clamp(min=0) / n).sqrt() + 1e-4).all()
    assert set(y.unique().tolist()) <= {0.0, 1.0}


def test_samples_of_rows_that_are_apart_are_independent(joint, way):
    """One draw each of many copies of a row: means as exact, and as much spread of a label's sum as independent rows have, where
    rows with the same numbers would all be the same set."""
    copies = joint.take(torch.zeros(400, dtype=torch.long))
    exact = torch.softmax(log_densities(joint), 1)[0] @ all_sets().double()
    assert len(copies.sample(1)[:, 0].unique(dim=0)) == 1
    y = copies.apart().sample(1)[:, 0].double()
    assert ((y.mean(0) - exact).abs() <= 5 * (exact * (1 - exact) / 400).sqrt() + 1e-3).all()
    assert len(y.unique(dim=0)) > 10
    again, another = copies.apart(), copies.apart()
    first = again.sample(1)
    assert torch.equal(first, another.sample(1))
    assert not torch.equal(first, again.sample(1))  # its numbers go on


def test_log_probability_of_whole_sets(joint, way):
    log_p = torch.log_softmax(log_densities(joint), 1)
    for number in (0, 21, 63):
        value, error = joint.log_probability(all_sets()[number].repeat(ROWS, 1))
        assert (np.abs(value - log_p[:, number].numpy()) <= 1e-4 + 4.5 * error).all()
        assert (error == 0).all() if way == "enumerated" else (error > 0).all()


def test_log_probability_given_what_is_told(joint):
    """Of the sets that agree with it; others are impossible."""
    known = torch.tensor([[1.0, torch.nan, 0.0, torch.nan, torch.nan, torch.nan]]).repeat(ROWS, 1)
    log_p = torch.log_softmax(log_densities(joint, known), 1)
    sums, hole = 0.0, torch.full((ROWS, L), torch.nan)
    hole[:, 1] = 1  # of the told labels it says nothing
    np.testing.assert_allclose(joint.log_probability(hole, known).value, marginals(joint, known)[:, 1].log().numpy(), atol=1e-4)
    for number, y in enumerate(all_sets()):
        value, _ = joint.log_probability(y.repeat(ROWS, 1), known)
        np.testing.assert_allclose(value, log_p[:, number].numpy(), atol=1e-4)
        sums += np.exp(value)
    np.testing.assert_allclose(sums, 1, atol=1e-4)


def test_probabilities_of_partial_sets_sum_to_one_and_are_marginals(joint):
    """Over the 8 sets of three labels, the rest holes."""
    total, first = 0.0, 0.0
    for three in all_sets(3):
        y = torch.full((ROWS, L), torch.nan)
        y[:, [1, 3, 4]] = three
        p = np.exp(joint.log_probability(y).value)
        total, first = total + p, first + p * float(three[0])
    np.testing.assert_allclose(total, 1, atol=1e-5)
    np.testing.assert_allclose(first, marginals(joint)[:, 1].numpy(), atol=1e-5)
    np.testing.assert_allclose(joint.log_probability(torch.full((ROWS, L), torch.nan)).value, 0, atol=1e-6)


def test_errors_of_both_partition_functions_add_as_squares(monkeypatch):
    monkeypatch.setattr(enumeration, "MOST_COUNTED", 0)
    joint = joint_of(random_energy(**TERMS["all"], scale=0.5), random_logits(ROWS))
    y = torch.full((ROWS, L), torch.nan)
    y[:, 0] = 1
    above, below = joint.log_partition(y)[1], joint.log_partition(torch.full((ROWS, L), torch.nan))[1]
    np.testing.assert_allclose(joint.log_probability(y).error, np.sqrt(above**2 + below**2))


def test_a_rows_answer_does_not_depend_on_the_others(joint, way):
    known = half_told(ROWS)
    y = torch.where(torch.rand(ROWS, L) < 0.3, torch.nan, (torch.rand(ROWS, L) < 0.5).float())
    p, samples, (value, error) = joint.marginals(known), joint.sample(20, known), joint.log_probability(y)
    for rows in (torch.tensor([0]), torch.tensor([3, 1])):
        few = joint.take(rows)
        torch.testing.assert_close(few.marginals(known[rows]), p[rows], atol=1e-5, rtol=1e-5)
        assert torch.equal(few.sample(20, known[rows]), samples[rows])
        np.testing.assert_allclose(few.log_probability(y[rows]).value, value[rows], atol=1e-4)
        np.testing.assert_allclose(few.log_probability(y[rows]).error, error[rows], atol=1e-4)


@pytest.mark.parametrize("terms", ["pairs", "all"])
def test_told_labels_among_the_free_ones(terms, monkeypatch):
    """Where most are free: marginals, samples and log Z as where they are apart, a row's own whatever the others are."""
    joint, known = joint_of(random_energy(**TERMS[terms], scale=0.5), random_logits(ROWS)), half_told(ROWS)
    known[:, 2:] = torch.nan
    known[0] = torch.nan
    expected, exact = joint.log_partition(known)[0], marginals(joint, known)
    monkeypatch.setattr(enumeration, "MOST_FREE", 0)
    monkeypatch.setattr(enumeration, "MOST_COUNTED", 0)
    monkeypatch.setattr(distribution, "MANY", 0)
    monkeypatch.setattr(distribution, "IMPOSSIBLE", 0.0)
    assert any(len(problem.pairs) == 1 and not problem.real.all() for _, problem, _ in joint.problems(known, joint.start))
    p, y = joint.marginals(known), joint.sample(2000, known)
    told = ~known.isnan()
    assert torch.equal(p[told], known[told])
    assert (p - exact).abs().max() < 0.04
    assert (y.mean(1) - exact).abs().max() < 0.06
    value, error = joint.log_partition(known)
    assert (np.abs(value - expected) <= 1e-3 + 5 * error).all()
    torch.testing.assert_close(joint.take(torch.tensor([0])).marginals(known[:1]), p[:1])


@pytest.mark.parametrize("fewest", [14, 15, 16])
def test_ways_do_not_mix_in_a_block(fewest):
    """Rows of so many free labels beside rows of more: enumerated, as they are alone."""
    n = 20
    joint = joint_of(random_energy(n, pairs=True, scale=0.2), random_logits(4, n))
    known = torch.zeros(4, n)
    for row in range(4):
        known[row, : fewest + row] = torch.nan
    value, error = joint.log_partition(known)
    alone = [joint.take(torch.tensor([row])).log_partition(known[[row]]) for row in range(4)]
    np.testing.assert_allclose(value, [a[0][0] for a in alone], atol=1e-4)
    np.testing.assert_allclose(error, [a[1][0] for a in alone], atol=1e-4)
    assert ((error == 0) == (np.arange(4) + fewest <= enumeration.MOST_COUNTED)).all()
    with torch.no_grad():
        exact = enumeration.log_partition(ClampedResidual.of(joint.energy, joint.take(torch.tensor([3])).state, known[[3]]))
    assert abs(value[3] - float(exact)) <= 1e-3 + 4 * error[3]


def test_the_same_seed_gives_the_same_answers_and_another_others(way):
    energy, logits, known = random_energy(**TERMS["all"], scale=0.5), random_logits(ROWS), half_told(ROWS)
    first, again, other = (joint_of(energy, logits, seed) for seed in (0, 0, 1))
    assert torch.equal(first.marginals(known), again.marginals(known))
    assert torch.equal(first.sample(50, known), again.sample(50, known))
    assert not torch.equal(first.sample(50, known), other.sample(50, known))
    assert torch.equal(other.take(torch.arange(ROWS)).sample(50, known), other.sample(50, known))
    torch.manual_seed(5)
    state = torch.get_rng_state()
    first.sample(3, known), first.marginals(known), first.log_partition(known)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("cells", [1, 60])
def test_blocks_of_rows_change_nothing(joint, way, cells, monkeypatch):
    known = half_told(ROWS)
    whole = joint.marginals(known), joint.sample(10, known)
    monkeypatch.setattr(distribution, "CELLS", cells)
    torch.testing.assert_close(joint.marginals(known), whole[0], atol=1e-5, rtol=1e-5)
    assert torch.equal(joint.sample(10, known), whole[1])


def test_nobody_asked():
    joint = joint_of(random_energy(**TERMS["all"]), random_logits(0))
    assert joint.marginals().shape == (0, L)
    assert joint.sample(3).shape == (0, 3, L)
    assert joint.log_probability(torch.zeros(0, L)).value.shape == (0,)


def test_all_but_impossible_labels_stay_at_their_means(monkeypatch):
    """Of rows with many free labels alone; the others see them, and the answer is as near as what they are worth."""
    energy = random_energy(**TERMS["pairs"], scale=0.3)
    torch.nn.init.ones_(energy.slope)
    joint = joint_of(energy, random_logits(ROWS) - torch.tensor([0.0, 9, 0, 0, 9, 0]))
    monkeypatch.setattr(distribution, "MANY", 5)
    nothing = torch.full((ROWS, L), torch.nan)
    told = nothing.clone()
    told[0, 0] = 1
    mean = joint._start(told)[1]
    sampled = joint._possible(told, mean)
    out = ~sampled.isnan() & told.isnan()
    assert torch.equal(out[1:], mean[1:] < distribution.IMPOSSIBLE)
    assert out[1:].any()
    assert not out[0].any()  # five free labels are not many
    assert torch.equal(sampled[out], mean[out])
    assert (joint.marginals(nothing) - marginals(joint)).abs().max() < 2 * distribution.IMPOSSIBLE


def test_annealing_states_an_error(monkeypatch):
    monkeypatch.setattr(enumeration, "MOST_COUNTED", 0)
    joint = joint_of(random_energy(**TERMS["all"], scale=0.5), random_logits(ROWS))
    few = joint.log_partition(torch.full((ROWS, L), torch.nan))[1].mean()
    assert 0 < few < 0.5


def test_the_all_but_impossible_are_drawn_at_their_means():
    logits = torch.full((2, 80), -7.0)
    logits[:, :3] = 1.0
    energy = ResidualEnergy(80).requires_grad_(False)
    drawn = Joint(energy, energy.prepare(logits), torch.sigmoid(logits)).sample(4000).mean(1)
    assert (drawn[:, 3:].sum(1) - 77 * torch.sigmoid(torch.tensor(-7.0))).abs().max() < 0.02
    assert (drawn[:, :3] - torch.sigmoid(torch.tensor(1.0))).abs().max() < 0.04


def test_an_energy_without_couplings_needs_no_chains(monkeypatch):
    monkeypatch.setattr(enumeration, "MOST_FREE", 0)
    monkeypatch.setattr(distribution.gibbs, "marginals", None)
    joint, known = joint_of(random_energy(**TERMS["independent"]), random_logits(ROWS)), half_told(ROWS)
    assert (joint.marginals(known) - marginals(joint, known)).abs().max() < 1e-6
