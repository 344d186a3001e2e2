"""The store of finished runs: what is kept, kept apart, refused, and never lost."""

import json
import re

import numpy as np
import pytest
from bench.tests.small_table import SMALL, make
from tests.damage import with_wrong_bytes, with_wrong_fields

from enstruct.environment import environment
from enstruct.errors import DataError, EnstructError
from enstruct.metrics import METRICS, Counts
from enstruct_bench.comparison.provenance import FORMER_PROCESSOR
from enstruct_bench.comparison.results_file import Cell
from enstruct_bench.comparison.whereabouts import whereabouts
from enstruct_bench.reports.reproduced import reproduced_section
from enstruct_bench.reproduce import runner
from enstruct_bench.reproduce import store as store_module
from enstruct_bench.reproduce.runner import run
from enstruct_bench.reproduce.store import Key, Store, stores_of


def test_a_line_cut_short_is_made_again_and_nothing_else(copied_runs, caplog):
    text = (copied_runs / "small.jsonl").read_text()
    (copied_runs / "small.jsonl").write_text(text[:-40])
    store = Store(copied_runs, "small")
    assert len(store.runs) == 5
    store.refresh()
    assert caplog.text.count("line 6 was cut short") == 1
    assert make(store) == 1
    assert len(Store(copied_runs, "small").runs) == 6


def test_a_damaged_file_is_not_written_over(copied_runs):
    lines = (copied_runs / "small.jsonl").read_text().splitlines()
    (copied_runs / "small.jsonl").write_text("\n".join(["{broken", *lines[1:]]) + "\n")
    with pytest.raises(DataError, match=r"line 1 .*take that line out"):
        Store(copied_runs, "small")
    (copied_runs / "small.jsonl").write_bytes("\n".join(lines).encode().replace(b"}", b"\xff", 1) + b"\n")
    with pytest.raises(DataError, match="line 1"):
        Store(copied_runs, "small")
    for torn in ('"settings": {', '"environment": {'):  # edited by hand, the last line too
        (copied_runs / "small.jsonl").write_text("\n".join([*lines[:-1], lines[-1].replace(torn, '"else": {', 1)]) + "\n")
        with pytest.raises(DataError, match=rf"line 6 is no run .*Object missing required field `{torn[1:-4]}`"):
            Store(copied_runs, "small")
    (copied_runs / "small.jsonl").write_text("\n".join(lines) + "\n\n\n")
    assert len(Store(copied_runs, "small").runs) == 6
    said = 0
    for _ in with_wrong_bytes(copied_runs / "small.rows.npz", times=100):
        try:
            Store(copied_runs, "small")
        except DataError:
            said += 1
    assert said > 20
    (copied_runs / "small.rows.npz").write_bytes(b"no archive")
    with pytest.raises(DataError, match="damaged"):
        Store(copied_runs, "small")
    (copied_runs / "small.rows.npz").write_bytes(b"PK")
    with pytest.raises(DataError, match="damaged"):
        Store(copied_runs, "small")
    (copied_runs / "small.rows.npz").unlink()
    with pytest.raises(DataError, match="put it back"):
        Store(copied_runs, "small")


def test_runs_of_another_version_are_kept_apart(copied_runs):
    text = (copied_runs / "small.jsonl").read_text()
    (copied_runs / "small.jsonl").write_text(text.replace(f'"torch": "{environment()["torch"]}"', '"torch": "1.0"', 2))
    arrays = dict(np.load(copied_runs / "small.rows.npz"))
    moved = {}
    for name, scores in arrays.items():
        old = any(part in name for part in ("binary-relevance/0/", "cross-entropy/0/"))
        moved[name.replace(environment()["torch"], "1.0") if old else name] = scores
    np.savez_compressed(copied_runs / "small.rows.npz", **moved)
    store = Store(copied_runs, "small")
    assert (len(store.runs), len(store.elsewhere)) == (4, 2)
    assert make(store) == 2
    again = Store(copied_runs, "small")
    assert (len(again.runs), len(again.elsewhere)) == (6, 2)
    other = Store(copied_runs, "small", again.elsewhere[0].where)
    assert len(other.runs) == 2


