"""What ``--rules`` says before anything is trained."""

import numpy as np

from enstruct.cli.rules import rules_for
from enstruct.data.dataset import Dataset
from enstruct.data.rows import as_indicator
from enstruct.rules import AtMost, Excludes


def test_rules_are_said_in_words_with_what_is_approximate(capsys):
    Y, names = np.tile(np.eye(20, dtype=int), (2, 1)), tuple(f"label{i}" for i in range(20))
    data = Dataset(np.zeros((40, 1)), as_indicator(Y), ("x",), names)
    rule, _ = rules_for(data, [AtMost(7, names), Excludes("label0", "label1")])
    assert rule.labels[-1] == 19
    out = " ".join(capsys.readouterr().out.split())
    assert "rule: at most 7 of 'label0'" in out
    assert "Rules tie 20 labels with more legal sets than can be listed" in out
