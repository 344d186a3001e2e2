"""The program of the laboratory as a process."""

import subprocess
import sys

import pytest

from enstruct_bench.cli.commands import build_parser, prepared

ANSWERED_AT_ONCE = {
    "help": (["--help"], 0, "usage: enstruct-bench"),
    "help of a command": (["figure", "starts", "--help"], 0, "--model.max_epochs"),
    "a mistyped option": (["compare", "a.npz", "--model.hiden", "8"], 2, "Did you mean --model.hidden?"),
    "an unknown command": (["comapre"], 2, "comapre"),
}


@pytest.mark.parametrize("case", ANSWERED_AT_ONCE)
def test_what_needs_no_torch_is_answered_at_once(case):
    arguments, code, said = ANSWERED_AT_ONCE[case]
    command = [sys.executable, "-X", "importtime", "-m", "enstruct_bench.cli.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done.stdout + done.stderr
    imported = {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "enstruct_bench.cli" in imported
    assert not imported & {"torch", "sklearn", "scipy", "pandas"}  # importing torch takes two seconds


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
    ("words", "option"),
    [
        ("a.csv --methods mlp", "labels"),
        ("a.txt --task tags", "columns"),
        ("--task=masks --help", "protocol"),
        ("", "labels"),
    ],
)
def test_the_options_of_a_comparison_are_those_of_its_task(words, option, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").touch()
    with pytest.raises(SystemExit):
        prepared(["compare", *words.split(), "--help"])
    assert f"--{option}" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "option"), [("--seeds 2 conll2003", "columns"), ("weizmann32 --seeds 1", "protocol")])
def test_the_task_is_read_from_the_data(words, option):
    options = build_parser(["compare", *words.split()]).parse_args(["compare", *words.split()])
    assert option in options.compare
