"""Saving beside others: killed savers lose nothing and leave nothing, living ones are left alone, readers find something."""

import os
import random
import signal
import sys
import threading
import time
import warnings

import pytest

from enstruct import files, workplaces
from enstruct.errors import SaveError
from enstruct.files import replace_file, replace_folder
from enstruct.workplaces import FORMER, exchange, identity, recover, workplace


def fill(text, names=("a", "b")):
    return lambda folder: [(folder / name).write_text(text) for name in names]


def in_a_child(work):
    """The number of a process of its own that does ``work``, and then nothing until it is killed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: this child only writes files
        pid = os.fork()
    if pid:
        return pid
    try:
        work()
        time.sleep(60)
    finally:
        os._exit(1)


def kill(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def leftovers(folder):
    return [p for p in folder.iterdir() if p.name.startswith(".")]


def no_exchange(one, other):
    raise NotImplementedError if other.exists() else FileNotFoundError


@pytest.fixture(params=["exchange", "two renames"])
def system(request, monkeypatch):
    """With and without a system that can exchange in one step."""
    if request.param == "two renames":
        monkeypatch.setattr(files, "exchange", no_exchange)
    return request.param


def test_a_folder_is_replaced_and_others_stay(tmp_path, system):
    replace_folder(tmp_path / "m", fill("old"))
    replace_folder(tmp_path / "m.old", fill("other"))
    before = identity(tmp_path / "m")
    replace_folder(tmp_path / "m", fill("new", ["a"]))
    assert {p.name for p in tmp_path.iterdir()} == {"m", "m.old"}
    assert [p.name for p in (tmp_path / "m").iterdir()] == ["a"]
    assert identity(tmp_path / "m") != before
    assert identity(tmp_path / "none") is None


def test_two_paths_change_places(tmp_path):
    (tmp_path / "a").write_text("1")
    (tmp_path / "b").write_text("2")
    exchange(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a").read_text() == "2"
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "a", tmp_path / "none")


def test_a_reader_finds_a_folder_at_every_moment(tmp_path):
    replace_folder(tmp_path / "m", fill("old"))
    stop, missing = threading.Event(), []

    def read():
        while not stop.is_set():
            if not (tmp_path / "m").exists():
                missing.append(1)

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(60):
        replace_folder(tmp_path / "m", fill(str(i)))
    stop.set()
    reader.join()
    assert not missing


@pytest.mark.parametrize("after", [0, 1])
def test_an_interruption_between_the_renames_leaves_the_old_folder(after, tmp_path, monkeypatch):
    replace_folder(tmp_path / "m", fill("old"))
    monkeypatch.setattr(files, "exchange", no_exchange)
    rename, calls = os.rename, []

    def interrupted(*names):
        if len(calls) == after:
            monkeypatch.setattr(os, "rename", rename)
            raise KeyboardInterrupt
        calls.append(names)
        rename(*names)

    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_folder(tmp_path / "m", fill("new"))
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    assert (tmp_path / "m" / "a").read_text() == "old"


def interrupted_at(moment, work):
    """Whether ``work`` was interrupted: a signal's exception comes up as ``moment`` calls have begun or returned."""
    left = moment

    def count(frame, event, function):
        nonlocal left
        if event in ("call", "c_return"):  # where the interpreter looks for signals
            left -= 1
            if left == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

    sys.setprofile(count)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


# an interrupted opening leaves its file to the collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_a_signal_at_any_moment_leaves_the_old_or_the_new_and_nothing_else(tmp_path):
    replace_folder(tmp_path / "m", fill("old"))
    moment = 1
    while interrupted_at(moment, lambda: replace_folder(tmp_path / "m", fill("new"))):
        assert [p.name for p in tmp_path.iterdir()] == ["m"], moment
        assert (tmp_path / "m" / "a").read_text() in ("old", "new")
        moment += 1
    assert moment > 200  # from the first call to the last


def test_a_killed_saver_s_former_folder_comes_back_and_its_pieces_go(tmp_path, monkeypatch):
    replace_folder(tmp_path / "m", fill("old"))
    monkeypatch.setattr(files, "exchange", no_exchange)
    rename = os.rename

    def half(source, target):
        rename(source, target)
        time.sleep(60)

    def work():
        os.rename = half
        replace_folder(tmp_path / "m", fill("new"))

    pid = in_a_child(work)
    wait_for(lambda: not (tmp_path / "m").exists())
    recover(tmp_path / "m")
    assert not (tmp_path / "m").exists()  # its saver lives
    assert workplaces.being_replaced(tmp_path / "m")
    kill(pid)
    assert (leftovers(tmp_path)[0] / FORMER).exists()
    recover(tmp_path / "m")
    assert (tmp_path / "m" / "a").read_text() == "old"
    assert not leftovers(tmp_path)


def test_leftovers_of_the_dead_are_swept_and_those_of_the_living_stay(tmp_path):
    def work():
        with workplace(tmp_path / "m") as folder:
            (folder / "large").write_text("x")
            time.sleep(60)

    pid = in_a_child(work)
    wait_for(lambda: leftovers(tmp_path) and list(leftovers(tmp_path)[0].iterdir()))
    replace_file(tmp_path / "m", lambda part: part.write_text("mine"))
    assert len(leftovers(tmp_path)) == 1
    kill(pid)
    replace_file(tmp_path / "m.old", lambda part: part.write_text("others do not care"))
    assert len(leftovers(tmp_path)) == 1
    replace_file(tmp_path / "m", lambda part: part.write_text("mine"))
    assert not leftovers(tmp_path)


def test_savers_killed_at_any_moment_lose_nothing(tmp_path, system):
    rng = random.Random(0)
    replace_folder(tmp_path / "m", fill("0"))

    def work():
        for i in range(100_000):
            replace_folder(tmp_path / "m", fill(str(i)))

    for _ in range(12):
        pid = in_a_child(work)
        time.sleep(0.005 + 0.02 * rng.random())
        kill(pid)
        recover(tmp_path / "m")
        texts = {name: (tmp_path / "m" / name).read_text() for name in ("a", "b")}
        assert texts["a"] == texts["b"] != ""
        assert not leftovers(tmp_path)


def test_two_savers_at_once_end_whole(tmp_path, system):
    def save(text):
        for _ in range(40):
            replace_folder(tmp_path / "m", fill(text))

    savers = [threading.Thread(target=save, args=(str(i),)) for i in range(3)]
    for saver in savers:
        saver.start()
    for saver in savers:
        saver.join()
    assert (tmp_path / "m" / "a").read_text() == (tmp_path / "m" / "b").read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_a_check_that_fails_leaves_what_is_there(tmp_path):
    replace_folder(tmp_path / "m", fill("old"))

    def check(path):
        raise SaveError("not this one")

    with pytest.raises(SaveError, match="not this one"):
        replace_folder(tmp_path / "m", fill("new"), check)
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    assert (tmp_path / "m" / "a").read_text() == "old"


def test_a_folder_that_cannot_be_written_in_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(SaveError, match="choose another place"):
        replace_file(tmp_path / "file" / "m", lambda part: part.write_text("x"))
