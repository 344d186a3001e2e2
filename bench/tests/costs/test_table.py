"""The benchmarks of cost measure what they say, and the table reads what they kept."""

import json
from types import SimpleNamespace

import pytest

from enstruct.environment import environment
from enstruct_bench.cli.main import main
from enstruct_bench.costs import growth, methods

SHAPE = {"features": 30, "labels": 10, "hidden": 8, "units": 4, "samples": 3, "cardinality": 2.0, "rows": 16}


def test_the_dense_products_of_the_published_step_are_those_of_its_formula():
    line = growth.measure("as published", SHAPE)
    rows, encoder = 16, 30 * 8 + 8 * 8
    local, scores = 8 * 10, 10 * 4
    forward = encoder + local  # the predictor's, and the energy's x-network at each of its calls
    backward = 2 * forward - 30 * 8  # no gradient of the input
    sampling, energy = forward, 2 * (forward + backward)  # truth and samples: two calls
    predictor = 2 * (forward + backward)  # its own pass, and the energy's x-network, whose gradients nobody uses
    products = sampling + energy + predictor
    assert line["gflop"] * 1e9 == pytest.approx(2 * rows * (products + 3 * (3 + 1 + 1) * scores), rel=0.15)


def test_our_step_makes_fewer_products():
    ours, theirs = (growth.measure(way, SHAPE) for way in growth.WAYS)
    assert 0 < ours["gflop"] < theirs["gflop"]


def test_lines_are_measured_in_processes_of_their_own(monkeypatch):
    def in_this_process(command, **_):
        assert command[1:-1] == ["-m", growth.ITSELF, "--one"]
        asked = json.loads(command[-1])
        return SimpleNamespace(returncode=0, stdout=json.dumps(growth.measure(asked["way"], asked["shape"])))

    monkeypatch.setattr(growth, "subprocess", SimpleNamespace(run=in_this_process, PIPE=None))
    monkeypatch.setattr(growth, "BASE", SHAPE)
    monkeypatch.setattr(growth, "CHANGED", {"labels": (20, 1000)})
    lines = growth.lines(20)
    assert [(line["way"], line["labels"]) for line in lines] == [(way, 20) for way in growth.WAYS]
    for way, line in zip(growth.WAYS, lines, strict=True):
        few, many = growth.measure(way, SHAPE)["gflop"], line["gflop"]
        assert few < many < 2 * few  # the encoder's products do not grow with the labels


@pytest.mark.parametrize("dataset", methods.SHAPES)
def test_parameters_are_those_of_the_published_networks(dataset):
    """The energies' but for the paper's measurements on two sets (200, where its own settings say 300 and 400), to a hundred."""
    counted = methods.parameters(dataset)
    assert counted["predictor"] == counted["published"][0]
    more = {"cal500": 200 * (174 + 2), "eurlex-ev": 100 * (3993 + 2)}.get(dataset, 0)
    assert counted["energy"] == pytest.approx(counted["published"][1] + more, abs=4000)


@pytest.mark.filterwarnings("ignore::enstruct.errors.ConstantLabelWarning")
def test_seconds_of_a_method(monkeypatch):
    """Of a fit of two epochs from 10 to 16 on the clock, and a prediction that ends at 17.5."""
    clock = iter((10.0, 16.0, 17.5))
    monkeypatch.setattr(methods.NetworkClassifier, "fit", lambda self, X, Y: setattr(self, "n_iter_", 2))
    monkeypatch.setattr(methods.NetworkClassifier, "predict_proba", lambda self, X: None)
    monkeypatch.setattr(methods, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    assert methods.seconds("seal-nce", 64) == {"method": "seal-nce", "epoch": 3.0, "predict": 1.5}


def test_the_table_has_what_was_measured_here_and_names_the_rest(tmp_path, capsys):
    env = environment()
    here = {"environment": env, "rows": [{"rule": "expected-F1", "rows": 5, "shape": "x", "ours": 0.5, "formula": 1.0}]}
    (tmp_path / "benchmark-decoding.json").write_text(json.dumps(here))
    there = {"environment": env | {"threads": 64}, "rows": [{"data": "x", "side": "a", "seconds": 1.0, "mib": 5.0}]}
    (tmp_path / "benchmark-peers.json").write_text(json.dumps(there))
    assert main(["costs", "--results", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "benchmark-peers.json is of another version" in shown
    assert "fit of x" not in shown
    assert "expected-F1 decoding of 5 rows" in shown
    assert "2.00" in shown
