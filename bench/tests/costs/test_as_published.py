"""The benchmark's opponent computes what we compute; and our step does less work."""

import torch

from enstruct.data.rows import Rows
from enstruct.encoders import MLP, Predictor
from enstruct.energies import EnergySpec, build_energy
from enstruct.inference import ProjectedGradient, minimise
from enstruct.methods import METHODS
from enstruct.negatives import Candidates
from enstruct.spaces import LabelSpace, LabelVectors
from enstruct.training.batches import Batch, batches
from enstruct.training.learned_loss import LearnedLoss
from enstruct.training.settings import Settings
from enstruct_bench.comparison.sparse_topics import sparse_topics
from enstruct_bench.costs.as_published import PublishedStep, published_inference

FEATURES, LABELS, SAMPLES, WEIGHT = 40, 12, 5, 2.0


def test_same_losses_and_gradients_on_a_fixed_batch_in_float64():
    data = sparse_topics(8, FEATURES, LABELS, 2.0)
    batch = next(batches(Rows(data.X, data.Y), 8))
    x, y = torch.from_numpy(data.X.toarray()), batch.y.double()
    encoder, fresh = MLP(FEATURES, 9, 2, 0.0), MLP(FEATURES, 9, 2, 0.0)
    predictor = Predictor(encoder, LABELS).double()
    energy = build_energy(EnergySpec(units=7), encoder, fresh, LABELS).double()
    published = PublishedStep(predictor, energy, SAMPLES, WEIGHT)
    logits = predictor(x).detach()
    drawn = published.draw(logits)

    class Fixed(torch.nn.Module):
        def draw(self, at):
            space, vectors = LabelSpace(LABELS), LabelVectors.from_dense(drawn)
            log_truth = space.log_prob(LabelVectors.from_dense(at.truth.unsqueeze(1)), at.logits).squeeze(1)
            return Candidates(vectors, space.log_prob(vectors, at.logits), log_truth)

    ours = LearnedLoss(METHODS["seal-nce"].with_(n_samples=SAMPLES), LabelSpace(LABELS), energy, LABELS, Settings())
    ours.source = Fixed()
    fixed = Batch(x, y)
    parameters = list(energy.parameters())
    a = torch.autograd.grad(ours.energy_loss(fixed, logits).mean(), parameters)
    b = torch.autograd.grad(published.energy_loss(x, y, logits, drawn), parameters)
    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)
    a = torch.autograd.grad(ours.predictor_loss(fixed, predictor(x), WEIGHT).mean(), list(predictor.parameters()))
    b = torch.autograd.grad(published.predictor_loss(x, y), list(predictor.parameters()))
    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)


def test_flops_gate_at_the_shape_of_eurlex():
    """Counted, not timed: our step needs less than half of the published one's products."""
    from enstruct_bench.costs.training_step import SHAPES, flops, near_base_rates, networks, ours

    shape = SHAPES["eurlex-ev"]
    data = sparse_topics(16, shape["features"], shape["labels"], shape["cardinality"])
    csr = next(batches(Rows(data.X, data.Y), 16))
    dense = next(batches(Rows(data.X.toarray(), data.Y), 16))
    game = ours(shape)
    near_base_rates(game.predictor, shape)
    published = PublishedStep(*networks(shape, is_sparse=False), shape["samples"], WEIGHT)
    theirs = flops(lambda: published.step(dense.x, dense.y))
    assert 0 < flops(lambda: game.play(csr, METHODS["seal-nce"].stages[0])) < 0.5 * theirs


def test_published_inference_finds_what_ours_finds_in_float64():
    x = torch.randn(6, FEATURES, dtype=torch.float64)
    energy = build_energy(EnergySpec(units=7), MLP(FEATURES, 9), MLP(FEATURES, 9), LABELS).double().eval()
    theirs = published_inference(energy, x, LABELS, rate=0.1, steps=20)
    ours = minimise(energy, energy.prepare(x), LabelSpace(LABELS), ProjectedGradient(0.1), steps=20)
    torch.testing.assert_close(ours.y, theirs, rtol=1e-9, atol=1e-11)
