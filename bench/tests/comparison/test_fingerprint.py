"""What tells data of one name apart."""

import numpy as np
import pytest
from scipy import sparse

from enstruct.data.conll import read_conll
from enstruct_bench.comparison.fingerprint import fingerprint

X, Y = np.arange(6.0).reshape(2, 3), sparse.csr_matrix(np.eye(2, dtype=np.uint8))
WORDS = [[["a", "b"], ["O", "B-PER"]]]


def test_the_same_contents_have_the_same_fingerprint():
    assert fingerprint(X, Y, WORDS) == fingerprint(X.copy(order="F"), Y.copy(), [[["a", "b"], ["O", "B-PER"]]])
    assert len(fingerprint(X)) == 16


def test_sentences_of_a_file_count_as_their_lists_do(tmp_path):
    (tmp_path / "a.conll").write_text("a O\nb B-PER\n\nc O\n")
    assert fingerprint([*read_conll(tmp_path / "a.conll")]) == fingerprint([[["a", "b"], ["c"]], [["O", "B-PER"], ["O"]]])


@pytest.mark.parametrize(
    "other",
    [(X + 1, Y, WORDS), (X, Y[::-1], WORDS), (X, Y, [[["a", "b"], ["O", "O"]]]), (X[:1], Y, WORDS), (X, 2 * Y, WORDS), (X, Y)],
)
def test_other_contents_have_another(other):
    assert fingerprint(*other) != fingerprint(X, Y, WORDS)
