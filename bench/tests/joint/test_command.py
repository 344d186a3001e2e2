"""``enstruct-bench joint`` on generated data, as a user types it."""

import json

import pytest
from bench.tests.either import main

from enstruct import JointMultiLabelClassifier
from enstruct.data.npz import write_npz
from enstruct.data.synthetic import block_exclusive
from enstruct.training.residual_candidates import CANDIDATES
from enstruct_bench.cli.parsers.joint import METHODS
from enstruct_bench.joint.registry import DEFAULT

SIDES = "joint:binary-relevance,base:binary-relevance,copula:binary-relevance,chains"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("joint")
    write_npz(folder / "blocks.npz", block_exclusive(120, seed=1))
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.setattr(JointMultiLabelClassifier, "_candidates", CANDIDATES[:2])
    monkeypatch.setattr("enstruct.training.contrastive.MOST_EPOCHS", 1)
    monkeypatch.setattr("enstruct_bench.joint.questions.ROWS", 8)  # few of everything
    monkeypatch.chdir(folder)
    return folder


def test_names_of_the_parser_are_those_of_the_registry():
    assert tuple(METHODS.split(",")) == DEFAULT


def test_all_figures_are_printed_kept_and_gone_on_from(here, capsys):
    command = ["joint", "blocks.npz", "--methods", SIDES, "--seeds", "1", "--parts", "told,questions", "--json", "out.json"]
    assert main(command) == 0, capsys.readouterr().err
    printed = capsys.readouterr().out
    assert all(side in printed for side in SIDES.split(","))
    first = json.loads((here / "out.json").read_text())
    summary = first["summary"]["joint:binary-relevance"]
    figures = {"nll", "exact", "f1", "f1@0", "f1@0.75", "loss@0.5", "average_precision@0.5", "questions", "fit_seconds"}
    assert figures <= summary.keys()
    assert summary["f1@0"]["seeds"] == 1
    chains = first["summary"]["chains"]["nll"]
    assert chains["difference"][0] == pytest.approx(chains["mean"] - summary["nll"]["mean"], abs=1e-3)
    base = first["runs"][1]
    assert base["score"]["nll"] == pytest.approx(base["nll_of_marginals"])  # it has no other joint
    assert base["score"]["nll"] > first["runs"][0]["score"]["nll"]
    assert first["setting"]["environment"]["torch"]
    assert summary["loss@0.5"]["mean"] < first["summary"]["base:binary-relevance"]["loss@0.5"]["mean"]
    assert main(command) == 0
    assert json.loads((here / "out.json").read_text())["runs"] == first["runs"]  # none ran again: same seconds


def test_wrong_cells_are_looked_for_by_sides_that_can(here, capsys):
    command = ["joint", "blocks.npz", "--methods", "base:binary-relevance,chains", "--seeds", "1", "--parts", "wrong"]
    assert main(["joint", "blocks.npz", "--methods", "copula", "--parts", "wrong"]) == 2
    assert "None of these methods" in capsys.readouterr().err
    assert main([*command, "--json", "wrong.json"]) == 0, capsys.readouterr().err
    kept = json.loads((here / "wrong.json").read_text())["summary"]
    assert kept["base:binary-relevance"]["wrong_cells@flips"]["mean"] > 5  # chance
    assert kept["chains"]["wrong_cells@flips"]["seeds"] == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--methods", "joint:nothing"], "nothing"),
        (["--methods", "jonit"], "joint"),
        (["--methods", "chains:mlp"], "leave out :mlp"),
        (["--methods", "chains,chains"], "distinct"),
        (["--methods", "chains", "--reference", "base"], "reference"),
        (["--methods", "chains", "--parts", "tolled"], "told"),
        (["--methods", "chains", "--picture", "p.png"], "base"),
    ],
)
def test_what_cannot_be_is_refused(options, said, here, capsys):
    assert main(["joint", "blocks.npz", *options]) == 2
    assert said in capsys.readouterr().err
