"""Analyses of fitted models against what can be counted by hand, and their pictures."""

import numpy as np
import pytest
import torch

from enstruct import EnergyMultiLabelClassifier, EnergySpec, example_f1
from enstruct.data.splits import Splits
from enstruct.data.synthetic import block_exclusive
from enstruct.errors import ConfigError, DataError
from enstruct.inference import Exact
from enstruct_bench.figures import answers, convergence, objectives, refinement, search_error, starts

SMALL = {"hidden": 16, "layers": 1, "dropout": 0.0, "max_epochs": 4, "random_state": 0}


@pytest.fixture(scope="module")
def test_rows():
    return block_exclusive(40, seed=9)


@pytest.fixture(scope="module")
def spen(blocks):
    return EnergyMultiLabelClassifier("spen", **SMALL).fit(blocks.X, blocks.Y)


@pytest.fixture(scope="module")
def seal(blocks):
    return EnergyMultiLabelClassifier("seal-ranking", **SMALL).fit(blocks.X, blocks.Y)


def is_png(path) -> bool:
    return path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_convergence(spen, test_rows, tmp_path):
    figures = convergence.measure(spen, test_rows.X, test_rows.Y, most_steps=60)
    for start in convergence.STARTS:
        of = figures[start]
        inferred = spen.infer(test_rows.X, starts=(start,), steps=60, tolerance=1e-3, stable=None)
        assert of["steps"] == inferred.steps.tolist()
        f1 = example_f1(test_rows.Y, spen.decide(test_rows.X, inferred.y.numpy()))
        assert of["to_convergence"]["f1"] == of["waiting_for_the_last"]["f1"] == pytest.approx(f1)
        steps = [row["steps"] for row in of["by_share"]]
        assert steps == sorted(steps)
        assert steps[-1] == of["to_convergence"]["steps"]
        loosest, *_, tightest = of["by_tolerance"]
        assert loosest["steps"] <= tightest["steps"]
    convergence.draw(figures, tmp_path / "a.png")
    assert is_png(tmp_path / "a.png")


def test_answers(spen, test_rows, tmp_path):
    figures = answers.measure(spen, test_rows.X, test_rows.Y)
    y = spen.infer(test_rows.X).y.numpy()
    assert sum(figures["inference"]["counts"]) == y.size
    assert figures["inference"]["spiked"] == pytest.approx(((y < 0.01) | (y > 0.99)).mean())
    answers.draw(figures, tmp_path / "a.png")
    assert is_png(tmp_path / "a.png")


@pytest.mark.parametrize("fitted", ["spen", "seal"])
def test_search_errors_by_enumeration(fitted, test_rows, tmp_path, request):
    """Sixteen labels can be enumerated; the ranking energy is relative to the predictor's distribution."""
    model, X, Y = request.getfixturevalue(fitted), test_rows.X[:15], test_rows.Y[:15]
    figures = search_error.measure(model, X, Y)
    assert figures["best_known_by"] == "enumeration"
    problem = model.inference_problem(X)
    best = problem.solve(Exact("enumeration"))
    answer = (model.infer(X).y >= 0.5).float()
    missed = (answer != best.y).any(1)
    assert figures["search_errors"] == pytest.approx(float(missed.double().mean()), abs=1e-9)
    gaps = problem.energy(problem.state, answer.unsqueeze(1)).squeeze(1) - best.energy
    assert figures["gaps"] == pytest.approx(gaps.clamp(min=0).tolist(), abs=1e-4)
    search_error.draw(figures, tmp_path / "a.png")
    assert is_png(tmp_path / "a.png")


def test_search_errors_elsewhere_are_a_lower_bound_or_exact(spen, test_rows, monkeypatch):
    exact = search_error.measure(spen, test_rows.X, test_rows.Y)
    monkeypatch.setattr(search_error, "MOST_LABELS", 3)
    bound = search_error.measure(spen, test_rows.X, test_rows.Y)
    assert "lower bound" in bound["best_known_by"]
    assert bound["search_errors"] <= exact["search_errors"]
    few = slice(0, 6)
    spec = EnergySpec(("local", "pairwise"), rank=2)
    crf = EnergyMultiLabelClassifier("crf-mean-field", energy_network=spec, **SMALL).fit(test_rows.X, test_rows.Y)
    assert search_error.measure(crf, test_rows.X[few], test_rows.Y[few])["best_known_by"] == "integer-program"


