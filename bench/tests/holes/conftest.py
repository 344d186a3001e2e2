"""Small models."""

import pytest

from enstruct.baselines import boosting, observed_network
from enstruct_bench.joint import masked_network


@pytest.fixture
def fast(quick_joints, monkeypatch):
    monkeypatch.setitem(boosting.SETTINGS, "max_iter", 10)
    monkeypatch.setattr(observed_network, "EPOCHS", 3)
    monkeypatch.setattr(masked_network, "HIDDEN", 32)
    monkeypatch.setattr(masked_network, "DROPOUTS", (0.1,))
    monkeypatch.setattr(masked_network, "EPOCHS", 30)
