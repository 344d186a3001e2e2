"""Going on with networks at hand: warm starts, further calls of ``partial_fit``, checkpoints."""

import logging

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.configured import configured

from enstruct import EnergySpec
from enstruct.errors import ConfigError, ModelFileError
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.training.callbacks import Callback
from enstruct.training.checkpoint import Checkpoint

SMALL = {"hidden": 8, "layers": 1, "max_epochs": 2, "random_state": 0}


def small(*args, **changes):
    return configured(NetworkClassifier, *args, **{**SMALL, **changes})


def test_outputs_never_stand_for_other_labels(blocks):
    Y = blocks.Y.toarray()
    first, last = Y.copy(), Y.copy()
    first[:, 0], last[:, 15] = 0, 0  # as many vary, others
    with pytest.warns(UserWarning, match="never vary"):
        model = small("cross-entropy", warm_start=True).fit(blocks.X, first)
    with pytest.warns(UserWarning, match="never vary"), pytest.raises(ConfigError, match="other labels"):
        model.fit(blocks.X, last)
    named = [[f"l{j}" for j in np.flatnonzero(row)] for row in Y]
    model = small("cross-entropy", warm_start=True).fit(blocks.X, named)
    model.fit(blocks.X, named)
    with pytest.raises(ConfigError, match="other labels"):
        model.fit(blocks.X, [[name.replace("l", "m") for name in row] for row in named])


def test_a_data_frame_s_labels_go_on_as_an_array_s(blocks):
    frame = pd.DataFrame(blocks.Y.toarray()).add_prefix("label ")
    for first, second in ((frame, frame.to_numpy()), (frame.to_numpy(), frame)):
        model = small("cross-entropy", warm_start=True)
        model.fit(blocks.X, first).fit(blocks.X, second)
    with pytest.raises(ConfigError, match="other labels"):
        model.fit(blocks.X, frame[frame.columns[::-1]])


@pytest.mark.parametrize(
    ("changes", "what"),
    [({"hidden": 9}, "hidden"), ({"layers": 2}, "layers"), ({"energy_network": EnergySpec(units=3)}, "energy_network")],
)
def test_a_warm_start_has_the_networks_it_says(changes, what, blocks, tmp_path):
    X, Y = blocks.X[:80], blocks.Y[:80]
    model = small(warm_start=True).fit(X, Y)
    model.save(tmp_path / "m")
    for each in (model, NetworkClassifier.load(tmp_path / "m")):
        with pytest.raises(ConfigError, match=f"made with another {what}"):
            each.set_params(**changes).fit(X, Y)
        each.set_params(**{name: small().get_params()[name] for name in changes}).fit(X, Y)


def test_solvers_begin_anew_with_the_features_of_now(blocks, caplog):
    X = sparse.csr_matrix(np.where(blocks.X > 0, blocks.X, 0))
    left, right = X.copy().tolil(), X.copy().tolil()
    left[:, 32:], right[:, :32] = 0, 0
    left, right = left.tocsr(), right.tocsr()
    anew = small("binary-relevance").fit(right, blocks.Y).predict_proba(right)
    again = small("binary-relevance", warm_start=True).fit(left, blocks.Y).fit(right, blocks.Y)
    assert np.array_equal(again.predict_proba(right), anew)
    with caplog.at_level(logging.WARNING, "enstruct"):
        small("cross-entropy", warm_start=True).fit(left, blocks.Y).fit(right, blocks.Y)
    assert "32 features that no row had when the networks were made are left out" in caplog.text


def test_weights_of_calls_of_partial_fit_can_be_compared(blocks):
    def after(weight):
        model = small("cross-entropy", optimizer="sgd", learning_rate=0.1, clip=None, dropout=0.0)
        model.partial_fit(blocks.X[:50], blocks.Y[:50], sample_weight=np.full(50, 2.0))
        before = model.predict_proba(blocks.X)
        model.partial_fit(blocks.X[50:82], blocks.Y[50:82], sample_weight=np.full(32, weight))  # one batch
        return np.abs(model.predict_proba(blocks.X) - before).max()

    light, one, heavy = map(after, (1e-6, 2.0, 20.0))
    assert light < 1e-4 * one
    assert heavy > 3 * one


def test_partial_fit_takes_the_settings_of_now(blocks):
    def after(rate):
        model = small("cross-entropy", learning_rate=1e-3).partial_fit(blocks.X, blocks.Y)
        before = model.predict_proba(blocks.X)
        model.set_params(learning_rate=rate).partial_fit(blocks.X, blocks.Y)
        assert model.updates_["predictor"] == 2 * -(-300 // 32)
        return np.abs(model.predict_proba(blocks.X) - before).max()

    assert after(1e-9) < 1e-5 < 1e-3 < after(1e-3) < after(0.1)


class Interrupt(Callback):
    def on_epoch_end(self, loop, record):
        if record["epoch"] == 2:
            raise KeyboardInterrupt


@pytest.mark.parametrize("changed", ["nothing", "seed", "class_weight", "sample_weight", "validation"])
def test_a_checkpoint_belongs_to_one_run(changed, blocks, tmp_path):
    def fit(callbacks, changed="nothing"):
        other = {"seed": {"random_state": 1}, "class_weight": {"class_weight": {3: 5.0}}}.get(changed, {})
        weight = np.linspace(1, 2, 200) if changed == "sample_weight" else None
        part = slice(210, 300) if changed == "validation" else slice(200, 290)
        model = small("cross-entropy", **{"max_epochs": 4, **other}, callbacks=callbacks)
        return model.fit(blocks.X[:200], blocks.Y[:200], weight, X_val=blocks.X[part], y_val=blocks.Y[part])

    path = tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        fit([Checkpoint(path), Interrupt()])
    if changed == "nothing":
        assert np.array_equal(fit([Checkpoint(path, resume=True)]).predict_proba(blocks.X), fit([]).predict_proba(blocks.X))
    else:
        with pytest.raises(ModelFileError, match="other settings or data"):
            fit([Checkpoint(path, resume=True)], changed)
