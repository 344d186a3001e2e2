"""What a command is about, as far as its words tell."""

import json
import subprocess
import sys

import pytest

from enstruct.cli.main import main
from enstruct.cli.which_task import task_of
from enstruct.data.npz import write_npz
from enstruct.data.synthetic import block_exclusive
from enstruct.errors import ConfigError, DatasetNotFoundError, ModelFileError
from enstruct.estimators import EnergyMultiLabelClassifier, EnergySequenceTagger


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder" / "images").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").write_text("a X\nb Y\n\n" * 12)
    (tmp_path / "tags.yaml").write_text("task: tags\ndata: a.txt\nout: t\nmodel: {max_epochs: 1, embedding_dim: 4}\n")
    for name, header in (("t", {"estimator": "EnergySequenceTagger"}), ("odd", {"estimator": "Other"}), ("list", [])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.json").write_text(json.dumps(header))
    (tmp_path / "auto").mkdir()
    (tmp_path / "auto" / "auto.json").write_text("{}")
    (tmp_path / "joint").mkdir()
    (tmp_path / "joint" / "joint.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "task"),
    [
        ("", "labels"),
        ("train", "labels"),
        ("train --help", "labels"),
        ("train nothing --help", "labels"),
        ("train --task tags --help", "tags"),
        ("train --seed 3 a.conll --out m", "tags"),
        ("train --out a.csv folder", "masks"),
        ("train --labels -3 a.arff --out m", "labels"),
        ("train a.txt --task=tags --out m", "tags"),
        ("train a.csv --task masks", "masks"),
        ("train --config tags.yaml", "tags"),
        ("train --config tags.yaml --task labels", "labels"),
        ("train --config nowhere.yaml", "labels"),
        ("predict t a.csv", "tags"),
        ("predict --help", "labels"),
        ("predict -h", "labels"),
        ("evaluate t --help", "tags"),
        ("evaluate --json a.json auto a.conll", "labels"),
        ("predict joint a.conll", "labels"),
        ("data describe a.conll", "labels"),
    ],
)
def test_what_words_tell(words, task, files):
    assert task_of(words.split()) == task


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        ("train a.txt --out m", ConfigError, "add --task labels"),
        ("train a.txt --task tag", ConfigError, "Did you mean 'tags'"),
        ("train nothing", DatasetNotFoundError, "no file or folder 'nothing'"),
        ("train bibtx", DatasetNotFoundError, "Did you mean 'bibtex'"),
        ("train empty --out m --base extra-trees", ConfigError, "'empty' holds no data: no .txt or .parquet files, images"),
        ("predict nothing a.csv", ModelFileError, "not an enstruct model"),
        ("predict folder a.csv", ModelFileError, "no model.json"),
        ("evaluate odd a.csv", ModelFileError, "damaged"),
        ("evaluate list a.csv", ModelFileError, "damaged"),
    ],
)
def test_what_cannot_be_told(words, kind, message, files, capsys):
    with pytest.raises(kind, match=message):
        task_of(words.split())
    assert main(words.split()) == 2
    assert capsys.readouterr().err.count("\n") == 1


OF_OTHERS = {
    "top_k of tags": ("train a.conll --out m --top_k 3", "unrecognized arguments: --top_k"),
    "columns of label sets": ("train a.csv --out m --columns [1]", "unrecognized arguments: --columns"),
    "auto of tags": ("train a.conll --out m --auto 1", "unrecognized arguments: --auto"),
    "labels of masks": ("train folder --out m --labels 3", "unrecognized arguments: --labels"),
    "levels of label sets": ("train a.csv --out m --model.levels 3", "Did you mean --model.layers?"),
    "a slip": ("train a.conll --out m --unlabeled b.txt", "Did you mean --unlabelled?"),
    "top_k of a tagger": ("predict t a.txt --top_k 3", "unrecognized arguments: --top_k"),
    "spans of a classifier": ("predict auto a.csv --spans", "unrecognized arguments: --spans"),
    "tuned": ("train a.csv --out m --tuned best.json", "unrecognized arguments: --tuned"),
}


