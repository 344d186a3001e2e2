"""Messages: short whatever they quote, with their beginning and their end."""

import numpy as np
import pytest

from enstruct import errors
from enstruct.errors import MOST_CHARACTERS, ParseError, shortened, shown, unknown_name

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.EnstructError)]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not ParseError])
def test_every_error_is_cut_in_the_middle(kind):
    said = str(kind("what is wrong: " + "x" * 10**6 + " how to mend it"))
    assert len(said) == MOST_CHARACTERS
    assert said.startswith("what is wrong")
    assert said.endswith("how to mend it")
    assert str(kind("short")) == "short"


def test_a_file_s_error_says_where_and_is_cut_too():
    error = ParseError("bad, " + "x" * 10**6 + " mend it", "songs.csv", 3, "c" * 10**6)
    assert len(str(error)) == MOST_CHARACTERS
    assert str(error).startswith("songs.csv, line 3, column 'ccc")
    assert str(error).endswith("mend it")
    assert (error.path, error.line, len(error.column)) == ("songs.csv", 3, 10**6)


def test_a_long_path_leaves_room_for_what_is_wrong():
    path = "/".join(["folder" * 10] * 50) + "/songs.csv"
    error = ParseError("this is what is wrong", path, 3, "loud")
    assert str(error).endswith("/songs.csv, line 3, column 'loud': this is what is wrong")
    assert error.path == path


def test_values_are_quoted_in_few_characters():
    assert shown("pop") == "'pop'"
    assert shown([1, 2]) == "[1, 2]"
    assert [shown(value) for value in (np.float64(2), np.int8(3), np.str_("pop"))] == ["2.0", "3", "'pop'"]
    assert len(shown("x" * 10**6)) == 62
    assert len(shown("\U000e0001" * 10**6)) <= 120
    assert len(shown(list(range(10**5)), 40)) == 40
    assert shown(10**5000) == "<int of very many digits>"
    assert shortened("abcdefghij", 10) == "abcdefghij"
    assert shortened("abcdefghijk", 10) == "abcdef…ijk"


def test_names_of_any_size_are_unknown():
    assert "Did you mean 'bibtex'" in str(unknown_name("data set", "bibtx", ["bibtex", "yeast"]))
    assert len(str(unknown_name("split", "x" * 10**6, ["auto"]))) <= MOST_CHARACTERS
    assert str(unknown_name("split", 10**5000, ["auto"])).startswith("Unknown split <int of")
