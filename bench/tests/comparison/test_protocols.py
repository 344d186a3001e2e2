"""The splits of protocols."""

import numpy as np
import pytest

from enstruct.data.npz import write_npz
from enstruct.data.splits import split_60_20_20
from enstruct.data.synthetic import block_exclusive
from enstruct.errors import DataError, EnstructError, ParseError
from enstruct_bench.comparison.protocols import Folds, load_protocol, load_tagged_parts


def test_k_folds_test_every_row_once(tmp_path):
    data = block_exclusive(103, seed=3)
    write_npz(tmp_path / "mine.npz", data)
    folds = load_protocol(tmp_path / "mine.npz", "5-fold", seed=1)
    assert len(folds) == 5
    tested = np.concatenate([splits.test.X for splits in folds])
    assert len(np.unique(tested, axis=0)) == len(tested) == 103
    for splits in folds:
        parts = [set(map(bytes, part.X)) for part in splits.parts().values()]
        assert sum(map(len, parts)) == len(set.union(*parts)) == 103
        assert 0.1 < len(splits.validation) / 103 < 0.25
    again = load_protocol(tmp_path / "mine.npz", "5-fold", seed=1)
    assert all(np.array_equal(a.train.X, b.train.X) for a, b in zip(folds, again, strict=True))


def test_splits_are_drawn_anew(tmp_path):
    data = block_exclusive(100, seed=3)
    write_npz(tmp_path / "mine.npz", data)
    drawn = load_protocol(tmp_path / "mine.npz", "3-split", seed=1)
    assert len(drawn) == 3
    tested = [set(map(bytes, splits.test.X)) for splits in drawn]
    assert tested[0] != tested[1] != tested[2] != tested[0]
    for number, splits in enumerate(drawn):
        assert np.array_equal(splits.train.X, split_60_20_20(data, 1 + number).train.X)


def test_folds_that_leave_too_few_rows_are_refused():
    with pytest.raises(DataError, match="2 folds leave too few"):
        Folds(block_exclusive(3, seed=0), 2)


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ("3fold", "split"),
        ("x-fold", "split"),
        ("1-fold", "2 to 30 folds"),
        ("0-split", "split"),
        ("2-splits", "5-split"),
        ("40-fold", "2 to 30 folds"),
        ("published", "not published"),
    ],
)
def test_impossible_protocols_are_refused(split, message, tmp_path):
    write_npz(tmp_path / "mine.npz", block_exclusive(30, seed=3))
    with pytest.raises(EnstructError, match=message):
        load_protocol(tmp_path / "mine.npz", split)


def test_folds_of_any_number_of_digits(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f"{i},1\n" for i in range(12)))
    assert len(load_protocol(path, "3-fold", labels="y")) == 3
    with pytest.raises(DataError, match="it makes 2 to 12 folds"):
        load_protocol(path, "9" * 5000 + "-fold", labels="y")
    with pytest.raises(ParseError, match="<int of very many digits> labels asked for"):
        load_protocol(path, labels=10**5000)


@pytest.mark.parametrize("split", ["auto", "published", "5-fold"])
@pytest.mark.parametrize("arguments", [{"drop": ["a"]}, {"labels": -3}])
def test_named_sets_know_their_labels(split, arguments):
    with pytest.raises(DataError, match="bibtex is a set of the catalogue"):
        load_protocol("bibtex", split, **arguments)


def test_the_published_split_of_bibtex_keeps_its_test_rows(real_data):
    (splits,) = load_protocol("bibtex", "published")
    assert len(splits.test) == 2515
    assert len(splits.train) + len(splits.validation) == 4880


def test_parts_of_a_file_of_sentences(tmp_path):
    (tmp_path / "a.conll").write_text("".join(f"w{i} X\n\n" for i in range(10)))
    parts = load_tagged_parts(str(tmp_path / "a.conll"), seed=1)
    assert [len(part) for part in vars(parts).values()] == [6, 2, 2]
    assert sorted(sentence[0] for part in vars(parts).values() for sentence in part.sentences) == [f"w{i}" for i in range(10)]
    (tmp_path / "b.conll").write_text("a X\n")
    with pytest.raises(DataError, match="too few"):
        load_tagged_parts(str(tmp_path / "b.conll"))
