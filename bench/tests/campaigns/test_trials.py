"""What campaigns call a defect: each kind of one is planted, and found."""

import json
import os
import signal
import time

import numpy as np
import pytest

from enstruct.errors import DataError
from enstruct_bench.campaigns import command, mutations, readers, soak, watch, worker
from enstruct_bench.campaigns.command import counted, fuzz, kill, tallied
from enstruct_bench.campaigns.documents import SOURCES, Random
from enstruct_bench.campaigns.processes import Process
from enstruct_bench.campaigns.trial import ACCEPTED, DEFECT, REFUSED, Trial, Unsound, judged


def raising(error):
    def act():
        raise error

    return act


@pytest.mark.parametrize(
    ("act", "must_refuse", "verdict", "why"),
    [
        (raising(DataError("no rows: give some")), False, REFUSED, "no rows"),
        (raising(KeyError("x")), False, DEFECT, "KeyError"),
        (raising(ValueError("x")), False, DEFECT, "ValueError"),
        (raising(MemoryError()), False, DEFECT, "MemoryError"),
        (raising(DataError(" ")), False, DEFECT, "without a message"),
        (raising(Unsound("it is odd")), False, DEFECT, "accepted, and it is odd"),
        (lambda: None, False, ACCEPTED, ""),
        (lambda: None, True, DEFECT, "though it is no data"),
        (lambda: np.float32(1e38) * np.float32(1e38), False, DEFECT, "RuntimeWarning"),
    ],
)
def test_how_a_trial_ends(act, must_refuse, verdict, why):
    found = judged(Trial("g", "c", act, must_refuse))
    assert found[0] == verdict
    assert why in found[1]


def test_long_messages_are_defects_and_errors_of_a_contract_are_not():
    assert judged(Trial("g", "c", raising(ValueError("x" * 301))), (ValueError,))[0] == DEFECT
    assert judged(Trial("g", "c", raising(ValueError("x" * 300))), (ValueError,))[0] == REFUSED


@pytest.mark.parametrize("kind", sorted(SOURCES))
def test_sound_documents_are_read(kind, tmp_path):
    for seed in range(5):
        place = tmp_path / str(seed)
        files = SOURCES[kind](Random(seed))
        for name, content in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(content)
        whole = kind in ("pictures", "text folder", "folder of arrays")
        readers.READ[kind](place if whole else place / next(iter(files)))


def test_trials_are_those_of_their_numbers(tmp_path):
    for number in range(20):
        contents = []
        for folder in ("a", "b"):
            trial = readers.trial(number, 3, tmp_path / folder)
            files = sorted((tmp_path / folder).rglob("*"))
            contents.append((trial.group, trial.change, [path.read_bytes() for path in files if path.is_file()]))
        assert contents[0] == contents[1]


def test_spoilt_json_leaves_the_sound_one_as_it_was():
    sound = {"a": [1, 2, {"b": None}], "c": "x"}
    before = json.dumps(sound)
    spoilt = [mutations.spoil_json(Random(k), sound)[1] for k in range(50)]
    assert json.dumps(sound) == before
    assert sum(json.dumps(one, default=str) != before for one in spoilt) > 40


def test_memory_of_a_trial_is_measured(tmp_path):
    pieces = [np.ones(2**13) for _ in range(3000)]  # 188 MiB of the heap, in pieces that the allocator does not map one by one
    last = np.ones(2**13)  # what lies behind them keeps them from going back when they are freed
    del pieces

    class Campaign:
        ALSO = ()

        @staticmethod
        def trial(number, seed, folder):
            return Trial("g", "c", lambda: last[0] * np.ones(number * 2**17).sum())  # MiB

        @staticmethod
        def most_bytes(trial):
            return 60 * 2**20

    small, large = (worker.tried(Campaign, number, 0, tmp_path) for number in (30, 100))
    assert (small["verdict"], large["verdict"]) == (ACCEPTED, DEFECT)
    assert 90 < large["peak"] / 2**20 < 130
    assert "took" in large["why"]


def test_what_hangs_or_dies_is_a_defect_and_the_others_go_on(monkeypatch, tmp_path):
    class Worker:
        seconds = 1.0

        def __init__(self, campaign, seed):
            pass

        def tries(self, number):
            return (
                None
                if number == 2
                else {"number": number, "group": "g", "change": "", "verdict": ACCEPTED, "why": "", "seconds": 0.1 * number}
            )

        def how_it_ended(self):
            return "no answer after 1 s"

        def end(self):
            pass

    monkeypatch.setattr(watch, "Worker", Worker)
    rows = {row["number"]: row for row in watch.watched("readers", range(12), 0, 2)}
    assert {number for number, row in rows.items() if row["verdict"] == DEFECT} == {2, 11}  # 11 took 1.1 s
    assert "no answer" in rows[2]["why"]


def test_tables_are_kept_and_not_made_again(tmp_path, capsys, monkeypatch):
    row = {"number": 3, "group": "g", "change": "c", "verdict": DEFECT, "why": "so", "seconds": 1.0, "peak": 2**20, "size": 1}
    out = tmp_path / "table.json"
    assert counted("race", "a name", 1, lambda: [row, {**row, "verdict": ACCEPTED}], out) == 1
    assert "DEFECT 3 (g; c): so" in capsys.readouterr().out
    assert counted("race", "a name", 1, lambda: 1 / 0, out) == 1
    monkeypatch.setattr(command, "present_commit", lambda: "another")
    assert counted("race", "a name", 1, lambda: [{**row, "verdict": ACCEPTED}], out) == 0  # made again
    assert tallied([row])["groups"] == {"g": {"tried": 1, "refused": 0, "accepted": 0, "defect": 1}}
    with pytest.raises(Exception, match="name another"):
        counted("kill", "a name", 1, lambda: [], out)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fuzz("pipes", 1, 0, 0, 1, None), "one of readers"),
        (lambda: kill(1, 0, ["x"], None), "no kind 'x'"),
        (lambda: fuzz("readers", 0, 0, 0, 1, None), "count must be"),
        (lambda: fuzz("readers", 1, 0, 0, 0, None), "workers must be"),
    ],
)
def test_campaigns_that_are_not_there(call, message):
    with pytest.raises(Exception, match=message):
        call()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_processes_end_by_themselves_or_by_a_signal(tmp_path):
    def work():
        os.write(1, b"one\n")
        time.sleep(5)
        return 7

    assert Process(lambda: 3, tmp_path).ended() == 3
    assert Process(lambda: 3, tmp_path).ended(5.0) is None  # before the signal
    process = Process(work, tmp_path)
    assert process.ended(0.3) == -signal.SIGKILL
    assert process.lines() == ["one"]
    assert Process(lambda: 1 // 0, tmp_path).ended() == 1


def test_a_process_that_dies_in_long_use_is_said_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(soak, "KINDS", ("forest",))
    monkeypatch.setattr(soak, "_in_process", lambda *_: os._exit(3))
    assert soak._processes(tmp_path, "fork", 8, 2) == {"forest": ("a process has died, with exit code 3", 0.0)}
