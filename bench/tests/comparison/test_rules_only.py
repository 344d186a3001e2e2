"""Tags by the rules for references alone."""

import numpy as np

from enstruct.weak_supervision.citations import citation_reward
from enstruct_bench.comparison.rules_only import predict_by_rules

TEXT = 'A. Cau and R. Kuiper, "On formal methods of proof," In Proc. 5th Workshop, pp. 12-19, Springer, Berlin, May 1992.'
WORDS = TEXT.split()
TAGS = ["author"] * 5 + ["title"] * 5 + ["booktitle"] * 4 + ["pages"] * 2 + ["publisher", "location"] + ["date"] * 2
ALL = sorted({*TAGS, "journal", "volume"})


def test_rules_alone_beat_a_constant_answer():
    reward = citation_reward()
    (guessed,) = predict_by_rules([WORDS], reward, ALL)
    assert reward.score(reward.read(WORDS), guessed) > 0.8
    assert np.mean([a == b for a, b in zip(guessed, TAGS, strict=True)]) > 0.4
    assert predict_by_rules([[]], reward, ALL) == [[]]
