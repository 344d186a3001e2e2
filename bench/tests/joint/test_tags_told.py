"""Tags told: what counts, and its section of the page."""

import pytest
from tests.generated import make_sentences

from enstruct import EnergySequenceTagger
from enstruct.files import write_json
from enstruct_bench.joint.tags_told import SHARES, measured
from enstruct_bench.reports.tags_told import tags_told_section


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
