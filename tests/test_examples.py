"""Examples run; README commands exist."""

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


def test_readme_python_blocks_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = readme_blocks("python")
    assert blocks
    namespace = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)


def test_readme_commands_run_or_parse(tmp_path, monkeypatch, capsys):
    """Commands on the README's own file are run (shortened); the rest must be understood by the parser."""
    monkeypatch.chdir(tmp_path)
    lines = [line for block in readme_blocks("bash") for line in block.splitlines() if line.startswith("enstruct ")]
    assert len(lines) >= 5
    for line in lines:
        arguments = shlex.split(line, comments=True)[1:]
        build_parser().parse_args(arguments)
        if line.startswith("enstruct data pictures"):
            assert main([*arguments, "--images", "20", "--size", "12"]) == 0
        elif "shape" in line:
            small = ["--model.width", "4", "--model.levels", "2", "--model.max_iter", "1"]
            assert main(arguments + (small if arguments[1] in ("train", "compare") else [])) == 0, capsys.readouterr().err
        if "mine.npz" in line:
            trains = arguments[0] in ("train", "compare") or arguments[:2] == ["analyse", "starts"]
            trains = trains or arguments[0] == "tune"
            shorten = ["--model.max_iter", "2"] if trains else []
            assert main(arguments + shorten) == 0, capsys.readouterr().err
