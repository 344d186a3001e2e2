"""The file of answers: what is told is on the disk, once, and in its order."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enstruct.errors import DataError, ParseError, SaveError
from enstruct.workbench import journal as module
from enstruct.workbench.journal import ConflictError, Journal, check_name

HEADER = {"task": "labels", "data": "a.csv", "rows": 9, "names": ["a", "b"], "content": "c"}


@pytest.fixture
def kept(tmp_path):
    opened = Journal(tmp_path / "answers.jsonl", HEADER)
    yield opened
    opened.close()


def again(journal):
    journal.close()
    return Journal(journal.path, HEADER)


def test_an_act_is_a_line_and_read_again(kept):
    kept.tell("1", "me", 4, {"a": True}, False)
    kept.tell("2", "me", 4, {"b": False, "a": None}, True)
    assert [json.loads(line).get("act") for line in kept.path.read_text().splitlines()] == [None, "1", "2"]
    reopened = again(kept)
    for each in (kept, reopened, Journal.read(kept.path)):
        assert each.row(4).cells == {"b": False}
        assert each.row(4).done
        assert (each.n_done, each.n_told, len(each)) == (1, 1, 2)
    reopened.close()


def test_an_act_sent_twice_is_kept_once(kept):
    for _ in range(2):
        assert kept.tell("1", "me", 0, {"a": True}, False).version == 1
    assert kept.undo("u", "me") == 0
    assert kept.undo("u", "me") is None  # sent again, it takes nothing else back
    assert len(kept.path.read_text().splitlines()) == 3


def test_it_is_on_the_disk_before_it_counts(kept, monkeypatch):
    synced = []
    sync = os.fsync
    monkeypatch.setattr(module.os, "fsync", lambda file: synced.append(kept.path.read_text().count("\n")) or sync(file))
    kept.tell("1", "me", 0, {"a": True}, False)
    assert synced == [2]


def test_what_cannot_be_written_is_not_told(kept, monkeypatch):
    kept.tell("1", "me", 0, {"a": True}, False)
    before = kept.path.read_bytes()
    monkeypatch.setattr(module.os, "fsync", lambda file: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(SaveError, match="free some space"):
        kept.tell("2", "me", 0, {"b": True}, False)
    assert kept.path.read_bytes() == before
    assert kept.row(0).cells == {"a": True}
    monkeypatch.undo()
    kept.tell("2", "me", 0, {"b": True}, False)  # the page sends it again
    assert kept.row(0).cells == {"a": True, "b": True}


def test_a_line_cut_short_goes(kept):
    kept.tell("1", "me", 0, {"a": True}, False)
    whole = kept.path.read_bytes()
    kept.close()
    kept.path.write_bytes(whole + b'{"act": "2", "by": "me", "at": "x", "row": 1, "ce')
    reopened = Journal(kept.path, HEADER)
    assert kept.path.read_bytes() == whole
    reopened.tell("3", "me", 1, {"a": False}, False)
    reopened.close()
    assert Journal.read(kept.path).row(1).cells == {"a": False}


def test_undo_puts_back_what_was_there(kept):
    kept.tell("1", "me", 0, {"a": True}, False)
    kept.tell("2", "me", 0, {"a": False, "b": True}, True)
    assert kept.undo("3", "me") == 0
    assert kept.row(0).cells == {"a": True}
    assert not kept.row(0).done
    assert kept.undo("4", "me") == 0
    assert kept.row(0).cells == {}
    assert kept.undo("5", "me") is None


def test_nobody_writes_over_another_s_answer(kept):
    kept.tell("1", "me", 0, {"a": True}, False, seen=0)
    kept.tell("2", "you", 0, {"b": True}, False, seen=0)  # another cell
    with pytest.raises(ConflictError, match="'a'"):
        kept.tell("3", "you", 0, {"a": False}, False, seen=0)
    with pytest.raises(ConflictError):
        kept.tell("4", "me", 0, {"a": True, "b": False}, True, seen=1)  # finished as it was before b
    kept.tell("5", "you", 0, {"a": False}, False, seen=2)
    with pytest.raises(ConflictError, match="somebody else"):
        kept.undo("6", "me")
    assert kept.row(0).cells == {"a": False, "b": True}


def test_one_workbench_at_a_time(kept):
    with pytest.raises(SaveError, match="another workbench"):
        Journal(kept.path, HEADER)


@pytest.mark.parametrize("change", [{"rows": 10}, {"names": ["a", "c"]}, {"task": "tags"}, {"content": "d"}])
def test_answers_about_other_data_are_refused(kept, change):
    kept.close()
    with pytest.raises(DataError, match="about other data"):
        Journal(kept.path, HEADER | change)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"{}\n", "no file of answers"),
        (b"[[[\n", "no JSON"),
        (b"\xff\xfe\n", "no JSON"),
        (json.dumps({"answers": 7, **HEADER}).encode() + b"\n", "of this version"),
        (json.dumps({"answers": 1, **HEADER}).encode() + b'\n{"act": 1}\n', "no act"),
        (json.dumps({"answers": 1, **HEADER}).encode() + b'\n{"act": "2", "by": "", "at": "", "undo": "1"}\n', "no act"),
        (
            json.dumps({"answers": 1, **HEADER}).encode()
            + b'\n{"act": "2", "by": "", "at": "", "row": 9, "cells": {}, "done": true}\n',
            "no act",
        ),
    ],
)
def test_damaged_files_are_refused(tmp_path, content, message):
    path = tmp_path / "answers.jsonl"
    path.write_bytes(content)
    with pytest.raises(ParseError, match=message) as raised:
        Journal.read(path)
    assert len(str(raised.value)) <= 300
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b'{"a": 1}\n{"precious": 2}', b'{"precious": 1}', b"precious\n"])
def test_files_of_others_are_left_alone(tmp_path, content):
    path = tmp_path / "other.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError):
        Journal(path, HEADER)
    assert path.read_bytes() == content


def test_a_header_that_was_cut_short_is_written_again(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_bytes((json.dumps({"answers": 1, **HEADER}) + "\n").encode()[:20])
    Journal(path, HEADER).close()
    assert Journal.read(path).header == {"answers": 1, **HEADER}


def test_undo_is_not_refused_for_what_somebody_did_elsewhere(kept):
    kept.tell("1", "me", 0, {"a": True}, False)
    kept.tell("2", "you", 0, {"b": True}, False)
    assert kept.after_undo("me") == (0, {"b": True})
    assert kept.undo("3", "me") == 0
    assert kept.row(0).cells == {"b": True}


def test_undo_reaches_back_so_far(kept, monkeypatch):
    monkeypatch.setattr(module, "UNDONE", 2)
    for number in range(4):
        kept.tell(str(number), "me", number, {"a": True}, False)
    assert [kept.undo(f"u{k}", "me") for k in range(3)] == [3, 2, None]
    reopened = again(kept)
    assert [reopened.row(k).cells for k in range(4)] == [{"a": True}, {"a": True}, {}, {}]
    reopened.close()


@pytest.mark.parametrize("name", ["", "x" * 65, "a\nb", "ä", 5, None])
def test_names_of_acts(name):
    with pytest.raises(DataError, match="plain characters"):
        check_name("act", name)


STEP = st.one_of(
    st.tuples(
        st.just("tell"), st.sampled_from("mn"), st.integers(0, 2), st.sampled_from("ab"), st.sampled_from([True, False, None])
    ),
    st.tuples(st.just("undo"), st.sampled_from("mn")),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(STEP, max_size=14))
def test_reading_a_file_gives_what_telling_gave(tmp_path_factory, steps):
    """And what is told is what a plain replay of the acts that stand gives."""
    path = tmp_path_factory.mktemp("kept") / "answers.jsonl"
    kept, standing = Journal(path, HEADER), []
    for number, step in enumerate(steps):
        if step[0] == "tell":
            kept.tell(str(number), step[1], step[2], {step[3]: step[4]}, False)
            standing.append(step)
            continue
        try:
            undone = kept.undo(str(number), step[1])
        except ConflictError:
            continue
        if undone is not None:
            last = max(k for k, one in enumerate(standing) if one[1] == step[1])
            del standing[last]
    kept.close()
    expected = {}
    for _, _, row, name, value in standing:
        expected.setdefault(row, {})[name] = value
    expected = {row: {k: v for k, v in cells.items() if v is not None} for row, cells in expected.items()}
    for row in range(3):
        assert kept.row(row).cells == Journal.read(path).row(row).cells == expected.get(row, {})


KILLED = """
import os, signal, sys
from enstruct.workbench.journal import Journal
kept = Journal(__import__("pathlib").Path(sys.argv[1]), {HEADER})
for number in range(10**6):
    kept.tell(str(number), "me", number % 9, {{"a": True}}, False)
    print(number, flush=True)
"""


def test_a_killed_process_has_kept_what_it_said(tmp_path):
    path = tmp_path / "answers.jsonl"
    process = subprocess.Popen([sys.executable, "-c", KILLED.format(HEADER=HEADER), str(path)], stdout=subprocess.PIPE, text=True)
    said = [process.stdout.readline() for _ in range(25)]
    process.kill()
    rest = process.communicate()[0].splitlines()
    last = int((rest or said)[-1])
    reopened = Journal(path, HEADER)
    assert len(reopened) in (last + 1, last + 2)  # one may be kept of which nothing was said yet
    reopened.close()
