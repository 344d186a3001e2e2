"""Every method's line on every device, on little data."""

import json
import sys

import pytest
import torch
from tests.generated_texts import tiny_encoder

from enstruct.data.synthetic import ellipses
from enstruct_bench.costs import devices


@pytest.fixture
def small(monkeypatch):
    images, masks = ellipses(16, 12)
    monkeypatch.setitem(devices.WORK, "masks", lambda: devices.Work(devices.EnergySegmenter, images, masks, 8))
    monkeypatch.setattr(devices, "DOCUMENTS", 24)


def test_updates_and_documents_a_second(small, tmp_path, monkeypatch, capsys):
    out, encoder = tmp_path / "benchmark-devices.json", tiny_encoder(tmp_path / "tiny")
    words = ["--devices", "cpu", "--tasks", "masks", "--methods", "cross-entropy,dvn", "--epochs", "1"]
    monkeypatch.setattr(sys, "argv", ["devices", *words, "--encoder", str(encoder), "--out", str(out)])
    devices.main()
    content = json.loads(out.read_text())
    lines = {(row["task"], row["method"]): row for row in content["rows"]}
    assert {("masks", "cross-entropy"), ("masks", "dvn"), ("texts", "frozen"), ("texts", "full")} < set(lines)
    assert all(row["updates_per_second"] > 0 for (task, _), row in lines.items() if task == "masks")
    assert lines["texts", "frozen"]["documents_per_second"] > 0
    assert not any("error" in row for row in content["rows"])


def test_data_of_every_task_train_and_a_failure_is_a_line():
    for make in (devices.labels, devices.tags):
        work = make()
        few = devices.Work(work.estimator, work.X[: work.few], work.Y[: work.few], work.few)
        assert devices.measured(few, "cross-entropy", "cpu", 1)["updates_per_second"] > 0
    assert "ConfigError" in devices.measured(few, "sg-spen", "cpu", 1)["error"]
    assert devices.measured(devices.labels(), "linear-svm", "cpu", 1) == {}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator here")
def test_an_accelerator_is_watched(small):
    row = devices.measured(devices.WORK["masks"](), "cross-entropy", "cuda", 1)
    assert row["mib"] > 0
    assert 0 <= row["use"] <= 100
