"""Examples and the README run."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from enstruct.cli.commands import build_parser
from enstruct.cli.main import main

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_example_runs(script):
    done = subprocess.run([sys.executable, str(script), "2"], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert len(script.read_text().splitlines()) < 150


def readme_blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_readme_python_blocks_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = readme_blocks("python")
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_readme_commands_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [line for block in readme_blocks("bash") for line in block.splitlines() if line.startswith("enstruct ")]
    assert len(lines) == 5
    for line in lines:
        arguments = shlex.split(line, comments=True)[1:]
        shorten = ["--model.max_iter", "2"] if arguments[0] == "train" else []
        assert main(arguments + shorten) == 0, capsys.readouterr().err


def test_commands_that_the_readme_mentions_are_understood():
    mentioned = re.findall(r"`(enstruct [^`]+--[^`]+)`", (ROOT / "README.md").read_text())
    assert len(mentioned) == 3
    for line in mentioned:
        build_parser().parse_args(shlex.split(line)[1:])
