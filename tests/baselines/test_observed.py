"""Models that learn labels from the cells that were observed."""

import numpy as np
import pytest
import torch
from scipy import sparse

from enstruct.baselines import observed_linear, observed_network
from enstruct.baselines.observed_linear import fit_observed_linear
from enstruct.baselines.observed_network import SETTINGS, ObservedNetwork, Setting, fit_observed_network
from enstruct.encoders.boosted import as_tensor
from enstruct.estimators import bases
from enstruct.estimators.bases import ObservedBase
from enstruct.estimators.cross_fitting import cross_fit
from enstruct.estimators.training_table import Table


def table(n=300, features=40, seed=0):
    """Two labels that the first feature tells, and one of noise; a third of the cells are unobserved."""
    rng = np.random.default_rng(seed)
    X = 3 + 2 * rng.normal(size=(n, features))
    Y = np.stack([X[:, 0] > 3, X[:, 0] < 3, rng.random(n) < 0.3], axis=1).astype(np.float32)
    Y[rng.random(Y.shape) < 1 / 3] = np.nan
    return X, Y, np.ones(n)


def fit_network(X, Y, weight, seed=0, **further):
    return fit_observed_network(X, Y, weight, None, seed, **further)


def fit_machines(X, Y, weight, seed=0, **further):
    """On rows of about length 1, as terms have."""
    return fit_observed_linear(X / 20, Y, weight, seed, machines=True, **further)


def marginals(model, X):
    return 1 / (1 + np.exp(-model(as_tensor(X)).detach().double().numpy()))


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(observed_network, "HIDDEN", 64)
    monkeypatch.setattr(observed_network, "RATE", 1e-2)
    monkeypatch.setattr(observed_network, "EPOCHS", 30)


@pytest.mark.parametrize("fit", [fit_observed_linear, fit_machines, fit_network])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_labels_are_learnt_from_the_cells_observed(fit, form, small):
    X, Y, weight = table()
    new, truth, _ = table(seed=1)
    new = new / 20 if fit is fit_machines else new
    p = marginals(fit(form(X), Y, weight, 0), form(new))
    seen = ~np.isnan(truth[:, 0])
    assert ((p[:, 0] > 0.5) == truth[:, 0])[seen].mean() > 0.8
    assert (marginals(fit(form(X), Y, weight, 0), form(new)) == p).all()


def test_noise_is_penalised_more_than_what_features_tell():
    X, Y, weight = table(400)
    fit, penalties = observed_linear._regression, observed_linear.PENALTIES
    clear, noise = (observed_linear._chosen(fit, penalties, X, Y[:, labels], weight, 0, False)[0] for labels in ([0, 1], [2]))
    assert noise < clear


def test_margins_of_machines_are_made_odds():
    X, Y, weight = table(2000, features=3)
    new, truth, _ = table(2000, features=3, seed=1)
    p = marginals(fit_machines(X, Y, weight), new / 20)[:, 0]
    seen = ~np.isnan(truth[:, 0])
    margin = np.abs(new[:, 0] - 3) < 0.5  # near the border both values are likely
    assert ((p > 0.5) == truth[:, 0])[seen].mean() > 0.95
    assert np.abs(p[margin] - 0.5).max() < np.abs(p[~margin] - 0.5).max()
    rare = np.where(np.isnan(Y[:, 2]), np.nan, Y[:, 2])
    share = np.nanmean(rare)
    assert np.isclose(marginals(fit_machines(X, rare[:, None], weight), new / 20).mean(), share, atol=0.03)


@pytest.mark.parametrize("fit", [fit_observed_linear, fit_machines, fit_network])
def test_labels_without_both_values_observed(fit, small):
    X, Y, weight = table(100)
    Y[:, 1], Y[:, 2] = np.nan, np.where(np.isnan(Y[:, 2]), np.nan, 0)
    p = marginals(fit(X, Y, weight, 0), X)
    assert np.isfinite(p).all()
    assert p[:, 2].mean() < 0.35


@pytest.mark.parametrize("fit", [fit_observed_linear, fit_machines, fit_network])
def test_no_time_is_taken_that_there_is_not(fit, small):
    X, Y, weight = table(100)
    p = marginals(fit(X, Y, weight, 0, is_late=lambda: True), X)
    assert p.shape == Y.shape


def test_a_network_takes_rows_as_they_come_and_is_restored(small):
    X, Y, weight = table()
    network = fit_network(X, Y, weight)
    again = ObservedNetwork.restored(network.state_dict(), 40, 3)
    assert (marginals(again, X) == marginals(network, X)).all()
    with pytest.raises(RuntimeError, match="size mismatch"):
        ObservedNetwork.restored(network.state_dict(), 41, 3)


