"""``enstruct-bench holes`` on generated data, as a user types it, and its section of the results page."""

import json

import pytest
from bench.tests.either import main
from bench.tests.holes.generated import copies

from enstruct.data.npz import write_npz
from enstruct_bench.cli.parsers.holes import METHODS
from enstruct_bench.holes.sides import SIDES
from enstruct_bench.reports.results import sections
from enstruct_bench.reports.summaries import printed, renew


@pytest.fixture
def here(tmp_path, monkeypatch, fast):
    write_npz(tmp_path / "copies.npz", copies())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_names_of_the_parser_are_those_of_the_sides():
    assert tuple(METHODS.split(",")) == SIDES


def test_figures_are_printed_kept_gone_on_from_and_reported(here, capsys):
    command = ["holes", "copies.npz", "--removed", "0.3,0.6", "--seeds", "1", "--json", "holes-copies.json"]
    assert main([*command, "--methods", "joint,linear"]) == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    assert "Not run: base, masked-bce, masked-network, boosting" in said
    first = json.loads((here / "holes-copies.json").read_text())
    assert [run["method"] for run in first["runs"]] == ["joint@0.3", "linear@0.3", "joint@0.6", "linear@0.6"]
    figures = first["summary"]["0.6"]["linear"]
    assert {"loss@0", "loss@0.5", "average_precision@0", "roc_auc@0.5"} <= figures.keys()
    assert len(figures["roc_auc@0"]["difference"]) == 3
    assert main([*command, "--methods", "joint,base,linear"]) == 0, capsys.readouterr().err
    again = json.loads((here / "holes-copies.json").read_text())
    assert again["runs"][:4] == first["runs"]  # none ran again: same seconds
    assert len(again["runs"]) == 6
    renew(sections(here), here, print)
    text = printed(here / "summaries" / "holes-copies.json")
    assert "## copies.npz: labels with holes" in text
    assert "Not run: masked-bce, masked-network, boosting" in text
    rows = [line for line in text.splitlines() if line.startswith("| 30% | ")]
    assert [line.split(" | ")[1] for line in rows] == ["joint", "linear", "base", "linear", "base"]


def test_positives_alone(here, capsys):
    command = ["holes", "copies.npz", "--positives_only", "--removed", "0.5", "--seeds", "1", "--methods", "joint,linear"]
    assert main(command) == 0, capsys.readouterr().err
    assert "all sides take unknown cells for absent ones" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--removed", "0.3,half"], "'half'"),
        (["--removed", "1"], "shares from 0 to below 1"),
        (["--removed", "0.3,0.30"], "distinct"),
        (["--positives_only"], "needs --removed"),
        (["--methods", "linear"], "name it among --methods"),
        (["--methods", "joint,lineal"], "linear"),
        (["--methods", "joint,joint"], "distinct"),
        (["--seeds", "0"], "seed"),
    ],
)
def test_what_cannot_be_is_refused(options, said, here, capsys):
    assert main(["holes", "copies.npz", *options]) == 2
    assert said in capsys.readouterr().err


def test_positives_alone_of_labels_with_holes_are_refused(here, capsys):
    (here / "some.csv").write_text("x,a,b\n" + "1,0,1\n2,,1\n" * 10)
    assert main(["holes", "some.csv", "--labels", "-2", "--positives_only", "--removed", "0.5"]) == 2
    assert "is for complete labels" in capsys.readouterr().err
