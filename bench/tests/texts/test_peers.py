"""Peers on generated documents; pairs of a contrastive encoder."""

import numpy as np
import pytest
from tests.generated_texts import documents, tiny_encoder

from enstruct import TextEncoder
from enstruct_bench.texts import peers
from enstruct_bench.texts.collections import Documents

NAMES = ("grain", "wheat", "both")


@pytest.fixture(scope="module")
def parts():
    return [Documents(texts, Y.astype(np.uint8), NAMES) for texts, Y in (documents(120, 0), documents(40, 1))]


def right(p, Y):
    assert p.shape == Y.shape
    return ((np.asarray(p) >= 0.5) == Y).mean()


def test_pairs_share_a_label_or_do_not():
    Y = np.array([[1, 0], [1, 1], [0, 1], [1, 0]])
    first, second, alike = peers.pairs_of(Y, 2, np.random.default_rng(0))
    shares = (Y @ Y.T > 0)[first, second]
    assert np.array_equal(shares, alike == 1)
    assert (first != second).all()
    assert np.bincount(first, alike == 1).tolist() == [2, 2, 2, 2]
    assert np.bincount(first, alike == 0, 4).tolist() == [2, 0, 2, 2]  # all texts share a label with the second


def test_a_contrastive_encoder(parts, tmp_path, monkeypatch):
    train, test = parts
    monkeypatch.setattr(peers, "PAIR_RATE", 3e-3)
    encoder = TextEncoder(tiny_encoder(tmp_path / "tiny"), tuning="full", max_tokens=16)
    assert right(peers.contrastive(encoder, train, 0)(test.texts), test.Y) > 0.8


def test_fasttext(parts):
    pytest.importorskip("fasttext")
    train, test = (part.take(np.flatnonzero(part.Y.any(1))) for part in parts)
    marginals = peers.fasttext(train, 0)
    p = marginals(test.texts)
    assert right(p, test.Y) > 0.9
    assert np.array_equal(p, peers.fasttext(train, 0)(test.texts))
    assert marginals([""]).shape == (1, 3)


def test_transformers_own_trainer(parts, tmp_path, monkeypatch):
    pytest.importorskip("accelerate")
    train, test = parts
    monkeypatch.setattr(peers, "TRAINER_RATES", (1e-7, 3e-3))  # of which the second learns
    monkeypatch.setattr(peers, "TRAINER_EPOCHS", 20)
    encoder = TextEncoder(tiny_encoder(tmp_path / "tiny"), tuning="full", max_tokens=16)
    assert right(peers.trainer(encoder, train, test, 0)(test.texts), test.Y) > 0.8
