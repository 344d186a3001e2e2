"""Fixtures of the tests of both distributions: tiny data, one torch thread, and the real data where a test asks for it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from enstruct.data.dataset import Dataset
from enstruct.data.synthetic import block_exclusive

torch.set_num_threads(1)  # xdist runs several tests at a time


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)
    np.random.seed(0)


@pytest.fixture
def quick_joints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Residual energies stop at the first epoch without a better value: for tests of what runs, not of how good it is."""
    monkeypatch.setattr("enstruct.estimators.joint.PATIENCE", 1)


@pytest.fixture(scope="session")
def blocks() -> Dataset:
    """300 rows of the synthetic task."""
    return block_exclusive(300, seed=1)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data. CI must have it; elsewhere tests that need it are skipped."""
    value = os.environ.get("ENSTRUCT_DATA")
    if value and Path(value).is_dir():
        return Path(value)
    if os.environ.get("CI"):
        pytest.fail("CI must set ENSTRUCT_DATA to the folder of real data.")
    pytest.skip("ENSTRUCT_DATA is not set")
