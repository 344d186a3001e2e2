"""Suspects, and the reasons for them."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tests.generated_songs import LABELS, songs

from enstruct import JointMultiLabelClassifier
from enstruct.errors import DataError
from enstruct.estimators.label_issues import label_issues
from enstruct.workbench.journal import Journal
from enstruct.workbench.review import Review, Suspect, _fellow, _lower


@pytest.fixture(scope="module")
def flipped():
    """Rows of which some cells are wrong, and a joint fitted on them."""
    X, Y = songs(160, seed=4)
    Y, rng = Y.astype(float), np.random.default_rng(1)
    wrong = [(int(row), int(rng.integers(6))) for row in rng.choice(160, 12, replace=False)]
    for row, label in wrong:
        Y[row, label] = 1 - Y[row, label]
    return JointMultiLabelClassifier(LogisticRegression(), folds=2, random_state=0).fit(X, Y), Y, wrong


def test_suspects_are_the_least_likely_cells(flipped):
    model, Y, wrong = flipped
    review = Review.of(model, LABELS, Y, 30)
    cells = label_issues(model, Y).cells()[:30]
    assert [(one.row, LABELS.index(one.label)) for one in review.suspects] == [cell[:2] for cell in cells]
    assert [one.quality for one in review.suspects] == pytest.approx([cell[2] for cell in cells], rel=1e-4)
    assert all(one.given == bool(Y[one.row, LABELS.index(one.label)]) for one in review.suspects)
    found = {(one.row, LABELS.index(one.label)) for one in review.suspects} & set(wrong)
    assert len(found) >= 6
    assert all(one.reason for one in review.suspects)
    assert all(one.quality < 0.5 for one in Review.of(model, LABELS, Y).suspects)


def test_the_fellow_is_what_speaks_most_against_the_value():
    """b goes with a always, c is noise: of a row with a and without b it is a that is named, with counts that can be checked."""
    rng = np.random.default_rng(0)
    a, c = rng.random(100) < 0.5, rng.random(100) < 0.5
    Y = np.column_stack([a, a, c]).astype(float)
    Y[0] = [1, 0, 1]
    p = np.full((100, 3), 0.5)
    fellow, opposite, of = _fellow(Y, p, 0, 1)
    assert fellow == 0
    alike = np.arange(1, 25)  # all rows are alike: the first quarter of the others
    assert of == int((Y[alike, 0] == 1).sum())
    assert opposite == int(((Y[alike, 0] == 1) & (Y[alike, 1] == 1)).sum()) == of
    assert _fellow(Y, p, 0, 2) is None  # nothing speaks against noise


def test_the_lower_end_of_a_share():
    assert _lower(np.array([97]), np.array([100]))[0] == pytest.approx(0.9155, abs=1e-3)  # Wilson's interval of 97 in 100
    assert _lower(np.array([5]), np.array([9]))[0] == -1


def test_suspects_are_kept_and_read(flipped, tmp_path):
    model, Y, _ = flipped
    review = Review.of(model, LABELS, Y, 5)
    review.save(tmp_path / "s.json", "digest", {"base": "auto"}, tmp_path / "c.csv")
    assert Review.read(tmp_path / "s.json", LABELS, Y, "digest", {"base": "auto"}).suspects == review.suspects
    assert Review.writes(tmp_path / "s.json", tmp_path / "c.csv")
    assert not Review.writes(tmp_path / "s.json", tmp_path / "d.csv")
    with pytest.raises(DataError, match="other data"):
        Review.read(tmp_path / "s.json", LABELS, Y, "another", {"base": "auto"})
    with pytest.raises(DataError, match="--base auto, not seal-nce"):
        Review.read(tmp_path / "s.json", LABELS, Y, "digest", {"base": "seal-nce"})
    for wrong in ({"row": len(Y)}, {"row": -1}, {"label": "nobody"}, {"quality": 2.0}):
        record = json.loads((tmp_path / "s.json").read_text())
        record["suspects"][0] |= wrong
        (tmp_path / "wrong.json").write_text(json.dumps(record))
        with pytest.raises(DataError, match="no cell of these data"):
            Review.read(tmp_path / "wrong.json", LABELS, Y, "digest", {})
    (tmp_path / "s.json").write_text('{"content": 5}')
    with pytest.raises(DataError, match="no list of suspects"):
        Review.read(tmp_path / "s.json", LABELS, Y, "digest", {})


def test_answers_are_counted(tmp_path):
    Y = np.array([[1.0, 0.0], [np.nan, 1.0]])
    suspects = [Suspect(0, "a", True, 0.1, 0.2, "r"), Suspect(1, "b", True, 0.2, 0.3, "r")]
    review = Review(["a", "b"], Y, suspects)
    header = {"task": "labels", "data": "x", "rows": 2, "names": ["a", "b"], "content": "c"}
    journal = Journal(tmp_path / "a.jsonl", header)
    assert review.counts(journal) == {"suspects": 2, "answered": 0, "changed": 0}
    journal.tell("1", "me", 0, {"a": False}, False)
    journal.tell("2", "me", 1, {"b": True}, False)
    assert review.counts(journal) == {"suspects": 2, "answered": 2, "changed": 1}
    assert [one["answer"] for one in review.listed(journal)] == [False, True]
    assert review.given(1) == {"b": True}
    journal.close()
