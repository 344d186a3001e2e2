"""Damaged headers of saved models: refused on load in the library's own words, or loaded to a model that answers."""

import copy
import json
import random
import shutil

import pytest
from tests.configured import configured

from enstruct import AutoMultiLabelClassifier, EnergyMultiLabelClassifier, EnergySegmenter, EnergySequenceTagger
from enstruct.data.hierarchy import Hierarchy
from enstruct.data.synthetic import ellipses
from enstruct.errors import ConfigError, ModelFileError
from enstruct.inference import Inference, MirrorDescent
from enstruct.negatives import PredictorSamples

WORDS, TAGS = [["in", "Rome", f"w{i}"] for i in range(12)], [["O", "B-LOC", "O"]] * 12
WRONG = (None, -1, 0, 3, 0.5, float("inf"), 10**30, True, "x", "auto", [], ["x"], [1, 2], {}, {"a": 1}, [[["x"]]])
DELETED = object()


def label_sets(blocks):
    names = [[blocks.label_names[j] for j in row.indices] for row in blocks.Y[:90]]
    every = sorted({name for row in names for name in row})
    n = len(every)
    names = [[*dict.fromkeys([*row, *([every[0]] if every[1] in row else [])])] for row in names]  # closed in the hierarchy
    settings = {"rules": Hierarchy(n, ((0, 1),)), "negatives": PredictorSamples(3), "max_epochs": 1, "hidden": 4}
    return configured(EnergyMultiLabelClassifier, "seal-nce", random_state=0, **settings).fit(blocks.X[:90], names), (
        blocks.X[:5],
    )


def by_inference(blocks):
    how = Inference(MirrorDescent(), ("predictor",), steps=2)
    model = configured(EnergyMultiLabelClassifier, "nce", inference=how, hidden=4, max_epochs=1, random_state=0)
    return model.fit(blocks.X[:90], blocks.Y[:90]), (blocks.X[:5],)


def trees(blocks):
    return EnergyMultiLabelClassifier("extra-trees", random_state=0).fit(blocks.X[:90], blocks.Y[:90, :4]), (blocks.X[:5],)


def automatic(blocks):
    model = AutoMultiLabelClassifier(minutes=0.05, members=1, folds=2, random_state=0, methods=("cross-entropy",))
    return model.set_params(settings={"max_epochs": 1, "hidden": 4}).fit(blocks.X[:90], blocks.Y[:90]), (blocks.X[:5],)


def tagger(blocks):
    return EnergySequenceTagger("seal-margin", hidden=4, embedding_dim=4, max_epochs=1, random_state=0).fit(WORDS, TAGS), (
        WORDS[:2],
    )


def segmenter(blocks):
    pictures = ellipses(8, 8, seed=0)
    model = EnergySegmenter("seal-margin", width=2, levels=1, max_epochs=1, random_state=0, size=(8, 8))
    return model.fit(*pictures), (pictures[0][:2],)


MAKERS = {f.__name__: f for f in (label_sets, by_inference, trees, automatic, tagger, segmenter)}


@pytest.fixture(scope="module", params=MAKERS)
def saved(request, blocks, tmp_path_factory):
    model, given = MAKERS[request.param](blocks)
    path = tmp_path_factory.mktemp("models") / "m"
    model.save(path)
    return type(model), path, path / ("auto.json" if request.param == "automatic" else "model.json"), given


def places(value, place=()):
    """Where anything stands in a header, without the history of training."""
    yield from [place] if place else []
    entries = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, entry in entries:
        if key not in ("history", "notes"):
            yield from places(entry, (*place, key))


def changed(header, place, wrong):
    out = copy.deepcopy(header)
    inner = out
    for key in place[:-1]:
        inner = inner[key]
    if wrong is DELETED:
        del inner[place[-1]]
    else:
        inner[place[-1]] = wrong
    return out


def ends_well(cls, path, given):
    """Whether it loads and answers; AssertionError for a raw error of any kind."""
    try:
        model = cls.load(path)
    except (ModelFileError, ConfigError) as error:
        return len(str(error)) > 300
    model.predict(*given)
    model.predict_proba(*given)
    return True


def test_damaged_headers_are_refused_on_load_or_answer(saved, request):
    cls, path, file, given = saved
    whole = file.read_text()
    header = json.loads(whole)
    damages = [(place, wrong) for place in places(header) for wrong in (DELETED, *WRONG)]
    sample = random.Random(0).sample(damages, min(len(damages), 120))
    refused = 0
    try:
        for place, wrong in sample:
            file.write_text(json.dumps(changed(header, place, wrong)))
            try:
                refused += not ends_well(cls, path, given)
            except Exception as error:
                raise AssertionError(f"{place} = {wrong!r}") from error
    finally:
        file.write_text(whole)
    assert refused > len(sample) / 3
    assert ends_well(cls, path, given)


@pytest.fixture(scope="module")
def one_model(blocks, tmp_path_factory):
    model, given = label_sets(blocks)
    path = tmp_path_factory.mktemp("one") / "m"
    model.save(path)
    return model, given, path


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (("labels", "dtype"), "<U500000000"),
        (("labels", "classes"), ["a", "a"]),
        (("input", "n_features"), 10**8),
        (("parameters", "hidden"), 10**9),
        (("parameters", "layers"), 10**5),
        (("parameters", "rules", "fields", "n_labels"), 3),
        (("parameters", "rules", "fields", "edges", 0, 0), -1),
        (("decision",), "top-q"),
        (("rules", "per-label", "thresholds"), [0.5]),
        (("rules", "scaled", "thresholds"), [0.5]),
        (("rules", "scaled", "exponent"), -1.0),
        (("parameters", "method", "fields", "negatives", "fields", "n"), "x"),
        (("parameters", "method", "fields", "negatives", "value"), "os.system"),
    ],
)
def test_what_stands_alone_in_order_and_not_together_is_refused(place, wrong, one_model, tmp_path):
    model, given, folder = one_model
    shutil.copytree(folder, tmp_path / "m")
    file = tmp_path / "m" / "model.json"
    file.write_text(json.dumps(changed(json.loads(file.read_text()), place, wrong)))
    if place == ("labels", "dtype"):
        loaded = EnergyMultiLabelClassifier.load(tmp_path / "m")  # texts are as wide as they are
        assert loaded.data_.labels.classes.dtype.itemsize < 100
        assert loaded.predict(*given) == model.predict(*given)
        return
    with pytest.raises(ModelFileError):
        EnergyMultiLabelClassifier.load(tmp_path / "m")
