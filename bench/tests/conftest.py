"""Fixtures of finished runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.tests.small_table import make

from enstruct_bench.reproduce.store import Store


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
