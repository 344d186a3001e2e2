"""Residual energies recover planted distributions to the noise of the sample."""

import numpy as np
import pytest
import torch
from tests.training.planted import divergence, noise_of
from tests.training.planted_sets import PLANTED, L, blocks, pairwise, sample

from enstruct.energies.residual import ResidualEnergy
from enstruct.training import residual
from enstruct.training.residual import refit, train_residual
from enstruct.training.residual_candidates import INDEPENDENT, Candidate, Examples

PAIRS = Candidate("pairs", pairs=True, rate=1e-2)


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
    at, earlier = train_residual(energy, train, validation, overfitted, 0)
    assert at + residual.PATIENCE == len(values) < residual.EPOCHS
    assert 0 <= values[at - 1] - min(values) < residual.LEAST_GAIN
    assert own(energy, validation, validation.y) == pytest.approx(values[at - 1])
    assert list(earlier) == [1, 2, 4, 8]
    assert at > 8
    for epochs, weights in earlier.items():
        torch.testing.assert_close(weights, dict(refit(overfitted, train, epochs, 0).state_dict()), rtol=0, atol=0)


def test_the_same_seed_gives_the_same_energy():
    _, examples = sample(pairwise(), rows=200)
    units = Candidate("units", units=4, rate=1e-2)
    first, again, other = (refit(units, examples, 3, seed) for seed in (0, 0, 1))
    assert torch.equal(first.matrix, again.matrix)
    assert not torch.equal(first.matrix, other.matrix)
    torch.testing.assert_close(first.mean, examples.logits.mean(0))


def test_patience_is_epochs_without_a_better_value(monkeypatch):
    _, examples = sample(blocks(), rows=60)
    values = iter([1.0, 2.0, 2.0, 0.5, *[2.0] * 20])
    asked = []
    monkeypatch.setattr(residual, "_held_out", lambda *_: asked.append(1) or next(values))
    energy = INDEPENDENT.energy(examples, 0)
    assert train_residual(energy, examples, examples, INDEPENDENT, 0, patience=3).n == 4
    assert len(asked) == 7
    values = iter([1.0, 2.0, 0.5, *[2.0] * 20])
    asked.clear()  # it ends after 8, whose weights are copied on the way
    assert train_residual(INDEPENDENT.energy(examples, 0), examples, examples, INDEPENDENT, 0, patience=5).n == 3
    assert len(asked) == 8


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


def test_held_out_rows_count_by_their_weights():
    torch.manual_seed(0)
    y, logits = (torch.rand(40, 5) < 0.5).float(), torch.randn(40, 5)
    energy = ResidualEnergy(5, pairs=True)
    with torch.no_grad():
        for parameter in energy.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    weight = torch.cat([torch.full((20,), 2.0), torch.zeros(20)])
    whole = residual._held_out(energy, Examples(logits, y, weight), y)
    first = residual._held_out(energy, Examples(logits[:20], y[:20], torch.ones(20)), y[:20])
    assert whole == pytest.approx(first, rel=1e-5)
