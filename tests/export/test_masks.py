"""Masks: the file against the segmenter, images of any size or of the one that it resizes to."""

import numpy as np
import onnxruntime
import pytest
from tests.configured import configured

from enstruct import EnergySegmenter
from enstruct.data.synthetic import ellipses
from enstruct.errors import ConfigError
from enstruct.export import export_onnx
from enstruct.rules import masks as rules_over_masks

pytestmark = pytest.mark.usefixtures("quick_fields")


def fitted(method="cross-entropy", levels=2, **settings):
    """Of two levels, the least that sizes can be odd on: deeper networks take their time to trace."""
    images, masks = ellipses(16, size=20)
    settings |= {"levels": levels}
    return configured(EnergySegmenter, method, max_epochs=2, width=4, random_state=0, **settings).fit(images, 7 * masks)


@pytest.mark.parametrize(
    ("settings", "sides"),
    [({"levels": 3}, (24, 17)), ({"augment": True, "size": (16, 12)}, (16, 12)), ({"network": "fcn"}, (9, 11))],
)
def test_networks(settings, sides, tmp_path):
    model = fitted(**settings)
    (file,) = export_onnx(model, tmp_path / "out", rows=4)
    assert file.difference < 1e-5
    images = np.random.default_rng(0).random((3, *sides, 1)).astype(np.float32)
    session = onnxruntime.InferenceSession(str(tmp_path / "out" / "model.onnx"))
    p, masks = session.run(["probabilities", "masks"], {"images": images})
    np.testing.assert_allclose(p, model.predict_proba(images), atol=1e-5)
    np.testing.assert_array_equal(masks, model.predict(images))
    assert set(np.unique(masks)) <= {0, 7}


def test_both_decisions(tmp_path):
    model = fitted(network="fcn")
    for decision in model.rules_:
        export_onnx(model, tmp_path / decision, decision=decision, rows=4)
    with pytest.raises(ConfigError, match="does not apply"):
        export_onnx(model, tmp_path / "out", decision="legal")


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        ("dvn", {}, "'dvn' answers by inference"),
        ("cross-entropy", {"crop": 12}, "mean over crops"),
        ("cross-entropy", {"rules": [rules_over_masks.Connected(7)]}, "region by region"),
    ],
)
def test_what_is_no_fixed_graph(method, settings, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        export_onnx(fitted(method, **settings), tmp_path / "out")
