"""Answers found for some rows at a time, and under every rule at once, are those of all rows and of each rule."""

import numpy as np
import pytest
from scipy import sparse

from enstruct import AutoMultiLabelClassifier, EnergyMultiLabelClassifier
from enstruct.data.hierarchy import Hierarchy
from enstruct.data.synthetic import block_exclusive
from enstruct.estimators import auto, label_answers
from enstruct.training import batches

FAST = {"hidden": 16, "layers": 1, "max_epochs": 3, "learning_rate": 0.01}


@pytest.fixture(scope="module")
def rows():
    data = block_exclusive(150, seed=1)
    Y = sparse.hstack([data.Y, np.ones((150, 1), np.uint8), np.zeros((150, 1), np.uint8)], format="csr")  # always and never
    return data.X, Y


@pytest.fixture
def small_blocks(monkeypatch):
    """Seven rows at a time."""
    met = []

    def seven(n_rows, n_columns, cells=0):
        met.append(n_rows)
        return [slice(start, start + 7) for start in range(0, n_rows, 7)]

    monkeypatch.setattr(label_answers, "row_blocks", seven)
    monkeypatch.setattr(auto, "row_blocks", seven)
    return met


def test_blocks_are_whole_chunks_of_all_rows():
    found = batches.row_blocks(5000, 4000, cells=10_000_000)
    assert found == [slice(0, 2048), slice(2048, 4096), slice(4096, 6144)]
    assert batches.row_blocks(10, 10**9) == [slice(0, batches.CHUNK)]  # a chunk at least


@pytest.mark.filterwarnings("ignore::enstruct.errors.ConstantLabelWarning")
@pytest.mark.parametrize("method", ["seal-nce", "spen", "binary-relevance"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_rows_some_at_a_time(method, form, rows, small_blocks):
    X, Y = form(rows[0]), rows[1]
    model = EnergyMultiLabelClassifier(method, **FAST, random_state=0).fit(X, Y)
    several = {name: model.predict(X, decision=name) for name in model.rules_}
    k, p, score = model.predict(X, top_k=2), model.predict_proba(X), model.score(X, Y)
    assert len(small_blocks) == len(model.rules_) + 3
    by_rule = model.predict_by_rule(X)
    assert list(by_rule) == list(model.rules_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_answers, "row_blocks", batches.row_blocks)
        for name, found in several.items():
            whole = model.predict(X, decision=name)
            assert (found != whole).nnz == (by_rule[name] != whole).nnz == 0
        assert (k != model.predict(X, top_k=2)).nnz == 0
        assert p == pytest.approx(model.predict_proba(X), abs=1e-6)
        assert score == pytest.approx(model.score(X, Y))
    assert set(p[:, -2]) == {1.0}
    assert set(p[:, -1]) == {0.0}


@pytest.mark.filterwarnings("ignore::enstruct.errors.ConstantLabelWarning")
def test_the_automatic_classifier_some_rows_at_a_time(rows, small_blocks):
    X, Y = rows
    model = AutoMultiLabelClassifier(members=1, settings=FAST, random_state=3).fit(X[:100], Y[:100])
    by_rule, by_candidate, p = model.predict_by_rule(X), model.predict_by_candidate(X), model.predict_proba(X)
    assert list(by_rule) == list(model.rules_)
    assert list(by_candidate) == list(model.groups_)
    assert len(small_blocks) > 3
    with pytest.MonkeyPatch.context() as patch:
        for module in (label_answers, auto):
            patch.setattr(module, "row_blocks", batches.row_blocks)
        for name, found in by_rule.items():
            assert (found != model.predict(X, decision=name)).nnz == 0
        for name, found in by_candidate.items():
            assert (found != model.predict(X, candidate=name)).nnz == 0
        assert p == pytest.approx(model.predict_proba(X), abs=1e-6)


def test_parents_come_with_their_children_in_every_block(small_blocks):
    data = block_exclusive(120, seed=2)
    hierarchy = Hierarchy(data.Y.shape[1], ((0, 1),))
    model = EnergyMultiLabelClassifier("cross-entropy", **FAST, rules=hierarchy, random_state=0).fit(
        data.X, hierarchy.close(data.Y)
    )
    for chosen in model.predict_by_rule(data.X).values():
        closed = hierarchy.close(chosen)
        assert (closed != chosen).nnz == 0
    p = model.predict_proba(data.X)
    assert (hierarchy.raise_parents(p) == p).all()


@pytest.mark.parametrize("scale", [1, 1000])
def test_classes_are_decided_by_argmax_whatever_the_rule(scale):
    """By logits: far from the training rows marginals are all 1 or 0, which no argmax tells apart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)).astype(np.float32)
    y = X[:, :3].argmax(1)
    model = EnergyMultiLabelClassifier("cross-entropy", **FAST, standardize=False, random_state=0).fit(X, y)
    for found in model.predict_by_rule(scale * X).values():
        assert (found == model.predict(scale * X)).all()


@pytest.mark.filterwarnings("ignore::enstruct.errors.ConstantLabelWarning")
def test_the_automatic_classifier_answers_by_the_rule_in_force(rows, tmp_path):
    X, Y = rows
    model = AutoMultiLabelClassifier(members=1, settings=FAST, random_state=3).fit(X[:200], Y[:200])
    model.decision_ = "top-k"
    assert (model.predict(X) != model.predict(X, decision="top-k")).nnz == 0
    model.save(tmp_path / "m")
    assert (AutoMultiLabelClassifier.load(tmp_path / "m").predict(X) != model.predict(X)).nnz == 0
