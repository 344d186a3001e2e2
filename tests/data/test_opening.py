"""Archives that unpack to more than any text that is meant."""

import gzip
import lzma

import pytest

from enstruct.data import opening
from enstruct.data.load import load
from enstruct.data.opening import is_file, is_folder, read_lines, stream_lines
from enstruct.errors import DatasetNotFoundError, ParseError


@pytest.fixture
def small_bounds(monkeypatch):
    monkeypatch.setattr(opening, "MOST_UNPACKED", 100_000)
    monkeypatch.setattr(opening, "FREE", 10_000)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
@pytest.mark.parametrize("read", [read_lines, lambda path: [*stream_lines(path)]])
def test_what_is_empty_at_heart_is_refused(pack, read, small_bounds, tmp_path):
    path = tmp_path / ("a.gz" if pack is gzip.compress else "a.xz")
    path.write_bytes(pack(b"0,1\n" * 20_000))  # 80,000 bytes from some hundred
    with pytest.raises(ParseError, match=r"unpacks to more than .* unpack it first"):
        read(path)


def test_what_is_dense_may_be_as_large_as_the_bound(small_bounds, tmp_path):
    import random

    text = "\n".join(str(random.Random(k).random()) for k in range(4000))
    (tmp_path / "a.gz").write_bytes(gzip.compress(text.encode()))
    assert read_lines(tmp_path / "a.gz") == text.split("\n")
    (tmp_path / "a.txt").write_text(text * 2)  # no archive: it is as large as it is
    assert len(read_lines(tmp_path / "a.txt")) == 7999
    (tmp_path / "b.gz").write_bytes(gzip.compress((text * 2).encode()))
    with pytest.raises(ParseError, match="unpacks to more than"):
        read_lines(tmp_path / "b.gz")


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b"])
def test_names_that_no_file_can_have_are_not_there(name):
    assert not is_file(name)
    assert not is_folder(name)
    with pytest.raises(DatasetNotFoundError):
        load(name)
