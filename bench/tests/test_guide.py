"""The pages with examples run, block by block, and the README's figures are those of the results page."""

import re
import shlex
from pathlib import Path

import pytest
from bench.tests.either import main

from enstruct.cli import commands as core
from enstruct.cli.main import main as core_main
from enstruct_bench.cli import commands as bench

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
START = [*sorted((DOCS / "start").glob("*.md")), DOCS / "tour.md"]
GUIDE = [
    DOCS / "guide.md",
    *(DOCS / f"{name}.md" for name in re.findall(r"^guide/\w+$", (DOCS / "guide.md").read_text(encoding="utf-8"), re.M)),
]
"""In the order of the table of contents, which is that in which files are made and used."""
pytestmark = pytest.mark.usefixtures("quick_joints", "quick_fields", "quick_bases", "pages_end_at_once")
SHORT = ["--model.max_epochs", "2"]
SMALL = ["--model.width", "4", "--model.levels", "2", "--model.max_epochs", "1"]


def blocks(pages, *languages):
    """(page, language, block) of all pages."""
    for page in pages:
        for language, block in re.findall(rf"```({'|'.join(languages)})\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            yield page, language, block


def commands(block):
    return [line for line in block.splitlines() if line.startswith(("enstruct ", "enstruct-bench "))]


def run_python(page, block, namespace):
    exec(compile(block, str(page.relative_to(ROOT)), "exec"), namespace)


def run_command(line, capsys):
    """A command on files that the pages make, shortened."""
    program, *arguments = shlex.split(line, comments=True)
    if arguments[:2] == ["data", "pictures"]:
        arguments += ["--images", "20", "--size", "12"]
    if arguments[:2] == ["data", "synthetic"]:
        arguments += ["--rows", "200"]
    if "--seconds" in arguments:
        arguments += ["--seconds", "1"]
    trains = {"train", "compare", "tune"} & set(arguments[:2]) or arguments[:2] == ["figure", "starts"]
    if trains and "--base" not in arguments:
        arguments += SMALL if "shapes" in arguments else SHORT
    assert (main if program == "enstruct-bench" else core_main)(arguments) == 0, capsys.readouterr().err


def test_every_page_of_the_guide_is_read():
    assert set(GUIDE[1:]) == set((DOCS / "guide").glob("*.md"))


@pytest.mark.parametrize("page", START, ids=lambda page: page.stem)
def test_getting_started_runs_from_top_to_bottom(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    examples = list(blocks([page], "python", "bash"))
    assert examples
    for _, language, block in examples:
        if language == "python":
            run_python(page, block, namespace)
        else:
            assert commands(block)
            for line in commands(block):
                run_command(line, capsys)


@pytest.mark.parametrize("page", GUIDE, ids=lambda page: page.stem)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    """Each page by itself."""
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for _, _, block in blocks([page], "python"):
        run_python(page, block, namespace)


def test_the_guide_has_python_on_its_pages():
    assert len({page for page, _, _ in blocks(GUIDE, "python")}) >= 8


def test_commands_run_or_parse(tmp_path, monkeypatch, capsys):
    """Commands on the guide's own files are run (shortened); the rest must be understood by the parsers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ner").mkdir()  # stands for a model that is not trained here: options are those of its task
    (tmp_path / "ner" / "model.json").write_text('{"estimator": "EnergySequenceTagger"}')
    lines = [line for _, _, block in blocks(GUIDE, "bash") for line in commands(block)]
    assert len(lines) >= 40
    for line in lines:
        program, *arguments = shlex.split(line, comments=True)
        if "shape" in line or "mine.npz" in line or "songs" in line:
            run_command(line, capsys)
        else:
            (bench if program == "enstruct-bench" else core).build_parser(arguments).parse_args(arguments)


def test_the_readme_s_figures_stand_on_the_results_page():
    readme, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/results.md"))
    rows = re.findall(r"^\| (\w+?)[¹²]? \| (.*[\d.]+.*) \|$", readme, re.M)
    assert len(rows) == 6
    for name, cells in rows:
        sections = [part.split("\n## ")[0] for part in page.split(f"## {name}: label sets as a distribution (")[1:]]
        sides = ("base", "masked-extra-trees", "masked-network", "joint", "base", "joint")
        for side, cell, column in zip(sides, cells.split("|"), ["F1 @0.5"] * 4 + ["NLL"] * 2, strict=True):
            if cell.strip():
                assert cell.strip(" *¹") in [figure_of(section, side, column) for section in sections], (name, side, column)


def figure_of(section: str, side: str, column: str) -> str | None:
    """Of a section's first table, where it has the side and the column."""
    titles = section.split("| method |")[1].split("\n")[0].strip(" |").split(" | ")
    row = first_table(section).get(side)
    return row[titles.index(column)] if row is not None and column in titles else None


def first_table(section):
    """Side -> its cells, of the first table; a side of fewer splits than others says so after its name."""
    lines = section.split("| method |")[1].split("\n\n")[0].splitlines()[2:]
    return {row[0].split(" (")[0]: row[1:] for row in (line.strip("| ").split(" | ") for line in lines)}


def test_messages_that_the_questions_quote_are_the_library_s():
    """Word for word, up to what stands for … in them."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src").rglob("*.py")))
    source = re.sub(r"\"\s*\n\s*f?\"", "", sources)  # of strings that go on in the next line
    page = (DOCS / "faq.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^> (.+)$", page, re.M)
    assert len(quoted) == 7
    assert len(re.findall(r"^## ", page, re.M)) == 11
    for message in quoted:
        for part in message.replace("(now not set)", "(now …)").split("…"):
            assert part.strip(" .:") in source, (message, part)
