"""Patience and halving apart."""

import json

import numpy as np
import pytest

from enstruct.data.synthetic import block_exclusive
from enstruct.environment import environment
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.training.callbacks import Callback
from enstruct_bench.reports.patience import patience_section
from enstruct_bench.reproduce.patience import Rates


class Watched(Callback):
    def __init__(self):
        self.rates, self.stale = [], []

    def on_epoch_end(self, loop, record):
        self.rates.append(loop.game.optimizers["predictor"].param_groups[0]["lr"])
        self.stale.append(loop.progress.stale(next(iter(loop.progress.best))))


@pytest.mark.parametrize("plateau", [1, None])
def test_rates_are_halved_where_it_says_whatever_the_patience(plateau):
    data, watched = block_exclusive(60, seed=0), Watched()
    model = NetworkClassifier("cross-entropy", hidden=8, learning_rate=0.5, max_epochs=12, n_iter_no_change=9, random_state=0)
    model.set_params(callbacks=[Rates(plateau), watched])
    model.fit(data.X[:40], data.Y[:40], X_val=data.X[40:], y_val=data.Y[40:])
    halvings = np.cumsum([bool(plateau and stale and stale % plateau == 0) for stale in watched.stale])
    assert watched.rates == pytest.approx(0.5 * 0.5**halvings)
    assert max(watched.stale) >= 3  # where the loop itself halves: a third of the patience
    assert plateau is None or halvings[-1] >= 3


def test_the_section_has_a_row_for_each_of_both(tmp_path):
    rows = [
        {
            "end": end,
            "rates": rates,
            "seed": seed,
            "at 0.5": 40 + seed,
            "tuned": 41.0,
            "epochs": 20,
            "seconds": 1.0,
            "commit": "abc",
        }
        for seed in (0, 1)
        for end in ("patience", "all epochs")
        for rates in ("halved", "constant")
    ]
    path = tmp_path / "patience-x.json"
    about = {"data": "x", "method": "dvn", "published": 48.2, "environment": environment()}
    path.write_text(json.dumps({**about, "rows": rows}))
    text = patience_section(path)
    assert "| all epochs | constant | 40.50 ±0.71 | 41.00 ±0.00 | 20 | 2 |" in text
    assert "Published at 0.5: 48.2." in text
