"""Training by chains: its gradient is that of the likelihood, and what the pseudo-likelihood leaves likely far away is mended."""

import pytest
import torch
from tests.joint.problems import all_sets, random_energy, random_logits
from tests.training.planted import divergence, draw, log_probabilities, noise_of, planted
from tests.training.test_residual import PAIRS, pairwise, sample

from enstruct.joint import persistent
from enstruct.joint.persistent import PersistentChains
from enstruct.training import contrastive
from enstruct.training.contrastive import can_continue, train_by_chains
from enstruct.training.residual import refit
from enstruct.training.residual_candidates import CANDIDATES, INDEPENDENT, Candidate, Examples

L = 6
BY_NAME = {candidate.name: candidate for candidate in CANDIDATES}


def exact_loss(energy, rows, known):
    """Mean -log p(y | x, told) by enumeration."""
    sets = all_sets(rows.y.shape[1])
    log_density = -energy(energy.prepare(rows.logits), sets.expand(len(rows.y), -1, -1))
    told = known.unsqueeze(1)
    log_density = log_density.masked_fill(((sets != told) & ~told.isnan()).any(2), -torch.inf)
    number = (rows.y @ 2.0 ** torch.arange(rows.y.shape[1] - 1, -1, -1)).long()
    nats = log_density.logsumexp(1) - log_density.gather(1, number.unsqueeze(1)).squeeze(1)
    return (nats * rows.weight).mean()


def test_its_gradient_is_that_of_the_likelihood_given_what_is_told(monkeypatch):
    monkeypatch.setattr(persistent, "CHAINS", 4000)
    energy = random_energy(L, scale=0.5, pairs=True, units=3, smoothed=True)
    logits, weight = random_logits(4, L), torch.tensor([0.5, 2.0, 1.0, 0.5])
    rows = Examples(logits, (random_logits(4, L, 5) > 0).float(), weight)
    chains, numbers = PersistentChains(logits, rows.y, 0), torch.arange(4)
    chains.renew(energy, numbers)
    assert 0 < (~chains.known.isnan()).sum() < chains.known.numel()
    for _ in range(10):  # the chains are where the energy is
        chains.advance(energy, energy.prepare(logits), numbers)
    parameters = dict(energy.named_parameters())
    found = torch.autograd.grad(contrastive._loss(energy, rows, rows.y, chains, numbers), [*parameters.values()])
    exact = torch.autograd.grad(exact_loss(energy, rows, chains.known), [*parameters.values()])
    for name, one, other in zip(parameters, found, exact, strict=True):
        assert float((one - other).abs().max()) < 0.03, name
    assert max(float(one.abs().max()) for one in exact) > 0.2  # the bound could be missed


def test_a_planted_distribution_is_recovered_to_the_noise_of_the_sample(monkeypatch):
    """From the base's marginals on, at five times the updates."""
    truth, examples = sample(pairwise())
    monkeypatch.setattr(contrastive, "UPDATES", 2000)
    monkeypatch.setattr(contrastive, "MOST_EPOCHS", 400)
    monkeypatch.setattr(contrastive, "RATE", 5e-3)
    energy = refit(PAIRS, examples, 0, 0)
    begin = divergence(truth, energy, examples.logits)
    train_by_chains(energy, examples, PAIRS, 0)
    noise = noise_of(truth, examples.logits)
    assert divergence(truth, energy, examples.logits) < noise.mean + 4 * noise.spread
    assert begin > 5 * (noise.mean + 4 * noise.spread)


def test_label_sets_far_from_all_rows_that_were_left_likely_are_mended():
    """Independent labels, a few of twelve a row; an energy by which all at once is as likely as all else, which conditionals of
    the data's neighbours hardly show."""
    n_labels, rows = 12, 400
    logits = torch.full((rows, n_labels), -2.0)
    y = draw(planted(torch.zeros(n_labels, n_labels)), logits, 0)
    energy = planted(torch.full((n_labels, n_labels), 0.48).fill_diagonal_(0))
    many = all_sets(n_labels).sum(1) > 8

    def mass():
        return float(log_probabilities(energy, logits[:1]).exp()[0, many].sum())

    assert mass() > 0.3
    train_by_chains(energy, Examples(logits, y, torch.ones(rows)), Candidate("pairs", pairs=True, decay=0.1), 0)
    assert mass() < 0.01
    assert not energy.training


def test_holes_are_filled_and_rows_of_no_weight_teach_nothing():
    truth, examples = sample(pairwise(), rows=200)
    hidden = torch.where(torch.rand(examples.y.shape, generator=torch.Generator().manual_seed(0)) < 0.3, torch.nan, examples.y)
    energy = refit(PAIRS, examples._replace(y=hidden), 5, 0)
    before = divergence(truth, energy, examples.logits)
    train_by_chains(energy, examples._replace(y=hidden), PAIRS, 0)
    assert divergence(truth, energy, examples.logits) < before
    still = refit(PAIRS, examples, 5, 0)
    slope = still.slope.clone()
    train_by_chains(still, examples._replace(weight=torch.zeros(200)), PAIRS, 0)
    assert torch.equal(still.slope, slope)


def test_holes_are_as_the_energy_has_them_before_anything_is_learnt(monkeypatch):
    """Few epochs, of many rows, would else end while holes are still the base's."""
    asked = []
    own = contrastive.Whole.redraw

    def redraw(self, energy, sweeps=1):
        asked.append(sweeps)
        return own(self, energy, sweeps)

    monkeypatch.setattr(contrastive.Whole, "redraw", redraw)
    monkeypatch.setattr(contrastive, "MOST_EPOCHS", 2)
    _, examples = sample(pairwise(), rows=100)
    train_by_chains(refit(PAIRS, examples, 1, 0), examples, PAIRS, 0)
    assert asked == [1, contrastive.BURN_IN, 1, 1]  # the first is the pseudo-likelihood's


def test_it_is_given_up_once_it_should_stop():
    _, examples = sample(pairwise(), rows=100)
    energy = refit(PAIRS, examples, 1, 0)
    answers = iter([False, False, True])
    assert not train_by_chains(energy, examples, PAIRS, 0, lambda: next(answers))
    assert train_by_chains(energy, examples, PAIRS, 0)


def test_the_same_seed_gives_the_same_energy():
    _, examples = sample(pairwise(), rows=100)
    first, again, other = (refit(PAIRS.continued(), examples, 2, seed) for seed in (0, 0, 1))
    assert torch.equal(first.table, again.table)
    assert not torch.equal(first.table, other.table)


@pytest.mark.parametrize(
    ("candidate", "rows", "can"),
    [
        (INDEPENDENT, 10, False),
        (BY_NAME["pairs"], 10, True),
        (BY_NAME["units"], 10, True),
        (BY_NAME["factors"], 10, False),
        (BY_NAME["pairs"].continued(), 10, False),
        (BY_NAME["pairs"], 11, False),
    ],
)
def test_which_can_be_continued(candidate, rows, can, monkeypatch):
    monkeypatch.setattr(contrastive, "MOST_CELLS", 60)
    assert can_continue(candidate, Examples(torch.zeros(rows, L), torch.zeros(rows, L), torch.ones(rows))) == can
