"""`enstruct-bench list` and `run`: listing, running, and what it says of wrong options."""

from bench.tests.either import main
from bench.tests.small_table import SMALL

from enstruct_bench.reproduce.tables import TABLES


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(TABLES, "small", SMALL)
    assert main(["list"]) == 0
    assert "seal-2" in capsys.readouterr().out
    assert main(["run", "small", "--seeds", "1", "--methods", "binary-relevance", "--results", "r"]) == 0
    assert "1 runs made" in capsys.readouterr().out
    lines = (tmp_path / "r" / "small.jsonl").read_text()
    (tmp_path / "r" / "small.jsonl").write_text("{broken\n" + lines)
    assert main(["list", "--results", "r"]) == 0
    listed = capsys.readouterr().out
    assert "damaged" in listed
    assert "spen-figures" in listed  # the other tables all the same
    (tmp_path / "r" / "small.jsonl").write_text(lines)
    for budget in ("0", "-1"):
        assert main(["run", "small", "--seeds", "1", "--results", "r", "--budget", budget]) == 2
        assert "above 0" in capsys.readouterr().err
    (tmp_path / "r" / "spen-1.jsonl").mkdir()
    assert main(["list", "--results", "r"]) == 0
    assert "damaged" in capsys.readouterr().out
    assert main(["run", "small", "--methods", ",", "--results", "r"]) == 2
    assert "no list of names" in capsys.readouterr().err
    assert main(["run", "SMALL"]) == 2
    assert "Did you mean 'small'" in capsys.readouterr().err
    assert main(["run", "smal"]) == 2
    assert main(["run", "seal-3"]) == 2
    assert "cannot run here" in capsys.readouterr().err
    assert main(["run", "implicit-appendix-d", "--datasets", "b"]) == 2
    assert "has the parts" in capsys.readouterr().err
    assert main(["run", "seal-1", "--protocol", "fair"]) == 2
    assert "made by other commands" in capsys.readouterr().err
    (tmp_path / "c.json").write_text("[]")
    assert main(["run", "small", "--adopt", "c.json", "--results", "r"]) == 2
    assert "no results file" in capsys.readouterr().err
    assert main(["run", "implicit-5"]) == 2
    assert "made by `enstruct-bench costs --measure`" in capsys.readouterr().out
