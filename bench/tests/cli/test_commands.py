"""The commands as a user types them."""

import json
import re
from dataclasses import replace

import pytest
from bench.tests.either import main

from enstruct.data.npz import read_npz, write_npz
from enstruct.data.synthetic import block_exclusive
from enstruct.errors import DivergenceError
from enstruct_bench.comparison import jobs
from enstruct_bench.comparison.run import fitted_cell

FAST = ["--model.max_epochs", "3", "--model.hidden", "8", "--model.layers", "1"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["data", "synthetic", "train.npz", "--rows", "200"]) == 0
    write_npz("test.npz", block_exclusive(60, seed=5))
    return tmp_path


def test_compare_by_folds(files, capsys):
    arguments = ["compare", "train.npz", "--methods", "low-rank,mlp", "--split", "3-fold", "--json", "out.json", *FAST]
    assert main([*arguments, "--model.metric", "hamming"]) == 0
    content = json.loads((files / "out.json").read_text())
    assert [(run["method"], run["seed"]) for run in content["runs"]] == [(m, i) for i in range(3) for m in ("low-rank", "mlp")]
    assert content["setting"]["split"] == "3-fold"
    assert "3 folds" in capsys.readouterr().out
    assert main(arguments) == 2  # another metric than the file's
    assert "another model" in capsys.readouterr().err


def test_compare_prints_and_resumes(files, capsys):
    command = ["compare", "train.npz", "--methods", "binary-relevance,seal-nce", "--seeds", "2", "--json", "out.json", *FAST]
    assert main(command) == 0
    table = capsys.readouterr().out
    assert "seal-nce" in table
    assert "hierarchical bootstrap" in table
    first = json.loads((files / "out.json").read_text())
    assert main(command) == 0
    assert json.loads((files / "out.json").read_text())["runs"] == first["runs"]  # none ran again: same seconds
    assert [(run["method"], run["seed"]) for run in first["runs"]] == [
        (method, seed) for seed in (0, 1) for method in ("binary-relevance", "seal-nce")
    ]
    assert first["setting"]["environment"]["torch"]


def test_compare_goes_on_past_a_run_that_diverges(files, capsys, monkeypatch):
    def work(comparison, method, *rest):
        if method == "seal-nce":
            raise DivergenceError("the loss became nan")
        return fitted_cell(comparison, method, *rest)

    monkeypatch.setattr(jobs, "fitted_cell", work)
    command = ["compare", "train.npz", "--seeds", "2", *FAST, "--methods"]
    assert main([*command, "binary-relevance,seal-nce,low-rank", "--json", "out.json"]) == 0
    out = capsys.readouterr().out
    assert "seal-nce seed 1 diverged: the loss became nan" in out
    assert [run["method"] for run in json.loads((files / "out.json").read_text())["runs"]] == ["binary-relevance", "low-rank"] * 2
    assert main([*command, "seal-nce,binary-relevance"]) == 2
    assert "All runs of seal-nce" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "train.npz", "--methods", "seal-nce,seal-nce"], "distinct"),
        (["compare", "train.npz", "--methods", "seal-nec"], "Did you mean 'seal-nce'"),
        (["compare", "train.npz", "--methods", "auto:"], "Unknown method ''"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(files, capsys, arguments, message):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert not (files / "m").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "train.npz", "--json", "train.npz"], "name it FILE.json"),
        (["tune", "train.npz", "--methods", "cross-entropy", "--json", "."], "name it FILE.json"),
        (["compare", "train.npz", "--split_seed", "-1"], "split_seed"),
        (["compare", "--task", "tags"], "these are required: DATA\n"),
        (["compare", "x", "--task=tags", "--model.classes", "3"], "--model.classes"),
        (["compare", "train.npz", "--columns", "[1]"], "--columns"),
    ],
)
def test_what_is_wrong_with_options_is_said_in_two_lines(files, capsys, arguments, message):
    before = (files / "train.npz").read_bytes()
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert message in said
    assert re.fullmatch(r"error: .*\nall options: enstruct(-bench)?( \w+)+ --help\n", said)
    assert (files / "train.npz").read_bytes() == before


