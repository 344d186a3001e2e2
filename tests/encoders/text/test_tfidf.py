"""Texts by tf-idf against scikit-learn's vectorisers one by one, and its record."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler

from enstruct import TextFeatures
from enstruct.errors import ConfigError, DataError

TEXTS = ["Grain and wheat rise", "wheat falls, grain falls", "gold ships", "gold and grain", ""]


def test_blocks_of_words_and_pieces():
    rows = TextFeatures().fit_transform(TEXTS)
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True).fit_transform(TEXTS)
    pieces = TfidfVectorizer(ngram_range=(3, 4), min_df=2, sublinear_tf=True, analyzer="char_wb").fit_transform(TEXTS)
    wanted = np.hstack([words.toarray(), pieces.toarray()]) / np.sqrt(2)
    assert np.allclose(rows.toarray(), wanted)
    assert np.allclose(np.linalg.norm(rows[0].toarray()), 1)
    assert rows[4].nnz == 0


def test_one_kind_alone_and_the_most_frequent():
    features = TextFeatures(characters=None, words=(1, 1), most_words=2).fit(TEXTS)
    assert features.get_feature_names_out().tolist() == ["words: and", "words: grain"]
    assert features.transform(TEXTS).shape == (5, 2)


def test_terms_that_occur_once_count_where_there_are_no_others():
    assert TextFeatures().fit_transform(["a unique text"]).nnz > 0


def test_a_record_makes_the_same_rows():
    features = TextFeatures().fit(TEXTS)
    again = TextFeatures.from_record(json.loads(json.dumps(features.record())))
    assert (again.transform(["grain wheat gold", "x"]) != features.transform(["grain wheat gold", "x"])).nnz == 0


@pytest.mark.parametrize("damage", [("terms", ["a", "a"]), ("idf", [1.0]), ("idf", [float("inf")] * 99), ("terms", [])])
def test_damaged_records_are_refused(damage):
    record = TextFeatures().fit(TEXTS).record()
    record[damage[0]]["words"] = damage[1]
    with pytest.raises(ValueError, match="not those that its idf weighs"):
        TextFeatures.from_record(record)


def test_within_a_column_transformer():
    frame = pd.DataFrame({"body": TEXTS, "price": np.arange(5.0)})
    table = ColumnTransformer([("text", TextFeatures(), "body"), ("numbers", StandardScaler(), ["price"])])
    assert table.fit_transform(frame).shape == (5, TextFeatures().fit_transform(TEXTS).shape[1] + 1)
    assert clone(TextFeatures(words=(1, 3))).words == (1, 3)


@pytest.mark.parametrize(
    "settings", [{"words": None, "characters": None}, {"words": (2, 1)}, {"characters": 3}, {"words": (0, 1)}, {"most_words": -3}]
)
def test_lengths_that_cannot_be(settings):
    with pytest.raises(ConfigError, match=r"length of a term|both None|most_words"):
        TextFeatures(**settings).fit(TEXTS)


def test_no_words_and_no_texts():
    with pytest.raises(DataError, match="None of the 2 texts has a word"):
        TextFeatures().fit(["", " "])
    with pytest.raises(DataError, match="reads texts"):
        TextFeatures().fit(np.eye(3))
