"""A small slice of every campaign; the whole ones are run for a release (docs/promise.md)."""

import os
import subprocess
import sys

SLICES = {
    "fuzz readers --count 200 --seed 7": 200,
    "fuzz models --count 10 --seed 7": 10,
    "fuzz parameters --count 10 --seed 7": 10,
    "fuzz results --count 10 --seed 7": 10,
    "kill --count 2 --seed 7": 2,
    "race --count 28 --seed 7": 28,
    "soak --predictions 84 --fits 1 --processes 1": 169,
}
ONE_AFTER_ANOTHER = """
import sys
from enstruct.cli.main import main
for words in sys.argv[1:]:
    print("BEGIN", words, flush=True)
    print("ENDED", main(words.split(), "enstruct_bench.cli.commands"), flush=True)
"""


def test_slices_find_no_defect(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", ONE_AFTER_ANOTHER, *SLICES],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "300"},
        timeout=500,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-1000:]
    said = dict(part.split("\n", 1) for part in done.stdout.split("BEGIN ")[1:])
    assert [*said] == [*SLICES]
    for words, count in SLICES.items():
        assert f"{count} tried, 0 defects" in said[words], words + said[words] + done.stderr[-1000:]
        assert said[words].endswith("ENDED 0\n")
    assert not list(tmp_path.iterdir())
