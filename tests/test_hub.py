"""Models by way of a hub's folder, without a hub; the card says what the model is."""

import numpy as np
import pytest
from huggingface_hub import ModelCard
from sklearn.exceptions import NotFittedError

from enstruct import EnergyMultiLabelClassifier, EnergySegmenter, EnergySequenceTagger
from enstruct.data.synthetic import ellipses
from enstruct.errors import ConfigError, ModelFileError
from enstruct.hub import MARK, HubModel, card, load
from tests.configured import configured

pytestmark = pytest.mark.usefixtures("quick_fields", "quick_joints")


def labels(blocks):
    model = configured(EnergyMultiLabelClassifier, "cross-entropy", max_epochs=2, hidden=8, random_state=0)
    return model.fit(blocks.X[:80], blocks.Y[:80]), blocks.X[80:90]


def joint(blocks):
    model = EnergyMultiLabelClassifier(base="binary-relevance", random_state=0).fit(blocks.X[:60], blocks.Y[:60])
    return model, blocks.X[60:70]


def tags(blocks):
    X = [["Ada", "lives"], ["London"]] * 10
    y = [["B-PER", "O"], ["B-LOC"]] * 10
    return EnergySequenceTagger("cross-entropy", max_epochs=1, hidden=4, random_state=0).fit(X, y), X[:2]


def masks(blocks):
    images, truth = ellipses(8, size=12)
    return EnergySegmenter("cross-entropy", max_epochs=1, width=2, random_state=0).fit(images, truth), images[:2]


@pytest.mark.parametrize("kind", [labels, joint, tags, masks])
def test_there_and_back(kind, blocks, tmp_path):
    model, X = kind(blocks)
    HubModel(model).save_pretrained(tmp_path / "repository")
    again = HubModel.from_pretrained(str(tmp_path / "repository")).model
    for a, b in zip(again.predict_proba(X), model.predict_proba(X), strict=True):
        np.testing.assert_array_equal(a, b)
    card = ModelCard.load(tmp_path / "repository" / "README.md")
    assert card.data.library_name == "enstruct"
    assert f"| decision rule | `{model.decision_}`" in card.text
    assert all(f"| {rule} |" in card.text for rule in model.decision_scores_)
    assert {entry.name for entry in (tmp_path / "repository").iterdir()} <= {"model", "README.md", "config.json"}


def test_cards_of_odd_names_and_what_is_no_model(blocks, tmp_path):
    with pytest.raises(ConfigError, match="takes a fitted model"):
        HubModel("model")
    with pytest.raises(NotFittedError):
        HubModel(EnergyMultiLabelClassifier())
    X = np.random.default_rng(0).standard_normal((40, 3))
    sets = [[("rock|pop", "c\nd", "a`b")[i % 3]] for i in range(40)]
    model = configured(EnergyMultiLabelClassifier, "cross-entropy", max_epochs=1, hidden=4, random_state=0).fit(X, sets)
    HubModel(model).save_pretrained(tmp_path / "repository", model_card_kwargs={"pipeline_tag": "tabular-classification"})
    page = ModelCard.load(tmp_path / "repository" / "README.md")
    assert page.data.pipeline_tag == "tabular-classification"
    assert "| classes | 3: `a'b`, `c d`, `rock\\|pop` |" in page.text
    model.notes_ = {"label_names": ["x", "y", "z"]}
    assert "3: `x`, `y`, `z`" in card(model)


def test_a_card_is_of_the_model_beside_it_unless_it_is_its_owners(blocks, tmp_path):
    models = [
        configured(EnergyMultiLabelClassifier, "cross-entropy", max_epochs=1, hidden=4, random_state=0).fit(
            blocks.X[:n], blocks.Y[:n]
        )
        for n in (60, 80)
    ]
    cards = []
    for model in models:
        HubModel(model).save_pretrained(tmp_path)
        cards.append((tmp_path / "README.md").read_text())
    assert cards[0] != cards[1]
    assert cards[1].endswith(card(models[1]).rstrip("\n") + "\n")
    own = cards[1].replace(MARK, "")
    (tmp_path / "README.md").write_text(own)
    HubModel(models[0]).save_pretrained(tmp_path)
    assert (tmp_path / "README.md").read_text() == own


@pytest.mark.parametrize("name", ["somebody/nothing", "no/such/folder"])
def test_names_that_no_hub_knows(name, tmp_path):
    with pytest.raises(ModelFileError, match=f"'{name}' is no folder here and came from no hub") as failure:
        HubModel.from_pretrained(name, local_files_only=True, cache_dir=tmp_path)
    assert len(str(failure.value)) <= 300


def test_a_model_that_was_fetched_is_found_offline(blocks, tmp_path):
    model, _ = labels(blocks)
    cached = tmp_path / "models--some--body" / "snapshots" / ("0" * 40)
    HubModel(model).save_pretrained(cached)
    refs = tmp_path / "models--some--body" / "refs"
    refs.mkdir()
    (refs / "main").write_text("0" * 40)
    back = HubModel.from_pretrained("some/body", local_files_only=True, cache_dir=tmp_path)
    assert type(back.model) is type(model)


def test_folders_that_hold_no_model(tmp_path):
    with pytest.raises(ModelFileError, match="not an enstruct model folder"):
        load(tmp_path)
    (tmp_path / "model.json").write_text('{"format": 2, "estimator": "Other", "parameters": {}}')
    with pytest.raises(ModelFileError, match="holds a Other"):
        load(tmp_path)
