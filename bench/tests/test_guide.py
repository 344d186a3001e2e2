"""The user guide runs, and the README's figures are those of the results page."""

import re
import shlex
from pathlib import Path

from bench.tests.either import main

from enstruct.cli import commands as core
from enstruct_bench.cli import commands as bench

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


def test_python_blocks_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    assert len(blocks("python")) >= 7
    for block in blocks("python"):
        exec(compile(block, "docs/guide.md", "exec"), namespace)


def test_commands_run_or_parse(tmp_path, monkeypatch, capsys):
    """Commands on the guide's own files are run (shortened); the rest must be understood by the parsers."""
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks("bash") for line in block.splitlines() if line.startswith(("enstruct ", "enstruct-bench "))]
    assert len(lines) >= 40
    for line in lines:
        program, *arguments = shlex.split(line, comments=True)
        (bench if program == "enstruct-bench" else core).build_parser().parse_args(arguments)
        if line.startswith("enstruct data pictures"):
            assert main([*arguments, "--images", "20", "--size", "12"]) == 0
        elif "shape" in line:
            small = ["--model.width", "4", "--model.levels", "2", "--model.max_iter", "1"]
            assert main(arguments + (small if arguments[1] in ("train", "compare") else [])) == 0, capsys.readouterr().err
        if "mine.npz" in line:
            trains = arguments[0] in ("train", "compare", "tune") or arguments[:2] == ["figure", "starts"]
            shorten = ["--model.max_iter", "2"] if trains else []
            assert main(arguments + shorten) == 0, capsys.readouterr().err


def test_the_readme_s_figures_stand_on_the_results_page():
    readme, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/results.md"))
    rows = re.findall(r"^\| (\w+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| (.+) \|$", readme, re.M)
    assert len(rows) == 6
    for name, linear, trees, nets, automatic, difference in rows:
        (summary,) = [
            line for line in page.splitlines() if line.startswith(f"| {name} ") and difference.replace("−", "-") in line
        ]
        for figure in (linear, trees, nets, automatic):
            assert re.search(rf"(^|[^\d.]){re.escape(figure)}([^\d]|$)", summary), (name, figure)
