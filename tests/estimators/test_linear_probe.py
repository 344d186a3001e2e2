"""A tuned encoder's head begins at the regression on frozen features: held against scikit-learn's."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from tests.generated_texts import documents, tiny_encoder

from enstruct import EnergyMultiLabelClassifier, TextEncoder
from enstruct.data.rows import Rows
from enstruct.encoders import Predictor
from enstruct.estimators import linear_probe, network_classifier

pytest.importorskip("transformers")
STILL = {"learning_rate": 1e-12, "max_epochs": 1, "random_state": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.mark.parametrize("tuning", ["adapter", "lora", "full"])
def test_untrained_it_answers_as_scikit_learns_regression(folder, tuning, caplog):
    (texts, Y), (others, Z) = documents(120, 0), documents(60, 1)
    encoder = TextEncoder(folder, tuning=tuning, learning_rate=1e-12)
    with caplog.at_level("INFO", logger="enstruct"):
        model = EnergyMultiLabelClassifier("cross-entropy", encoder=encoder, **STILL).fit(texts, Y, X_val=others, y_val=Z)
    C = float(caplog.text.partition("features, C = ")[2].split()[0])
    frozen = TextEncoder(folder, cache=False)
    X, held = frozen.features(texts), frozen.features(others)
    centre, spread = X.mean(0), X.std(0)
    for label in range(3):
        peer = LogisticRegression(C=C, max_iter=5000, tol=1e-8).fit((X - centre) / spread, Y[:, label])
        expected = peer.predict_proba((held - centre) / spread)[:, 1]
        assert np.abs(model.predict_proba(others)[:, label] - expected).max() < 0.01  # whose intercept is not shrunk


def test_every_method_on_a_tuned_encoder_begins_there_and_no_other(folder, monkeypatch):
    begun = []
    probe = linear_probe.begin_at_probe
    monkeypatch.setattr(network_classifier, "begin_at_probe", lambda *args: begun.append(args) or probe(*args))
    texts, Y = documents(80, 0)
    few = {"max_epochs": 1, "random_state": 0}
    for method in ("cross-entropy", "seal-nce"):
        EnergyMultiLabelClassifier(method, encoder=TextEncoder(folder, tuning="lora"), **few).fit(texts, Y)
    assert len(begun) == 2
    EnergyMultiLabelClassifier("cross-entropy", encoder=TextEncoder(folder), **few).fit(texts, Y)
    EnergyMultiLabelClassifier(
        "cross-entropy", encoder=TextEncoder(folder, tuning="lora", label_texts=["a", "b", "c"]), **few
    ).fit(texts, Y)
    assert len(begun) == 2
    model = EnergyMultiLabelClassifier("cross-entropy", encoder=TextEncoder(folder, tuning="lora"), **few, warm_start=True)
    model.fit(texts, Y).fit(texts, Y)
    assert len(begun) == 3


def test_weights_and_class_weights_reach_the_probe(folder):
    texts, Y = documents(80, 0)
    encoder = TextEncoder(folder, tuning="adapter", learning_rate=1e-12)
    plain = EnergyMultiLabelClassifier("cross-entropy", encoder=encoder, **STILL).fit(texts, Y)
    heavy = EnergyMultiLabelClassifier("cross-entropy", encoder=encoder, class_weight="balanced", **STILL).fit(texts, Y)
    weighted = EnergyMultiLabelClassifier("cross-entropy", encoder=encoder, **STILL).fit(texts, Y, np.where(Y[:, 0], 3.0, 1.0))
    assert heavy.predict_proba(texts)[:, 2].mean() > plain.predict_proba(texts)[:, 2].mean() + 0.02
    p, q = (model.predict_proba(texts)[:, 0] for model in (weighted, plain))
    assert np.median(p / (1 - p) / (q / (1 - q))) > 1.3


def test_a_predictor_that_never_learns_has_no_probe(folder, monkeypatch):
    monkeypatch.setattr(network_classifier, "begin_at_probe", lambda *args: pytest.fail("a probe of nobody's head"))
    texts, Y = documents(60, 0)
    encoder = TextEncoder(folder, tuning="lora")
    EnergyMultiLabelClassifier("dvn", encoder=encoder, max_epochs=1, random_state=0).fit(texts, Y)


class Constant(torch.nn.Module):
    """Features of which the first says all, the second is one number in every row but for rounding, the third is 0."""

    out_features = 3

    def forward(self, x):
        return torch.stack([x[:, 0], 0.7 + 1e-7 * torch.sign(x[:, 1]), torch.zeros(len(x))], dim=1)


def test_what_does_not_vary_has_no_weight_and_labels_that_do_not_are_not_certain():
    X = np.random.default_rng(0).standard_normal((300, 2)).astype(np.float32)
    Y = sparse.csr_matrix(np.column_stack([X[:, 0] > 0, np.zeros(300), np.ones(300)]).astype(np.float32))
    predictor = Predictor(Constant(), 3)
    linear_probe.begin_at_probe(predictor, Rows(X, Y), None, None, "example-f1", torch.device("cpu"))
    assert (predictor.head.weight[:, 1:] == 0).all()
    assert predictor.head.weight[0, 0] > 1
    assert predictor.head.bias[1:].tolist() == pytest.approx([-np.log(301), np.log(301)], rel=1e-5)
