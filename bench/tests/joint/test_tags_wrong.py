"""Wrong tags: how errors are planted, that the sides rank them, and the section of the page."""

import numpy as np
import pytest
from tests.generated import make_sentences

from enstruct.data.tag_schemes import convert, find_spans
from enstruct.files import write_json
from enstruct_bench.joint import tags_wrong
from enstruct_bench.joint.tags_wrong import SHARE, figures, qualities, with_errors
from enstruct_bench.reports.tags_wrong import tags_wrong_section


def test_errors_change_a_share_of_the_spans_and_leave_legal_tags():
    _, tags = make_sentences(3000)
    tags = [convert(row, "IOB2") for row in tags]
    given = with_errors(tags, 0)
    changed = [a != b for a, b in zip(tags, given, strict=True)]
    spans = [len(find_spans(row)) for row in tags]
    assert np.mean(changed) == pytest.approx(SHARE * np.mean(spans), rel=0.25)
    assert all(convert(row, "IOB2") == row for row in given)
    kinds = {len(find_spans(b)) - len(find_spans(a)) for a, b, one in zip(tags, given, changed, strict=True) if one}
    assert kinds == {-1, 0}
    assert given == with_errors(tags, 0) != with_errors(tags, 1)


def test_suspects_are_ranked_and_printed(tmp_path, monkeypatch):
    monkeypatch.setattr(tags_wrong, "RESAMPLES", 20)
    words, tags = make_sentences(240)
    truth = [convert(row, "IOB2") for row in tags]
    given = with_errors(truth, 3)
    wrong = [np.array([a != b for a, b in zip(*pair, strict=True)]) for pair in zip(truth, given, strict=True)]
    settings = {"method": "cross-entropy", "hidden": 12, "embedding_dim": 8, "max_epochs": 10, "learning_rate": 0.02}
    found = qualities(words, given, settings, 0)
    out = figures(wrong, found, 0)
    assert out["joint"] > 3 * 100 * np.concatenate(wrong).mean()
    env = {"enstruct": "1", "torch": "2", "python": "3", "machine": "m", "cores": 2, "threads": 1}
    row = {"method": "crf", "seed": 0, "wrong": 9, "tokens": 99, "sentences": 240, "seconds": 2.0, **out}
    content = {"data": "toy", "share": SHARE, "folds": 3, "epochs": 8, "rows": [row], "commit": "c", "environment": env}
    write_json(tmp_path / "wrong-tags-toy.json", content)
    section = tags_wrong_section(tmp_path / "wrong-tags-toy.json")
    assert f"| crf | {out['joint']:.2f} |" in section


def test_average_precision_is_of_the_lowest_qualities():
    wrong = [np.array([True, False]), np.array([False])]
    out = figures(wrong, {"joint": [np.array([0.1, 0.9]), np.array([0.5])]}, 0)
    assert out == {"joint": 100.0}
