"""Tags told: what counts, and its section of the page."""

import pytest
from tests.generated import make_sentences

from enstruct import EnergySequenceTagger
from enstruct.data.tag_schemes import find_spans
from enstruct.files import write_json
from enstruct_bench.joint.tags_told import SHARES, asked_spans, measured, span_counts, told_at
from enstruct_bench.reports.tags_told import tags_told_section

TAGS = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "O"], []]


def test_shares_of_tokens_are_told_and_the_same_ones_each_time():
    told = told_at(TAGS, 0.5, 3)
    assert [sum(tag is not None for tag in row) for row in told] == [2, 1, 0]
    assert told == told_at(TAGS, 0.5, 3)
    assert told_at(TAGS, 0.0, 3) == [[None] * 4, [None] * 2, []]


def test_spans_count_that_have_a_token_which_is_not_told():
    known = ["B-PER", None, "O", "B-LOC"]
    assert asked_spans(TAGS[0], known) == {find_spans(TAGS[0])[0]}
    counts = span_counts([TAGS[0]], [["B-PER", "O", "O", "B-LOC"]], [known])
    assert counts.above.tolist() == [[0]]
    assert counts.below.tolist() == [[1]]  # the answer's own span of one token is told


def test_a_tagger_measured_and_printed(tmp_path):
    words, tags = make_sentences(40)
    tagger = EnergySequenceTagger("cross-entropy", hidden=6, embedding_dim=4, max_epochs=1, random_state=0).fit(words, tags)
    figures = measured(tagger, *make_sentences(6, 1), 0)
    figures.pop("counts")
    assert list(figures["shares"]) == [f"{share:g}" for share in SHARES]
    assert all(one["told_as_told"] for one in figures["shares"].values())
    nothing = figures["shares"]["0"]
    assert nothing["f1"] == pytest.approx(nothing["f1_alone"])
    env = {"enstruct": "1", "torch": "2", "python": "3", "machine": "m", "cores": 2, "threads": 1}
    content = {"data": "toy", "sentences": {"train": 40}, "epochs": 1, "commit": "c", "environment": env}
    rows = [{"method": "crf", "seed": 0, "fit_seconds": 1.0, **figures}]
    write_json(tmp_path / "told-tags-toy.json", content | {"rows": rows})
    section = tags_told_section(tmp_path / "told-tags-toy.json")
    half = figures["shares"]["0.5"]
    assert f"| crf | 50% | {half['f1']:.2f} | {half['f1_alone']:.2f} |" in section
