"""Curves of small sizes are measured, and the page has their exponents."""

import pytest

from enstruct.files import write_json
from enstruct_bench.costs import curves
from enstruct_bench.costs.curves import topics
from enstruct_bench.reports.curves import curves_section


@pytest.mark.filterwarnings("ignore::enstruct.errors.ConstantLabelWarning")
@pytest.mark.parametrize("curve", curves.CURVES, ids=lambda curve: curve.what)
def test_every_curve_has_seconds(curve, monkeypatch):
    monkeypatch.setattr(curves, "REPEATS", 1)
    monkeypatch.setattr(curves, "topics", lambda rows=300, features=60, labels=6: topics(min(rows, 400), features, labels))
    few = {"rows": (80, 100), "features": (50, 60), "labels": (5, 6), "tokens of a sentence": (3, 4), "pixels of a side": (8, 12)}
    row = curves.measured(curve._replace(sizes=few[curve.what]))
    assert len(row["train"]) == len(row["answer"]) == 2
    assert min(row["train"] + row["answer"]) > 0


def test_an_exponent_is_the_powers():
    sizes = [1, 2, 4, 8]
    assert curves.exponent(sizes, [3 * size**1.5 for size in sizes]) == pytest.approx(1.5)


def test_the_page(tmp_path):
    row = {"what": "rows", "method": "seal-nce", "sizes": [10, 100], "paper": 10_000, "train": [1.0, 10.0], "answer": [1.0, 1.0]}
    env = {"enstruct": "1", "torch": "2", "python": "3", "machine": "m", "cores": 2, "threads": 1}
    write_json(tmp_path / "benchmark-curves.json", {"rows": [row], "environment": env})
    assert "| rows | seal-nce | 10 | 100 | 10.00 | 1.00 | 1.00 | 0.00 | 10000 | 0.278 | 0.000278 |" in curves_section(
        tmp_path / "benchmark-curves.json"
    )
