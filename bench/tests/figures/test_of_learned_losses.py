"""Analyses of what an energy has learnt, and of how its gradient is taken, against known answers."""

import numpy as np
import pytest
import torch

from enstruct import EnergyMultiLabelClassifier, EnergySpec
from enstruct.errors import ConfigError
from enstruct_bench.figures import couplings, interactions, line, sample_gradients, singular

SMALL = {"hidden": 16, "layers": 1, "dropout": 0.0, "max_epochs": 3, "random_state": 0}


@pytest.fixture(scope="module")
def pairwise(blocks):
    """A model whose second derivatives are written in its pairwise table."""
    spec = EnergySpec(terms=("local", "pairwise"), rank=None)
    model = EnergyMultiLabelClassifier("seal-margin", energy_network=spec, **SMALL).fit(blocks.X, blocks.Y)
    truth = np.asarray(blocks.Y.todense() if hasattr(blocks.Y, "todense") else blocks.Y, dtype=float)[
        :, model.data_.constants.varying
    ]
    related = torch.from_numpy(np.corrcoef(truth.T)).float()
    with torch.no_grad():
        model.energy_.part("pairwise").factor.copy_(-related)
    return model


def test_second_derivatives_are_those_of_the_pairwise_table(pairwise, blocks):
    derivatives = interactions.second_derivatives(pairwise.inference_problem(blocks.X[:20]))
    y = torch.zeros(1, 1, derivatives.shape[0], dtype=torch.float64, requires_grad=True)
    term = pairwise.energy_.part("pairwise").double()
    hessian = torch.autograd.functional.hessian(lambda v: term(None, v).sum(), y.detach()).reshape(derivatives.shape)
    pairwise.energy_.float()
    np.testing.assert_allclose(derivatives, hessian.numpy(), atol=1e-5)


def test_an_energy_made_of_label_correlations_attracts_what_correlates(pairwise, blocks, tmp_path):
    figures = interactions.measure(pairwise, blocks.X, blocks.Y)
    assert figures["rank_correlation_with_label_correlation"] > 0.99
    first = figures["attract_most"][0]
    assert first["attraction"] > 0 > figures["repel_most"][0]["attraction"]
    interactions.draw(figures, tmp_path / "interactions.png")
    assert (tmp_path / "interactions.png").stat().st_size > 5000


def test_a_local_energy_has_no_interactions(blocks):
    spec = EnergySpec(terms=("local",))
    model = EnergyMultiLabelClassifier("seal-margin", energy_network=spec, **SMALL).fit(blocks.X, blocks.Y)
    figures = interactions.measure(model, blocks.X, blocks.Y)
    assert figures["rank_correlation_with_counts"] is None


def test_the_line_of_a_linear_energy_is_straight_and_ends_at_the_truths_energy(blocks):
    model = EnergyMultiLabelClassifier("seal-margin", energy_network=EnergySpec(terms=("local",)), **SMALL).fit(
        blocks.X, blocks.Y
    )
    figures = line.measure(model, blocks.X, blocks.Y)
    means = np.array([point["mean"] for point in figures["curve"]])
    np.testing.assert_allclose(means, np.linspace(0, means[-1], line.POINTS), atol=1e-5)
    problem = model.inference_problem(blocks.X)
    with torch.no_grad():
        start = problem.energy(problem.state, problem.predicted.unsqueeze(1)).mean()
    assert means[-1] == pytest.approx(model.energy(blocks.X, blocks.Y).mean() - float(start), abs=1e-4)
    assert figures["starts_downhill"] == figures["falls_all_the_way"] == figures["truth_below_prediction"]


@pytest.mark.parametrize("analysis", [interactions, line])
def test_a_model_without_energy_is_refused(analysis, blocks):
    model = EnergyMultiLabelClassifier("mlp", **SMALL).fit(blocks.X, blocks.Y)
    with pytest.raises(ConfigError, match="no energy"):
        analysis.measure(model, blocks.X, blocks.Y)


def test_where_the_explicit_gradient_vanishes_the_implicit_one_grows(tmp_path):
    figures = singular.measure()
    for point in figures["curve"]:
        assert point["alternating"] == 0
        assert point["conjugate gradient"] == pytest.approx(point["exact"], rel=1e-6)
        assert 0 < point["neumann 5"] < point["neumann 100"] <= point["exact"] * (1 + 1e-6)
    assert figures["curve"][-1]["exact"] > 1e4
    singular.draw(figures, tmp_path / "singular.png")


def test_the_estimators_are_told_apart(monkeypatch, tmp_path):
    monkeypatch.setattr(sample_gradients, "PROBLEMS", 4)
    figures = sample_gradients.measure()
    by_name = {(entry["estimator"], entry["samples"]): entry for entry in figures["curve"]}
    for k in (1, 2):
        exact = by_name["score-function", k]
        assert exact["bias"] < 3 * exact["floor"]
        assert by_name["straight-through", k]["bias"] > 3 * by_name["straight-through", k]["floor"]
        assert by_name["concrete 0.25", k]["bias"] < by_name["concrete 1", k]["bias"]
        assert by_name["concrete 1", k]["deviation"] < by_name["concrete 0.25", k]["deviation"]
    sample_gradients.draw(figures, tmp_path / "sample-gradients.png")


def test_couplings_draw_scores_that_must_be_taken(blocks):
    settings = {"method": "seal-nce", "monitor": "fixed"}
    with pytest.raises(ConfigError, match="monitor='fixed'"):
        couplings.measure(settings, blocks.X, blocks.Y, blocks.X, blocks.Y, 1.0, lambda name: [])


def test_couplings_need_an_energy(blocks):
    with pytest.raises(ConfigError, match="no energy"):
        couplings.measure({"method": "mlp"}, blocks.X, blocks.Y, blocks.X, blocks.Y, 1.0, lambda name: [])