def test_a_line_says_all_that_is_needed(finished_runs):
    lines = [json.loads(text) for text in (finished_runs / "small.jsonl").read_text().splitlines()]
    assert len(lines) == 6
    for line in lines:
        assert line["settings"] == {"max_epochs": 2, "hidden": 8}
        assert {"enstruct", "torch", "machine", "threads"} <= set(line["environment"])
        assert {"fixed", "threshold", "chosen"} <= set(line["example_f1"])
        assert 0 < line["seconds"] < 600
        assert "commit" in line
        assert {"predictor_updates", "energy_updates", "epochs", "micro_f1", "macro_f1"} <= set(line)
        assert set(line["metrics"]) >= {"fixed", "threshold", "chosen"}
        assert all(set(scores) == set(METRICS) for scores in line["metrics"].values())
        assert line["metrics"]["threshold"]["example-f1"] == line["example_f1"]["threshold"]
        assert line["of"] == {"name": line["method"]}


def test_a_run_that_takes_another_s_place_leaves_whole_files_whenever_the_process_ends(copied_runs):
    key, written = Key("synthetic-90", "fair", "cross-entropy", 0), Store._write_scores
    new = Cell({}, {"chosen": Counts.of([0.5])})

    def killed(self):
        written(self)
        raise KeyboardInterrupt

    for late in (killed, lambda self: killed(None)):  # after the scores, and before them
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Store, "_write_scores", late)
            with pytest.raises((KeyboardInterrupt, AttributeError)):
                Store(copied_runs, "small").add(key, new, {}, environment(), None, replacing=True)
        assert len(Store(copied_runs, "small").runs) == 5
    Store(copied_runs, "small").add(key, new, {}, environment(), None, replacing=True)
    assert len(Store(copied_runs, "small").runs[key].rows["chosen"].above) == 1
    Store(copied_runs, "small").add(key, Cell({}, {"chosen": Counts.of([0.1, 0.2])}), {}, environment(), None)
    assert len(Store(copied_runs, "small").runs[key].rows["chosen"].above) == 1  # not unless told so
    Store(copied_runs, "small").add_diverged(key, {"diverged": "nan"}, {}, environment(), None)
    store = Store(copied_runs, "small")
    assert (len(store.runs), list(store.diverged)) == (5, [key])


def test_a_line_without_scores_says_what_to_do(copied_runs):
    store = Store(copied_runs, "small")
    store.runs.popitem()
    store._write_scores()
    with pytest.raises(DataError, match=r"line 6 has no scores .* Take that line out"):
        Store(copied_runs, "small")


def test_scores_of_one_place_are_not_those_of_another(tmp_path, monkeypatch):
    """Though the name of the one is the beginning of the other's."""
    key, places = Key("d", "fair", "m", 0), [{**environment(), "processor": name} for name in (FORMER_PROCESSOR, "another")]
    for value, place in ((0.1, places[0]), (0.2, places[1]), (0.9, places[1])):
        monkeypatch.setattr(store_module, "environment", lambda place=place: place)
        store = Store(tmp_path, "t")
        store.add(key, Cell({}, {"chosen": Counts.of([value])}), {}, place, None, replacing=True)
    for value, place in ((0.1, places[0]), (0.9, places[1])):
        monkeypatch.setattr(store_module, "environment", lambda place=place: place)
        assert Store(tmp_path, "t").runs[key].rows["chosen"].above.tolist() == [[np.float32(value)]]


def test_lines_of_two_places_stand_in_one_order_wherever_they_are_written(tmp_path, monkeypatch):
    """A file that changed its order with the machine would be all changed lines to git."""
    places = [{**environment(), "processor": name} for name in (FORMER_PROCESSOR, "another")]
    for seed, place in enumerate((*places, *places[::-1])):
        monkeypatch.setattr(store_module, "environment", lambda place=place: place)
        Store(tmp_path, "t").add(Key("d", "fair", "m", seed), Cell({}, {"chosen": Counts.of([0.5])}), {}, place, None)
        lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
        of_here = [line["environment"]["processor"] for line in lines]
        assert of_here == sorted(of_here, key=[FORMER_PROCESSOR, "another"].index)
    assert [line["seed"] for line in lines] == [0, 3, 1, 2]


