"""Where figures come from."""

import subprocess

import enstruct
from enstruct_bench.comparison.provenance import present_commit


def test_the_commit_is_the_library_s_own_or_none(tmp_path, monkeypatch):
    """Installed below somebody else's project, it has none."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    file = tmp_path / "library" / "__init__.py"
    file.parent.mkdir(parents=True)
    file.write_text("")
    (tmp_path / "results.json").write_text("")
    monkeypatch.setattr(enstruct, "__file__", str(file))
    assert present_commit() is None
    monkeypatch.setenv("ENSTRUCT_COMMIT", "1234567")
    assert present_commit() == "1234567"
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "one"], check=True)
    commit = present_commit()
    assert commit is not None
    assert not commit.endswith("-dirty")
    (tmp_path / "results.json").write_text("changed")  # what it writes is none of its code
    assert present_commit() == commit
    file.write_text("changed")
    assert present_commit() == f"{commit}-dirty"
    file.write_text("")
    assert present_commit(tmp_path / "results.json") == f"{commit}-dirty"
