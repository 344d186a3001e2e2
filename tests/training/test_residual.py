"""Residual energies recover planted distributions to the noise of the sample, and are judged by the exact likelihood."""

import math

import numpy as np
import pytest
import torch
from tests.joint.problems import all_sets, joint_of, log_densities, random_energy, random_logits
from tests.training.planted import divergence, draw, log_probabilities, noise_of, planted

from enstruct.training import residual
from enstruct.training.residual import fit_residual, likelihood, likelihoods, refit, train_residual
from enstruct.training.residual_candidates import CANDIDATES, INDEPENDENT, Candidate, Examples

L, N = 6, 1000
PAIRS = Candidate("pairs", pairs=True, rate=1e-2)
BY_NAME = {candidate.name: candidate for candidate in CANDIDATES}
LOOSE = BY_NAME["pairs, loose"]


def pairwise():
    """Couplings of both signs."""
    table = torch.randn(L, L, generator=torch.Generator().manual_seed(0)).triu(1)
    return table + table.T


def blocks():
    """Two blocks of three labels, of which hardly two are on together: exp(-5) times as likely."""
    table = torch.zeros(L, L)
    table[:3, :3] = table[3:, 3:] = -5
    return table.fill_diagonal_(0)


PLANTED = {"pairwise": pairwise, "exclusive blocks": blocks}


def sample(couplings, seed=0, rows=N):
    truth, logits = planted(couplings), random_logits(rows, L, seed) * 0.8
    return truth, Examples(logits, draw(truth, logits, seed), torch.ones(rows))


@pytest.mark.parametrize("name", PLANTED)
def test_planted_distributions_are_recovered_to_the_noise_of_the_sample(name):
    """Trained to the minimum: KL and each coupling within 4 standard deviations of what their asymptotic law has them at."""
    truth, examples = sample(PLANTED[name]())
    energy = refit(PAIRS, examples, 60, 0)
    noise = noise_of(truth, examples.logits)
    assert divergence(truth, energy, examples.logits) < noise.mean + 4 * noise.spread
    alone = refit(INDEPENDENT, examples, 30, 0)
    assert divergence(truth, alone, examples.logits) > 5 * (noise.mean + 4 * noise.spread)  # the bound could be missed
    off = ~torch.eye(L, dtype=torch.bool)
    error = (energy.couplings() - truth.couplings()).abs().double()[off] / noise.couplings[off]
    assert error.max() < 4


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_fitted_and_chosen_is_near_it(name):
    """Stopped early and held down it is not at the minimum: three times the mean noise of as many rows."""
    truth, examples = sample(PLANTED[name]())
    held = np.arange(0, N, 5)
    logits, y = examples.logits.numpy(), examples.y.numpy()
    fitted = fit_residual(logits, y, None, held, 0, (INDEPENDENT, LOOSE))
    assert fitted.chosen in (LOOSE, LOOSE.continued())
    assert divergence(truth, fitted.energy, examples.logits) < 3 * noise_of(truth, examples.logits).mean
    assert fitted.likelihoods["pairs, loose"] < fitted.likelihoods["independent"] - 0.1
    entropy = -(log_probabilities(truth, examples.logits).exp() * log_probabilities(truth, examples.logits)).sum(1).mean()
    assert fitted.likelihoods["pairs, loose"] == pytest.approx(float(entropy), abs=0.4)


def test_two_labels_of_a_strictly_exclusive_block_are_hardly_ever_on_together():
    """Exactly one of three, the same for all x: outside of the family, at the limit of infinite couplings."""
    share = np.array([0.5, 0.3, 0.2])
    chosen = np.random.default_rng(0).choice(3, N, p=share)
    y, logits = np.eye(3, dtype=np.float32)[chosen], np.tile(np.log(share / (1 - share)).astype(np.float32), (N, 1))
    energy = fit_residual(logits, y, None, np.arange(0, N, 5), 0, (INDEPENDENT, LOOSE)).energy
    p = log_probabilities(energy, torch.from_numpy(logits[:1])).exp()[0]
    ones = all_sets(3).sum(1) == 1
    assert float(p[ones].sum()) > 0.9  # 0.47 without couplings
    np.testing.assert_allclose((p[ones] / p[ones].sum()).flip(0).numpy(), share, atol=4 * math.sqrt(0.25 / N))


