"""Small models."""

import pytest

from enstruct import JointMultiLabelClassifier
from enstruct.baselines import boosting, observed_network
from enstruct.training.residual_candidates import CANDIDATES
from enstruct_bench.joint import masked_network


@pytest.fixture
def fast(monkeypatch):
    monkeypatch.setattr(JointMultiLabelClassifier, "_candidates", CANDIDATES[:2])
    monkeypatch.setattr("enstruct.estimators.joint.PATIENCE", 1)
    monkeypatch.setattr("enstruct.training.contrastive.MOST_EPOCHS", 1)
    monkeypatch.setitem(boosting.SETTINGS, "max_iter", 10)
    monkeypatch.setattr(observed_network, "EPOCHS", 3)
    monkeypatch.setattr(masked_network, "HIDDEN", 32)
    monkeypatch.setattr(masked_network, "DROPOUTS", (0.1,))
    monkeypatch.setattr(masked_network, "EPOCHS", 30)
