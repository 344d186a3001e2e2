"""Tables that other commands make: what is needed first, where figures go, what is passed over."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from enstruct.environment import environment
from enstruct.errors import ConfigError, DataError, DatasetNotFoundError
from enstruct_bench.comparison.compare import Compare
from enstruct_bench.figures.commands import OfAModel
from enstruct_bench.reports.reproduced import command_section
from enstruct_bench.reproduce.commands import finished, made_elsewhere, run_parts
from enstruct_bench.reproduce.library import Measured, Synthetic, Train
from enstruct_bench.reproduce.table import CommandTable
from enstruct_bench.tuning.tune import Tune

TABLE = CommandTable(
    "figures",
    "Figures",
    "nowhere",
    {
        "curve": OfAModel("convergence", "net", "rows.npz"),
        "rows": Compare("rows.npz", methods=("mlp",), model={"max_epochs": 2}),
        "speed": Measured(),
    },
    made={
        "rows.npz": Synthetic("rows.npz", rows=150),
        "net": Train("rows.npz", model={"method": "spen"}, out="net"),
    },
)


class Recorder:
    """Stands for the work: writes what a command would write; fails for those whose words hold one of ``fails``."""

    def __init__(self, fails=()):
        self.commands, self.fails = [], fails

    def __call__(self, command):
        self.commands.append(command)
        if any(word in command.spelled() for word in self.fails):
            return 2
        place = Path(getattr(command, command.output))
        if command.makes_folder:
            place.mkdir(parents=True)
            (place / "some.png").write_text("")
        else:
            place.write_text("{}")
        return 0


def run(tmp_path, enstruct, parts, table=TABLE, said=None):
    run_parts(table, parts, tmp_path, enstruct, (said if said is not None else []).append)


def test_what_a_part_needs_is_made_first_and_once(tmp_path):
    enstruct, said = Recorder(), []
    (tmp_path / ".curve.part").mkdir()
    (tmp_path / ".curve.part" / "old.png").write_text("")  # of a command that was interrupted
    run(tmp_path, enstruct, ["curve", "rows"], said=said)
    assert f"curve is whole: it lies in {tmp_path / 'curve'} now" in said
    rows, net = str(tmp_path / "made" / "rows.npz"), str(tmp_path / "made" / "net")
    assert [path.name for path in (tmp_path / "curve").iterdir()] == ["some.png"]
    assert not list(tmp_path.glob(".*"))
    assert enstruct.commands == [
        Synthetic(rows, rows=150),
        Train(rows, model={"method": "spen"}, out=net),
        OfAModel("convergence", net, rows, out=tmp_path / ".curve.part"),
        Compare(rows, methods=("mlp",), model={"max_epochs": 2}, json=tmp_path / "rows.json"),
    ]


def test_finished_parts_are_made_once_but_comparisons_go_on(tmp_path):
    run(tmp_path, Recorder(), ["curve", "rows"])
    assert finished(tmp_path, "curve")
    assert finished(tmp_path, "rows")
    again, said = Recorder(), []
    run(tmp_path, again, ["curve", "rows"], said=said)
    assert "curve is finished" in said[0]
    assert [type(command) for command in again.commands] == [Compare]


def test_figures_of_another_machine_are_told_from_those_of_this_one(tmp_path):
    here, there = environment(), environment() | {"torch": "1.0"}
    (tmp_path / "rows.json").write_text(json.dumps({"setting": {"environment": here}}))
    (tmp_path / "speed.json").write_text(json.dumps({"environment": there}))
    (tmp_path / "curve").mkdir()
    assert [made_elsewhere(tmp_path, part) for part in ("rows", "speed", "curve", "nothing")] == [False, True, False, False]
    (tmp_path / "curve" / "a.json").write_text("{")
    (tmp_path / "curve" / "b.json").write_text(json.dumps({"environment": there}))
    said = []
    run(tmp_path, Recorder(), ["curve"], said=said)
    assert "curve is finished, on another machine or version; delete it" in said[0]


def test_training_that_was_interrupted_goes_on(tmp_path):
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "net.checkpoint").write_text("")
    enstruct = Recorder()
    run(tmp_path, enstruct, ["curve"])
    assert enstruct.commands[1].resume


def test_parts_that_fail_do_not_keep_others(tmp_path):
    enstruct, said = Recorder(fails=("spen",)), []
    with pytest.raises(DataError, match=r"not made: curve, speed"):
        run(tmp_path, enstruct, [], said=said)
    assert any("costs --measure" in text for text in said)
    assert not finished(tmp_path, "curve")
    assert finished(tmp_path, "rows")
    with pytest.raises(DataError, match="the command of net failed"):
        run(tmp_path, enstruct, ["curve"])
    with pytest.raises(DataError, match="has the parts curve, rows, speed"):
        run(tmp_path, enstruct, ["curves"])


def test_an_interruption_ends_it(tmp_path):
    end = KeyboardInterrupt("of its own")

    def interrupted(command):
        raise end

    with pytest.raises(KeyboardInterrupt) as caught:
        run(tmp_path, interrupted, ["curve"])
    assert caught.value is end  # with what it says is kept


def test_a_table_without_parts_says_why(tmp_path):
    with pytest.raises(DataError, match="cannot run here: x: no texts"):
        run(tmp_path, Recorder(), [], CommandTable("t", "T", "nowhere", {}, absent={"x": "no texts"}))


def test_a_file_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("ENSTRUCT_DATA", str(tmp_path))
    table = CommandTable("t", "T", "nowhere", {"a": Compare("x.conll", model={"embeddings": "6mpaths.xz"})})
    with pytest.raises(DatasetNotFoundError, match=r"6mpaths"):
        run(tmp_path, Recorder(), ["a"], table)


def test_the_page_says_where_figures_lie(tmp_path):
    assert command_section(TABLE, tmp_path).count("not run") == 3
    run(tmp_path, Recorder(), ["curve", "rows"])
    text = command_section(TABLE, tmp_path)
    assert text.count("not run") == 1
    assert "- net: made first, by `enstruct train rows.npz --model.method spen --out net`" in text
    assert "`enstruct-bench run figures --datasets rows`, which runs `enstruct-bench compare" in text
    assert "Pictures: `results/curve/some.png`." in text


def test_options_in_the_place_of_the_table_s_own(tmp_path):
    enstruct = Recorder()
    run_parts(TABLE, ["rows"], tmp_path, enstruct, print, {"seeds": 5})
    assert enstruct.commands[-1].spelled().startswith(f"enstruct-bench compare {tmp_path / 'made' / 'rows.npz'} --methods mlp")
    assert enstruct.commands[-1].seeds == 5
    again = replace(TABLE, parts={"rows": Compare("x", methods=("dvn",), seeds=1)})
    run_parts(again, [], tmp_path, enstruct, print, {"seeds": 5, "methods": ("spen",)})
    assert enstruct.commands[-1] == Compare("x", methods=("spen",), seeds=5, json=tmp_path / "rows.json")
    with pytest.raises(ConfigError, match="not for curve"):
        run_parts(TABLE, [], tmp_path, enstruct, print, {"seeds": 5})


TRIALS = CommandTable(
    "trials",
    "Trials",
    "nowhere",
    {
        "tune-x": Tune("x", methods=("dvn", "spen"), trials=3, storage="x.journal"),
        "compare-x": Compare("x", tuned="tune-x"),
    },
)


class Searcher(Recorder):
    """Its searches have so many trials of each method."""

    def __init__(self, **trials):
        super().__init__()
        self.trials = trials

    def __call__(self, command):
        status = super().__call__(command)
        if isinstance(command, Tune):
            best = [{"method": name, "trials": {"complete": n - 1, "pruned": 1}} for name, n in self.trials.items()]
            command.json.write_text(json.dumps({"best": best}))
        return status


def test_what_another_part_left_is_found_there(tmp_path):
    (tmp_path / "made").mkdir()
    enstruct, made = Searcher(dvn=3, spen=3), tmp_path / "made"
    run(tmp_path, enstruct, ["compare-x"], TRIALS)
    searched, compared = enstruct.commands
    assert replace(searched, json=None) == replace(TRIALS.parts["tune-x"], storage=str(made / "x.journal"))
    assert compared == Compare("x", tuned=str(tmp_path / "tune-x.json"), json=tmp_path / "compare-x.json")
    again, said = Recorder(), []
    run(tmp_path, again, [], TRIALS, said)
    assert [type(command) for command in again.commands] == [Compare]
    assert "delete it and made/x.journal" in said[0]


@pytest.mark.parametrize("trials", [{"dvn": 3}, {"dvn": 3, "spen": 2}, {}])
def test_a_search_counts_when_all_its_trials_have_ended(trials, tmp_path):
    """Others may be at work on them; the command writes its file after every method."""
    (tmp_path / "made").mkdir()
    with pytest.raises(DataError, match="other processes are at work"):
        run(tmp_path, Searcher(**trials), ["tune-x"], TRIALS)
    assert not finished(tmp_path, "tune-x")
    assert not list((tmp_path / "made").iterdir())


def test_what_needs_a_part_that_failed_is_not_begun(tmp_path):
    enstruct, said = Recorder(fails=("dvn,spen",)), []
    with pytest.raises(DataError, match="not made: tune-x, compare-x"):
        run(tmp_path, enstruct, [], TRIALS, said)
    assert len(enstruct.commands) == 1
    assert any("compare-x needs tune-x, which failed" in text for text in said)
