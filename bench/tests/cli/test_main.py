"""The program of the laboratory as a process."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from enstruct.tasks import TAGS
from enstruct_bench.cli.commands import MOVED, TAG_ENDINGS, prepared, task_of

ANSWERED_AT_ONCE = {
    "help": (["--help"], 0, "usage: enstruct-bench"),
    "help of a command": (["figure", "starts", "--help"], 0, "--model.max_epochs"),
    "a mistyped option": (["compare", "a.npz", "--model.hiden", "8"], 2, "Did you mean --model.hidden?"),
    "an unknown command": (["comapre"], 2, "comapre"),
}


@pytest.mark.parametrize("case", ANSWERED_AT_ONCE)
def test_what_needs_no_torch_is_answered_at_once(case):
    arguments, code, said = ANSWERED_AT_ONCE[case]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "enstruct_bench.cli.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done.stdout + done.stderr
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1  # of the processor; importing torch takes two


@pytest.mark.parametrize(
    "words",
    [
        ["enstruct", "evaluate"],
        ["enstruct-bench", "compare"],
        ["enstruct-bench", "compare", "--task=tags"],
        ["enstruct-bench", "light"],
    ],
)
def test_help_names_types_in_words(words):
    program = {"enstruct": "enstruct.cli.main", "enstruct-bench": "enstruct_bench.cli.main"}[words[0]]
    done = subprocess.run([sys.executable, "-m", program, *words[1:], "--help"], capture_output=True, text=True, check=True)
    assert "--json" in done.stdout
    assert "<function" not in done.stdout


@pytest.mark.parametrize(
    ("words", "task"),
    [
        ("yeast", "labels"),
        ("a.csv --methods mlp", "labels"),
        ("--seeds 2 conll2003", "tags"),
        ("--seeds=2 a.conll.xz", "tags"),
        ("weizmann32 --protocol dvn", "masks"),
        ("--json twitter_pos bench", "masks"),  # a folder, and the value of an option
        ("a.txt", "labels"),
        ("a.txt --task tags", "tags"),
        ("--task=masks --help", "masks"),
        ("--config a.yaml", "labels"),
        ("", "labels"),
    ],
)
def test_the_task_is_read_from_the_data(words, task, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[3])
    assert task_of(words.split()) == task


def test_endings_are_those_of_the_task():
    assert TAGS.endings == TAG_ENDINGS


@pytest.mark.parametrize("former", MOVED)
def test_former_commands_are_refused_with_those_of_now(former, capsys):
    assert prepared([*former.split(), "cora"])() == 2
    assert f"is `enstruct-bench {MOVED[former]} DATA` now" in capsys.readouterr().err
