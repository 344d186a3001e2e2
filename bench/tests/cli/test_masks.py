"""``enstruct-bench compare`` on masks as a user types it."""

import json

import numpy as np
import pytest
from bench.tests.either import main
from tests.generated import FAST_SEGMENTER as FAST
from tests.generated import write_picture_parts

from enstruct_bench.comparison.mask_comparison import MASK_COMPARISON
from enstruct_bench.comparison.results_file import ResultsFile
from enstruct_bench.comparison.summary import summarise
from enstruct_bench.reports.compared import compared_section

pytestmark = pytest.mark.usefixtures("quick_fields")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_picture_parts(tmp_path)


def test_compare_goes_on_where_it_stopped(files, capsys):
    arguments = ["compare", "set", "--seeds", "2", "--json", "masks-x.json", *FAST]
    assert main([*arguments, "--methods", "cross-entropy"]) == 0
    first = json.loads((files / "masks-x.json").read_text())
    assert main([*arguments, "--methods", "cross-entropy,seal-margin"]) == 0
    content = json.loads((files / "masks-x.json").read_text())
    assert content["runs"][:2] == first["runs"]
    assert len(content["runs"]) == 4
    cells = ResultsFile(files / "masks-x.json", content["setting"], content["setting"]["model"]).cells
    row = summarise(MASK_COMPARISON, cells)[1]
    runs = [run for run in content["runs"] if run["method"] == "seal-margin"]
    assert row["chosen"] == pytest.approx([100 * run["score"]["chosen"] for run in runs])
    assert row["difference"].low <= row["difference"].mean <= row["difference"].high
    section = compared_section(files / "masks-x.json")
    assert "| seal-margin |" in section
    assert "near-duplicate" in section
    assert main([*arguments, "--methods", "cross-entropy,nothing"]) == 2
    assert main([*arguments, "--methods", "cross-entropy", "--model.crop", "12"]) == 2
    assert "another model" in capsys.readouterr().err
    assert main([*arguments, "--methods", "cross-entropy", "--protocol", "whole"]) == 0
    assert main([*arguments, "--methods", "cross-entropy", "--protocol", "hole"]) == 2
    assert "whole" in capsys.readouterr().err
    assert main([*arguments, "--methods", "cross-entropy", "--protocol", "dvn"]) == 2  # another crop than the file's


def test_images_that_two_parts_share_are_on_record(files):
    source = sorted((files / "set" / "train" / "images").iterdir())[0]
    target = sorted((files / "set" / "test" / "images").iterdir())[0]
    target.write_bytes(source.read_bytes())
    assert main(["compare", "set", "--methods", "cross-entropy", "--seeds", "1", "--json", "m.json", *FAST]) == 0
    content = json.loads((files / "m.json").read_text())
    assert content["setting"]["duplicates"] == [target.stem]
    run = content["runs"][0]
    rows = np.load(files / "m.rows.npz")["cross-entropy/0/chosen"]  # a mean over images
    assert run["without"] == pytest.approx(rows[1:].mean(), abs=1e-6)
