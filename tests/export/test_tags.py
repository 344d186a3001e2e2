"""Tags: words by way of vocabulary.json and the file alone, against the tagger."""

import json
from itertools import zip_longest

import numpy as np
import onnxruntime
import pytest
import torch
from tests.configured import configured

from enstruct import EnergySequenceTagger
from enstruct.errors import ConfigError
from enstruct.export import export_onnx
from enstruct.export.recurrent import GraphLSTM
from enstruct.export.tags import Links, _written, chain_marginals, viterbi
from enstruct.export.write import quiet
from enstruct.inference import chain

WORDS = {"Anna": "PER", "Bob": "PER", "Paris": "LOC", "sees": None, "runs": None, "x1": None, "42": None}


def sentences(n, seed):
    rng = np.random.default_rng(seed)
    X = [[str(word) for word in rng.choice(list(WORDS), rng.integers(1, 8))] for _ in range(n)]
    return X, [[f"B-{WORDS[word]}" if WORDS[word] else "O" for word in words] for words in X]


def fitted(method, **settings):
    X, y = sentences(40, 0)
    y[0], y[1] = ["O"] * len(X[0]), ["B-LOC", *["I-LOC"] * (len(X[1]) - 1)]
    settings = {"max_epochs": 2, "hidden": 6, "characters": 5, "embedding_dim": 6, "random_state": 0} | settings
    return configured(EnergySequenceTagger, method, **settings).fit(X, y)


def encoded(words, spelt):
    """As the docstring of ``vocabulary`` says, of sentences of words."""

    def case(word):
        if not any(c.isalpha() for c in word):
            return "none"
        titled = word[0].isupper() and word[1:].islower()
        return "lower" if word.islower() else "upper" if word.isupper() else "title" if titled else "mixed"

    def row(word):
        digits = sum(c.isdigit() for c in word)
        low = word.lower()
        vector = spelt["vectors"].get(word) or spelt["vectors"].get(low, 0)
        return [
            vector,
            spelt["words"].get(low, 0),
            spelt["cases"].index(case(word)),
            1 if not digits else 2 + (digits == len(word)),
        ]

    known = sorted({word for sentence in words for word in sentence})
    longest = max(map(len, words))
    columns, there = np.zeros((len(words), longest, 5), dtype=np.int64), np.zeros((len(words), longest), dtype=bool)
    for i, sentence in enumerate(words):
        for j, word in enumerate(sentence):
            columns[i, j], there[i, j] = [*row(word), known.index(word) + 1], True
    letters = [[spelt["characters"].get(c, len(spelt["characters"]) + 1) for c in word[: spelt["longest"]]] for word in known]
    table = np.array(list(zip_longest(*letters, fillvalue=0)), dtype=np.int64).T
    return {
        "columns": columns,
        "there": there,
        "spellings": np.concatenate([np.zeros((1, table.shape[1]), dtype=np.int64), table]),
    }


@pytest.mark.parametrize(("method", "decision"), [("cross-entropy", "legal"), ("seal-nce", "greedy"), ("crf", "map")])
def test_taggers(method, decision, tmp_path):
    model = fitted(method)
    export_onnx(model, tmp_path / "out", decision=decision, rows=8)
    spelt = json.loads((tmp_path / "out" / "vocabulary.json").read_text())
    X, _ = sentences(20, 5)
    X[3] = ["Unmet", "WORD", "ünïcode"]
    inputs = encoded(X, spelt)
    p, tags = onnxruntime.InferenceSession(str(tmp_path / "out" / "model.onnx")).run(["probabilities", "tags"], inputs)
    trained = model._answers().decided(model._inference_inputs(X), decision).split()
    for i, (expected, wanted) in enumerate(zip(model.predict_proba(X), model.predict(X, decision=decision), strict=True)):
        np.testing.assert_allclose(p[i, : len(expected)], expected, atol=1e-5)
        assert (tags[i, len(expected) :] == -1).all()
        np.testing.assert_array_equal(tags[i, : len(wanted)], trained[i])
        if decision == "legal":  # what is not is mended in the scheme of training
            assert [spelt["written"][number] for number in tags[i, : len(wanted)]] == wanted
        else:
            assert spelt["written"] is None


def test_energies_that_answer_by_sampling_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="skip-2 beside its chain"):
        export_onnx(fitted("pl"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_lstm():
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(3, 4, batch_first=True)
    graph, x = GraphLSTM(lstm).eval(), torch.randn(2, 5, 3)
    with quiet():
        program = torch.onnx.export(graph, (x,), dynamo=True, verbose=False)
    (out, *_) = onnxruntime.InferenceSession(program.model_proto.SerializeToString()).run(None, {"x": x.numpy()})
    np.testing.assert_allclose(out, lstm(x)[0].detach().numpy(), atol=1e-6)
    with pytest.raises(ConfigError, match="one layer"):
        GraphLSTM(torch.nn.LSTM(3, 4, num_layers=2))


def test_chains():
    """Sentences of several lengths, against the library's own algorithms."""
    draw = torch.Generator().manual_seed(0)
    unary, transitions = torch.randn(4, 6, 3, generator=draw), torch.randn(3, 3, generator=draw)
    start, end = torch.randn(3, generator=draw), torch.randn(3, generator=draw)
    there = torch.arange(6) < torch.tensor([[6], [1], [4], [2]])
    links, potentials = Links(transitions, start, end), chain.Potentials(unary, there, transitions, start, end)
    torch.testing.assert_close(chain_marginals(unary, there, links), chain.marginals(potentials))
    tags = viterbi(unary, there, links)
    assert (tags[~there] == -1).all()
    torch.testing.assert_close(tags[there], chain.viterbi(potentials).argmax(-1)[there])


@pytest.mark.parametrize(
    ("scheme", "tags", "written"),
    [
        ("IOB2", ["O", "B-A", "I-A"], {"B-A": "B-A", "I-A": "I-A", "E-A": "I-A", "S-A": "B-A", "O": "O"}),
        ("BILOU", ["O", "B-A", "L-A", "U-A"], {"B-A": "B-A", "I-A": "I-A", "E-A": "L-A", "S-A": "U-A", "O": "O"}),
    ],
)
def test_tags_as_written(scheme, tags, written):
    assert dict(zip(written, _written(list(written), scheme, "legal"), strict=True)) == written
    assert _written(list(written), "IOB1", "legal") is None
    assert _written(list(written), scheme, "greedy") is None
    assert _written(["x"], None, "greedy") == ["x"]


def test_what_is_no_fixed_graph(tmp_path):
    with pytest.raises(ConfigError, match="'spen' answers by inference"):
        export_onnx(fitted("spen"), tmp_path / "out")
    with pytest.raises(ConfigError, match="decision='map' does not apply"):
        export_onnx(fitted("cross-entropy"), tmp_path / "out", decision="map")
    assert not (tmp_path / "out").exists()
