"""A pretrained encoder on words, against the library ``transformers`` sentence by sentence; a tagger on it."""

import numpy as np
import pytest
import torch
from tests.generated_texts import tiny_encoder

from enstruct import EnergySequenceTagger, TextEncoder
from enstruct.encoders.text import EncodedWords, keeping_features
from enstruct.encoders.text import words as words_module
from enstruct.errors import ConfigError, ModelFileError
from enstruct.estimators.token_format import TokenFormat
from enstruct.training.batches import to_inputs

transformers = pytest.importorskip("transformers")
SENTENCES = [["grain", "goldship", "xyz", "oil"], ["wheat"], ["corn", "é", "gold"], ["bank"] * 40]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    more = ("##ship", *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"))
    return tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny", more=more)


def reference(folder, sentence, first, layers):
    """Of as many words as fit into 32 places; zeros behind."""
    tokenizer, network = (getattr(transformers, name).from_pretrained(folder) for name in ("AutoTokenizer", "AutoModel"))
    tokens = tokenizer(sentence, is_split_into_words=True, return_tensors="pt", truncation=True, max_length=32)
    every = network.eval()(**tokens, output_hidden_states=True).hidden_states
    states = np.concatenate([every[2 - k][0].detach().numpy() for k in range(layers)], axis=1)
    words = tokens.word_ids(0)
    out = np.zeros((len(sentence), states.shape[1]), dtype=np.float32)
    for word in {word for word in words if word is not None}:
        own = [states[place] for place, of in enumerate(words) if of == word]
        out[word] = own[0] if first else np.mean(own, axis=0)
    return out


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("tuning", ["frozen", "adapter"])
def test_words_have_the_features_of_their_pieces(folder, pooling, tuning, caplog):
    layers = 1 + (tuning == "frozen")
    encoder = TextEncoder(folder, tuning=tuning, pooling=pooling, layers=layers)
    words = TokenFormat(pieces_of=encoder.pieces).fit(SENTENCES)
    assert max(map(len, encoder.pieces(["goldship", "xyz"]))) == 3
    batch = to_inputs(words.encode(SENTENCES)).x
    with torch.no_grad():
        network = EncodedWords(encoder).eval()
        features = network(batch).numpy()
        network(batch)
    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert said == ["a sentence has more than 30 pieces: words behind them are read as nothing"]  # once
    for row, sentence in enumerate(SENTENCES):
        assert np.allclose(features[row, : len(sentence)], reference(folder, sentence, pooling == "cls", layers), atol=1e-5)
        assert not features[row, len(sentence) :].any()


def numbered(encoder, sentences):
    return to_inputs(TokenFormat(pieces_of=encoder.pieces).fit(SENTENCES).encode(sentences)).x


@pytest.mark.parametrize("most", [2**28, 40])
def test_a_frozen_encoder_reads_each_sentence_once(folder, monkeypatch, most):
    monkeypatch.setattr(words_module, "MOST_KEPT", most)
    encoder = TextEncoder(folder)
    network, read = EncodedWords(encoder).eval(), []
    whole = network._read
    monkeypatch.setattr(network, "_read", lambda pieces: (read.append(len(pieces)), whole(pieces))[1])
    first, second = numbered(encoder, SENTENCES), numbered(encoder, [SENTENCES[2], ["oil", "bank"], SENTENCES[0]])
    expected = [network(batch) for batch in (first, second)]
    read.clear()
    with keeping_features():
        found = [network(batch) for batch in (first, second)]
    assert read == ([4, 1] if most > 100 else [4, 3])  # nothing of the first batch fits into 40 numbers, or but one word
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, atol=1e-5)
    network(first)
    assert read[-1] == 4  # nothing is kept for later


def test_a_tuned_encoder_reads_at_every_pass(folder):
    network = EncodedWords(TextEncoder(folder, tuning="lora"))
    with keeping_features():
        assert network(numbered(TextEncoder(folder), SENTENCES)).requires_grad


TRAIN = [["grain", "rises"], ["oil", "and", "wheat"], ["gold"], ["grain", "and", "gold"]] * 12
TAGS = [[{"grain": "B-X", "wheat": "B-X", "gold": "B-Y"}.get(word, "O") for word in sentence] for sentence in TRAIN]


@pytest.mark.parametrize(("tuning", "method"), [("frozen", "cross-entropy"), ("lora", "seal-nce"), ("full", "crf")])
def test_a_tagger_on_an_encoder(folder, tmp_path, tuning, method):
    encoder = TextEncoder(folder, tuning=tuning, learning_rate=5e-3)
    tagger = EnergySequenceTagger(method, encoder=encoder, hidden=8, max_epochs=6, learning_rate=0.02, random_state=0).fit(
        TRAIN, TAGS
    )
    new = [["wheat", "and", "gold"], ["grain"]]
    answer = tagger.predict_proba(new)
    tagger.save(tmp_path / "tagger")
    again = EnergySequenceTagger.load(tmp_path / "tagger")
    for mine, theirs in zip(answer, again.predict_proba(new), strict=True):
        assert np.array_equal(mine, theirs)
    assert tagger.score(TRAIN, TAGS) > 0.5
    assert tagger.predict(new, known=[["B-Y", None, None], [None]])[0][0] == "B-Y"
    moved = tiny_encoder(tmp_path / "other", seed=5)
    with pytest.raises(ModelFileError, match="other weights"):
        EnergySequenceTagger.load(tmp_path / "tagger", encoder=TextEncoder(moved, tuning=tuning))


def test_an_encoder_changes_what_a_tagger_answers(folder):
    settings = {"hidden": 8, "max_epochs": 2, "random_state": 0}
    bare = EnergySequenceTagger("cross-entropy", **settings).fit(TRAIN, TAGS)
    read = EnergySequenceTagger("cross-entropy", encoder=TextEncoder(folder), **settings).fit(TRAIN, TAGS)
    assert read.predictor_.encoder.embedding.out_features == bare.predictor_.encoder.embedding.out_features + 16
    assert not np.allclose(read.predict_proba([["gold"]])[0], bare.predict_proba([["gold"]])[0])


def test_a_tagger_whose_encoder_reads_other_layers_since_is_not_saved(folder, tmp_path):
    tagger = EnergySequenceTagger("cross-entropy", encoder=TextEncoder(folder), hidden=8, max_epochs=1, random_state=0)
    tagger.fit(TRAIN, TAGS).set_params(encoder=TextEncoder(folder, layers=2))
    with pytest.raises(ConfigError, match="another encoder"):
        tagger.save(tmp_path / "tagger")
    assert not (tmp_path / "tagger").exists()
