"""What names of data tell of them."""

import pytest

from enstruct.data.kinds import ENDINGS, SETS, kind_of
from enstruct.tasks import TASKS


def test_every_task_has_endings_and_named_sets_of_its_own():
    assert ENDINGS.keys() == SETS.keys() == TASKS.keys()
    endings = [ending for task in TASKS.values() for ending in task.endings]
    assert len(endings) == len({*endings})
    names = [name for sets in SETS.values() for name in sets]
    assert len(names) == len({*names})


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("a.csv", "labels"),
        ("A.ARFF.xz", "labels"),
        ("rows.svm.gz", "labels"),
        ("a.conll", "tags"),
        ("a.conllu.bz2", "tags"),
        ("cora.tagged.txt", "tags"),
        ("a.cite", "tags"),
        ("bibtex", "labels"),
        ("twitter_pos", "tags"),
        ("weizmann32", "masks"),
        ("folder", "masks"),
        ("empty", None),
        ("a.txt", None),
        ("a.tsv", None),
        ("eng.testa", None),
        ("nothing", None),
    ],
)
def test_what_a_name_tells(name, task, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder" / "train" / "images").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    assert kind_of(name) == task
