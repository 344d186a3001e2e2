"""``docs/results.md``: its sections from runs at hand, and the page from their summaries.

Nothing on the page is typed by hand; a test prints it again and fails if it differs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from enstruct.records import read_record
from enstruct_bench.reports.automatic import automatic_section
from enstruct_bench.reports.averages import averages_section
from enstruct_bench.reports.campaigns import campaign_section
from enstruct_bench.reports.clicks import clicks_section
from enstruct_bench.reports.compared import compared_section
from enstruct_bench.reports.conditionals import conditionals_section
from enstruct_bench.reports.costs import costs_section
from enstruct_bench.reports.curves import curves_section
from enstruct_bench.reports.default_cost import default_cost_section
from enstruct_bench.reports.devices import devices_section
from enstruct_bench.reports.exports import exports_section
from enstruct_bench.reports.hierarchies import hierarchies_section
from enstruct_bench.reports.holes import holes_section
from enstruct_bench.reports.joint import joint_section
from enstruct_bench.reports.light import light_section
from enstruct_bench.reports.many_labels import many_labels_section
from enstruct_bench.reports.mapped import mapped_section
from enstruct_bench.reports.pace import pace_section
from enstruct_bench.reports.pairs import ranks_section, workers_section
from enstruct_bench.reports.papers import paper_of
from enstruct_bench.reports.patience import patience_section
from enstruct_bench.reports.reproduced import (
    files_of,
    kept_summaries,
    reproduced_head,
    reproduced_table,
    summary_name,
    versions_of,
)
from enstruct_bench.reports.rules_cost import rules_cost_section
from enstruct_bench.reports.searches import ablation_section, cost_section, peers_section, search_section, trials_section
from enstruct_bench.reports.summaries import FOLDER, Section, printed
from enstruct_bench.reports.suspects import suspects_section
from enstruct_bench.reports.tags_told import tags_told_section
from enstruct_bench.reports.tags_wrong import tags_wrong_section
from enstruct_bench.reports.text_encoder import text_encoder_section
from enstruct_bench.reports.texts import texts_section
from enstruct_bench.reports.unseen import unseen_section
from enstruct_bench.reports.views import views_section
from enstruct_bench.reports.workbench import workbench_section
from enstruct_bench.reproduce.table import LabelTable
from enstruct_bench.reproduce.tables import TABLES

HEAD = """# Results

Printed by `enstruct-bench report` from `results/summaries/`, a file a section, which say of which runs, seeds, commits, versions
and machines the figures are. What makes them: `enstruct-bench compare` (`compare-*`, `tags-*`, `masks-*`), `joint` (`joint-*`,
of tags `told-tags-*` and `wrong-tags-*`, of masks `clicks-*`), `holes` (`holes-*`), `light` (`light-*`), `tune` (`tune-*`), `run`
(the papers' tables), `costs --measure`, and `python -m enstruct_bench.joint.hierarchies`, `joint.averages`,
`joint.unseen`, `texts.compare` (`texts-*`),
`texts.views` (`views-*`, `layers-*`), `texts.suspects` (`suspects-*`), `costs.rules`, `costs.exports`, `costs.workers`,
`costs.pace` (`pace`), `costs.default`, `costs.many_labels`, `costs.ranks`, `costs.mapped`, `costs.text_encoder`,
`costs.curves`, `costs.devices`,
`reproduce.patience` (`patience-*`), `tuning.search_implicit`, `tuning.ablate_auto`
(`search-*`, `ablation-*`), `workbench` (`workbench-*`), `fuzz`, `kill`, `race` and `soak` (`campaign-*`).
The papers' own tables have a page a paper: [SPEN](papers/spen.md), [SEAL](papers/seal.md),
[implicit training](papers/implicit.md).
Example-F1, or the metric named, in percent on test rows: at 0.5, at the threshold tuned on validation rows, and under the
decision rule chosen on validation rows. Δ: paired difference to the first row, 95% by hierarchical bootstrap over seeds and
rows, of folds over rows alone. Seconds are of the run as it was, with other work on the machine: they are no benchmark.
"""


ONE_FILE: dict[str, Callable[[Path], str]] = {
    "joint-": joint_section,
    "holes-": holes_section,
    "compare-": compared_section,
    "tags-": compared_section,
    "told-tags-": tags_told_section,
    "wrong-tags-": tags_wrong_section,
    "hierarchies-": hierarchies_section,
    "clicks-": clicks_section,
    "masks-": compared_section,
    "texts-": texts_section,
    "views-": views_section,
    "layers-": views_section,
    "suspects-": suspects_section,
    "light-": light_section,
    "tune-": trials_section,
    "patience-": patience_section,
    "search-": search_section,
    "ablation-": ablation_section,
    "benchmark-peers": peers_section,
    "benchmark-bilevel": cost_section,
    "benchmark-conditionals": conditionals_section,
    "benchmark-rules": rules_cost_section,
    "exports": exports_section,
    "pace": pace_section,
    "averages": averages_section,
    "unseen": unseen_section,
    "benchmark-default": default_cost_section,
    "benchmark-many-labels": many_labels_section,
    "benchmark-workers": workers_section,
    "benchmark-ranks": ranks_section,
    "benchmark-mapped": mapped_section,
    "benchmark-text-encoder": text_encoder_section,
    "benchmark-curves": curves_section,
    "benchmark-devices": devices_section,
    "workbench-": workbench_section,
    "campaign-": campaign_section,
}
"""How files begin that have a section of their own -> what prints it, in the order of the page."""
GROUPS = ("automatic", *(f"{prefix}.*" for prefix in ONE_FILE), "costs", "reproduce")
"""Names of sections, as regular expressions, in the order of the page; after them come the tables that are no paper's."""


def page(results: Path) -> str:
    """The whole page, from the summaries in RESULTS/summaries. DataError for one that is damaged."""
    return "\n".join([HEAD, *map(printed, on_page(results))])


def on_page(results: Path) -> list[Path]:
    """The summaries of the page, in its order."""
    kept = {path.stem: path for path in (results / FOLDER).glob("*.json")}
    ordered = [name for group in GROUPS for name in sorted(kept) if re.fullmatch(group, name)]
    tables = [path for name in TABLES if paper_of(name) is None for path in kept_summaries(name, results / FOLDER)]
    return [*(kept[name] for name in ordered), *tables]


def sections(results: Path) -> Iterator[Section]:
    """Everything that the page can say of the runs in RESULTS. DataError for a file that is damaged."""
    paths = sorted(results.glob("*.json"))
    for path in paths:
        _check(path)
    reproduced = results / "reproduce"
    compared = [path for path in paths if path.name.startswith("compare-")]
    yield Section("automatic", lambda: automatic_section(results), (*compared, *reproduced.glob("seal-2.jsonl")))
    for path in paths:
        for prefix, section in ONE_FILE.items():
            if path.name.startswith(prefix):
                yield Section(path.stem, partial(section, path), (path,))
    measured = [path for path in paths if path.name.startswith("benchmark-")]
    yield Section("costs", lambda: costs_section(results), tuple(measured))
    yield Section("reproduce", reproduced_head, ())
    for table in TABLES.values():
        files = [*reproduced.glob(f"{table.name}.jsonl")] if isinstance(table, LabelTable) else files_of(table, results)
        for version in versions_of(table, reproduced):
            section = partial(reproduced_table, table, reproduced, version)
            of_runs = version if isinstance(table, LabelTable) else ""
            yield Section(summary_name(table.name, version), section, tuple(files), of_runs)


def _check(path: Path) -> None:
    """DataError that names a file that is cut or damaged."""
    read_record(path, {str: object}, "damaged")
