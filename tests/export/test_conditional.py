"""A joint's two files: what it answers by itself, and once labels are told, by mean field."""

import numpy as np
import pytest
import torch
from scipy import sparse
from tests.configured import configured
from tests.export.test_labels import answers

from enstruct import EnergyMultiLabelClassifier, JointMultiLabelClassifier
from enstruct.errors import ConfigError
from enstruct.export import export_onnx, write
from enstruct.export.conditional import conditional_graph
from enstruct.joint.mean_field import mean_field
from enstruct.rules import Excludes
from enstruct.training.residual_candidates import CANDIDATES

FORMS = (*CANDIDATES, *(one.with_stack() for one in CANDIDATES))


@pytest.mark.usefixtures("quick_joints", "quick_bases")
@pytest.mark.parametrize("terms", ["independent", "pairs", "pairs, units, stacked", "factors"])
def test_every_kind_of_energy(terms, blocks, tmp_path, monkeypatch):
    """Told labels come back as told, the others as mean field has them, rows without any as the model itself answers.

    What decides where nothing is told is the base's, so it is traced beside one kind alone.
    """
    if terms == "factors":
        monkeypatch.setattr("enstruct.training.residual_candidates.MOST_PAIRS", 1)
    monkeypatch.setattr(JointMultiLabelClassifier, "_candidates", [one for one in FORMS if one.name == terms])
    model = JointMultiLabelClassifier("binary-relevance", folds=2, random_state=0).fit(blocks.X[:80], blocks.Y[:80])
    if terms != "pairs":
        monkeypatch.setattr(write, "graphs_of", lambda model, decision: ([conditional_graph(model)], {}))
    files = export_onnx(model, tmp_path / "out", rows=8)
    assert [file.path.name for file in files] == ["model.onnx"] * (terms == "pairs") + ["conditional.onnx"]
    X = blocks.X[80:120].astype(np.float32)
    known = np.where(np.random.default_rng(0).random((40, 16)) < 0.5, blocks.Y[80:120].toarray(), np.nan).astype(np.float32)
    known[:3] = np.nan
    p = answers(tmp_path / "out", X, "conditional.onnx", known=known)["probabilities"]
    told = ~np.isnan(known)
    np.testing.assert_array_equal(p[told], known[told])
    with torch.no_grad():
        logits, _ = model._asked(X, None)
        expected = mean_field(model.energy_, model.energy_.prepare(torch.from_numpy(logits)), torch.from_numpy(known)).numpy()
    np.testing.assert_allclose(p[3:], expected[3:], atol=1e-4)
    if model.marginals_of_ == "base":
        np.testing.assert_allclose(p[:3], model.predict_proba(X[:3]), atol=1e-5)
    if terms == "pairs":
        np.testing.assert_array_equal(answers(tmp_path / "out", X)["label_sets"], sparse.csr_matrix(model.predict(X)).toarray())


@pytest.mark.usefixtures("quick_joints")
def test_missing_features_get_their_means(blocks, tmp_path):
    """In both files, as `enstruct train` notes them, of the classifier that it trains by default."""
    model = configured(EnergyMultiLabelClassifier, "joint", base="binary-relevance", random_state=0)
    model.fit(blocks.X[:80], blocks.Y[:80])
    means = np.linspace(-1, 1, blocks.X.shape[1])
    model.save(tmp_path / "model", notes={"means": means.tolist(), "feature_names": [], "label_names": []})
    model = EnergyMultiLabelClassifier.load(tmp_path / "model")
    assert len(export_onnx(model, tmp_path / "out", rows=8)) == 2
    X = blocks.X[80:90].astype(np.float32)
    X[:, 5] = np.nan
    filled = np.where(np.isnan(X), means.astype(np.float32), X)
    known = np.full((10, 16), np.nan, dtype=np.float32)
    known[:, 2] = 1
    for name, more in (("model.onnx", {}), ("conditional.onnx", {"known": known})):
        found, expected = (answers(tmp_path / "out", rows, name, **more)["probabilities"] for rows in (X, filled))
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_holes_in_y(blocks, tmp_path):
    """Models of observed labels: linear, boosted, a network, averaged or alone."""
    Y = blocks.Y[:120].toarray().astype(float)
    Y[np.random.default_rng(0).random(Y.shape) < 0.3] = np.nan
    model = JointMultiLabelClassifier(folds=2, minutes=0.3, random_state=0).fit(blocks.X[:120], Y)
    export_onnx(model, tmp_path / "out", rows=8)
    X = blocks.X[120:150].astype(np.float32)
    np.testing.assert_array_equal(answers(tmp_path / "out", X)["label_sets"], sparse.csr_matrix(model.predict(X)).toarray())


@pytest.mark.usefixtures("quick_joints")
def test_under_rules_nothing_is_conditional(blocks):
    Y = blocks.Y[:60].toarray()
    Y[Y[:, 0] == 1, 4] = 0
    model = JointMultiLabelClassifier("binary-relevance", folds=2, rules=Excludes(0, 4), random_state=0).fit(blocks.X[:60], Y)
    with pytest.raises(ConfigError, match="followed up"):
        conditional_graph(model)
