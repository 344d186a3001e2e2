"""``enstruct-bench joint`` on tags and masks, as a user types it."""

import json

import pytest
from bench.tests.either import main
from tests.generated import write_sentences

from enstruct import EnergySequenceTagger
from enstruct_bench.cli.commands import SMALL_TABLES, build_parser
from enstruct_bench.joint import clicks, tags_told, tags_wrong
from enstruct_bench.joint.small_tables import TABLES
from enstruct_bench.reports.tags_told import tags_told_section
from enstruct_bench.reports.tags_wrong import tags_wrong_section


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tags_wrong, "RESAMPLES", 5)
    small = {"hidden": 6, "embedding_dim": 4}
    for module in (tags_told, tags_wrong):
        monkeypatch.setattr(module, "EnergySequenceTagger", lambda *a, **k: EnergySequenceTagger(*a, **{**k, **small}))
    return write_sentences(tmp_path)


def test_small_tables_are_those_of_their_module():
    assert set(SMALL_TABLES) == set(TABLES)
    assert build_parser(["joint", "digits"]).parse_args(["joint", "digits"]).joint.minutes == 3


@pytest.mark.parametrize(("part", "section"), [("told", tags_told_section), ("wrong", tags_wrong_section)])
def test_tags_from_the_command_to_the_page(part, section, files, capsys, monkeypatch):
    words = ["joint", "train.conll", "--part", part, "--methods", "cross-entropy", "--epochs", "1", "--json", "t.json"]
    assert main(words) == 0, capsys.readouterr().err
    content = json.loads((files / "t.json").read_text())
    assert [(row["method"], row["seed"]) for row in content["rows"]] == [("cross-entropy", 0)]
    assert "| cross-entropy |" in section(files / "t.json")
    assert "method cross-entropy; seed 0" in capsys.readouterr().out
    assert main([*words, "--methods", "cross-entropy,crf"]) == 0
    assert [row["method"] for row in json.loads((files / "t.json").read_text())["rows"]] == ["cross-entropy", "crf"]
    assert main([*words, "--epochs", "2"]) == 2
    assert "holds runs of another epochs (1)" in capsys.readouterr().err
    assert main([*words, "--part", "tld"]) == 2
    assert "told" in capsys.readouterr().err
    assert main([*words, "--seeds", "0"]) == 2


def test_masks_go_on_where_they_stopped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = []

    def measured(name, seed, size, epochs, sides):
        asked.append((name, seed, size, epochs))
        return [{"side": "field", "seed": seed, "clicks": 3.0}]

    monkeypatch.setattr(clicks, "measured", measured)
    words = ["joint", "weizmann32", "--epochs", "4", "--json", "clicks.json"]
    assert main([*words, "--seeds", "1"]) == 0
    assert main([*words, "--seeds", "2"]) == 0
    assert asked == [("weizmann32", 0, None, 4), ("weizmann32", 1, None, 4)]
    assert len(json.loads((tmp_path / "clicks.json").read_text())["rows"]) == 2
