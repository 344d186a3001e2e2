"""Cells by several processes are those of one, and rows that go on from another's estimator are one job with it."""

import json
from pathlib import Path

import joblib
import numpy as np
import pytest
from bench.tests.either import main
from sklearn.base import clone

from enstruct import JointMultiLabelClassifier
from enstruct.data.npz import write_npz
from enstruct.data.synthetic import block_exclusive
from enstruct.errors import DivergenceError
from enstruct_bench.comparison.jobs import jobs_of, made
from enstruct_bench.comparison.label_comparison import LABEL_COMPARISON
from enstruct_bench.comparison.tag_comparison import TAG_COMPARISON

FAST = ["--model.max_epochs", "2", "--model.hidden", "8", "--seeds", "2", "--methods", "binary-relevance,seal-nce"]


def compared(file, *more):
    assert main(["compare", "mine.npz", "--json", file, *FAST, *more]) == 0
    runs = {(run["method"], run["seed"]): run["score"] for run in json.loads(Path(file).read_text())["runs"]}
    with np.load(file.replace(".json", ".rows.npz")) as rows:
        return runs, dict(rows)


@pytest.fixture(scope="module")
def by_one(tmp_path_factory):
    """The folder of mine.npz and of one.json, which one process has made; its scores, and its rows."""
    folder = tmp_path_factory.mktemp("jobs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_npz("mine.npz", block_exclusive(90, seed=1))
        return folder, *compared("one.json")


def test_two_workers_give_what_one_gives(by_one, monkeypatch, capsys):
    folder, one, its_rows = by_one
    monkeypatch.chdir(folder)
    two, other_rows = compared("two.json", "--workers", "2")
    assert two == one
    assert len(two) == 4
    assert set(its_rows) == set(other_rows)
    for name in its_rows:
        np.testing.assert_array_equal(its_rows[name], other_rows[name])
    capsys.readouterr()
    assert main(["compare", "mine.npz", "--json", "two.json", *FAST, "--workers", "0"]) == 2
    assert "--workers must be at least 1" in capsys.readouterr().err


def test_on_a_cluster_of_dask(by_one, monkeypatch):
    """Two workers of a local cluster, by its backend of joblib."""
    from distributed import Client, LocalCluster

    folder, one, _ = by_one
    monkeypatch.chdir(folder)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster),
        joblib.parallel_config("dask"),
    ):
        two, _ = compared("dask.json", "--workers", "2")
    assert two == one


def test_on_a_cluster_of_ray(monkeypatch):
    """The folds of the library's own bases, by two workers on this machine and Ray's backend of joblib.

    Their arrays are shared, and nobody may write to them.
    """
    import ray
    from ray.util.joblib import register_ray

    monkeypatch.setenv("RAY_worker_niceness", "0")  # tests run beside it
    rows = block_exclusive(90, seed=2)
    joint = JointMultiLabelClassifier("extra-trees", folds=3, random_state=0)
    alone = clone(joint).fit(rows.X, rows.Y).predict_proba(rows.X)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False, object_store_memory=2**27)
    try:
        register_ray()
        with joblib.parallel_config("ray", n_jobs=2):
            np.testing.assert_allclose(joint.fit(rows.X, rows.Y).predict_proba(rows.X), alone, atol=1e-6)
    finally:
        ray.shutdown()


class Parts:
    """Whose rows nobody may cut before it is their turn."""

    def __getitem__(self, place):
        raise AssertionError("cut too early")


NEVER_CUT = Parts()


def test_rows_that_go_on_are_one_job():
    methods = ["cross-entropy", "infnet", "crf", "seal-nce"]
    jobs = list(jobs_of(TAG_COMPARISON, methods, 0, NEVER_CUT, 0, {}, {}))
    chained = [name for name in methods[1:] if TAG_COMPARISON.goes_on(name)]
    assert jobs[0].methods == ("cross-entropy", *chained)
    assert chained
    assert [job.methods for job in jobs[1:]] == [(name,) for name in methods[1:] if name not in chained]
    (again, *_) = jobs_of(
        TAG_COMPARISON, chained, 0, NEVER_CUT, 0, {}, {}
    )  # the first one's cell is kept: its estimator is needed
    assert again.methods == ("cross-entropy", *chained)
    assert again.wanted == tuple(chained)
    assert [job.methods for job in jobs_of(LABEL_COMPARISON, ["spen", "dvn"], 0, NEVER_CUT, 0, {}, {})] == [("spen",), ("dvn",)]


def test_where_the_first_diverges_nothing_goes_on_from_it(monkeypatch):
    def diverge(comparison, method, *others):
        raise DivergenceError("nan")

    monkeypatch.setattr("enstruct_bench.comparison.jobs.fitted_cell", diverge)
    jobs = list(jobs_of(TAG_COMPARISON, ["cross-entropy", "infnet", "crf"], 0, [None], 0, {}, {}))
    said = [(method, type(cell)) for method, _, cell in made(jobs, 1, lambda *_: None, lambda *_: True)]
    assert said == [("cross-entropy", DivergenceError), ("crf", DivergenceError)]
    assert list(made(jobs, 1, lambda *_: None, lambda *_: False)) == []
