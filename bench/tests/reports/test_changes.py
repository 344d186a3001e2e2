"""What single changes did, and what decision rules do, as printed above a table of changes."""

import numpy as np
import pytest

from enstruct.environment import environment
from enstruct.metrics import Counts
from enstruct_bench.comparison.bootstrap import paired_difference
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.comparison.summary import mean_and_deviation
from enstruct_bench.reports.changes import changes_lines
from enstruct_bench.reports.reproduced import reproduced_section
from enstruct_bench.reproduce.store import Key, Store
from enstruct_bench.reproduce.table import LabelTable

TABLE = LabelTable(
    "small",
    "Small",
    "nowhere",
    ("synthetic-90", "synthetic-60", "synthetic-30"),
    {"nce": {}, "double": {}, "half": {}},
    variants={"double": ("nce", {"method__n_samples": 40}), "half": ("nce", {"method__n_samples": 10})},
    changed={"double": "nce", "half": "nce"},
)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return {(method, seed): rng.random(20).astype(np.float32) for method in ("nce", "double") for seed in (0, 1, 2)}


@pytest.fixture
def store(tmp_path, rows):
    runs = Store(tmp_path, "small")
    for (method, seed), scores in rows.items():
        for dataset in ("synthetic-90", "synthetic-60"):
            if (dataset, method, seed) not in (("synthetic-90", "nce", 2), ("synthetic-60", "double", 0)):
                mean = float(scores.mean())
                record = {"example_f1": {"threshold": mean, "chosen": mean, "fixed": 0.25 * (1 + seed)}, "decision": "threshold"}
                key = Key(dataset, "fair", method, seed)
                settings = {"method__n_samples": 40} if method == "double" else {}
                runs.add(key, Cell(record, dict.fromkeys(("chosen", "fixed"), Counts.of(scores))), settings, environment(), None)
    return runs


def test_a_change_is_held_against_the_same_seeds_of_what_it_changes(store, rows):
    lines = "\n".join(changes_lines(TABLE, store, TABLE.datasets)).splitlines()
    assert lines[2] == "| change | synthetic-90 | synthetic-60 |"  # sets without any run have no column
    cells = next(line for line in lines if line.startswith("| double")).strip("| ").split(" | ")
    for cell, seeds in ((cells[1], (0, 1)), (cells[2], (1, 2))):
        mean, low, high = paired_difference(*([Counts.of(rows[m, s]) for s in seeds] for m in ("nce", "double")))
        assert cell == f"{100 * mean:+.2f} [{100 * low:+.2f}, {100 * high:+.2f}] (2)"
    assert next(line for line in lines if line.startswith("| half")) == "| half | not run | not run |"


def test_divergence_and_former_settings_are_marked(store, rows):
    run = Cell({"example_f1": {"chosen": 0.5}}, {"chosen": Counts.of(rows["nce", 0])})
    store.add(Key("synthetic-90", "fair", "half", 0), run, {"method__n_samples": 5}, environment(), None)
    store.add_diverged(
        Key("synthetic-60", "fair", "half", 0), {"diverged": "nan"}, {"method__n_samples": 10}, environment(), None
    )
    lines = "\n".join(changes_lines(TABLE, store, TABLE.datasets)).splitlines()
    assert next(line for line in lines if line.startswith("| half")) == "| half | +0.00 [+0.00, +0.00] ¹ (1) ² | diverged |"


def test_rules_stand_side_by_side(store, rows):
    lines = "\n".join(changes_lines(TABLE, store, TABLE.datasets)).splitlines()
    mean = mean_and_deviation([100 * float(rows["nce", seed].mean()) for seed in (0, 1)])
    assert f"| synthetic-90 | nce | 37.50 ±17.68 | {mean} | – | – | – | – | – | {mean} | 2 |" in lines


def test_a_section_shows_what_was_asked_for(store):
    text = reproduced_section(TABLE, store, ["synthetic-60"])
    assert "#### synthetic-60" in text
    assert "synthetic-90 " not in text
    assert "| change | synthetic-60 |" in text
    assert changes_lines(TABLE, Store(store.path.parent, "none"), TABLE.datasets) == []
