"""Sections of the results page for labels with holes: files of ``enstruct-bench holes --json``."""

from __future__ import annotations

import json
from pathlib import Path

from enstruct_bench.comparison.summary import spread
from enstruct_bench.holes.sides import REFERENCE, SIDES
from enstruct_bench.holes.summary import COLUMNS, DIFFERENCES, HolesFile, apart_of, figures_of, notes_of, removed_in_words, titles
from enstruct_bench.reports.markdown import Text, markdown_table, where_it_ran


def holes_section(path: Path) -> str:
    """A file of ``enstruct-bench holes``."""
    setting = json.loads(path.read_text(encoding="utf-8"))["setting"]
    cells = HolesFile(path, setting, {}).cells
    unreadable = f", {setting['unreadable']} SMILES could not be read" if setting["unreadable"] else ""
    run = {key.partition("@")[0] for key, _ in cells}
    missing = ", ".join(side for side in SIDES if side not in run)
    removed, notes = removed_in_words(cells, setting["positives_only"]), "; ".join(notes_of(cells))
    lines = [
        f"## {setting['data']}: labels with holes (`{path.name}`)",
        "",
        f"{spread(cells)} random splits, {setting['rows']['test']} test rows, {setting['labels']} labels, "
        f"{setting['observed']:.1%} of the cells observed{unreadable}. {removed}Loss: nats an observed "
        "test cell; AP: average precision of all of them; AUC: area under ROC, mean over labels. @0.5: half of a row's observed "
        f"cells told, figures on the others. The base of {REFERENCE}, its energy, and whose marginals answer untold rows (in so "
        f"many splits): {notes}. {f'Not run: {missing}. ' if missing else ''}{where_it_ran(setting['environment'])}",
        "",
        *markdown_table(titles(cells, COLUMNS), figures_of(cells)),
    ]
    if apart := apart_of(cells):
        lines += [
            f"Differences to {REFERENCE}, 95% by bootstrap over splits and their rows; of loss lower is better.",
            "",
            *markdown_table(titles(cells, DIFFERENCES), apart),
        ]
    return Text(lines)
