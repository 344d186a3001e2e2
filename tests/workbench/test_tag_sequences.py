"""Tags at the workbench: told tags come back as told, and the others are the chain's best beside them."""

import numpy as np
import pytest
from tests.generated import make_sentences

from enstruct import EnergySequenceTagger
from enstruct.data.conll import read_conll
from enstruct.errors import DataError
from enstruct.workbench.tag_sequences import TagSequences


@pytest.fixture(scope="module")
def tags():
    sentences, names = make_sentences(60)
    tagger = EnergySequenceTagger("crf", hidden=8, embedding_dim=6, max_epochs=3, batch_size=8, random_state=0)
    return TagSequences(tagger.fit(sentences, names), make_sentences(6, seed=3)[0])


def test_answers_are_the_chain_s(tags):
    row = next(k for k, sentence in enumerate(tags.sentences) if len(sentence) > 4)
    n, cells = len(tags.sentences[row]), {"1": "B-PER", "2": "I-PER"}
    answers = tags.answers(row, cells, {})
    known = [[cells.get(str(k)) for k in range(n)]]
    assert answers["tags"] == tags.tagger.predict([tags.sentences[row]], known=known)[0]
    assert answers["tags"][1:3] == ["B-PER", "I-PER"]
    assert answers["p"][1] == pytest.approx(1, abs=1e-4)
    assert ["PER", 1] in [span[:2] for span in answers["spans"]]
    table = tags.tagger.predict_proba([tags.sentences[row]], known=known)[0]
    assert max(answers["p"]) <= table.max() + 1e-4
    assert min(answers["p"]) >= table.min() - 1e-4


def test_described_by_types(tags):
    assert tags.describe()["types"] == ["LOC", "PER"]
    assert tags.content(0)["words"] == tags.sentences[0]


@pytest.mark.parametrize(
    ("cells", "done", "message"),
    [
        ({"99": "O"}, False, "none of them"),
        ({"x": "O"}, False, "none of them"),
        ({"0": "B-ORG"}, False, "no tag 'B-ORG'"),
        ({"0": "O"}, True, "all its tokens"),
        ({"0": "I-PER"}, False, "."),
    ],
)
def test_what_cannot_be_told(tags, cells, done, message):
    with pytest.raises(DataError, match=message):
        tags.check(0, cells, cells, done)


def test_what_was_told_can_be_taken_back(tags):
    tags.check(0, {"0": None}, {}, False)


def test_finished_sentences_are_written(tags, tmp_path):
    whole = {str(k): "O" for k in range(len(tags.sentences[1]))}
    with pytest.raises(DataError, match="No sentence is finished"):
        tags.write(tmp_path / "out.conll", {0: {"0": "O"}})
    tags.write(tmp_path / "out.conll", {0: {"0": "O"}, 1: whole})
    assert read_conll(tmp_path / "out.conll") == ([tags.sentences[1]], [["O"] * len(whole)])


def test_uncertainty_is_the_entropies_summed(tags):
    tables = tags.tagger.predict_proba(tags.sentences[:2])
    expected = [-(p * np.log(np.maximum(p, 1e-300))).sum() for p in tables]
    np.testing.assert_allclose(tags.uncertainty(np.array([0, 1])), expected)


def test_a_tag_s_probability_is_that_of_all_that_is_written_so(tags):
    """B-X in IOB2 begins a span of one token or of more."""
    answers = tags.answers(0, {}, {})
    for k, (tag, p) in enumerate(zip(answers["tags"], answers["p"], strict=True)):
        y = [[None] * k + [tag] + [None] * (len(answers["tags"]) - k - 1)]
        assert p == pytest.approx(float(np.exp(tags.tagger.log_prob([tags.sentences[0]], y)[0])), abs=2e-4)