def test_a_reader_between_the_two_files_of_a_writer(finished_runs, copied_runs, monkeypatch):
    """A writer replaces the arrays first, then the lines; who reads lines before arrays finds all rows of every line."""
    reader, writer = Store(copied_runs, "small"), Store(copied_runs, "small")
    one = next(iter(writer.runs.values()))
    arrays = Store._arrays

    def late(self):
        monkeypatch.setattr(Store, "_arrays", arrays)
        writer.add(Key("d", "fair", "m", 1), Cell({}, one.rows), {}, environment(), None)
        return arrays(self)

    monkeypatch.setattr(Store, "_arrays", late)
    reader.refresh()
    assert len(reader.runs) == 6


def test_a_store_keeps_what_it_is_given(tmp_path):
    store = Store(tmp_path, "t")
    cell = Cell({"example_f1": {"chosen": 0.5}, "seconds": 1.0}, {"chosen": Counts.of([0.25, 0.75])})
    store.add(Key("d", "fair", "m", 3), cell, {"hidden": 3}, environment(), "abc")
    again = Store(tmp_path, "t").runs[Key("d", "fair", "m", 3)]
    assert again.rows["chosen"].above.tolist() == [[0.25], [0.75]]
    assert again.line["commit"] == "abc"


def test_two_processes_add_to_one_table(tmp_path):
    one, two = Store(tmp_path, "small"), Store(tmp_path, "small")
    cell = Cell({"example_f1": {"chosen": 0.5}}, {"chosen": Counts.of([0.5])})
    one.add(Key("d", "fair", "m", 0), cell, {}, environment(), None)
    two.add(Key("d", "fair", "m", 1), cell, {}, environment(), None)
    assert sorted(key.seed for key in Store(tmp_path, "small").runs) == [0, 1]


def test_runs_of_another_processor_are_apart(copied_runs, monkeypatch):
    former = {**environment(), "processor": FORMER_PROCESSOR}
    assert whereabouts({k: v for k, v in former.items() if k != "processor"}) == whereabouts(former)
    other = {**former, "processor": "another"}
    assert whereabouts(other) == (*whereabouts(former), "processor another")
    assert whereabouts({**other, "accelerator": "card"}) == (*whereabouts(former), "processor another, card")
    monkeypatch.setattr(store_module, "environment", lambda: other)
    monkeypatch.setattr(runner, "environment", lambda: other)
    store, said = Store(copied_runs, "small"), []
    mine = Key("synthetic-90", "fair", "binary-relevance", 0)
    assert not store.runs
    assert run(SMALL, store, [mine], None, lambda title: [], said.append) == 1
    assert f"runs made with processor {environment()['processor']} (here another) are kept apart" in said[0]
    assert len(stores_of(copied_runs, "small")) == 2
    assert "processor another" in reproduced_section(SMALL, store)


def test_whatever_is_wrong_with_the_lines_is_said(copied_runs):
    said = []
    for _ in with_wrong_fields(copied_runs / "small.jsonl", times=40):
        try:
            for each in stores_of(copied_runs, "small"):
                reproduced_section(SMALL, each, ["synthetic-90"])
        except EnstructError as error:
            said.append(str(error))
    assert len(said) > 10
    assert all("small." in each for each in said)
    assert len(Store(copied_runs, "small").runs) == 6


def test_a_field_that_is_wrong_is_named(copied_runs):
    path = copied_runs / "small.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([re.sub(r'"seed": \d', '"seed": "x"', lines[0]), *lines[1:]]) + "\n")
    with pytest.raises(DataError, match=r"line 1 is no run .*Expected `int`, got `str` - at `\$\.seed`"):
        Store(copied_runs, "small")