@pytest.mark.parametrize("seed", range(4))
def test_no_couplings_where_labels_are_independent_given_the_base(seed):
    truth, examples = sample(torch.zeros(L, L), seed, 500)
    fitted = fit_residual(examples.logits.numpy(), examples.y.numpy(), None, np.arange(0, 500, 5), seed, (INDEPENDENT, LOOSE))
    assert fitted.chosen == INDEPENDENT
    assert fitted.energy.couplings() is None
    # 2 L numbers by maximum likelihood: mean L / n, standard deviation sqrt(L) / n
    assert divergence(truth, fitted.energy, examples.logits) < (L + 4 * math.sqrt(L)) / 500


def test_couplings_are_kept_for_more_than_noise_alone():
    better, same = torch.tensor([1.0, 2.0, 1.0, 2.0]), torch.tensor([1.5, 2.5, 1.4, 2.6])
    nats = {"independent": same, "pairs": better}
    assert residual._best(nats) == "pairs"
    noisy = torch.tensor([9.0, -6.0, 2.0, 2.0])  # fewer in the mean, by a quarter of the gain's standard error
    assert residual._best({"independent": same, "pairs": noisy}) == "independent"
    assert residual._best({"pairs": noisy, "units": better}) == "units"


def test_of_those_level_with_the_best_the_quickest_is_taken():
    costs = {"independent": 0, "pairs": 28, "pairs, loose": 28, "units": 640, "pairs, units": 348}
    assert {name: BY_NAME[name].cost(14) for name in costs} == costs

    def taken(**nats):
        tried = [residual.Tried(BY_NAME[name.replace("_", ", ")], None, 1, torch.tensor(some)) for name, some in nats.items()]
        return residual._taken(tried, 14).candidate.name

    # behind the best by .1 with an error of .106, and by .25 with one of .025
    best, level, behind = [1.0, 2.0, 1.0, 2.0], [1.4, 1.9, 0.9, 2.2], [1.3, 2.2, 1.3, 2.2]
    assert taken(independent=[0.0] * 4, pairs=level, units=best) == "pairs"
    assert taken(pairs=behind, units=best) == "units"
    assert taken(pairs=level, pairs_loose=best, units=best) == "pairs, loose"  # at the same cost that of the fewest nats
    assert taken(units=best, pairs_units=level, pairs=behind) == "pairs, units"
    assert taken(independent=behind) == "independent"


def exact_nats(energy, examples):
    """(rows,) -log p(y | x) by enumeration."""
    joint = joint_of(energy, examples.logits)
    number = (examples.y @ 2.0 ** torch.arange(examples.y.shape[1] - 1, -1, -1)).long()
    return -torch.log_softmax(log_densities(joint), 1).gather(1, number.unsqueeze(1)).squeeze(1)


@pytest.mark.parametrize("n_labels", [1, 5, 8])
def test_likelihood_is_the_exact_one_within_its_sampling_error(n_labels):
    """Random orders and shares: the mean over 60 seeds, within 4 of its standard errors."""
    energy, logits = random_energy(n_labels, pairs=True, units=3), random_logits(10, n_labels)
    examples = Examples(logits, (torch.rand(10, n_labels) < 0.5).float(), torch.ones(10))
    runs = torch.tensor([likelihood(energy, examples, seed) for seed in range(60)])
    exact = float(exact_nats(energy, examples).mean())
    assert abs(float(runs.mean()) - exact) < 4 * float(runs.std()) / math.sqrt(60) + 1e-4
    assert likelihoods(energy, examples, 0).shape == (10,)


