"""What parameters and keywords of the estimators may be: errors of the library, which name what is wrong."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tests.configured import configured

from enstruct import AutoMultiLabelClassifier, EnergyMultiLabelClassifier, EnergySegmenter, EnergySequenceTagger
from enstruct.energies import EnergySpec
from enstruct.errors import ConfigError, DataError, EnstructError
from enstruct.estimators.network_classifier import NetworkClassifier
from enstruct.estimators.parameters import AUTOMATIC, LABEL_SETS, PIXELS, TAG_SEQUENCES, check_parameters
from enstruct.hypergradients import Alternating
from enstruct.negatives import PredictorPoint
from enstruct.rules import Excludes, Hierarchy, Implies, Soft

TABLES = {
    NetworkClassifier: LABEL_SETS,
    AutoMultiLabelClassifier: AUTOMATIC,
    EnergySequenceTagger: TAG_SEQUENCES,
    EnergySegmenter: PIXELS,
}
ODD = [-1, 0.5, float("nan"), float("inf"), "x", "", [1], {1: 2}, (1,), True, 10**30, object(), np.array([1, 2])]
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(30, 4)), (RNG.random((30, 3)) < 0.5).astype(int)
WORDS = [["a", "b"], ["c", "d", "e"]] * 5, [["X", "Y"], ["Y", "X", "X"]] * 5
IMAGES = RNG.random((8, 8, 8)), (RNG.random((8, 8, 8)) > 0.5).astype(int)
DATA = {NetworkClassifier: ROWS, AutoMultiLabelClassifier: ROWS, EnergySequenceTagger: WORDS, EnergySegmenter: IMAGES}


@pytest.mark.parametrize("made", TABLES)
def test_every_parameter_has_a_check_that_its_default_passes(made):
    assert set(TABLES[made]) >= set(made().get_params(deep=False))
    check_parameters(made(), TABLES[made])


@pytest.mark.parametrize("made", TABLES)
def test_odd_values_are_taken_or_named(made):
    accepted = 0
    for name in made().get_params(deep=False):
        for value in ODD:
            try:
                check_parameters(made(**{name: value}), TABLES[made])
                accepted += 1
            except ConfigError as error:
                said = str(error)
                assert name in said or name.split("_")[0] in said.lower(), (name, value, said)
    assert accepted < 0.25 * len(ODD) * len(made().get_params(deep=False))


@pytest.mark.parametrize(
    ("made", "name", "value"),
    [
        *((NetworkClassifier, "negatives", odd) for odd in ({}, [], object(), PredictorPoint)),
        *((NetworkClassifier, "coupling", odd) for odd in ({}, [])),
        *((NetworkClassifier, "method", odd) for odd in ({}, [], None)),
        *((NetworkClassifier, "batch_size", odd) for odd in (np.inf, np.nan, True, 2.5, "")),
        *((NetworkClassifier, "learning_rate", odd) for odd in (np.nan, True, 10**30)),
        *((NetworkClassifier, "random_state", odd) for odd in (-1, True, 2**32)),
        (NetworkClassifier, "validation_fraction", True),
        (NetworkClassifier, "standardize", np.array([1, 2])),
        (NetworkClassifier, "class_weight", {0: np.nan}),
        (NetworkClassifier, "class_weight", np.array([1, 2])),
        (NetworkClassifier, "callbacks", (1,)),
        (AutoMultiLabelClassifier, "random_state", -1),
        (AutoMultiLabelClassifier, "methods", "seal-nce"),
        (AutoMultiLabelClassifier, "methods", [[]]),
        (AutoMultiLabelClassifier, "settings", {"hidden": True}),
        (AutoMultiLabelClassifier, "member_callbacks", 3),
        (EnergySequenceTagger, "classes", "XY"),
        (EnergySequenceTagger, "initial", 3),
        (EnergySequenceTagger, "embeddings", 3),
        (EnergySegmenter, "ignore", "x"),
        (EnergySegmenter, "binarise", 1.5),
        (EnergySegmenter, "classes", [True, False]),
        (EnergySegmenter, "cost", {}),
    ],
)
def test_fit_names_the_parameter(made, name, value):
    with pytest.raises(ConfigError, match="hidden" if name == "settings" else name.rstrip("s")):
        configured(made, **{name: value}).fit(*DATA[made])


def test_what_was_taken_before_is_taken_still():
    good = {
        "batch_size": [32.0, np.float64(16), np.int32(8)],
        "clip": [None, np.inf],
        "negatives": [PredictorPoint(), "point"],
        "coupling": [Alternating(), "alternating"],
        "energy_network": [EnergySpec()],
        "rules": [Hierarchy(3, ((0, 1),)), [], [Excludes(0, 1), Soft(Implies(1, 2), 1.0)]],
        "early_stopping": [np.bool_(True)],
        "random_state": [np.random.RandomState(0), np.int64(3)],
        "verbose": [True, 2],
        "max_epochs": [np.int64(3), "auto"],
        "energy_weight": [np.float32(0.5), 2],
    }
    for name, values in good.items():
        for value in values:
            check_parameters(configured(NetworkClassifier, "seal-margin", **{name: value}), LABEL_SETS)


@pytest.fixture(scope="module")
def fitted():
    quick = {"max_epochs": 1, "random_state": 0}
    return {
        "sets": EnergyMultiLabelClassifier("seal-nce", hidden=4, early_stopping=True, **quick).fit(*ROWS),
        "single": EnergyMultiLabelClassifier("seal-nce", hidden=4, **quick).fit(ROWS[0], ROWS[1][:, 0]),
        "auto": AutoMultiLabelClassifier(("binary-relevance",), members=1).fit(*ROWS),
        "tags": EnergySequenceTagger(hidden=4, **quick).fit(*WORDS),
        "masks": EnergySegmenter(width=2, levels=1, **quick).fit(*IMAGES),
    }


KEYWORDS = {
    "sets": (ROWS[0], {"predict": ("decision", "top_k", "refine"), "sample": ("n",), "infer": ("settings", "steps", "starts")}),
    "single": (ROWS[0], {"predict": ("decision", "top_k"), "infer": ("tolerance", "stable", "temperature", "rule")}),
    "auto": (ROWS[0], {"predict": ("decision", "top_k", "candidate"), "predict_proba": ("candidate",)}),
    "tags": (WORDS[0], {"predict": ("decision", "refine", "holes"), "infer": ("settings", "share", "as_value")}),
    "masks": (IMAGES[0], {"predict": ("decision", "refine"), "infer": ("settings", "gradient", "compact")}),
}
TAKEN = {
    *(("top_k", 10**30), ("tolerance", 0.5), ("share", 0.5), ("temperature", 0.5)),
    *(("share", True), ("as_value", True), ("compact", True)),
}


@pytest.mark.parametrize("which", KEYWORDS)
def test_keywords_of_answers_are_named(fitted, which):
    X, calls = KEYWORDS[which]
    for call, name in ((call, name) for call, names in calls.items() for name in names):
        for value in ODD:
            if isinstance(value, (int, float)) and (name, value) in TAKEN:
                continue
            with pytest.raises(EnstructError):
                getattr(fitted[which], call)(X, **{name: value})


def test_seeds_of_draws_are_named(fitted):
    for value in (-1, 1.5, True, 2**32, [], "x"):
        with pytest.raises(ConfigError, match="random_state"):
            fitted["sets"].sample(ROWS[0], 1, random_state=value)


def test_data_that_is_no_list(fitted):
    for value in (None, 3, 0.5, True, object()):
        for call in (
            lambda v: fitted["tags"].predict(v),
            lambda v: fitted["tags"].predict([v]),
            lambda v: fitted["tags"].score(WORDS[0], v),
            lambda v: fitted["tags"].score(WORDS[0], [v] * 10),
            lambda v: fitted["tags"].predict(WORDS[0], holes=v or 1),
            lambda v: EnergySequenceTagger(max_epochs=1).fit(v, WORDS[1]),
            lambda v: EnergySequenceTagger(max_epochs=1).fit(*WORDS, unlabelled=v or 1),
            lambda v: EnergySequenceTagger(max_epochs=1).fit(*WORDS, unlabelled=(v,)),
            lambda v: EnergySequenceTagger(max_epochs=1).fit(*WORDS, reward=v or 1),
            lambda v: EnergySequenceTagger(max_epochs=1).fit(*WORDS, expectations=[v]),
            lambda v: fitted["masks"].predict(v),
            lambda v: fitted["masks"].score(IMAGES[0], v),
            lambda v: EnergySegmenter(max_epochs=1).fit(v, IMAGES[1]),
        ):
            with pytest.raises((DataError, ConfigError)):
                call(value)


def test_weights_and_classes_that_are_none(fitted):
    for value in ("x", {}, object(), np.inf, (1,), np.array([1, 2]), -np.ones(30)):
        with pytest.raises(DataError, match="sample_weight"):
            fitted["sets"].score(*ROWS, sample_weight=value)
        with pytest.raises(DataError, match="sample_weight"):
            EnergyMultiLabelClassifier("binary-relevance").fit(*ROWS, sample_weight=value)
    for value in (3, [], {}, True, "ab"):
        with pytest.raises(ConfigError, match="classes must be"):
            EnergyMultiLabelClassifier("cross-entropy").partial_fit(ROWS[0], ROWS[1][:, 0], classes=value)


def test_a_fraction_that_leaves_no_row():
    for y in (ROWS[1], ROWS[1][:, 0]):
        with pytest.raises(DataError, match=r"30 distinct rows are too few .*validation_fraction=0.9999"):
            EnergyMultiLabelClassifier("seal-nce", validation_fraction=0.9999, early_stopping=True).fit(ROWS[0], y)


def test_probabilities_are_no_names():
    for scores in ([[0.2, 0.8], [0.5, 0.5]] * 15, [np.array([0.2, 0.8])] * 30, [[1.5], [2.5]] * 15):
        with pytest.raises(DataError, match="Label names are texts or whole numbers"):
            EnergyMultiLabelClassifier("seal-nce").fit(ROWS[0], scores)
    assert EnergyMultiLabelClassifier("binary-relevance").fit(ROWS[0], ROWS[1].astype(float)).classes_.tolist() == [0, 1, 2]


def test_a_classifier_goes_to_the_base():
    with pytest.raises(ConfigError, match=r"give LogisticRegression\(\) as base=") as found:
        EnergyMultiLabelClassifier(LogisticRegression()).fit(np.eye(4), np.eye(4, dtype=int))
    assert len(str(found.value)) < 300
    with pytest.raises(ConfigError, match="must be the name of a method, not "):
        EnergySequenceTagger(LogisticRegression()).fit([["a"]], [["X"]])