def test_a_column_that_varies_in_other_rows_alone_spoils_nothing(small):
    X, Y, weight = table()
    X[:, 5] = 2.0
    held = X[:60].copy(), Y[:60]
    held[0][::3, 5] = 3.0
    network = fit_observed_network(X[60:], Y[60:], weight[60:], held, 0)
    seen = ~np.isnan(Y[:60, 0])
    assert ((marginals(network, held[0])[:, 0] > 0.5) == Y[:60, 0])[seen].mean() > 0.8


def test_a_network_stops_by_the_rows_left_out(small):
    X, Y, weight = table()
    held = X[:60], Y[:60]
    opposite = X[:60], 1 - Y[:60]
    wise, misled = (fit_observed_network(X[60:], Y[60:], weight[60:], each, 0) for each in (held, opposite))
    assert abs(marginals(misled, X)[:, 0] - 0.5).mean() < abs(marginals(wise, X)[:, 0] - 0.5).mean()


def test_a_network_takes_the_dropout_of_the_lower_loss_on_the_rows_left_out(small):
    X, Y, weight = table(200, features=4)
    held = X[:60], Y[:60]

    def fitted(*settings):
        network = fit_observed_network(X[60:], Y[60:], weight[60:], held, 0, settings=settings)
        p, seen = marginals(network, X[:60]), ~np.isnan(Y[:60])
        return network, -np.log(np.where(Y[:60] == 1, p, 1 - p)[seen]).mean()

    alone = {setting: fitted(setting)[1] for setting in (Setting(0.0), Setting(0.9), Setting(0.9, small=False))}
    assert len({*alone.values()}) == 3
    network, loss = fitted(*alone)
    assert loss == pytest.approx(min(alone.values()), rel=1e-6)
    assert network.setting == min(alone, key=alone.get)
    assert fitted(*reversed(alone))[0].setting == network.setting


def test_folds_take_the_dropout_of_the_first(small, monkeypatch):
    X, Y, _ = table(120)
    tried = []

    def fitted(*args, **further):
        tried.append(further.get("settings"))
        return fit_observed_network(*args, **further)

    monkeypatch.setattr(bases, "fit_observed_network", fitted)
    folds = np.array_split(np.arange(120), 3)
    found = cross_fit(ObservedBase("network"), Table(X, Y), folds, 0, np.inf, last=True)
    assert tried[0] is None
    assert tried[1:] == [(found.models[0].setting,)] * 2
    assert len(found.models) == 3


def test_a_lower_dropout_is_tried_where_the_lowest_so_far_is_the_best(small, monkeypatch):
    X, Y, weight = table(60)
    asked = []

    def trained(losses):
        def one(X, Y, weight, left_out, seed, setting, mean, deviation):
            asked.append(setting)
            return ObservedNetwork(X.shape[1], Y.shape[1], setting), losses[setting]

        return one

    middle, high, low, large = SETTINGS
    for losses, wanted, chosen in (
        ({middle: 1.0, high: 2.0, low: 0.5, large: 0.6}, [middle, high, low, large], low),
        ({middle: 2.0, high: 1.0, large: 0.9}, [middle, high, large], large),
    ):
        asked.clear()
        monkeypatch.setattr(observed_network, "_trained", trained(losses))
        assert fit_network(X, Y, weight).setting == chosen
        assert asked == wanted
        asked.clear()
        assert fit_network(X, Y, weight, is_late=lambda: True).setting == middle  # without time for others
        assert asked == [middle]


@pytest.mark.parametrize(("small", "last"), [(True, 0.6), (False, 0.0)])
def test_small_networks_begin_with_small_weights_and_drop_out_after_both_layers(small, last):
    encoder = ObservedNetwork(64, 2, Setting(0.6, small)).encoder
    assert (encoder.dropout.p, encoder.last_dropout.p, encoder.input_dropout.p) == (0.6, last, 0.0)
    assert (encoder.linears[0].weight.abs().max() <= 64**-0.5) == small


def test_rows_of_its_own_that_stop_it_count_by_their_weights():
    """A row that weighs nothing says nothing of when to stop; one row is all there is to learn from and to judge by."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 3)).astype(np.float32), (rng.random((60, 2)) < 0.5).astype(np.float32)
    weight = np.where(np.arange(60) < 55, 1.0, 0.0)
    odd = Y.copy()
    odd[55:] = 1 - odd[55:]
    networks = [fit_observed_network(X, labels, weight, None, 0, settings=SETTINGS[:1]) for labels in (Y, odd)]
    for a, b in zip(networks[0].parameters(), networks[1].parameters(), strict=True):
        assert torch.equal(a, b)
    assert fit_observed_network(X[:1], Y[:1], weight[:1], None, 0, settings=SETTINGS[:1]) is not None
