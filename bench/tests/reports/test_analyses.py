"""Figures of analyses and descriptions, as lines of the page."""

import json

from enstruct_bench.reports.analyses import analysis_lines, description_lines

WHERE = {"torch": "2", "machine": "x", "threads": 1}


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def test_pairs_of_objectives(tmp_path):
    f1 = {"cross-entropy": [0.5, 0.6], "spen": [0.4, 0.4], "seal-margin": [0.55, 0.57]}
    pairs = {"margin": ["spen", "seal-margin"]}
    content = {"analysis": "objectives", "data": "d", "seeds": 2, "environment": WHERE, "f1": f1, "pairs": pairs}
    write(tmp_path / "a" / "objectives.json", {**content, "baseline": "cross-entropy"})
    text = "\n".join(analysis_lines(tmp_path / "a"))
    assert "| margin | spen 40.00 ±0.00 | seal-margin 56.00 ±1.41 |" in text
    assert "| – |  | cross-entropy 55.00 ±7.07 |" in text


def test_plain_figures_and_curves(tmp_path):
    curve = [{"step": i, "energy": i / 3} for i in range(50)]
    write(
        tmp_path / "b" / "c.json", {"analysis": "c", "environment": WHERE, "share": {"found": 0.25}, "curve": curve, "ids": [1]}
    )
    (tmp_path / "b" / "c.png").write_text("")
    text = "\n".join(analysis_lines(tmp_path / "b"))
    assert "| share · found | 0.25 |" in text
    assert "curve (50 records)" in text
    assert "| 49 | 16.33 |" in text
    assert text.count("\n| ") == 2 + 6 + 1  # two heads less the rule lines, six records, one figure
    assert "Pictures: `results/b/c.png`." in text


def test_descriptions(tmp_path):
    part = {"rows": 3, "features": 2, "labels": 4, "cardinality": 1.5, "distinct label sets": 2, "unused labels": 0}
    write(tmp_path / "d.json", {"data": "x", "parts": {"train": {**part, "labels seen once": 1}}, "near": []})
    assert "| x | train | 3 | 2 | 4 | 1.5 | 2 | 0 | 1 |" in "\n".join(description_lines([tmp_path / "d.json"]))
    assert description_lines([]) == []
