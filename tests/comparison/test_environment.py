"""Where figures come from."""

import subprocess

import numpy as np

from enstruct.comparison import environment
from enstruct.comparison.environment import present_commit
from enstruct.comparison.results_file import Cell, ResultsFile


def test_the_commit_is_the_library_s_own_or_none(tmp_path, monkeypatch):
    """Installed below somebody else's project, it has none."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    file = tmp_path / "library" / "comparison" / "environment.py"
    file.parent.mkdir(parents=True)
    file.write_text("")
    (tmp_path / "results.json").write_text("")
    monkeypatch.setattr(environment, "__file__", str(file))
    assert present_commit() is None
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "one"], check=True)
    found = present_commit()
    assert found is not None
    assert not found.endswith("-dirty")
    (tmp_path / "results.json").write_text("changed")  # what it writes is none of its code
    assert present_commit() == found
    file.write_text("changed")
    assert present_commit() == f"{found}-dirty"


def test_cells_of_a_comparison_hold_the_commit_they_were_made_from(tmp_path, monkeypatch):
    monkeypatch.setattr("enstruct.comparison.results_file.present_commit", lambda: "abc123")
    file = ResultsFile(tmp_path / "r.json", {}, {})
    cell = file.run("a", 0, lambda: Cell({"method": "a", "seed": 0}, {"chosen": np.ones(1)}))
    assert cell.record["commit"] == "abc123"
