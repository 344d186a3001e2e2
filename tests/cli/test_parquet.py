"""Parquet wherever a CSV file may stand, with the same answers."""

import pandas as pd
import pytest

from enstruct.cli.main import main
from enstruct.data.load import load
from enstruct.data.synthetic import block_exclusive


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """songs and holed, where labels are not known, each as .csv and .parquet; parts/ of the latter; a model of songs.csv."""
    path = tmp_path_factory.mktemp("tables")
    data = block_exclusive(90, seed=1)
    frame = pd.DataFrame(data.X[:, :5], columns=[f"x{k}" for k in range(5)])
    frame.insert(0, "id", [f"song {k}" for k in range(len(frame))])
    for k in range(4):
        frame[f"label{k}"] = pd.array(data.Y[:, [k]].toarray().ravel(), dtype="Int8")
    (path / "parts").mkdir()
    for name in ("songs", "holed"):
        frame.to_csv(path / f"{name}.csv", index=False)
        frame.to_parquet(path / f"{name}.parquet")
        frame.loc[40:44, "label0"] = None
    for k, start in enumerate((0, 50)):
        frame[start : start + 50].to_parquet(path / "parts" / f"part-{k}.parquet")
    train = ["train", str(path / "songs.csv"), "--labels", "-4", "--drop", "[id]", "--base", "binary-relevance", "--folds", "2"]
    assert main([*train, "--out", str(path / "model")]) == 0
    return path


def answers(here, source, capsys, *options):
    assert main(["predict", str(here / "model"), str(here / source), *options]) == 0
    return capsys.readouterr().out


def test_answers_of_tables_of_all_kinds(here, capsys):
    known = answers(here, "holed.csv", capsys, "--known", "same")
    plain = answers(here, "holed.csv", capsys)
    assert known != plain
    for source in ("holed.parquet", "parts"):
        assert answers(here, source, capsys) == plain
        assert answers(here, source, capsys, "--known", "same") == known


def test_told_labels_and_rows_without_any(here, tmp_path, capsys):
    frame = pd.read_parquet(here / "songs.parquet")
    frame.drop(columns=[f"label{k}" for k in range(4)]).to_parquet(tmp_path / "bare.parquet")
    frame[["label2"]].to_parquet(tmp_path / "told.parquet")
    frame[["label2"]].to_csv(tmp_path / "told.csv", index=False)
    parquet, csv = (
        answers(here, tmp_path / "bare.parquet", capsys, "--known", str(tmp_path / f"told.{kind}")) for kind in ("parquet", "csv")
    )
    assert parquet == csv


def test_a_model_of_parquet(here, tmp_path, capsys):
    options = ["--labels", "-4", "--drop", "[id]", "--base", "binary-relevance", "--folds", "2"]
    assert main(["train", str(here / "songs.parquet"), *options, "--out", str(tmp_path / "model")]) == 0
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "model"), str(here / "songs.csv")]) == 0
    assert capsys.readouterr().out == answers(here, "songs.csv", capsys)


def test_a_folder_of_parts_becomes_one_of_arrays(here, tmp_path):
    for source in ("parts", "songs.csv"):
        convert = ["data", "convert", str(here / source), str(tmp_path / source), "--labels=-3", "--drop", "[id,label0]"]
        assert main(convert) == 0
    one, other = (load(tmp_path / source) for source in ("parts", "songs.csv"))
    assert (one.X.read() == other.X.read()).all()
    assert (one.Y != other.Y).nnz == 0
