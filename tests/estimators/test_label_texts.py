"""Labels by their texts: what the predictor makes of them, labels that come later, refusals, saved models."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.generated_texts import documents, tiny_encoder

from enstruct import EnergyMultiLabelClassifier, EnergySequenceTagger, JointMultiLabelClassifier, TextEncoder
from enstruct.errors import ConfigError, DataError
from enstruct.estimators.label_texts import texts_of, vectors_of

TEXTS = {0: "grain", 1: "wheat", 2: "grain wheat"}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return TextEncoder(tiny_encoder(tmp_path_factory.mktemp("tiny")), max_tokens=16, cache=False)


def make(encoder, method="cross-entropy", label_texts=TEXTS, **changes):
    settings = {"max_epochs": 3, "random_state": 0, **changes}
    return EnergyMultiLabelClassifier(method, encoder=replace(encoder, label_texts=label_texts), **settings)


def test_texts_go_by_the_labels():
    classes = np.array(["b_c", "a"])
    assert texts_of("names", classes) == ["b c", "a"]
    assert texts_of({"a": "one", "b_c": "two", "d": "of no label"}, classes) == ["two", "one"]
    assert texts_of(["two", "one"], classes) == ["two", "one"]
    with pytest.raises(ConfigError, match=r"no text of 'b_c' \(1 labels lack one\)"):
        texts_of({"a": "one"}, classes)
    with pytest.raises(ConfigError, match="are 1 texts, and there are 2 labels"):
        texts_of(["two"], classes)


@pytest.mark.parametrize("tuning", ["frozen", "adapter"])
def test_the_logits_are_those_of_the_formula(encoder, tuning):
    texts, Y = documents(80)
    how = TextEncoder(encoder.name, tuning=tuning, max_tokens=16, cache=False)
    model = make(how).fit(texts, Y)
    predictor = model.predictor_.eval()
    assert predictor.up.weight.detach().abs().max().item() > 0  # it was trained
    labels = vectors_of(how, list(TEXTS.values()))
    with torch.no_grad():
        if tuning == "frozen":
            x = torch.from_numpy(model.data_.features(model.encoder.features(texts[:9])).astype(np.float32))
            labels, z = model.data_.features(labels).astype(np.float32), predictor.encoder(x)
        else:
            x = z = predictor.encoder(torch_rows(how, texts[:9]))
        own = F.linear(z, predictor.head.weight, predictor.head.bias)
        turned = x + x @ predictor.down.weight.T @ predictor.up.weight.T
        alike = F.cosine_similarity(turned.unsqueeze(1), torch.from_numpy(labels).unsqueeze(0), dim=2)
        expected = own + predictor.bias + predictor.scale * alike
    np.testing.assert_allclose(model.decision_function(texts[:9]), expected.numpy(), atol=1e-4)
    others = model.predict_new(texts[:9], ["grain", "ship"])
    np.testing.assert_allclose(others[:, 0], torch.sigmoid(expected - own)[:, 0].numpy(), atol=1e-5)


def torch_rows(encoder, texts):
    from enstruct.training.batches import to_features

    return to_features(encoder.token_rows(texts))


def test_own_weights_are_left_out_while_training(encoder):
    model = make(encoder).fit(*documents(60))
    predictor, x = model.predictor_.train(), torch.randn(4, 16)
    with torch.no_grad():
        predictor.head.bias.fill_(100.0)
        drawn = torch.stack([predictor(x)[0] for _ in range(400)])
    left_out = (drawn < 50).float().mean(0)
    assert ((left_out > 0.05) & (left_out < 0.16)).all()


def test_a_label_that_came_later_is_found_by_its_text(encoder):
    """Of words that the random encoder tells apart: what was learnt of some holds for others."""
    words = ("oil", "ship", "gold", "trade", "crude", "corn", "rate", "bank", "grain", "wheat")
    rng = np.random.default_rng(0)
    Y = (rng.random((600, len(words))) < 0.3).astype(int)
    texts = [" ".join(rng.permutation([w for w, there in zip(words, row, strict=True) if there] or ["oil"])) for row in Y]
    model = make(encoder, label_texts=list(words[:-1]), max_epochs=40).fit(texts[:500], Y[:500, :-1])
    p = model.predict_new(texts[500:], [words[-1]])[:, 0]
    there = Y[500:, -1] == 1
    assert (p[there][:, None] > p[~there]).mean() > 0.8  # the area under its ROC curve


@pytest.mark.parametrize("method", ["seal-nce", "cross-entropy"])
def test_saved_models_read_their_labels_still(encoder, tmp_path, method):
    texts, Y = documents(80)
    model = make(encoder, method).fit(texts, Y)
    model.save(tmp_path / "model")
    loaded = EnergyMultiLabelClassifier.load(tmp_path / "model")
    assert loaded.encoder.label_texts == TEXTS
    assert np.array_equal(model.predict_proba(texts), loaded.predict_proba(texts))
    assert np.array_equal(model.predict_new(texts, ["gold"]), loaded.predict_new(texts, ["gold"]))
    model.set_params(encoder=replace(model.encoder, label_texts="names"))
    with pytest.raises(ConfigError, match="another encoder"):
        model.save(tmp_path / "other")


def test_labels_that_never_vary_have_no_part(encoder):
    texts, Y = documents(80)
    Y = np.column_stack([Y, np.zeros(80, dtype=int)])
    with pytest.warns(match="label"):
        model = make(encoder, label_texts=["grain", "wheat", "grain wheat", "gold"]).fit(texts, Y)
    assert model.predictor_.vectors.shape == (3, 16)
    assert (model.predict_proba(texts)[:, 3] < 1e-6).all()


def test_refusals(encoder):
    texts, Y = documents(60)
    for wrong in (3, [], "words", {"a": 1}):
        with pytest.raises(ConfigError, match="label_texts= is 'names', a dict"):
            make(encoder, label_texts=wrong).fit(texts, Y)
    with pytest.raises(ConfigError, match="'names' reads what labels are called, and these are numbers"):
        make(encoder, label_texts="names").fit(texts, Y)
    reading = replace(encoder, label_texts=TEXTS)
    for model in (
        make(encoder, "binary-relevance"),
        EnergyMultiLabelClassifier(encoder=reading),
        JointMultiLabelClassifier("cross-entropy", encoder=reading),
        reading,
    ):
        with pytest.raises(ConfigError, match="are read by a network for label sets"):
            model.fit(texts, Y)
    with pytest.raises(ConfigError, match="read by a network for label sets, and a tagger has none"):
        EnergySequenceTagger(encoder=reading).fit([["a", "b"]] * 4, [["X", "Y"]] * 4)
    with pytest.raises(ConfigError, match="label_texts="):
        make(encoder, label_texts=None).fit(texts, Y).predict_new(texts, ["gold"])
    with pytest.raises(DataError, match="new labels as a list"):
        make(encoder).fit(texts, Y).predict_new(texts, "gold")


def test_a_joint_takes_it_as_its_base(encoder):
    """Labels that never vary are no labels of the base's, and names are numbers to it: the texts follow."""
    texts, Y = documents(80)
    names = ["grain", "wheat", "both"]
    sets = [["always", *(names[k] for k in np.flatnonzero(row))] for row in Y]
    described = {"always": "bank", "grain": "grain", "wheat": "wheat", "both": "grain wheat"}
    joint = JointMultiLabelClassifier(make(encoder, label_texts=described), folds=2, random_state=0).fit(texts, sets)
    assert joint.classes_.tolist() == ["always", "both", "grain", "wheat"]
    assert [model.encoder.label_texts for model in joint.base_[0].models] == [["grain wheat", "grain", "wheat"]]
    assert joint.predict_proba(texts[:5], known=[{"wheat": True}] * 5).shape == (5, 4)
    new = texts[:5], ["gold", "oil bank"]
    np.testing.assert_allclose(joint.predict_new(*new), mean_of_models(joint, new))
    whole = EnergyMultiLabelClassifier(base=make(encoder, label_texts=described), random_state=0).fit(texts, sets)
    np.testing.assert_allclose(whole.predict_new(*new), mean_of_models(whole.joint_, new))
    plain = JointMultiLabelClassifier("binary-relevance", folds=2, random_state=0).fit(texts, sets)
    with pytest.raises(ConfigError, match="needs a base that reads its labels"):
        plain.predict_new(texts[:5], ["gold"])
    with pytest.raises(DataError, match="new labels as a list"):
        joint.predict_new(texts[:5], "gold")


def mean_of_models(joint, new):
    return np.mean([model.predict_new(*new) for fitted in joint.base_ for model in fitted.models], axis=0)