@pytest.mark.parametrize("features", ["shared", "separate"])
def test_refinement(blocks, test_rows, tmp_path, features):
    spec = EnergySpec(units=8, features=features)
    model = EnergyMultiLabelClassifier("seal-nce", **SMALL, energy_network=spec).fit(blocks.X, blocks.Y)
    passes = []
    model.predictor_.encoder.register_forward_hook(lambda *_: passes.append(1))
    figures = refinement.measure(model, test_rows.X, test_rows.Y)
    assert [entry["steps"] for entry in figures["curve"]] == [0, 1, 2, 3, 5, 10, 50]
    assert len(passes) == 7 * (2 + refinement.REPEATS)  # shared features are computed once a prediction
    f1 = example_f1(test_rows.Y, model.predict(test_rows.X.astype(np.float32), refine=3))
    assert figures["curve"][3]["f1"] == pytest.approx(f1)
    assert figures["curve"][0]["times_a_forward_pass"] == 1.0
    refinement.draw(figures, tmp_path / "a.png")
    assert is_png(tmp_path / "a.png")


def test_starts(blocks, test_rows, tmp_path):
    model = EnergyMultiLabelClassifier("seal-nce", **SMALL)
    figures = starts.measure(model, blocks.X, blocks.Y, test_rows.X, test_rows.Y, every=2, steps=5)
    assert [record["epoch"] for record in figures["curve"]] == [1, 3]
    plain = EnergyMultiLabelClassifier("seal-nce", **SMALL).fit(blocks.X, blocks.Y, X_val=test_rows.X, y_val=test_rows.Y)
    for a, b in zip(plain.predictor_.parameters(), model.predictor_.parameters(), strict=True):
        assert torch.equal(a, b)  # watching does not disturb training
    assert figures["curve"][0]["predictor"] == pytest.approx(plain.history_[0]["threshold_score"])
    starts.draw(figures, tmp_path / "a.png")
    assert is_png(tmp_path / "a.png")


def test_fixed_steps_do_not_converge(blocks, test_rows):
    model = EnergyMultiLabelClassifier("deep-mean-field", **SMALL).fit(blocks.X, blocks.Y)
    with pytest.raises(ConfigError, match="fixed number of steps"):
        convergence.measure(model, test_rows.X, test_rows.Y)
    with pytest.raises(ConfigError, match="setting of Unrolled"):
        model.infer(test_rows.X, share=0.5)


def test_decide_wants_one_marginal_a_label(spen, test_rows):
    with pytest.raises(DataError, match="shape"):
        spen.decide(test_rows.X, np.zeros((3, 2)))


def test_no_energy_no_analysis(blocks, test_rows):
    plain = EnergyMultiLabelClassifier("cross-entropy", **SMALL).fit(blocks.X, blocks.Y)
    for module in (convergence, answers, search_error):
        with pytest.raises(ConfigError, match="no energy"):
            module.measure(plain, test_rows.X, test_rows.Y)
    with pytest.raises(ConfigError, match="no energy"):
        starts.measure(EnergyMultiLabelClassifier("mlp"), blocks.X, blocks.Y, test_rows.X, test_rows.Y)


def test_objectives(blocks, test_rows, tmp_path):
    splits = Splits(blocks, test_rows, block_exclusive(40, seed=10))
    settings = {key: value for key, value in SMALL.items() if key != "random_state"}
    figures = objectives.measure(splits, 2, {**settings, "max_epochs": 2})
    assert set(figures["f1"]) == {"cross-entropy", "spen", "seal-margin", "dvn", "seal-regression", "nce", "seal-nce"}
    assert all(len(scores) == 2 and 0 <= min(scores) <= max(scores) <= 1 for scores in figures["f1"].values())
    objectives.draw(figures, tmp_path / "a.png")
    assert is_png(tmp_path / "a.png")


def test_samples_of_a_predictor_are_no_inference_on_the_energy():
    record = {"decision": "bayes-risk", "validation": {"bayes-risk": 0.9, "threshold": 0.6, "top-k": 0.7}}
    record["example_f1"] = {"bayes-risk": 0.8, "threshold": 0.5, "top-k": 0.4}
    assert objectives.best_score(record) == 0.4
    assert objectives.best_score(record | {"decision": "threshold"}) == 0.5
