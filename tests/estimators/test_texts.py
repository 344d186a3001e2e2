"""Texts where rows of numbers may be, in every classifier of label sets: fitted, answered, saved, refused."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from tests.generated_texts import documents, tiny_encoder

from enstruct import (
    AutoMultiLabelClassifier,
    EnergyMultiLabelClassifier,
    JointMultiLabelClassifier,
    TextEncoder,
    TextFeatures,
    find_label_issues,
)
from enstruct.encoders.text.trunk import load_trunk
from enstruct.errors import ConfigError, DataError, ModelFileError
from enstruct.estimators.texts import LENGTH, ByBoth

TEXTS, Y = documents(120)
NEW, TRUTH = documents(40, seed=1)
QUICK = {"hidden": 16, "layers": 1, "learning_rate": 0.03, "max_epochs": 6, "n_iter_no_change": 6}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ENSTRUCT_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    "model",
    [
        EnergyMultiLabelClassifier("binary-relevance"),
        EnergyMultiLabelClassifier("seal-nce", **QUICK),
        EnergyMultiLabelClassifier(base="binary-relevance"),
        JointMultiLabelClassifier("binary-relevance", folds=2),
        AutoMultiLabelClassifier(("binary-relevance",), members=1, folds=2),
    ],
    ids=["linear", "networks", "default", "joint", "auto"],
)
@pytest.mark.usefixtures("quick_joints")
def test_by_tf_idf(model, tmp_path):
    model = clone(model).set_params(random_state=0)
    model.fit(TEXTS, Y)
    answer = model.predict(NEW)
    assert (answer == TRUTH).mean() > 0.9
    assert (model.predict(pd.Series(NEW)) == answer).all()
    assert (model.predict(np.array(NEW)[:1]) == answer[:1]).all()
    model.save(tmp_path / "model")
    again = type(model).load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    with pytest.raises(DataError, match="trained on texts"):
        again.predict(np.eye(3))
    with pytest.raises(DataError, match="Row 1 of X is missing"):
        again.predict(["a", None])


def test_what_the_default_answers_of_texts():
    model = JointMultiLabelClassifier("binary-relevance", folds=2, random_state=0).fit(pd.Series(TEXTS), Y)
    assert model.predict([""]).shape == (1, 3)  # an empty text is one
    known = np.full((1, 3), np.nan)
    known[0, 2] = 1
    assert model.predict_proba(["oil ship"], known=known)[0, 0] > model.predict_proba(["oil ship"])[0, 0]
    holes = Y.astype(float)
    holes[::3, 0] = np.nan
    assert JointMultiLabelClassifier(minutes=0.001, folds=2, random_state=0).fit(TEXTS, holes).predict(NEW).shape == (40, 3)


def test_labels_that_do_not_fit_their_texts():
    wrong = Y.copy()
    wrong[7, 0] = 1 - wrong[7, 0]
    issues = find_label_issues(TEXTS, wrong, base="binary-relevance", folds=3, random_state=0)
    assert [cell[:2] for cell in issues.cells()[:3]].count((7, 0)) == 1


@pytest.mark.parametrize("tuning", ["frozen", "adapter", "lora", "full"])
def test_by_an_encoder(folder, tuning, tmp_path):
    encoder = TextEncoder(folder, tuning=tuning, size=None if tuning in ("frozen", "full") else 4, learning_rate=1e-3)
    model = EnergyMultiLabelClassifier("seal-nce", encoder=encoder, random_state=0, max_epochs=3).fit(TEXTS, Y)
    assert model.predict_proba(NEW).shape == (40, 3)
    model.save(tmp_path / "model")
    again = EnergyMultiLabelClassifier.load(tmp_path / "model")
    assert again.encoder.get_params() == {**encoder.get_params(), "name": str(folder)}
    assert np.array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    one_by_one = np.concatenate([again.predict_proba([text]) for text in NEW[:5]])
    assert np.allclose(one_by_one, model.predict_proba(NEW)[:5], atol=1e-5)
    with pytest.raises(DataError, match="encoder= reads texts"):
        clone(model).fit(np.eye(120), Y)


def test_a_tuned_encoder_learns(folder):
    slow = {"random_state": 0, "early_stopping": False, "max_epochs": 60, "batch_size": 16, "learning_rate": 0.01}
    encoder = TextEncoder(folder, tuning="full", learning_rate=0.01)
    model = EnergyMultiLabelClassifier("cross-entropy", encoder=encoder, **slow).fit(TEXTS, Y)
    assert (model.predict(NEW) == TRUTH).mean() > 0.8
    losses = [record["predictor_loss"] for record in model.history_]
    assert losses[-1] < losses[0] / 2


@pytest.mark.usefixtures("quick_joints")
def test_a_joint_on_an_encoder(folder, tmp_path):
    for tuning in ("frozen", "lora"):
        encoder = TextEncoder(folder, tuning=tuning)
        base = "auto" if tuning == "lora" else "binary-relevance"
        model = EnergyMultiLabelClassifier(base=base, encoder=encoder, random_state=0).fit(TEXTS[:60], Y[:60])
        wanted = {"cross-entropy (tokens)", "linear-svm (terms)"} if tuning == "lora" else {"binary-relevance"}
        assert {one.base.name for one in model.joint_.base_} == wanted
        model.save(tmp_path / tuning)
        again = EnergyMultiLabelClassifier.load(tmp_path / tuning)
        assert np.array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
        assert again.sample(NEW[:2], 3).shape == (2, 3, 3)


def test_holes_are_not_for_tuned_encoders(folder):
    holes = Y.astype(float)
    holes[0, 0] = np.nan
    with pytest.raises(ConfigError, match="y has holes"):
        JointMultiLabelClassifier(encoder=TextEncoder(folder, tuning="lora")).fit(TEXTS, holes)


@pytest.mark.usefixtures("quick_joints")
def test_a_base_that_reads_texts_gets_them(tmp_path):
    pipeline = make_pipeline(CountVectorizer(), MultiOutputClassifier(LogisticRegression()))
    model = JointMultiLabelClassifier(pipeline, folds=2, random_state=0).fit([*TEXTS, TEXTS[0]], np.vstack([Y, Y[:1]]))
    assert (model.predict(NEW) == TRUTH).mean() > 0.95
    assert model.base_[0].base.per_label is False
    model.save(tmp_path / "model")
    again = JointMultiLabelClassifier.load(tmp_path / "model", base=model.base_[0].models[0])
    assert np.array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    by_label = JointMultiLabelClassifier(make_pipeline(CountVectorizer(), LogisticRegression()), folds=2).fit(TEXTS, Y)
    assert (by_label.predict(NEW) == TRUTH).mean() > 0.95


def test_a_table_of_texts_and_numbers():
    frame = pd.DataFrame({"body": TEXTS, "price": np.arange(120.0)})
    rows = ColumnTransformer([("text", TextFeatures(), "body"), ("rest", "passthrough", ["price"])])
    model = make_pipeline(rows, EnergyMultiLabelClassifier("extra-trees", random_state=0)).fit(frame, Y)
    assert (model.predict(frame) == Y).mean() > 0.95


def test_a_model_of_numbers_refuses_texts():
    model = EnergyMultiLabelClassifier("binary-relevance").fit(TextFeatures().fit_transform(TEXTS), Y)
    with pytest.raises(DataError, match="trained on rows of numbers"):
        model.predict(NEW)
    with pytest.raises(DataError, match="is one text"):
        model.fit("one text", Y)
    model.fit(TEXTS, Y)
    model.fit(np.eye(120), Y)  # and forgets texts when it is fitted to numbers
    assert model.predict(np.eye(120)).shape == (120, 3)


def test_other_weights_and_missing_encoders_are_named(tmp_path, folder):
    own = tiny_encoder(tmp_path / "own")
    EnergyMultiLabelClassifier("cross-entropy", encoder=TextEncoder(own), **QUICK).fit(TEXTS, Y).save(tmp_path / "model")
    tiny_encoder(own, seed=1)
    with pytest.raises(ModelFileError, match="has other weights"):
        EnergyMultiLabelClassifier.load(tmp_path / "model")
    own.rename(tmp_path / "away")
    with pytest.raises(ModelFileError, match="There is no encoder"):
        EnergyMultiLabelClassifier.load(tmp_path / "model")
    tiny_encoder(tmp_path / "away")
    moved = EnergyMultiLabelClassifier.load(tmp_path / "model", encoder=TextEncoder(tmp_path / "away"))
    assert moved.predict(NEW).shape == (40, 3)


@pytest.mark.parametrize(
    "change",
    [
        {"text": {"read_by": "encoder", "digest": "0" * 64}},
        {"text": {"read_by": "terms", "words": [1, 2], "characters": None, "terms": {"words": ["a"]}, "idf": {"words": []}}},
        {"text": {"read_by": "terms", "words": [1], "characters": None, "terms": {"words": ["a"]}, "idf": {"words": [1.0]}}},
        {"text": {"read_by": "nobody"}},
        {"text": "terms"},
    ],
)
def test_damaged_headers_are_refused(change, tmp_path):
    EnergyMultiLabelClassifier("binary-relevance").fit(TEXTS, Y).save(tmp_path / "model")
    header = json.loads((tmp_path / "model" / "model.json").read_text())
    header["input"] |= change
    (tmp_path / "model" / "model.json").write_text(json.dumps(header))
    with pytest.raises(ModelFileError):
        EnergyMultiLabelClassifier.load(tmp_path / "model")


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.usefixtures("quick_joints")
def test_the_default_on_an_encoder_reads_terms_and_features_side_by_side(folder, tmp_path, holes):
    labels = Y.astype(float)
    if holes:
        labels[::5, 0] = np.nan
    encoder = TextEncoder(folder)
    model = JointMultiLabelClassifier(encoder=encoder, folds=2, random_state=0).fit(TEXTS, labels)
    tried = {name for names in model.base_scores_ for name in names.split("+")}
    assert tried == {"linear-svm (both)", f"{'network' if holes else 'cross-entropy'} (encoder)", "linear-svm (terms)"}
    assert (model.predict(NEW) == TRUTH).mean() > 0.9
    p = np.clip(np.mean([one.answer(model.text_.rows(NEW)) for one in model.base_], axis=0), 1e-4, 1 - 1e-4)
    assert np.allclose(model.base_proba(NEW), p, atol=1e-5)
    model.save(tmp_path / "model")
    again = JointMultiLabelClassifier.load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    header = json.loads((tmp_path / "model" / "joint.json").read_text())
    del header["bases"][0]["view"]
    (tmp_path / "model" / "joint.json").write_text(json.dumps(header))
    with pytest.raises(ModelFileError, match="other parts of its texts"):
        JointMultiLabelClassifier.load(tmp_path / "model")


@pytest.mark.usefixtures("quick_joints")
def test_however_little_time_there_is_an_encoder_is_asked(folder):
    model = JointMultiLabelClassifier(encoder=TextEncoder(folder), minutes=1e-9, folds=2, random_state=0).fit(TEXTS, Y)
    tried = {name for names in model.base_scores_ for name in names.split("+")}
    assert tried == {"linear-svm (both)"}


def test_features_beside_terms_have_one_variance_and_half_the_length(folder):
    reader = ByBoth.of(TextEncoder(folder), TEXTS)
    features = reader.rows(TEXTS)[:, reader.n_terms :].toarray()
    assert np.allclose(features.mean(0), 0, atol=1e-5)
    assert np.allclose(features.std(0), LENGTH / np.sqrt(features.shape[1]), atol=1e-5)
    assert np.isclose((features**2).sum(1).mean(), LENGTH**2)


@pytest.mark.parametrize(("name", "value"), [("centre", [0.0]), ("spread", [0.0] * 16), ("spread", None)])
@pytest.mark.usefixtures("quick_joints")
def test_features_of_another_width_or_without_a_spread_are_refused(name, value, folder, tmp_path):
    model = JointMultiLabelClassifier(encoder=TextEncoder(folder), minutes=1e-9, folds=2, random_state=0).fit(TEXTS, Y)
    model.save(tmp_path / "model")
    header = json.loads((tmp_path / "model" / "joint.json").read_text())
    header["input"]["text"][name] = value
    (tmp_path / "model" / "joint.json").write_text(json.dumps(header))
    with pytest.raises(ModelFileError):
        JointMultiLabelClassifier.load(tmp_path / "model")


def test_a_warm_start_keeps_terms_and_reader(folder):
    model = EnergyMultiLabelClassifier("cross-entropy", warm_start=True, random_state=0, **QUICK).fit(TEXTS, Y)
    terms = model.text_
    model.set_params(learning_rate=1e-9, weight_decay=0.0)
    before = model.predict_proba(NEW)
    model.fit([text.replace("oil", "tin") for text in TEXTS], Y)
    assert model.text_ is terms
    assert np.allclose(model.predict_proba(NEW), before, atol=1e-3)
    model.fit(pd.DataFrame({"body": TEXTS}), Y)
    model = EnergyMultiLabelClassifier("cross-entropy", encoder=TextEncoder(folder), random_state=0, **QUICK).fit(TEXTS, Y)
    model.set_params(encoder=TextEncoder(folder, pooling="cls"))
    for use in (lambda: model.predict(NEW), lambda: model.save("nowhere")):
        with pytest.raises(ConfigError, match=r"in another way|another encoder"):
            use()


def test_tuned_encoders_need_a_network(folder):
    encoder = TextEncoder(folder, tuning="lora")
    for model in (
        EnergyMultiLabelClassifier("binary-relevance", encoder=encoder),
        JointMultiLabelClassifier("extra-trees", encoder=encoder),
        JointMultiLabelClassifier(LogisticRegression(), encoder=encoder),
    ):
        with pytest.raises(ConfigError, match="is tuned with a network"):
            model.fit(TEXTS, Y)


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_a_joint_of_tuned_members_finds_an_encoder_that_has_moved(tmp_path):
    own = tiny_encoder(tmp_path / "own")
    encoder = TextEncoder(own, tuning="lora", size=2)
    model = JointMultiLabelClassifier(encoder=encoder, folds=2, random_state=0).fit(TEXTS[:40], Y[:40])
    assert set(model.base_scores_) >= {"cross-entropy (tokens)", "linear-svm (terms)"}
    model.save(tmp_path / "model")
    before = model.predict_proba(NEW)
    own.rename(tmp_path / "away")
    moved = JointMultiLabelClassifier.load(tmp_path / "model", encoder=TextEncoder(tmp_path / "away", tuning="lora", size=2))
    assert np.array_equal(moved.predict_proba(NEW), before)


def test_single_passes_have_the_full_rate(folder):
    model = EnergyMultiLabelClassifier("cross-entropy", encoder=TextEncoder(folder, tuning="lora"), random_state=0)
    model.partial_fit(TEXTS[:20], Y[:20]).partial_fit(TEXTS[:20], Y[:20])
    assert sorted(group["lr"] for group in model.partial_game_.optimizer.param_groups) == [5e-4, 1e-3]


def test_where_a_folder_lies_is_written_whole_and_its_cache_is_not(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder.parent)
    encoder = TextEncoder(folder.name, cache=tmp_path / "kept")
    EnergyMultiLabelClassifier("cross-entropy", encoder=encoder, **QUICK).fit(TEXTS, Y).save(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    assert EnergyMultiLabelClassifier.load("model").encoder.cache is True
    header = (tmp_path / "model" / "model.json").read_text()
    assert '"cache": true' in header
    (tmp_path / "model" / "model.json").write_text(header.replace('"cache": true', '"cache": "/somewhere"'))
    with pytest.raises(ModelFileError, match="the reader's to choose"):
        EnergyMultiLabelClassifier.load("model")


def test_a_model_from_before_there_were_layers_reads_the_last(folder, tmp_path):
    encoder = TextEncoder(folder)
    model = EnergyMultiLabelClassifier("cross-entropy", encoder=encoder, random_state=0, **QUICK).fit(TEXTS, Y)
    model.save(tmp_path / "model")
    header = json.loads((tmp_path / "model" / "model.json").read_text())
    fields = header["parameters"]["encoder"]["fields"]
    assert (fields.pop("layers"), fields.pop("precision")) == (1, "auto")
    (tmp_path / "model" / "model.json").write_text(json.dumps(header))
    again = EnergyMultiLabelClassifier.load(tmp_path / "model")
    assert again.encoder.layers == 1
    assert np.array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    again.set_params(encoder=TextEncoder(folder, layers=2))
    with pytest.raises(ConfigError, match="in another way"):
        again.predict(NEW)


def test_no_texts_at_all():
    model = EnergyMultiLabelClassifier("binary-relevance").fit(TEXTS, Y)
    with pytest.raises(DataError, match="holds no text"):
        model.predict([])


def test_more_tokens_than_the_encoder_reads_are_said_once(folder, caplog):
    long = ["grain " * 50, *TEXTS[1:]]
    load_trunk(folder).said.clear()
    model = EnergyMultiLabelClassifier("cross-entropy", encoder=TextEncoder(folder, max_tokens=99, cache=False), **QUICK).fit(
        long, Y
    )
    model.predict([*NEW, "grain " * 60])
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        f"1 of {len(long)} texts have more than 32 tokens (what the encoder reads at once) and are cut there"
    ]
