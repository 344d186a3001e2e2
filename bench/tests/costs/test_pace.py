"""Both ways of ending are fitted on the same split, kept, gone on from, compared and printed."""

import json
import sys

import pytest

from enstruct import EnergyMultiLabelClassifier
from enstruct.errors import ConfigError
from enstruct_bench.costs import pace
from enstruct_bench.reports.pace import pace_section


def test_what_patience_stands_for():
    assert pace.patient(10**4) == {"batch_size": 32, "learning_rate": 1e-3, "max_epochs": 200, "n_iter_no_change": 20}
    assert pace.patient(180)["n_iter_no_change"] == 84  # 500 updates


def test_from_the_command_to_the_page(tmp_path, monkeypatch, capsys):
    fits, fit = [], EnergyMultiLabelClassifier.fit

    def counted(self, *args, **rows):
        fits.append((self.method, self.n_iter_no_change))
        return fit(self.set_params(max_epochs=2, hidden=8), *args, **rows)

    monkeypatch.setattr(EnergyMultiLabelClassifier, "fit", counted)
    out = tmp_path / "pace.json"
    for seeds, wanted in (("1", 2), ("2", 4), ("2", 4)):
        monkeypatch.setattr(sys, "argv", ["pace", "wine", "--methods", "cross-entropy", "--seeds", seeds, "--out", str(out)])
        pace.main()
        assert len(fits) == wanted
    assert {ends for _, ends in fits} == {"auto", pace.patient(106)["n_iter_no_change"]}
    assert "wine cross-entropy: " in capsys.readouterr().out
    line = json.loads(out.read_text())["compared"][0]
    assert line["gain"][0] == pytest.approx(line["cycles_f1"] - line["patience_f1"], abs=1e-3)
    assert (line["rows"], line["splits"]) == (106, 2)
    section = pace_section(out)
    assert f"| wine | cross-entropy | 106 | 2 | {line['patience_seconds']:.1f} | {line['cycles_seconds']:.1f} |" in section


def test_a_file_of_other_sides_is_not_gone_on_from(tmp_path, monkeypatch):
    out = tmp_path / "pace.json"
    out.write_text('{"sides": ["patience", "planned"], "rows": []}')
    monkeypatch.setattr(sys, "argv", ["pace", "wine", "--out", str(out)])
    with pytest.raises(ConfigError, match="holds runs of another sides"):
        pace.main()
