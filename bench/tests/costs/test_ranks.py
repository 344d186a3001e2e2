"""One process and two train on the same rows, and their rows a second are printed."""

import sys
from types import SimpleNamespace

import pytest

from enstruct.data.npz import write_npz
from enstruct.data.synthetic import block_exclusive
from enstruct.files import write_json
from enstruct_bench.costs import ranks
from enstruct_bench.reports.pairs import ranks_section


def test_a_small_set(tmp_path, monkeypatch, capsys):
    """Two processes that train together are tried by tests/cli/test_ranks.py; here each of a command's is this one."""
    write_npz(tmp_path / "mine.npz", block_exclusive(90, seed=1))
    launched = []

    def in_this_process(command, **_):
        launcher, words = command[1 : command.index("enstruct_bench.costs.ranks") - 1], command[command.index("--data") :]
        launched.append(launcher)
        monkeypatch.setattr(sys, "argv", ["ranks", *words])
        with pytest.raises(SystemExit):
            ranks.main()
        return SimpleNamespace(stdout=capsys.readouterr().out)

    monkeypatch.setattr(ranks, "os", SimpleNamespace(_exit=sys.exit))
    monkeypatch.setattr(ranks, "subprocess", SimpleNamespace(run=in_this_process, PIPE=None))
    row = ranks.measured(str(tmp_path / "mine.npz"), "cross-entropy", 256)
    group = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    assert launched == [[], group, group]
    assert row["one"] > 0 < row["two"]
    assert row["apart"] > 0
    env = {"enstruct": "1", "torch": "2", "python": "3", "machine": "m", "cores": 2, "threads": 1}
    told = {**row, "data": "mine", "one": 100.0, "two": 150.0, "apart": 170.0}
    write_json(tmp_path / "benchmark-ranks.json", {"rows": [told], "environment": env})
    assert "| mine | cross-entropy | 256 | 100 | 150 | 1.50 | 1.70 |" in ranks_section(tmp_path / "benchmark-ranks.json")