def test_likelihood_of_observed_labels_alone():
    """The others are summed over; a row of which nothing was observed has none."""
    energy, logits = random_energy(4, pairs=True), random_logits(20, 4)
    y = (torch.rand(20, 4) < 0.5).float()
    y[:, 1] = torch.nan
    y[:10, 3] = torch.nan
    y[0] = torch.nan
    joint = joint_of(energy, logits)
    exact = -joint.log_probability(y).value
    runs = torch.stack([likelihoods(energy, Examples(logits, y, torch.ones(20)), seed) for seed in range(100)])
    assert not runs[:, 0].any()
    assert (np.abs(runs.mean(0).numpy() - exact) <= 4.5 * runs.std(0).numpy() / 10 + 1e-4).all()


def test_likelihood_weighs_rows():
    energy, logits = random_energy(4, pairs=True), random_logits(20, 4)
    y, weight = (torch.rand(20, 4) < 0.5).float(), torch.rand(20)
    weighted = likelihood(energy, Examples(logits, y, weight), 0)
    assert weighted == pytest.approx(float((likelihoods(energy, Examples(logits, y, weight), 0) * weight).mean()))


def test_rows_weigh_in_training_as_often_as_they_are_repeated(monkeypatch):
    _, examples = sample(pairwise(), rows=200)
    twice = torch.cat([torch.arange(200), torch.arange(100)])
    weight = np.where(np.arange(200) < 100, 2.0, 1.0)
    monkeypatch.setattr(residual, "BATCH", 10**6)
    repeated = refit(PAIRS, examples.take(twice), 40, 0)
    weighted = Examples(examples.logits, examples.y, torch.tensor(weight / weight.mean(), dtype=torch.float32))
    energy = refit(PAIRS, weighted, 40, 0)
    torch.testing.assert_close(energy.couplings(), repeated.couplings(), atol=1e-3, rtol=1e-3)


def test_training_stops_by_held_out_rows_and_keeps_the_best(monkeypatch):
    _, examples = sample(pairwise(), rows=300)
    train, validation = examples.take(slice(0, 60)), examples.take(slice(60, 300))
    overfitted = Candidate("pairs", pairs=True, rate=5e-2)
    values = []
    own = residual._held_out
    monkeypatch.setattr(residual, "_held_out", lambda *args: values.append(own(*args)) or values[-1])
    energy = overfitted.energy(train, 0)
    at = train_residual(energy, train, validation, overfitted, 0)
    assert at + residual.PATIENCE == len(values) < residual.EPOCHS
    assert at == int(np.argmin(values)) + 1
    assert own(energy, validation, validation.y) == pytest.approx(min(values))


def test_the_same_seed_gives_the_same_energy():
    _, examples = sample(pairwise(), rows=200)
    units = Candidate("units", units=4, rate=1e-2)
    first, again, other = (refit(units, examples, 3, seed) for seed in (0, 0, 1))
    assert torch.equal(first.matrix, again.matrix)
    assert not torch.equal(first.matrix, other.matrix)
    torch.testing.assert_close(first.mean, examples.logits.mean(0))


def test_what_is_fitted_tells_of_all_tried_and_ends_with_the_time():
    _, examples = sample(pairwise(), rows=200)
    logits, y, held = examples.logits.numpy(), examples.y.numpy(), np.arange(0, 200, 4)
    fitted = fit_residual(logits, y, None, held, 0, CANDIDATES, should_stop=lambda: True)
    assert list(fitted.likelihoods) == ["independent"]
    weighted = fit_residual(logits, y, np.full(200, 3.0), held, 0, (INDEPENDENT,))
    assert weighted.likelihoods == pytest.approx(fitted.likelihoods)
    assert not any(module.training for module in (fitted.energy, fitted.judge))
    judged = Examples(examples.logits, examples.y, examples.weight).take(held)
    assert likelihood(fitted.judge, judged, 0) == pytest.approx(fitted.likelihoods["independent"])
    expected = refit(INDEPENDENT, examples, fitted.epochs, 0)
    assert torch.equal(expected.slope, fitted.energy.slope)


