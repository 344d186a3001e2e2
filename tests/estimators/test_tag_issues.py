"""Tags that neither the sentence nor its other tags make likely."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from tests.generated import make_sentences

from enstruct import EnergySequenceTagger, find_label_issues
from enstruct.data.tag_schemes import find_spans
from enstruct.errors import ConfigError, DataError
from enstruct.estimators.tag_issues import TagIssues

SMALL = {"hidden": 12, "embedding_dim": 8, "dropout": 0.1, "learning_rate": 0.02, "max_epochs": 15, "batch_size": 8}


def test_spans_of_another_type_are_found():
    words, tags = make_sentences(150)
    rng, wrong = np.random.default_rng(0), []
    other = {"PER": "LOC", "LOC": "PER"}
    given = [[*row] for row in tags]
    for row in given:
        planted = np.zeros(len(row), dtype=bool)
        for span in find_spans(row):
            if rng.random() < 0.06:
                planted[span.start : span.end] = True
                row[span.start : span.end] = [tag[:2] + other[span.type] for tag in row[span.start : span.end]]
        wrong.append(planted)
    issues = find_label_issues(words, given, base=EnergySequenceTagger("crf", **SMALL), folds=3, random_state=0)
    assert [len(row) for row in issues.quality] == [len(row) for row in words]
    truth, quality = np.concatenate(wrong), np.concatenate(issues.quality)
    assert average_precision_score(truth, -quality) > 0.6 > 5 * truth.mean()
    sentence, token, _ = issues.cells()[0]
    assert wrong[sentence][token]
    assert wrong[issues.rows()[0][0]].any()


def test_order_leaves_out_what_was_not_given():
    issues = TagIssues([np.array([0.9, np.nan]), np.zeros(0), np.array([0.2, 0.8]), np.array([np.nan])])
    assert issues.cells() == [(2, 0, 0.2), (2, 1, 0.8), (0, 0, 0.9)]
    assert issues.rows() == [(2, 0.2), (0, 0.9)]


def test_what_cannot_be_reviewed_is_refused():
    words, tags = make_sentences(8)
    with pytest.raises(DataError, match="8 sentences with a tag are too few for 5 folds"):
        find_label_issues(words, tags, base=EnergySequenceTagger("crf"))
    with pytest.raises(ConfigError, match="a setting of the tagger"):
        find_label_issues(words, tags, base=EnergySequenceTagger("crf"), rules=[])
