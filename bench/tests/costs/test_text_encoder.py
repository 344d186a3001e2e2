"""What an encoder costs, measured on a tiny one."""

import json
import sys

from tests.generated_texts import tiny_encoder

from enstruct_bench.costs import text_encoder


def test_figures_of_a_tiny_encoder(tmp_path, monkeypatch, capsys):
    out = tmp_path / "benchmark-text-encoder.json"
    words = [str(tiny_encoder(tmp_path / "tiny")), "--documents", "8", "--turns", "1", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["text_encoder", *words])
    text_encoder.main()
    content = json.loads(out.read_text())
    assert content["documents_a_second"] > 0
    assert content["one_document"]["ratio"] > 1
    assert "documents_a_second" in capsys.readouterr().out


def test_turns_meet_both_sides():
    calls = []
    figures = text_encoder.in_turns(lambda: calls.append("ours"), lambda: calls.append("bare"), 3)
    assert calls == ["ours", "bare"] * 3
    assert figures["ratio"] > 0