def test_candidates_are_judged_on_rows_that_they_have_not_seen(monkeypatch):
    seen = []

    def trained(energy, train, validation, *rest, patience=None):
        seen.append((train, validation))
        return 1

    monkeypatch.setattr(residual, "train_residual", trained)
    _, examples = sample(blocks(), rows=50)
    left_out = np.arange(0, 50, 5)
    fit_residual(examples.logits.numpy(), examples.y.numpy(), None, left_out, 0, (INDEPENDENT, LOOSE))
    (train, validation), *_, (last, none) = seen
    assert torch.equal(validation.y, examples.y[left_out])
    assert torch.equal(train.y, examples.y[np.setdiff1d(np.arange(50), left_out)])
    assert none is None  # the chosen one is trained on all
    assert torch.equal(last.y, examples.y)


def test_the_one_taken_is_continued_and_kept_where_it_is_better(monkeypatch):
    _, examples = sample(pairwise(), rows=200)
    logits, y, held = examples.logits.numpy(), examples.y.numpy(), np.arange(0, 200, 4)
    continued, trained = [], residual.train_by_chains

    def by_chains(energy, train, candidate, seed, *should_stop):
        continued.append((candidate.name, len(train.y)))
        return trained(energy, train, candidate, seed, *should_stop)

    monkeypatch.setattr(residual, "train_by_chains", by_chains)
    fitted = fit_residual(logits, y, None, held, 0, (INDEPENDENT, PAIRS, LOOSE))
    best = min(("pairs", "pairs, loose"), key=lambda name: fitted.likelihoods[name])
    assert list(fitted.likelihoods) == ["independent", "pairs", "pairs, loose", f"{best}, persistent"]
    assert continued[0] == (f"{best}, persistent", 150)
    assert fitted.chosen.persistent == (min(fitted.likelihoods, key=fitted.likelihoods.get) == f"{best}, persistent")
    assert continued[1:] == [(fitted.chosen.name, 200)] * fitted.chosen.persistent
    calls = iter([False] * 5)  # before two candidates, before the chains, and of these' first two updates
    late = fit_residual(logits, y, None, held, 0, (INDEPENDENT, PAIRS, LOOSE), should_stop=lambda: next(calls, True))
    assert list(late.likelihoods) == ["independent", "pairs", "pairs, loose"]
    continued.clear()
    alone = fit_residual(logits, y, None, held, 0, (LOOSE,))
    assert list(alone.likelihoods) == ["pairs, loose"]
    again = fit_residual(logits, y, None, held, 0, (LOOSE.continued(),))
    assert continued[-2:] == [("pairs, loose, persistent", 150), ("pairs, loose, persistent", 200)]
    assert again.chosen.persistent
    assert not again.energy.training
    assert not torch.equal(again.energy.table, alone.energy.table)


def test_patience_is_epochs_without_a_better_value(monkeypatch):
    _, examples = sample(blocks(), rows=60)
    values = iter([1.0, 2.0, 2.0, 0.5, *[2.0] * 20])
    asked = []
    monkeypatch.setattr(residual, "_held_out", lambda *_: asked.append(1) or next(values))
    energy = INDEPENDENT.energy(examples, 0)
    assert train_residual(energy, examples, examples, INDEPENDENT, 0, patience=3) == 4
    assert len(asked) == 7


def test_factors_find_a_planted_table_of_pairs():
    """Two exclusive blocks are a table of rank 5 off its diagonal: factors of that many halves come as near as the table."""
    truth, examples = sample(blocks())
    factors = refit(Candidate("factors", pairs=True, rank=5, rate=1e-2), examples, 100, 0)
    noise = noise_of(truth, examples.logits)
    assert divergence(truth, factors, examples.logits) < noise.mean + 4 * noise.spread
    coupled = factors.couplings()
    assert torch.equal(coupled, coupled.T)
    assert not coupled.diagonal().any()


def test_batches_of_many_rows_are_larger():
    assert [residual._batch_size(n, 28) for n in (300, 6400, 12_800, 10**6)] == [64, 64, 128, 512]
    assert [residual._batch_size(n, 983) for n in (300, 4000, 10**6)] == [64, 100, 256]