@pytest.mark.parametrize("case", OF_OTHERS)
def test_options_of_another_task_are_refused(case, files, capsys):
    words, message = OF_OTHERS[case]
    with pytest.raises(SystemExit) as left:
        main(words.split())
    assert left.value.code == 2
    assert message in capsys.readouterr().err


def test_where_the_options_of_a_task_are_shown(files, capsys):
    for words, shown in (
        ("train --task tags x.conll", "enstruct train --task tags --help"),
        ("predict t", "enstruct predict MODEL --help"),
    ):
        with pytest.raises(SystemExit):
            main([*words.split(), "--bogus"])
        assert shown in capsys.readouterr().err


def test_a_file_whose_ending_does_not_tell_is_trained_on_as_told(files):
    (files / "t" / "model.json").unlink()
    (files / "t").rmdir()
    assert main(["train", "--config", "tags.yaml"]) == 0
    assert EnergySequenceTagger.load("t").max_epochs == 1
    assert main(["evaluate", "t", "a.txt", "--json", "e.json"]) == 0
    assert {*json.loads((files / "e.json").read_text())} == {"sentences", "tokens", "decision", "rules"}


@pytest.mark.parametrize(
    ("words", "now"),
    [
        ("tags train a.conll --out m", "`enstruct train DATA --out MODEL --task tags`"),
        ("tags picture t a.conll", "`enstruct evaluate MODEL DATA --pictures FOLDER`"),
        ("masks duplicates weizmann32", "`enstruct data duplicates FOLDER`"),
        ("masks predict s p", "`enstruct predict MODEL DATA`"),
        ("tags compare a.conll", "`enstruct-bench tags compare`"),
        ("tags", "`enstruct train --task tags`"),
    ],
)
def test_former_commands_name_those_of_now(words, now, files, capsys):
    assert main(words.split()) == 2
    said = capsys.readouterr().err
    assert now in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("former", "now"),
    [("energy_weight", "method.energy_weight"), ("hypergradient", "method.coupling"), ("max_iter", "model.max_epochs")],
)
def test_former_options_name_those_of_now(former, now, files, capsys):
    (files / "c.yaml").write_text(f"model: {{{former}: 2}}\n")
    for told in ([f"--model.{former}", "2"], ["--config", "c.yaml"]):
        with pytest.raises(SystemExit):
            main(["train", "a.csv", "--out", "m", *told])
        assert f"It is --{now} since 0.2." in capsys.readouterr().err


def test_columns_of_the_method_reach_the_model_and_pictures_are_drawn_where_there_is_one(files, capsys):
    write_npz("mine.npz", block_exclusive(60, seed=1))
    fast = ["--model.max_epochs", "1", "--model.hidden", "8"]
    seal = ["train", "mine.npz", "--out", "m", "--model.method", "seal-nce"]
    assert main([*seal, "--method.energy_weight", "0.25", "--method.n_samples", "7", *fast]) == 0
    method = EnergyMultiLabelClassifier.load("m").method
    assert (method.predictor_loss.energy_weight, method.negatives.n) == (0.25, 7)
    assert main(["evaluate", "m", "mine.npz", "--pictures", "p"]) == 0
    assert (files / "p" / "measurement_matrix.png").read_bytes().startswith(b"\x89PNG")
    assert main(["train", "mine.npz", "--out", "n", "--model.method", "cross-entropy", *fast]) == 0
    capsys.readouterr()
    assert main(["evaluate", "n", "mine.npz", "--pictures", "q"]) == 0
    assert "not drawn" in capsys.readouterr().out
    assert not (files / "q").exists()


def test_telling_a_task_imports_no_torch():
    code = "import sys; from enstruct.cli.which_task import task_of; task_of(['train', 'a.conll']); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