def test_lists_in_yaml_are_names_joined_by_commas(files, capsys):
    (files / "c.yaml").write_text("methods: [cross-entropy, binary-relevance]\nseeds: 1\nmodel:\n  max_epochs: 1\n")
    assert main(["compare", "train.npz", "--config", "c.yaml"]) == 0
    assert "binary-relevance" in capsys.readouterr().out


def test_a_file_of_the_same_name_with_other_rows_is_not_mixed_in(files, capsys):
    command = ["compare", "train.npz", "--methods", "binary-relevance", "--seeds", "1", "--json", "out.json", *FAST]
    assert main(command) == 0
    data = read_npz("train.npz")
    write_npz("train.npz", replace(data, X=data.X[:, ::-1]))
    assert main(command) == 2
    assert "another content" in capsys.readouterr().err


@pytest.mark.usefixtures("quick_bases")
def test_training_automatically(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["data", "synthetic", "mine.npz", "--rows", "150"]) == 0
    small = ["--model.max_epochs", "2", "--model.hidden", "8"]
    assert main(["train", "mine.npz", "--out", "m", "--auto", "1", *small]) == 0
    assert "members, answer:" in capsys.readouterr().out.replace("\n", " ")
    assert main(["evaluate", "m", "mine.npz"]) == 0
    assert "(in force)" in capsys.readouterr().out
    assert main(["predict", "m", "mine.npz", "--top_k", "2", "--out", "found.jsonl"]) == 0
    assert all(len(json.loads(line)["labels"]) == 2 for line in (tmp_path / "found.jsonl").read_text().splitlines())
    assert main(["train", "mine.npz", "--out", "m", "--auto", "1", "--resume"]) == 2
    assert main(["train", "mine.npz", "--out", "m", "--auto", "1", "--model.decision", "fixed"]) == 2
    for option, value in (("validation_fraction", "0.3"), ("early_stopping", "true")):
        capsys.readouterr()
        assert main(["train", "mine.npz", "--out", "new", "--auto", "1", f"--model.{option}", value]) == 2
        assert f"leave --model.{option} out" in " ".join(capsys.readouterr().err.split())
        assert not (tmp_path / "new").exists()
    (tmp_path / "other").mkdir()
    assert main(["train", "mine.npz", "--out", "other", "--auto", "1"]) == 2
    assert main(["figure", "answers", "m", "mine.npz"]) == 2
    assert "averages several" in capsys.readouterr().err
    arguments = ["compare", "mine.npz", "--seeds", "1", *small, "--json", "a.json"]
    assert main([*arguments, "--methods", "auto:cross-entropy,auto"]) == 0
    runs = json.loads((tmp_path / "a.json").read_text())["runs"]
    assert [run["method"] for run in runs] == ["auto:cross-entropy", "auto"]
    assert runs[0]["members"] == ["cross-entropy"] * 6
    assert runs[1]["answer"] in runs[1]["candidates"]
    assert runs[1]["candidate_f1"][runs[1]["answer"]] == pytest.approx(runs[1]["example_f1"]["chosen"])
    assert set(runs[1]["candidate_f1"]) == set(runs[1]["candidates"])
    assert main([*arguments, "--methods", "auto-folds:binary-relevance"]) == 0
    folded = json.loads((tmp_path / "a.json").read_text())["runs"][2]
    assert folded["members"] == ["binary-relevance"] * 5
    assert folded["judged"] == runs[1]["judged"] + 90  # of 150 rows 90 train, 30 validate and 30 test
    assert main([*arguments, "--methods", "auto:nothing"]) == 2


def test_a_task_that_is_none_is_named(files, capsys):
    assert main(["compare", "train.npz", "--task", "pixels"]) == 2
    assert "Unknown task 'pixels'" in capsys.readouterr().err
