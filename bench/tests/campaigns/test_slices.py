"""A small slice of every campaign; the whole ones are run for a release (docs/promise.md)."""

import os
import subprocess
import sys

import pytest

SLICES = {
    "fuzz readers --count 200 --seed 7": 200,
    "fuzz models --count 10 --seed 7": 10,
    "fuzz parameters --count 10 --seed 7": 10,
    "fuzz results --count 10 --seed 7": 10,
    "kill --count 3 --seed 7": 3,
    "race --count 28 --seed 7": 28,
    "soak --predictions 84 --fits 1": 0,
}


@pytest.mark.parametrize("words", SLICES)
def test_a_slice_finds_no_defect(words, tmp_path):
    command = [sys.executable, "-m", "enstruct_bench.cli.main", *words.split()]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "300"},
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-1000:]
    assert " 0 defects" in done.stdout
    if SLICES[words]:
        assert f"{SLICES[words]} tried" in done.stdout
    assert not list(tmp_path.iterdir())
