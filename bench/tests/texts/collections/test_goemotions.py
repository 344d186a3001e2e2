"""The reader of GoEmotions, on files of the publisher's layout."""

import lzma

import numpy as np
import pytest

from enstruct.errors import ParseError
from enstruct_bench.texts.collections import read_goemotions


def test_goemotions_puts_training_and_development_rows_together(tmp_path):
    (tmp_path / "labels.txt").write_text("anger\njoy\n", encoding="utf-8")
    for part, lines in (("train", "so good\t1\ta\r\nboth\t0,1\tb\n"), ("dev", "no\t0\tc\n"), ("test", "yes\t1\td\n")):
        with lzma.open(tmp_path / f"{part}.tsv.xz", "wt", encoding="utf-8", newline="") as file:
            file.write(lines)
    found = read_goemotions(tmp_path)
    assert found.train.texts == ["so good", "both", "no"]
    assert found.train.Y.tolist() == [[0, 1], [1, 1], [1, 0]]
    np.testing.assert_array_equal(found.train.take(np.array([2])).Y, [[1, 0]])
    with lzma.open(tmp_path / "dev.tsv.xz", "wt") as file:
        file.write("no number\t7\tx\n")
    with pytest.raises(ParseError, match="numbers of emotions"):
        read_goemotions(tmp_path)
