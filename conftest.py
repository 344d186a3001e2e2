"""Fixtures of the tests of both distributions: tiny data, one torch thread, and the real data where a test asks for it."""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from enstruct import JointMultiLabelClassifier
from enstruct.baselines import boosting, extra_trees, observed_network
from enstruct.data.dataset import Dataset
from enstruct.data.synthetic import block_exclusive
from enstruct.training.residual_candidates import CANDIDATES, Candidate

torch.set_num_threads(1)  # xdist runs several tests at a time


def pytest_collection_finish() -> None:
    """What imports and collecting have made stays: each of many collections of garbage would look through all of it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Tests speak to this machine alone."""
    connect, own = socket.socket.connect, {"localhost", "127.0.0.1", "::1", "0.0.0.0", socket.gethostname()}
    with suppress(OSError):
        own.add(socket.gethostbyname(socket.gethostname()))

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in own and not str(address[0]).startswith("127."):
            raise OSError(f"A test asked for {address[0]}: tests use no network.")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)
    np.random.seed(0)


CAN_STACK = Candidate.can_stack


@pytest.fixture(scope="session", autouse=True)
def no_stacked_terms() -> Iterator[None]:
    """No energy is tried with other labels' logits as well, which each of some hundred fits would take half as long again for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Candidate, "can_stack", lambda self, n_labels: False)
        yield


@pytest.fixture
def stacked_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are, for tests of what is chosen."""
    monkeypatch.setattr(Candidate, "can_stack", CAN_STACK)


@pytest.fixture
def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Residual energies are one of two, trained as ever: for tests of how good it is."""
    monkeypatch.setattr(JointMultiLabelClassifier, "_candidates", CANDIDATES[:2])


@pytest.fixture
def quick_joints(few_candidates: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Residual energies are one of two, stop at the first epoch without a better value, and chains train them for one: for tests
    of what runs, not of how good it is."""
    monkeypatch.setattr("enstruct.estimators.joint.PATIENCE", 1)
    monkeypatch.setattr("enstruct.training.contrastive.MOST_EPOCHS", 1)


@pytest.fixture
def quick_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields of pixels, which every segmenter learns after its networks, take two steps: for tests that ask them nothing."""
    monkeypatch.setattr("enstruct.joint.pixels.STEPS", 2)


@pytest.fixture
def quick_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forests of twenty trees, boosted ensembles of five a label, three epochs of networks of observed labels: for tests of what
    becomes of a model, not of how good it is."""
    monkeypatch.setattr(observed_network, "EPOCHS", 3)
    monkeypatch.setattr(extra_trees, "TREES", 20)
    monkeypatch.setattr(extra_trees, "TREES_TO_CHOOSE", 5)
    for settings, trees in (("SETTINGS", "max_iter"), ("OF_LIGHTGBM", "num_iterations"), ("OF_CATBOOST", "iterations")):
        monkeypatch.setitem(getattr(boosting, settings), trees, 5)


@pytest.fixture
def pages_end_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What serves a page ends as by Ctrl-C once the page is there; on one to label on a first label has been told."""
    from enstruct.cli import label, pages

    def serve(session: Any, options: Any) -> None:
        if not len(session.journal):
            session.tell("first", "somebody", 0, {session.labelling.names[0]: True}, False, None)
        pages.serve(session, options)

    monkeypatch.setattr(pages, "wait", lambda: None)
    monkeypatch.setattr(label, "serve", serve)


@pytest.fixture(scope="session")
def blocks() -> Dataset:
    """300 rows of the synthetic task."""
    return block_exclusive(300, seed=1)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data. CI must have it; elsewhere tests that need it are skipped."""
    value = os.environ.get("ENSTRUCT_DATA")
    if value and Path(value).is_dir():
        return Path(value)
    if os.environ.get("CI"):
        pytest.fail("CI must set ENSTRUCT_DATA to the folder of real data.")
    pytest.skip("ENSTRUCT_DATA is not set")
