"""Precision of encoders: where it is less, what depends on it, and what does not."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.generated_texts import tiny_encoder

from enstruct import TextEncoder
from enstruct.encoders.text.feature_cache import LEAST
from enstruct.encoders.text.precision import exactly, in_bfloat16
from enstruct.training.batches import to_features

pytest.importorskip("transformers")
TEXTS = ["grain and wheat", "", "oil", "gold ship trade crude corn rate bank " * 3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.mark.parametrize(
    ("precision", "device", "trains", "has", "expected"),
    [
        *(("auto", "cpu", trains, has, trains and has is not None) for trains in (True, False) for has in (None, "avx512_bf16")),
        ("auto", "cpu", True, "amx_bf16", True),
        *(("float32", device, True, "avx512_bf16", False) for device in ("cpu", "cuda")),
        *(("bfloat16", device, False, None, True) for device in ("cpu", "cuda")),
        *(("auto", "cuda", trains, has, has is not None) for trains in (True, False) for has in (None, "bf16")),
        ("auto", "mps", True, None, False),
    ],
)
def test_where_products_are_in_bfloat16(precision, device, trains, has, expected, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {has: True})
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: has is not None)
    assert in_bfloat16(precision, device, trains) == expected


def test_features_in_bfloat16_are_almost_the_same_and_kept_apart(folder, tmp_path):
    texts = [f"grain {i:05} wheat" for i in range(LEAST)]
    exact, rough = (TextEncoder(folder, precision=name, cache=tmp_path).features(texts) for name in ("auto", "bfloat16"))
    assert 0 < np.abs(exact - rough).max() < 0.05 * np.abs(exact).max()
    with exactly():
        assert np.array_equal(TextEncoder(folder, precision="bfloat16", cache=False).features(texts), exact)
    assert len([*tmp_path.glob("*.sqlite")]) == 2


def test_a_tuned_encoder_answers_in_single_precision_whatever_it_is_trained_in(folder, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    one = TextEncoder(folder, tuning="full")
    network, exact = one.network(), replace(one, precision="float32").network()
    exact.load_state_dict(network.state_dict())
    x, dropout = to_features(one.token_rows(TEXTS)), [m for n in (network, exact) for m in n.modules() if hasattr(m, "p")]
    assert dropout
    with torch.no_grad():
        assert torch.equal(network.eval()(x), exact.eval()(x))
        for module in dropout:
            module.p = 0.0
        trained, wanted = network.train()(x), exact.train()(x)
    assert 0 < (trained - wanted).abs().max() < 0.05 * wanted.abs().max()
