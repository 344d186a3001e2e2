"""Every system of the table learns generated documents, and gives the same answers again."""

import numpy as np
import pytest
from tests.generated_texts import documents, tiny_encoder

from enstruct import TextEncoder
from enstruct_bench.texts.collections import Documents
from enstruct_bench.texts.systems import fit
from enstruct_bench.texts.systems.states import EncodedDocuments

NAMES = ("grain", "wheat", "both")


@pytest.fixture(scope="module")
def encoded(tmp_path_factory):
    return EncodedDocuments(TextEncoder(tiny_encoder(tmp_path_factory.mktemp("tiny")), max_tokens=16))


@pytest.fixture(scope="module")
def parts():
    return [Documents(texts, Y.astype(np.uint8), NAMES) for texts, Y in (documents(150, 0), documents(50, 1), documents(50, 2))]


@pytest.mark.parametrize(
    ("name", "batch", "rate"),
    [("seq2seq", 16, 1e-2), ("sgm", 16, 1e-2), ("ocd", 16, 1e-2), ("seqtag", 8, 2e-3), ("laco", 8, 2e-3)],
)
def test_a_system_learns(name, batch, rate, encoded, parts, monkeypatch):
    for setting, value in (("BATCH", batch), ("RATE", rate), ("ROUNDS", 4), ("PATIENCE", 4), ("UPDATES", 30)):
        monkeypatch.setattr(fit, setting, value)
    train, validation, test = parts
    p = fit.fit_system(name, encoded, train, validation, 0)(test.texts)
    assert p.shape == test.Y.shape
    assert ((p >= 0) & (p <= 1 + 1e-6)).all()
    assert ((p >= 0.5) == test.Y).mean() > 0.8
    monkeypatch.setattr(fit, "ROUNDS", 1)
    monkeypatch.setattr(fit, "UPDATES", 5)
    once, again = (fit.fit_system(name, encoded, train, validation, 0)(test.texts) for _ in range(2))
    assert np.array_equal(once, again)


def test_states_are_those_of_the_encoder_text_by_text(encoded, parts):
    texts = parts[2].texts[:5]
    encoded.encode(texts)
    together = encoded.batch(texts)
    for row, text in enumerate(texts):
        alone = EncodedDocuments(encoded._encoder)
        alone.encode([text])
        one = alone.batch([text])
        assert int(together.there[row].sum()) == one.values.shape[1]
        np.testing.assert_allclose(together.values[row][together.there[row]], one.values[0], atol=5e-3)
    with pytest.raises(ValueError, match="1 texts were not encoded"):
        encoded.batch(["never seen"])
