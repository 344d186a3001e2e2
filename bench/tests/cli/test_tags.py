"""``enstruct-bench compare`` on tagged sentences, and ``light``, as a user types them."""

import json
from functools import partial

import pytest
from bench.tests.either import main
from tests.generated import FAST_TAGGER as FAST
from tests.generated import write_sentences

from enstruct.data.citations import read_references
from enstruct.errors import DivergenceError
from enstruct_bench.comparison import few_labels, jobs, light
from enstruct_bench.comparison.light import run_light_cell
from enstruct_bench.comparison.rules_only import predict_by_rules
from enstruct_bench.comparison.run import fitted_cell
from enstruct_bench.reports.compared import compared_section
from enstruct_bench.reports.light import light_section


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_sentences(tmp_path)


def test_compare_goes_on_where_it_stopped(files, capsys):
    arguments = [
        "compare",
        "train.conll",
        "--seeds",
        "1",
        "--json",
        "tags-x.json",
        "--model.max_epochs",
        "4",
        "--epochs",
        "1",
        *FAST,
    ]
    assert main([*arguments, "--methods", "cross-entropy,crf"]) == 0
    first = json.loads((files / "tags-x.json").read_text())
    assert main([*arguments, "--methods", "cross-entropy,crf,seal-margin"]) == 0
    content = json.loads((files / "tags-x.json").read_text())
    assert content["runs"][:2] == first["runs"]
    assert content["runs"][2]["started_from"] == "cross-entropy"
    assert content["runs"][2]["epochs"] == 1
    assert "seal-margin" in capsys.readouterr().out
    assert "/" not in str(content["setting"]["model"].get("embeddings"))
    text = compared_section(files / "tags-x.json")
    assert "- seal-margin against crf:" in text
    assert "hidden=8" in text
    assert main([*arguments[:-1], "0.5", "--methods", "crf"]) == 2


def test_cells_of_other_word_vectors_are_not_mixed_in(files, capsys):
    vectors = files / "v.txt"
    vectors.write_text("mr 1 0\nin 0 1\n")
    command = ["compare", "train.conll", "--methods", "cross-entropy", "--seeds", "1", "--json", "v.json"]
    command += ["--model.embeddings", "v.txt", "--model.max_epochs", "1", "--epochs", "1", *FAST]
    assert main(command) == 0
    assert main(command) == 0
    vectors.write_text("mr 1 0\nin 1 1\n")
    assert main(command) == 2
    assert "another tables.embeddings" in capsys.readouterr().err


def test_compare_goes_on_past_what_diverges(files, capsys, monkeypatch):
    def work(comparison, method, *rest):
        if method in lost:
            raise DivergenceError("the loss became nan")
        return fitted_cell(comparison, method, *rest)

    monkeypatch.setattr(jobs, "fitted_cell", work)
    command = ["compare", "train.conll", "--seeds", "1", "--model.max_epochs", "1", "--epochs", "1", *FAST, "--methods"]
    lost = {"crf"}
    assert main([*command, "cross-entropy,crf,seal-margin", "--json", "out.json"]) == 0
    assert "crf seed 0 diverged: the loss became nan" in capsys.readouterr().out
    assert [run["method"] for run in json.loads((files / "out.json").read_text())["runs"]] == ["cross-entropy", "seal-margin"]
    lost = {"cross-entropy"}
    assert main([*command, "crf,cross-entropy,seal-margin", "--json", "other.json"]) == 0  # what starts from it is lost too
    assert [run["method"] for run in json.loads((files / "other.json").read_text())["runs"]] == ["crf"]
    assert main([*command, "cross-entropy,crf"]) == 2
    assert "All runs of cross-entropy" in capsys.readouterr().err


def test_light_goes_on_past_what_diverges(files, capsys, monkeypatch):
    """The first method's runs with few labels: its others are what is held against."""
    from tests.weak_supervision.test_rewards import references

    sentences, tags = references(230)
    lines = (" ".join(f"<{t}> {w} </{t}>" for w, t in zip(s, ts, strict=True)) for s, ts in zip(sentences, tags, strict=True))
    (files / "refs.tagged").write_text("\n".join(lines) + "\n")

    def work(method, drawn, *rest):
        if len(drawn.labelled) == 5 and method != "rules":
            raise DivergenceError("the loss became nan")
        return run_light_cell(method, drawn, *rest)

    monkeypatch.setattr(few_labels, "run_light_cell", work)
    command = ["light", "refs.tagged", "--labelled", "[5,10]", "--draws", "1", "--epochs", "1", "--json", "l.json"]
    command += ["--model.max_epochs", "1", *FAST]
    assert main([*command, "--methods", "cross-entropy,ge"]) == 0
    out = capsys.readouterr().out
    assert "cross-entropy @5 draw 0 diverged" in out
    assert "not run" in out
    runs = json.loads((files / "l.json").read_text())["runs"]
    assert [run["method"] for run in runs] == ["cross-entropy @10", "ge @10"]


def test_light(files, capsys, monkeypatch):
    monkeypatch.setattr(light, "predict_by_rules", partial(predict_by_rules, tries=20))  # how far it climbs is tested elsewhere
    from tests.weak_supervision.test_rewards import references

    sentences, tags = references(230)
    lines = (" ".join(f"<{t}> {w} </{t}>" for w, t in zip(s, ts, strict=True)) for s, ts in zip(sentences, tags, strict=True))
    (files / "refs.tagged").write_text("\n".join(lines) + "\n")
    (files / "more.txt").write_text("\n".join(" ".join(s) for s in references(10, 3)[0]) + "\n")
    arguments = ["light", "refs.tagged", "--others", "[more.txt]", "--labelled", "[5]", "--draws", "1", "--epochs", "1"]
    arguments += ["--json", "light-x.json", "--model.max_epochs", "4", *FAST]
    assert main([*arguments, "--methods", "cross-entropy,rules,ge,implicit-cd"]) == 0
    content = json.loads((files / "light-x.json").read_text())
    assert [run["row"] for run in content["runs"]] == ["cross-entropy", "rules", "ge", "implicit-cd"]
    assert content["runs"][0]["unlabelled"] == 35
    kept = content["runs"][:3]
    (files / "light-x.json").write_text(json.dumps({**content, "runs": kept}))
    assert main([*arguments, "--methods", "cross-entropy,rules,ge,implicit-cd"]) == 0  # trains the baseline again, for the last
    again = json.loads((files / "light-x.json").read_text())["runs"]
    assert again[:3] == kept
    assert again[3]["row"] == "implicit-cd"
    assert "| implicit-cd |" in light_section(files / "light-x.json")
    assert main([*arguments[:-2], "--labelled", "[50]"]) == 2
    assert "too few" in capsys.readouterr().err
    train = ["train", "refs.tagged", "--out", "m", "--unlabelled", "more.txt", "--reward", "citations"]
    assert main([*train, "--model.method", "seal-margin", "--model.max_epochs", "1", *FAST]) == 0
    assert main(["evaluate", "m", "refs.tagged", "--json", "figures.json"]) == 0
    assert set(json.loads((files / "figures.json").read_text())["rules"]) == {"greedy", "legal"}
    assert main(["predict", "m", "more.txt", "--unlabelled", "--out", "found.tagged"]) == 0
    assert read_references("found.tagged") == references(10, 3)[0]
    assert main(["predict", "m", "more.txt"]) == 2  # a model of references reads no columns, whatever the file's name
    assert "say that the file is unlabelled" in capsys.readouterr().err
    (files / "refs.tagged").rename("refs.txt")
    assert main(["evaluate", "m", "refs.txt"]) == 0
