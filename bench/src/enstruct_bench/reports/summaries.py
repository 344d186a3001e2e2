"""What git keeps of results: a small file for each section of the results page, with its tables as data and where they come from.

RESULTS/summaries/NAME.json
    section   the name, which is the file's
    blocks    in their order texts, and tables as {"columns": [...], "rows": [[...], ...]}, whose cells are words, whole numbers,
              and quantities with their deviations or intervals, before they are rounded, in percent where the table is, as
              {"mean": 67.7612, "spread": 0.2731} or {"mean": -3.53, "low": -4.77, "high": -2.29, "note": " ¹"}
              (:class:`~enstruct_bench.comparison.quantity.Quantity`); those from before 2026-11-24 are as rounded as the page
    from      what the figures were made from: "runs" (how many), "seeds", and how many runs have each of "commits" (null: they do
              not say), "versions" (enstruct, torch, Python) and "machines"

The runs themselves, with a score for every test row, stay on the machine that made them (RESULTS is not in git, but for its
summaries). :func:`renew` writes the summaries of what is there; a summary of more runs than are at hand stays.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enstruct.errors import DataError, EnstructError, shortened, shown
from enstruct.files import write_text
from enstruct.records import Shape, read_record
from enstruct_bench.comparison.quantity import FORMS, Quantity, Value
from enstruct_bench.reports.markdown import Table, Text

Blocks = list[str | tuple[list[str], list[list[Value]]]]
"""Texts, and tables as their columns and rows."""
FOLDER = "summaries"
QUANTITY: Shape = {
    "mean": float,
    **dict.fromkeys(("spread?", "low?", "high?"), float),
    **dict.fromkeys(("name?", "note?"), str),
    "form?": FORMS,
}
FIELDS = [name.removesuffix("?") for name in QUANTITY]
SHAPE: Shape = {
    "section": str,
    "blocks": [(str, {"columns": [str], "rows": [[(str, int, QUANTITY)]]})],
    "from": {"runs": int, "seeds": [int], "commits": dict, "versions": dict, "machines": dict},
}


@dataclass(frozen=True)
class Section:
    """One of the page: its name, how it is printed, the files that it is printed from, and the version of the library whose runs
    in these it is of; empty for all."""

    name: str
    text: Callable[[], str]
    files: tuple[Path, ...]
    version: str = ""


def renew(sections: Iterable[Section], results: Path, say: Callable[[str], None]) -> None:
    """Write the summary of every section that has something to say. Where the summary at hand is of more runs, it stays."""
    for section in sections:
        path, origin = results / FOLDER / f"{section.name}.json", origin_of(section.files, section.version)
        kept = read_summary(path)["from"]["runs"] if path.is_file() else 0
        if kept > origin["runs"]:
            if origin["runs"]:
                say(f"{section.name}: the summary of {kept} runs stays, as only {origin['runs']} are at hand")
            continue
        text = _text_of(section)
        if text:
            write_text(path, _laid_out({"section": section.name, "blocks": blocks(text), "from": origin}))


def _text_of(section: Section) -> str:
    """DataError for files that say what no command writes."""
    try:
        return section.text()
    except EnstructError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError) as error:
        files = ", ".join(path.name for path in section.files)
        why = f"{type(error).__name__}: {error}"
        raise DataError(f"{shortened(files, 100)}: damaged, or of another kind ({shown(why, 80)}). Move it away.") from error


def read_summary(path: Path) -> dict[str, Any]:
    """DataError for a file that is damaged."""
    content: dict[str, Any] = read_record(path, SHAPE, "not a summary of results")
    return content


CHAINS = "chains stood at the weakest ridge offered, of many labels at the second; weaker ones are better (on yeast by .08 nats)."
WRONG = (
    "the joint's cells are corrected by shares of notes lost and added, which base's and cleanlab's are not (`base-corrected` in "
    "later files is base so corrected)."
)
SVM = "`svm` stands at its package's C, where ours choose theirs on the documents held out; later files choose it too."
HELD = "Chosen on 1,555 documents held out, as where all documents are to train on, not on a fourth as many."
CHANGED_TREE = "of a changed tree, whose commit is not to be had."
SINCE = {
    "benchmark-default": CHANGED_TREE,
    "benchmark-devices": CHANGED_TREE,
    "texts-reuters21578-1000": f"{SVM} {HELD}",
    "texts-reuters21578-1000-tuned": HELD,
    "texts-reuters21578-shots8": SVM,
    "texts-reuters21578-shots32": SVM,
    "texts-reuters21578-shots128": SVM,
    "texts-goemotions": SVM,
    "texts-reuters21578": "the row `trainer` is void: it was tuned in bfloat16 altogether, where small steps are lost, and says "
    "nothing of fine-tuning; rows on the H200 read weights of the encoder rounded to bfloat16, and are of a changed tree.",
    "joint-bibtex-peers": "runs of 0.3.0, whose section was `joint-bibtex` before 0.4.0 was run; its chains are as "
    "they were with a ridge that is sought (`joint-bibtex-chains`).",
    "joint-bibtex-chains": "run beside three other programs, so that the default base had time for fewer models than in "
    "`joint-bibtex`.",
    "unseen": CHAINS,
    "joint-bibtex-wrong": WRONG,
    "joint-delicious-wrong": WRONG,
    "joint-rcv1-wrong": WRONG,
    "joint-spo_FUN-wrong": WRONG,
    "suspects-goemotions": WRONG,
    "masks-weizmann32-whole-cuda": "all runs are of a changed tree (c08f71a).",
    "tags-conll2003-two-layers": "two of the four runs are of a changed tree.",
    "light-cora": "two slips of the rules, which a handful of references notice, were mended after these runs.",
}
"""Section -> what a reader must know of figures whose runs are no longer at hand, so that nothing prints them anew."""


def printed(path: Path) -> str:
    """A section as it stands on the page, with what is known of its figures since."""
    lines = [block if isinstance(block, str) else Table(*block) for block in read_blocks(path)]
    return Text([*lines, "", f"Known since: {SINCE[path.stem]}", ""] if path.stem in SINCE else lines)


def read_blocks(path: Path) -> Blocks:
    """What a section is printed from. DataError for a file that is damaged."""
    parts: Blocks = []
    for block in read_summary(path)["blocks"]:
        if isinstance(block, str):
            parts.append(block)
        else:
            parts.append((block["columns"], [[_read(cell) for cell in row] for row in block["rows"]]))
    return parts


def _read(cell: Any) -> Value:
    return Quantity(**{name: cell[name] for name in FIELDS if name in cell}) if isinstance(cell, dict) else cell


def blocks(text: str) -> list[str | dict[str, Any]]:
    """The texts and tables of a section, as a file holds them; :func:`printed` puts them together again."""
    return [
        {"columns": [*block.columns], "rows": [[_kept(value) for value in row] for row in block.rows]}
        if isinstance(block, Table)
        else block
        for block in Text([text]).blocks
    ]


def _kept(value: Value) -> Any:
    return value.as_json() if isinstance(value, Quantity) else value


def origin_of(files: Iterable[Path], version: str = "") -> dict[str, Any]:
    """How many runs (of this version of the library) some results files hold, of which seeds, commits, versions and machines."""
    runs, seeds = 0, set()
    commits, versions, machines = Counter[str](), Counter[str](), Counter[str]()
    for path in files:
        for content in _contents(path):
            shared = content.get("setting", {}).get("environment") if isinstance(content.get("setting"), dict) else None
            for run, environment in _runs(content, shared or content.get("environment")):
                if version and (environment or {}).get("enstruct", version) != version:
                    continue
                runs += 1
                if isinstance(run.get("seed"), int):
                    seeds.add(run["seed"])
                commits[str(run.get("commit") or "not known")] += 1
                where = environment or {}
                versions[" ".join(f"{name} {where[name]}" for name in ("enstruct", "torch", "python") if name in where)] += 1
                machines[str(where.get("processor") or where.get("machine") or "not known")] += 1
    return {
        "runs": runs,
        "seeds": sorted(seeds),
        "commits": dict(sorted(commits.items())),
        "versions": dict(sorted(versions.items())),
        "machines": dict(sorted(machines.items())),
    }


def _contents(path: Path) -> Iterator[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    for part in text.splitlines() if path.suffix == ".jsonl" else [text]:
        content = json.loads(part)
        if isinstance(content, dict):
            yield content


def _runs(content: dict[str, Any], environment: Any) -> Iterator[tuple[dict[str, Any], Any]]:
    """The runs of a file, or of a line of one, each with where it ran."""
    inner = next((content[name] for name in ("runs", "rows", "fits") if isinstance(content.get(name), list)), [content])
    for run in inner:
        run = run if isinstance(run, dict) else content
        yield {"commit": content.get("commit"), **run}, run.get("environment") or environment


def _laid_out(content: dict[str, Any]) -> str:
    """JSON with a row of a table a line, so that a changed figure is a changed line."""
    text = json.dumps({**content, "blocks": None}, ensure_ascii=False)
    parts = []
    for block in content["blocks"]:
        if isinstance(block, str):
            parts.append(json.dumps(block, ensure_ascii=False))
            continue
        rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in block["rows"])
        parts.append(f'{{"columns": {json.dumps(block["columns"], ensure_ascii=False)}, "rows": [\n{rows}]}}')
    return text.replace('"blocks": null', '"blocks": [\n' + ",\n".join(parts) + "]", 1) + "\n"
