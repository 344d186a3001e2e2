"""Shared fixtures: tiny data, one torch thread, and the real data where a test asks for it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from enstruct.data.dataset import Dataset
from enstruct.data.synthetic import block_exclusive
from enstruct.reproduce.store import Store
from tests.small_table import make

torch.set_num_threads(1)  # xdist runs several tests at a time


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)
    np.random.seed(0)


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


@pytest.fixture(scope="session")
def finished_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Finished runs of the small table."""
    path = tmp_path_factory.mktemp("reproduce")
    assert make(Store(path, "small")) == 6
    return path


@pytest.fixture
def copied_runs(finished_runs: Path, tmp_path: Path) -> Path:
    """Of the same runs, to be changed."""
    for path in finished_runs.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path
