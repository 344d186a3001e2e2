"""Collections by name."""

import pytest

from enstruct.errors import ConfigError, DatasetNotFoundError
from enstruct_bench.texts.collections import load_collection
from enstruct_bench.texts.collections.documents import Labelled, as_collection


def test_what_is_not_there_is_said(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="Unknown collection"):
        load_collection("reuters")
    monkeypatch.setenv("ENSTRUCT_DATA", str(tmp_path))
    with pytest.raises(DatasetNotFoundError, match="put it at multilabel/goemotions"):
        load_collection("goemotions")


def test_labels_are_those_of_training_documents():
    found = as_collection([Labelled("a", ["x", "z"]), Labelled("b", [])], [Labelled("c", ["y"]), Labelled("d", ["y", "z"])])
    assert found.train.names == found.test.names == ("x", "z")
    assert (found.train.texts, found.train.Y.tolist()) == (["a"], [[1, 1]])
    assert (found.test.texts, found.test.Y.tolist()) == (["d"], [[0, 1]])


def test_a_folder_below_the_data_is_read_by_its_name(tmp_path, monkeypatch):
    folder = tmp_path / "multilabel" / "aapd"
    folder.mkdir(parents=True)
    for part in ("train", "val", "test"):
        (folder / f"text_{part}").write_text(f"of {part}\n", encoding="utf-8")
        (folder / f"label_{part}").write_text("cs.CL\n", encoding="utf-8")
    monkeypatch.setenv("ENSTRUCT_DATA", str(tmp_path))
    assert load_collection("aapd").train.texts == ["of train", "of val"]
