import numpy as np
import torch

from enstruct.training.residual import refit
from enstruct.training.residual_candidates import Examples
from enstruct_bench.joint.fitted_estimators import Estimators
from enstruct_bench.joint.table import Table


def test_cross_fitted_marginals_and_folds_are_of_the_rows_as_they_came():
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 3)) < 0.5).astype(np.float32)
    X = np.concatenate([4.0 * Y, rng.normal(size=(60, 2))], axis=1)  # the labels can be read off, row by row
    X[-1], Y[-1] = X[0], Y[0]
    fit = Estimators(Table(X, Y, np.arange(40, 60), X[:5], Y[:5]), 0).fit("binary-relevance")
    assert ((fit.cross_fitted > 0.5) == (Y > 0.5)).all()
    assert sorted(np.concatenate(fit.folds())) == list(range(60))
    (together,) = [fold for fold in fit.folds() if 0 in fold]
    assert 59 in together


def test_energies_are_of_the_terms_and_as_many_epochs_as_the_estimator_chose(monkeypatch):
    """And of those alone: an energy that is trained for longer is another one."""
    asked = []

    def refitted(candidate, examples, epochs, seed):
        asked.append((candidate, epochs, seed, len(examples.y)))
        return refit(candidate, examples, epochs, seed)

    for module in ("cross_fitted", "fitted_estimators"):
        monkeypatch.setattr(f"enstruct_bench.joint.{module}.refit", refitted)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4)).astype(np.float32)
    Y = (X[:, [0, 1, 1]] + 0.3 * rng.normal(size=(90, 3)) > 0).astype(np.float32)
    fit = Estimators(Table(X, Y, np.arange(60, 90), X[:5], Y[:5]), 0).fit("binary-relevance")
    chosen = fit.estimator.fitted_on_.candidate, fit.estimator.fitted_on_.epochs, fit.estimator.seed_
    assert len(fit.energies()) == len(fit.folds())
    energy = fit.energy_of(np.arange(60))
    assert asked == [*((*chosen, 90 - len(fold)) for fold in fit.folds()), (*chosen, 60)]
    examples = Examples(torch.from_numpy(fit.logits[:60]), torch.from_numpy(Y[:60]), torch.ones(60))
    assert torch.equal(energy.slope, refit(chosen[0], examples, *chosen[1:]).slope)
