"""Each case is fitted in a process of its own, once, and has its line on the page."""

import json
import sys
from types import SimpleNamespace

import pytest

from enstruct_bench.costs import many_labels
from enstruct_bench.reports.many_labels import many_labels_section


def test_from_the_command_to_the_page(tmp_path, monkeypatch, capsys):
    commands = []

    def in_this_process(command, **_):
        commands.append(command)
        return SimpleNamespace(stdout=json.dumps(many_labels.fitted(command[-2])))

    monkeypatch.setattr(many_labels, "subprocess", SimpleNamespace(run=in_this_process, PIPE=None))
    monkeypatch.setattr(many_labels, "FEATURES", 300)
    monkeypatch.setattr(many_labels, "ASKED", 50)
    path = tmp_path / "benchmark-many-labels.json"
    monkeypatch.setattr(sys, "argv", ["many_labels", "label-tree:120:400", "binary-relevance:wine", "--out", str(path)])
    for _ in range(2):
        many_labels.main()
    assert [command[-2] for command in commands] == ["label-tree:120:400", "binary-relevance:wine"]
    row, of_wine = json.loads(path.read_text())["rows"]
    assert (row["rows"], row["features"], row["labels"]) == (400, 300, 120)
    assert row["chosen"]["C"] > 0
    assert row["f1"] > 10
    assert f"label-tree:120:400: {row['seconds']:.1f} s" in capsys.readouterr().out
    assert (of_wine["rows"], of_wine["labels"], of_wine["asked"]) == (142, 10, 36)
    section = many_labels_section(path)
    assert f"| generated | 120 | 400 | 300 | label-tree | {row['seconds']:.1f} | 50 |" in section
    assert f"| wine | 10 | 142 | 6 | binary-relevance | {of_wine['seconds']:.1f} | 36 |" in section


@pytest.mark.parametrize(
    "case", ["label-tre:wine", "label-tree", "label-tree:0:5", "label-tree:12:x", "label-tree:12:5:1", "label-tree:bibtx"]
)
def test_a_case_that_is_none(case, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["many_labels", case])
    with pytest.raises(SystemExit):
        many_labels.main()
    said = capsys.readouterr().err
    assert "label-tree" in said
    assert "Traceback" not in said
