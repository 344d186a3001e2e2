"""What a joint costs is measured on what its answers are made of."""

import json

import numpy as np
import pytest
import torch

from enstruct.energies.residual import ResidualEnergy
from enstruct.errors import ConfigError
from enstruct.files import write_json
from enstruct.joint import gibbs
from enstruct.joint.clamped import BURN_IN
from enstruct_bench.costs import conditionals
from enstruct_bench.costs.conditionals import arithmetic, measured
from enstruct_bench.joint.cross_fitted import joint_of
from enstruct_bench.joint.table import Table
from enstruct_bench.reports.conditionals import conditionals_section
from enstruct_bench.reports.costs import READERS


@pytest.mark.parametrize(("labels", "pairs", "units"), [(20, True, 0), (20, False, 4), (6, True, 4), (20, False, 0)])
def test_arithmetic_is_that_of_the_answers(labels, pairs, units):
    joint = joint_of(ResidualEnergy(labels, pairs, units), np.zeros((3, labels)), 0)
    free, sweeps, flop = arithmetic(joint, torch.full((3, labels), torch.nan))
    if not pairs and not units:
        assert (free, sweeps, flop) == (0, 0, 0)
        return
    assert free == labels
    if labels == 6:
        assert (sweeps, flop) == (0, 3 * 2**6 * (12 + 72 + 18 * 4))
    else:
        assert sweeps == BURN_IN + gibbs.ROUND  # labels are independent: the first round is exact
        assert flop == 3 * sweeps * gibbs.CHAINS * labels * (2 * labels if pairs else 10 * units)


def test_sets_that_the_file_has_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(conditionals, "load_protocol", lambda name, *_: [name])
    monkeypatch.setattr(conditionals, "table_of", lambda part: part)
    monkeypatch.setattr(conditionals, "matmul_rate", lambda: 1e9)
    monkeypatch.setattr(conditionals, "measured", lambda name, table, base: {"data": name, "base": base, "table": table})
    for data in ("a,b:trees", "b,c"):
        monkeypatch.setattr("sys.argv", ["conditionals", "--data", data, "--out", str(tmp_path / "out.json")])
        conditionals.main()
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert [(row["data"], row["base"]) for row in rows] == [("a", ""), ("b", "trees"), ("c", "")]
    monkeypatch.setattr(conditionals, "environment", lambda: {"enstruct": "another"})
    with pytest.raises(ConfigError, match="runs of another environment"):
        conditionals.main()


def test_a_line_of_a_set_and_its_lines_on_the_page(tmp_path):
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 4)) < 0.5).astype(np.float32)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    line = measured("toy", Table(X, Y, np.arange(40, 60), X, Y))
    exact, sampled = ("mean field", 0) if line["energy"] == "independent" else ("enumerated", 2)
    assert (line["labels"], line["sampled"], line["sweeps"], line["error"]) == (4, sampled, 0, 0)
    assert line["answer"] < line["training"]
    printed = [what for what, *_ in READERS["conditionals"]({"matmul_gflops": 50.0, "rows": [line]})]
    assert printed[0] == f"what 1,000 rows of toy have besides the half of 4 labels told ({exact})"
    assert printed[1].startswith("training the energy of toy, 60 rows")
    line |= {"labels": 5, "answer": 0.3, "training": 12.34, "gflop": 1.5, "sampled": 2.0, "sweeps": 18.2}
    env = {"enstruct": "1", "torch": "2", "python": "3", "machine": "m", "cores": 2, "threads": 1}
    write_json(tmp_path / "benchmark-conditionals.json", {"environment": env, "matmul_gflops": 50.0, "rows": [line]})
    section = conditionals_section(tmp_path / "benchmark-conditionals.json")
    assert f"| toy | 5 | {line['energy']} | 12.3 | 0.30 | 100.0 | 2 | 18 | 1.50 | 10% |" in section  # of 1,000 x 3 labels asked
