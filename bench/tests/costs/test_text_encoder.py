"""What an encoder costs, measured on a tiny one."""

import json
import sys

import pytest
from tests.generated_texts import tiny_encoder

from enstruct_bench.costs import text_encoder
from enstruct_bench.reports.text_encoder import text_encoder_section


@pytest.mark.usefixtures("quick_joints", "quick_bases")
def test_figures_of_a_tiny_encoder(tmp_path, monkeypatch, capsys):
    out = tmp_path / "benchmark-text-encoder.json"
    words = [str(tiny_encoder(tmp_path / "tiny")), "--documents", "8", "--turns", "1", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["text_encoder", *words])
    text_encoder.main()
    content = json.loads(out.read_text())
    assert content["documents_a_second"] > 0
    assert {what: len(found) for what, found in content["in_bfloat16"].items()} == {"tuning": 3, "features": 3}
    assert {method: took["ratio"] > 1 for method, took in content["one_document"].items()} == dict.fromkeys(
        text_encoder.METHODS, True
    )
    assert "documents_a_second" in capsys.readouterr().out
    took = {"seconds": 0.0123, "bare_seconds": 0.01, "ratio": 1.2345}
    told = {
        **content,
        "documents_a_second": 90.0,
        "share_of_bare": 0.9,
        "one_document": {"joint": took},
        "parameters": 22_700_000,
        "in_bfloat16": {"tuning": [15.0, 10.0, 1.5]},
    }
    out.write_text(json.dumps(told))
    section = text_encoder_section(out)
    assert "An encoder of 22.7 million parameters" in section
    assert "| features, documents a second | 90.0 | 100.0 | 0.90 |" in section
    assert "| one document, joint, ms | 12.30 | 10.00 | 1.23 |" in section
    assert "| tuning | 15.0 | 10.0 | 1.50 |" in section


def test_turns_meet_both_sides():
    calls = []
    figures = text_encoder.in_turns(lambda: calls.append("ours"), lambda: calls.append("bare"), 3)
    assert calls == ["ours", "bare"] * 3
    assert figures["ratio"] > 0
